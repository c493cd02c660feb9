"""How the codes of a published table add up: as told, as printed, or as found within it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.published.sums import dimensions as ways
from csp.published.sums.dimensions import Dimension, checked_sums
from csp.published.told import Told
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.totals import is_total

_LOOKED_AT = 5_000_000
"""Cells of a cube up to which sums are looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Printed:
    """What the print of a table shows of its codes, by dimension.

    Attributes
    ----------
    indents : mapping of str to mapping of str to int
        How far codes are indented.
    parents : mapping of str to mapping of str to str
        Headings under which codes stand.
    ends : mapping of str to collection of str
        Those of them that stand below their parts, as "Zusammen" does: sums, even of one part.
    """

    indents: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    parents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ends: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """Published numbers by code and line, to look for sums among them."""

    at: Ints
    shape: tuple[int, ...]
    units: Ints
    shown: Bools
    slack: int

    def lines(self, d: int) -> tuple[Ints, Bools] | None:
        """Values and whether they are published, (codes, lines); None if it is too large."""
        if prod(self.shape) > _LOOKED_AT:
            return None
        values, shown = np.zeros(self.shape, np.int64), np.zeros(self.shape, bool)
        values[tuple(self.at.T)] = self.units
        shown[tuple(self.at.T)] = self.shown
        k = self.shape[d]
        return (
            np.moveaxis(values, d, 0).reshape(k, -1),
            np.moveaxis(shown, d, 0).reshape(k, -1),
        )


def structure(
    names: Sequence[str], codes: Sequence[tuple[str, ...]], told: Told, printed: Printed,
    cube: Cube, notes: list[str],
) -> list[Dimension]:  # fmt: skip
    """Say how the codes of each dimension add up: as told, as printed, or as found, which is noted.

    Parameters
    ----------
    names : sequence of str
    codes : sequence of tuple of str
        Codes of each dimension, in their order.
    told : Told
    printed : Printed
    cube : Cube
    notes : list of str
        Gets what was found.

    Raises
    ------
    InputError
        For a hierarchy that does not fit, or that is to be found and is not there.
    """
    found = []
    for d, name in enumerate(names):
        lines = cube.lines(d)
        made = _asked(name, codes[d], told, lines, cube.slack, notes)
        if made is None:
            made = _found(name, codes[d], told, printed, lines, cube.slack, notes)
            if told.absent != "zero":  # where a row that is missing is 0, so would the rest be
                made = _with_rests(name, made, len(codes[d]), told, printed, lines, notes)
            if lines is not None and (made.parent < 0).all() and not made.rests:
                notes += _may_be_whole(name, codes[d], *lines, cube.slack)
        found.append(made)
    return found


_Lines = tuple[Ints, Bools]


def _asked(
    name: str, codes: tuple[str, ...], told: Told, lines: _Lines | None, slack: int,
    notes: list[str],
) -> Dimension | None:  # fmt: skip
    """Dimension as the caller asks for it; None if he does not."""
    tree = (told.hierarchies or {}).get(name)
    total = told.total_of(name, codes)
    if isinstance(tree, Hierarchy):
        return ways.given(codes, tree, name, total)
    if tree == "prefix":
        made = ways.by_prefixes(codes, total)
        if made is None:
            msg = f"no code of column {name!r} is the beginning of another one"
            raise InputError(msg)
        return made
    if tree == "found":
        likely = ways.likely_totals(codes)
        seen = None if lines is None else ways.found(codes, *lines, slack, likely)
        if seen is None:
            msg = f"no code of column {name!r} is found to be the sum of codes beside it"
            raise InputError(msg)
        notes.append(f"{name}: {_sums(seen[0])}, which {seen[1]} published sums support")
        return seen[0]
    if tree is not None:
        msg = f"the hierarchy of {name!r} must be a Hierarchy, 'prefix' or 'found', not {tree!r}"
        raise InputError(msg)
    return None


