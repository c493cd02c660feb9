"""What the columns of a published list are, where its reader does not say and no doubt is left."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from csp.errors import InputError, argument
from csp.published.entries import Convention, read_entry, sign_of
from csp.published.grids.heads import are_years
from csp.published.grids.kinds import holds_cells
from csp.published.names import OTHERS, VALUES, are_flags, flags_of
from csp.published.rows import plain_item
from csp.published.told import Roles, Told
from csp.tables.columns import read_columns
from csp.tables.hierarchies.totals import is_total


def roles_of(
    data: Any, names: Sequence[str], roles: Roles, told: Told
) -> tuple[Roles, tuple[str, ...]]:
    """Find what the caller has not said, where that leaves no doubt, and say it.

    Raises
    ------
    InputError
        If it is not clear which column holds the cells.
    """
    plain = {name.casefold().strip(): name for name in names}
    roles, ranges = _with_ranges(names, roles)
    status = roles.status
    if roles.by and roles.value:
        status = status or _flags(names, roles)
        flags = (f"flags are read from {_listed(status)}",) if status and not roles.status else ()
        return replace(roles, status=status), (*flags, *ranges)
    columns: dict[str, Any] = dict(zip(names, read_columns(data, names).arrays, strict=True))
    aside = {
        *status,
        *(name for name in names if are_flags(name) and name not in (roles.by or ())),
        *(plain[name] for name in OTHERS if name in plain),
        roles.lower,
        roles.upper,
        roles.count,
    }
    value = roles.value
    if value is None:
        known = [
            plain[name] for name in VALUES if name in plain and plain[name] not in (roles.by or ())
        ]
        left = [name for name in names if name not in aside and name not in (roles.by or ())]
        numeric = [
            name for name in left
            if _may_be_cells(columns[name], told) and not _are_labels(name, columns[name])
        ]  # fmt: skip
        known = [name for name in known if name in (numeric or _mostly_withheld(left, columns))]
        value = known[0] if known else numeric[0] if len(numeric) == 1 else None
        if value is None:
            raise InputError(
                _unclear(left, numeric, _measures(left, columns, told) or numeric[-1:])
            )
    status = status or _flags(names, replace(roles, value=value))
    by = roles.by
    said = []
    if by is None:
        left = [name for name in names if name not in aside and name != value]
        constant = [name for name in left if len({sign_of(x) for x in columns[name]}) == 1]
        doubles = _doubles([name for name in left if name not in constant], columns)
        codes = [name for name in left if name not in constant and name not in doubles]
        others = _measures(codes, columns, told)
        by = tuple(name for name in codes if name not in others) or tuple(left)
        said.append(f"cells are in {value!r}, by {_listed(by)}")
        if others:
            said.append(
                f"{_listed(others)} {'holds' if len(others) == 1 else 'hold'} other numbers, and "
                f"{'is' if len(others) == 1 else 'are'} left out: the other columns tell all rows "
                "apart"
            )
        if constant and by != tuple(left):
            said.append(
                f"{_listed(constant)} {'has' if len(constant) == 1 else 'have'} one code only"
            )
        said += [f"{one!r} says the same as {kept!r}" for one, kept in doubles.items()]
    if status and not roles.status:
        said.append(f"flags are read from {_listed(status)}")
    return replace(roles, by=tuple(by), value=value, status=status), (*said, *ranges)


def _mostly_withheld(left: Sequence[str], columns: Mapping[str, Any]) -> list[str]:
    """Columns with numbers, blanks and one sign at most: cells of which few need be published."""
    plain = Convention()
    signs = {
        name: {text for text in {*_texts(columns[name])} if not read_entry(text, plain).is_number}
        for name in left
    }
    return [name for name, found in signs.items() if len(found - {""}) < 2]


def _with_ranges(names: Sequence[str], roles: Roles) -> tuple[Roles, tuple[str, ...]]:
    """Take columns called lower and upper for the ends of ranges, unless others are named."""
    plain = {name.casefold().strip(): name for name in names}
    lower, upper = plain.get("lower"), plain.get("upper")
    taken = {*(roles.by or ()), roles.value, roles.count}
    if lower is None or upper is None or roles.lower or roles.upper or taken & {lower, upper}:
        return roles, ()
    said = f"ranges of withheld cells are read from {lower!r} and {upper!r}"
    return replace(roles, lower=lower, upper=upper), (said,)


def _flags(names: Sequence[str], roles: Roles) -> tuple[str, ...]:
    """Columns of flags of the cells, by their names."""
    assert roles.value is not None
    aside = {*(roles.by or ()), roles.value}
    return tuple(name for name in flags_of(names, roles.value) if name not in aside)


def _measures(left: Sequence[str], columns: Mapping[str, Any], told: Told) -> list[str]:
    """Columns of other numbers: the rest tells all rows apart without them."""
    kept = {name: _texts(columns[name]) for name in left}
    found: list[str] = []
    for name in reversed(left):
        if not _may_be_cells(columns[name], told) or _are_labels(name, columns[name]):
            continue
        rest = [column for other, column in kept.items() if other != name]
        if not rest or len({*zip(*rest, strict=True)}) < len(kept[name]):
            continue
        del kept[name]
        found.insert(0, name)
    return found


def _texts(column: Any) -> list[str]:
    return [sign_of(plain_item(item)) for item in column]


def _unclear(left: Sequence[str], numeric: Sequence[str], measures: Sequence[str]) -> str:
    """Say what the columns seem to hold, and how to say which are the cells and which codes."""
    value = argument("value", measures[-1]) if numeric else argument("value")
    codes = [name for name in left if not numeric or name not in measures]
    by = argument("by", codes, option=f"--by {shlex.quote(','.join(codes))}")
    texts = [name for name in left if name not in numeric]
    hold = f"{_listed(numeric)} hold numbers" if numeric else "none holds numbers"
    beside = f", {_listed(texts)} {'codes' if len(texts) > 1 else 'holds codes'}" if texts else ""
    return (
        f"it is not clear which column holds the cells: {hold}{beside if numeric else ''}; name it "
        f"with {value}" + (f", and the columns of codes with {by}" if numeric and codes else "")
    )


def _are_labels(name: str, column: Sequence[Any]) -> bool:
    """Whether numbers are labels: years by their header, or codes with leading zeros."""
    texts = [text for item in column[:5000] if (text := sign_of(plain_item(item)))]
    if not texts or not all(text.isdecimal() for text in texts):
        return False
    return are_years(texts, name) or any(text[0] == "0" and len(text) > 1 for text in texts)


def _may_be_cells(column: Sequence[Any], told: Told) -> bool:
    """Whether a column holds numbers, and beside them nothing but signs."""
    texts = [text for item in column[:5000] if (text := sign_of(item))]
    numbers = sum(read_entry(text, Convention()).is_number for text in texts)
    return 2 * numbers > len(texts) or (numbers > 0 and holds_cells(texts, told.signs))


def _doubles(left: Sequence[str], columns: Mapping[str, Any]) -> dict[str, str]:
    """Columns that say the same as another one, as names say what codes do, and which one is kept.

    That is the one in which a code has the name of a total, or the first.
    """
    codes = {name: [sign_of(item) for item in columns[name]] for name in left}
    found: dict[str, str] = {}
    for i, one in enumerate(left):
        for other in left[i + 1 :]:
            sizes = len({*codes[one]}), len({*codes[other]})
            pairs = len({*zip(codes[one], codes[other], strict=True)})
            if (
                one in found
                or other in found
                or not 1 < sizes[0] == sizes[1] == pairs < len(codes[one])
            ):
                continue
            named = any(map(is_total, {*codes[other]})) and not any(map(is_total, {*codes[one]}))
            found |= {one: other} if named else {other: one}
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
