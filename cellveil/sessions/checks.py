"""What the tables of a session must not be to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cellveil.crosstabs.crossing import Crossed
from cellveil.crosstabs.result import Crosstab
from csp.errors import InputError
from csp.exact import Bools
from csp.release.release import Release
from csp.responses import audited_together
from csp.rules import MinFrequency, Rule
from csp.rules.base import as_rule, parts_of
from csp.tables.codes import Labels, text_codes
from csp.tables.table import Table


def check_zeros(rules: Rule | str) -> None:
    """Refuse rules to which zeros are sensitive.

    Raises
    ------
    InputError
    """
    for part in parts_of(rules):
        if isinstance(part, MinFrequency) and part.zero_sensitive:
            msg = (
                "a session shows which cells have no record, in all of its tables; a rule to "
                "which zeros are sensitive needs a table of its own (cellveil.crosstab)"
            )
            raise InputError(msg)


def check_nesting(known: Mapping[str, list[str]], records: Crossed) -> dict[str, list[str]]:
    """Refuse dimensions of which one lies within another, or is not what it was before.

    Tables by both disclose each other's cells by difference, and linking does not see it.

    Parameters
    ----------
    known : mapping of str to list of str
        Codes of all records in the dimensions of the tables before.
    records : Crossed

    Returns
    -------
    dict of str to list of str
        The same, with the dimensions of this table.

    Raises
    ------
    InputError
        Naming both columns, and how to make one dimension of them.
    """
    seen = dict(known)
    for name in records.by:
        texts = text_codes(records.columns[name])
        if seen.setdefault(name, texts) != texts:
            msg = (
                f"{name!r} has other codes than in an earlier table of the session; two "
                "codings of one column disclose each other: use one, or a hierarchy of both"
            )
            raise InputError(msg)
    sizes = {name: len(set(texts)) for name, texts in seen.items()}
    for new in records.by:
        for old in seen:
            fine, coarse = (new, old) if sizes[new] >= sizes[old] else (old, new)
            pairs = len(set(zip(seen[fine], seen[coarse], strict=True)))
            if old != new and sizes[coarse] > 1 and pairs == sizes[fine] < len(seen[fine]):
                msg = (
                    f"each code of {fine!r} lies within one of {coarse!r}, so tables by both "
                    "disclose cells by difference; begin the session with hierarchies="
                    f"{{{fine!r}: Hierarchy.from_columns(data, [{coarse!r}, {fine!r}])}} and "
                    f"ask by {fine!r}: the codes of {coarse!r} are totals then"
                )
                raise InputError(msg)
    return seen


def check_options(own: Mapping[str, Any], told: Mapping[str, Any], folder: Path) -> None:
    """Refuse other options than those of the session that wrote a folder.

    Parameters
    ----------
    own, told : mapping of str to plain data
        Options of this session, and of that one.
    folder : Path

    Raises
    ------
    InputError
    """
    for name, value in own.items():
        if name in told and told[name] != value:
            shown = "none" if told[name] in (None, []) else repr(told[name])
            msg = (
                f"the session that wrote {str(folder)!r} had {shown} as {name}=; begin this "
                "one with the same, or its tables would be judged in another sense"
            )
            raise InputError(msg)


def judged_together(tables: Mapping[str, Crosstab]) -> dict[str, Crosstab]:
    """Tables with the intervals that follow from all of them, audited once more as one.

    Raises
    ------
    CellveilError
        If they are not safe together; nothing is written then.
    """
    found = {name: dict(one.protected) for name, one in tables.items()}
    for of in dict.fromkeys(of for one in found.values() for of in one):
        names = [name for name, one in found.items() if of in one]
        audited = audited_together([found[name][of] for name in names])
        for name, one in zip(names, audited, strict=True):
            found[name][of] = one
    return {name: replace(one, protected=found[name]) for name, one in tables.items()}


def check_words(rules: Rule | str) -> None:
    """Refuse rules that cannot be told in words, as a session with a folder tells them.

    Raises
    ------
    InputError
    """
    if not isinstance(rules, Rule):
        return
    try:
        same = as_rule(str(rules)) == rules
    except InputError:
        same = False
    if not same:
        msg = (
            "a session with a folder tells its rules in words, and these are functions or "
            "name single cells; give rules such as 'FREQ(10,10)', or leave the folder out"
        )
        raise InputError(msg)


def check_same_records(before: Bools, now: Bools) -> None:
    """Refuse a table of other records than the tables before.

    Parameters
    ----------
    before, now : (n,) bool
        Which records of the data are in a table.

    Raises
    ------
    InputError
    """
    if len(now) != len(before):
        msg = (
            f"this table is of {len(now):,} records and the others of {len(before):,}; a session "
            "is about one data set: give the condition as where=, so that it becomes a dimension"
        )
        raise InputError(msg)
    if (now != before).any():
        count = int((now != before).sum())
        msg = (
            f"{count:,} records are in this table and not in the others, or the other way "
            "round, since they lack a code or value; their difference is a table too. Begin "
            "the session with complete=[...] and all columns that records need, or give "
            "missing= a code for records that lack one"
        )
        raise InputError(msg)


def as_released(table: Table, release: Release | None, name: str) -> Release:
    """Release of a table by the pattern of an earlier one, which shows the same values.

    Raises
    ------
    InputError
        If the earlier release has other cells, or other values.
    """
    # Cells come in the order of categories, which files of the same data do not keep.
    places = Labels.of(() if release is None else release.labels).places
    at = places(Labels.of(table.labels))
    if release is None or len(release.labels) != len(at) or (at < 0).any():
        msg = f"{name!r} of the earlier session has other cells than these data; check data="
        raise InputError(msg)
    shown = Release.of(table, release.pattern[at])
    factor = 10 ** (shown.scale - release.scale) if shown.scale >= release.scale else 0
    if (shown.published != release.published[at] * factor).any():
        msg = (
            f"{name!r} of the earlier session shows other values than these data have; a new "
            "data set needs a folder of its own"
        )
        raise InputError(msg)
    return shown