def _found(
    name: str, codes: tuple[str, ...], told: Told, printed: Printed, lines: _Lines | None,
    slack: int, notes: list[str],
) -> Dimension:  # fmt: skip
    """Dimension as it is printed, or as sums within the table show where that does not add up."""
    total = told.total_of(name, codes)
    above, indents = printed.parents.get(name), printed.indents.get(name)
    if not above and not indents and not isinstance(told.total, Mapping):
        named = _by_names(name, codes, total, lines, slack, notes)
        if named is not None:
            return named
    plain = None
    if above:
        ends = printed.ends.get(name, ())
        plain = ways.under(codes, above, name, total, ends)
        if ends:  # a row that says that it is a sum, and is not, is a fault of the table
            return plain
    elif indents:
        depths = [indents.get(code, 0) for code in codes]
        plain = _indented_whole(name, codes, depths, lines, slack, notes) if total is None else None
        plain = plain or ways.by_indents(codes, depths, total)
    plain = plain or ways.flat(codes, name, total)
    if lines is None:
        return plain
    checked, failed = checked_sums(plain, *lines, slack)
    if checked and not failed:
        return plain
    # Sums that do not hold: codes may be parts of each other.
    found = (ways.found(codes, *lines, slack) or (None,))[0]
    # What codes say of themselves needs fewer sums than what is found by trying.
    others = [
        ("codes begin with the code that they are a part of", ways.by_prefixes(codes, total), 1),
        ("totals are found by adding up", found, ways.LEAST),
    ]
    for why, other, least in others:
        if other is None:
            continue
        good, bad = checked_sums(other, *lines, slack)
        if good >= least and not bad:
            parts = f"{good} published {'sum supports' if good == 1 else 'sums support'}"
            notes.append(f"{name}: {why} ({_sums(other)}), which {parts}")
            return other
    if not checked and (plain.parent >= 0).any():
        notes.append(f"{name}: no published sum shows whether {_sums(plain)}")
    return plain


def _may_be_whole(
    name: str, codes: tuple[str, ...], values: Ints, shown: Bools, slack: int,
) -> list[str]:  # fmt: skip
    """Say that the last or first code may be the total: too few lines show it to be taken."""
    k = len(codes)
    for i in (k - 1, 0) if k > 2 else ():
        parts = [j for j in range(k) if j != i]
        whole = shown.all(axis=0) & ((values[parts] != 0).sum(axis=0) > 1)
        off = np.abs(values[parts].sum(axis=0) - values[i])[whole]
        if whole.any() and (off <= slack * k).all():
            few = int(whole.sum())
            where = "the line that is" if few == 1 else f"the {few} lines that are"
            return [
                f"{name}: {codes[i]!r} is the sum of all others in {where} published whole; if it "
                "is their total, name it as the total"
            ]
    return []


def _indented_whole(
    name: str, codes: tuple[str, ...], depths: Sequence[int], lines: _Lines | None, slack: int,
    notes: list[str],
) -> Dimension | None:  # fmt: skip
    """Read an indented list in which "All firms" is the total of all, if a sum shows that it is."""
    if lines is None or any(map(is_total, codes)):
        return None
    for i in ways.likely_totals(codes):
        made = ways.by_indents(codes, depths, codes[i])
        if depths[i] > min(depths) or made is None or made.root != codes[i]:
            continue
        top = Dimension(made.codes, np.where(made.parent == i, i, -1))
        good, bad = checked_sums(top, *lines, slack)
        if good and not bad:
            support = "sum supports" if good == 1 else "sums support"
            notes.append(
                f"{name}: {codes[i]!r} by the name may be a total; {_sums(top)}, which {good} "
                f"published {support}"
            )
            return made
    return None


def _with_rests(
    name: str, made: Dimension, n: int, told: Told, printed: Printed, lines: _Lines | None,
    notes: list[str],
) -> Dimension:  # fmt: skip
    """Add the rests of parts that are named without the others, and say so."""
    above = dict(printed.parents.get(name, {}))
    indents = printed.indents.get(name, {})
    last: dict[int, str] = {}
    for code in made.codes[:n] if indents else ():
        depth = indents.get(code, 0)
        last = {k: up for k, up in last.items() if k < depth}
        if last:
            above.setdefault(code, last[max(last)])
        last[depth] = code
    made = ways.with_rests(made, n, above, lines, alone=told.exact)
    shown = [
        f"{made.codes[one.whole]} = {' + '.join(made.codes[i] for i in (*one.parts, one.rest))}"
        for one in made.rests
    ]
    if shown:
        few = "a part is" if len(shown) == 1 else "parts are"
        more = "; and others" if len(shown) > 3 else ""
        notes.append(f"{name}: {few} named without the rest, so {'; '.join(shown[:3])}{more}")
    return made


def _by_names(
    name: str, codes: tuple[str, ...], total: str | None, lines: _Lines | None, slack: int,
    notes: list[str],
) -> Dimension | None:  # fmt: skip
    """Read codes whose names say that they may be totals as such, where sums show of what.

    None if one code at most has the name of a total and that is plain, or nothing shows what it is.

    Raises
    ------
    InputError
        If several codes have the name of a total and no sum shows what they hold.
    """
    likely = ways.likely_totals(codes)
    sure = any(map(is_total, codes))
    if not likely or (sure and len(likely) == 1):
        return None
    names = " and ".join(repr(codes[i]) for i in likely[:3])
    root = total or ways.whole_of(codes) if sure else codes[likely[0]] if len(likely) == 1 else None
    flat = None if root is None else ways.flat(codes, name, root)
    if lines is None:
        return flat if sure else None
    seen = (ways.found(codes, *lines, slack, likely) or (None,))[0]
    tried = [
        one for one in (flat if not sure else None, seen, flat, _whole_tree(codes, likely, lines))
        if one is not None
    ]  # fmt: skip
    for one in tried:
        good, bad = checked_sums(one, *lines, slack)
        tops = {*one.parent[one.parent >= 0].tolist()}
        # Each is the total of something, or the sums show that it is a part as it stands.
        if good and not bad and (tops.issuperset(likely) or one is flat):
            parts = f"{good} published {'sum supports' if good == 1 else 'sums support'}"
            notes.append(f"{name}: {names} by the name may be a total; {_sums(one)}, which {parts}")
            return one
    if sure:
        mend = argument("total", {name: root or codes[likely[0]]})
        msg = (
            f"codes {names} of column {name!r} have the names of totals, and no published sum "
            f"shows which codes each of them holds; say {mend} if that is the total of all and the "
            "others are categories, or give a hierarchy with "
            + argument("hierarchies", option=f"--hierarchy {name}=FILE")
        )
        raise InputError(msg)
    _, failed = (0, 0) if flat is None else checked_sums(flat, *lines, slack)
    if not failed:
        notes.append(
            f"{name}: {names} may be a total, but no published sum shows it; if it is, name it as "
            "the total"
        )
    return None


def _whole_tree(codes: tuple[str, ...], likely: Sequence[int], lines: _Lines) -> Dimension | None:
    """Find sums in two lines each that make all codes parts of one with the name of a total.

    Each alone might be chance; that they leave no code over, at every level, is not.
    """
    made = (ways.found(codes, *lines, 0, likely, least=2) or (None,))[0]
    if made is None or made.root not in {codes[i] for i in likely}:
        return None
    good, bad = checked_sums(made, *lines, 0)
    return made if good >= 2 * ways.LEAST and not bad else None


def _sums(dimension: Dimension) -> str:
    """Say which codes are sums, the first few."""
    tops = np.unique(dimension.parent[dimension.parent >= 0]).tolist()
    shown = []
    for top in tops[:3]:
        parts = [dimension.codes[i] for i in np.flatnonzero(dimension.parent == top).tolist()]
        some = " + ".join(parts[:4]) + (" + ..." if len(parts) > 4 else "")
        shown.append(f"{dimension.codes[top]} = {some}")
    return "; ".join(shown) + ("; and others" if len(tops) > 3 else "")
