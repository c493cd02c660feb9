"""How the codes of a published table add up: as told, as printed, or as found within it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.published.sums import adding_up
from csp.published.sums import dimensions as ways
from csp.published.sums.dimensions import Dimension
from csp.published.told import Told
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.totals import is_total

_BETTER = 4
"""How many times smaller the squares by which sums are off must be to take another reading."""

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
        column = _Column(name, codes[d], told, printed, cube.lines(d), cube.slack, notes)
        made = _asked(column)
        if made is None:
            made = _found(column)
            if told.absent != "zero":  # where a row that is missing is 0, so would the rest be
                made = _with_rests(column, made)
            if column.lines is not None and (made.parent < 0).all() and not made.rests:
                _say_what_may_be_whole(column, *column.lines)
        found.append(made)
    return found


_Lines = tuple[Ints, Bools]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One dimension: what is told, printed and published of its codes, and notes of what is found.

    Of the lines are values and whether they are published, (codes, lines); None if they are not
    looked at. A sum may be off by `slack`.
    """

    name: str
    codes: tuple[str, ...]
    told: Told
    printed: Printed
    lines: _Lines | None
    slack: int
    notes: list[str]

    @property
    def total(self) -> str | None:
        return self.told.total_of(self.name, self.codes)

    def say(self, words: str) -> None:
        """Note what was found of the column."""
        self.notes.append(f"{self.name}: {words}")

    def checked(self, dimension: Dimension) -> tuple[int, int]:
        """Count the published sums of a dimension that hold, and those that fail."""
        return (
            (0, 0)
            if self.lines is None
            else adding_up.checked_sums(dimension, *self.lines, self.slack)
        )

    def held(self, dimension: Dimension) -> int:
        """Count the published sums of a dimension, 0 if one fails or is exceeded."""
        good, bad = self.checked(dimension)
        return 0 if bad or self.exceeded(dimension) else good

    def exceeded(self, dimension: Dimension) -> bool:
        """Whether published parts of a sum are more than it, and none can be negative."""
        return (
            self.lines is not None and self.told.negative != "allow"
            and adding_up.exceeded(dimension, *self.lines, self.slack)
        )  # fmt: skip

    def sums_found(self, likely: Sequence[int] = ()) -> tuple[Dimension, int] | None:
        """Find sums by trying, and how many lines support them; see `adding_up.found`."""
        return (
            None
            if self.lines is None
            else adding_up.found(self.codes, *self.lines, self.slack, likely)
        )


def _asked(column: _Column) -> Dimension | None:
    """Dimension as the caller asks for it; None if he does not."""
    name, codes, total = column.name, column.codes, column.total
    tree = (column.told.hierarchies or {}).get(name)
    if isinstance(tree, Hierarchy):
        return ways.given(codes, tree, name, total)
    if tree == "prefix":
        made = ways.by_prefixes(codes, total)
        if made is None:
            msg = f"no code of column {name!r} is the beginning of another one"
            raise InputError(msg)
        return made
    if tree == "found":
        seen = column.sums_found(ways.likely_totals(codes))
        if seen is None:
            msg = f"no code of column {name!r} is found to be the sum of codes beside it"
            raise InputError(msg)
        column.say(f"{_sums(seen[0])}, which {seen[1]} published sums support")
        return seen[0]
    if tree is not None:
        msg = f"the hierarchy of {name!r} must be a Hierarchy, 'prefix' or 'found', not {tree!r}"
        raise InputError(msg)
    return None


def _found(column: _Column) -> Dimension:
    """Dimension as it is printed, or as sums within the table show where that does not add up."""
    name, codes, total = column.name, column.codes, column.total
    above, indents = column.printed.parents.get(name), column.printed.indents.get(name)
    if not above and not indents and not isinstance(column.told.total, Mapping):
        named = _by_names(column)
        if named is not None:
            return named
    plain = None
    if above:
        ends = column.printed.ends.get(name, ())
        plain = ways.under(codes, above, name, total, ends)
        if ends:  # a row that says that it is a sum, and is not, is a fault of the table
            return plain
    elif indents:
        depths = [indents.get(code, 0) for code in codes]
        plain = _indented_whole(column, depths) if total is None else None
        plain = plain or ways.by_indents(codes, depths, total)
    plain = plain or ways.flat(codes, name, total)
    if column.lines is None:
        return plain
    checked, failed = column.checked(plain)
    if checked and not failed:
        return _closer(column, plain) or plain
    # Sums that do not hold, or that nothing shows: codes may be parts of each other. What codes say
    # of themselves needs fewer sums than what is found by trying.
    for why, other, least in _others(column, _tried(column, plain)):
        good = column.held(other)
        if good >= least:
            column.say(f"{why} ({_sums(other)}), which {_supported(good)}")
            if plain.root in codes and not (other.parent == other.codes.index(plain.root)).any():
                column.say(
                    f"no sum shows what {plain.root!r} holds; it binds nothing without a hierarchy"
                )
            return other
    if not checked and (plain.parent >= 0).any():
        column.say(f"no published sum shows whether {_sums(plain)}")
    return plain


def _others(column: _Column, tried: Sequence[Dimension]) -> list[tuple[str, Dimension, int]]:
    """List readings beside the plain one: why, and how many sums must hold for each."""
    nested = ways.by_prefixes(column.codes, column.total)
    why = "codes begin with the code that they are a part of"
    return [
        *([] if nested is None else [(why, nested, 1)]),
        *(("totals are found by adding up", one, adding_up.LEAST) for one in tried),
    ]


def _tried(column: _Column, plain: Dimension) -> list[Dimension]:
    """Find readings by adding up that may take the place of the plain one, the best first."""
    found = (column.sums_found() or (None,))[0]
    if found is None:
        return []
    nested = ways.below(found, plain.root)
    _, failed = column.checked(plain)
    if failed or plain.root not in column.codes or column.exceeded(plain):
        return [nested, found]
    # Nothing speaks against the total that the names state. Sums of small or rounded numbers may
    # hold by chance, and in place of what binds all codes make everything look safer than it is.
    good, bad = column.checked(ways.only(nested, plain.root))
    return [nested] if good and not bad and not column.slack else []


def _closer(column: _Column, plain: Dimension) -> Dimension | None:
    """Find a reading that rounded numbers fit far better than the plain one, which they allow.

    Many numbers may be off by more than all of them are worth: small ones fit anything.
    """
    lines, slack = column.lines, column.slack
    if lines is None or not slack:
        return None
    apart = adding_up.misfit(plain, *lines)
    if apart <= slack**2 / 2:  # rounding to multiples, also at random, leaves a third at most
        return None
    found = (column.sums_found() or (None,))[0]
    for why, other, _ in _others(column, [] if found is None else [ways.below(found, plain.root)]):
        enough = column.held(other) >= adding_up.LEAST
        if enough and _BETTER * adding_up.misfit(other, *lines) < apart:
            column.say(f"{why} ({_sums(other)}), which rounded numbers fit better")
            return other
    return None


def _say_what_may_be_whole(column: _Column, values: Ints, shown: Bools) -> None:
    """Note that the last or first code may be the total: too few lines show it to be taken."""
    k = len(column.codes)
    for i in (k - 1, 0) if k > 2 else ():
        parts = [j for j in range(k) if j != i]
        whole = shown.all(axis=0) & ((values[parts] != 0).sum(axis=0) > 1)
        off = np.abs(values[parts].sum(axis=0) - values[i])[whole]
        if whole.any() and (off <= column.slack * k).all():
            few = int(whole.sum())
            where = "the line that is" if few == 1 else f"the {few} lines that are"
            column.say(
                f"{column.codes[i]!r} is the sum of all others in {where} published whole; if it "
                "is their total, name it as the total"
            )
            return


def _indented_whole(column: _Column, depths: Sequence[int]) -> Dimension | None:
    """Read an indented list in which "All firms" is the total of all, if a sum shows that it is."""
    codes = column.codes
    if column.lines is None or any(map(is_total, codes)):
        return None
    for i in ways.likely_totals(codes):
        made = ways.by_indents(codes, depths, codes[i])
        if depths[i] > min(depths) or made is None or made.root != codes[i]:
            continue
        top = Dimension(made.codes, np.where(made.parent == i, i, -1))
        good, bad = column.checked(top)
        if good and not bad:
            column.say(
                f"{codes[i]!r} by the name may be a total; {_sums(top)}, which {_supported(good)}"
            )
            return made
    return None


def _with_rests(column: _Column, made: Dimension) -> Dimension:
    """Add the rests of parts that are named without the others, and say so."""
    n = len(column.codes)
    above = dict(column.printed.parents.get(column.name, {}))
    indents = column.printed.indents.get(column.name, {})
    last: dict[int, str] = {}
    for code in made.codes[:n] if indents else ():
        depth = indents.get(code, 0)
        last = {k: up for k, up in last.items() if k < depth}
        if last:
            above.setdefault(code, last[max(last)])
        last[depth] = code
    made = ways.with_rests(made, n, above, column.lines, alone=column.told.exact)
    shown = [
        f"{made.codes[one.whole]} = {' + '.join(made.codes[i] for i in (*one.parts, one.rest))}"
        for one in made.rests
    ]
    if shown:
        few = "a part is" if len(shown) == 1 else "parts are"
        more = "; and others" if len(shown) > 3 else ""
        column.say(f"{few} named without the rest, so {'; '.join(shown[:3])}{more}")
    return made


def _by_names(column: _Column) -> Dimension | None:
    """Read codes whose names say that they may be totals as such, where sums show of what.

    None if one code at most has the name of a total and that is plain, or nothing shows what it is.

    Raises
    ------
    InputError
        If several codes have the name of a total and no sum shows what they hold.
    """
    name, codes, lines = column.name, column.codes, column.lines
    likely = ways.likely_totals(codes)
    sure = any(map(is_total, codes))
    if not likely or (sure and len(likely) == 1):
        return None
    names = " and ".join(repr(codes[i]) for i in likely[:3])
    root = (
        column.total or ways.whole_of(codes)
        if sure
        else codes[likely[0]]
        if len(likely) == 1
        else None
    )
    flat = None if root is None else ways.flat(codes, name, root)
    if lines is None:
        return flat if sure else None
    seen = (column.sums_found(likely) or (None,))[0]
    tried = [
        one for one in (flat if not sure else None, seen, flat, _whole_tree(codes, likely, lines))
        if one is not None
    ]  # fmt: skip
    for one in tried:
        good, bad = column.checked(one)
        tops = {*one.parent[one.parent >= 0].tolist()}
        # Each is the total of something, or the sums show that it is a part as it stands.
        if good and not bad and (tops.issuperset(likely) or one is flat):
            column.say(
                f"{names} by the name may be a total; {_sums(one)}, which {_supported(good)}"
            )
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
    _, failed = (0, 0) if flat is None else column.checked(flat)
    if not failed:
        column.say(
            f"{names} may be a total, but no published sum shows it; if it is, name it as the total"
        )
    return None


def _whole_tree(codes: tuple[str, ...], likely: Sequence[int], lines: _Lines) -> Dimension | None:
    """Find sums in two lines each that make all codes parts of one with the name of a total.

    Each alone might be chance; that they leave no code over, at every level, is not.
    """
    made = (adding_up.found(codes, *lines, 0, likely, least=2) or (None,))[0]
    if made is None or made.root not in {codes[i] for i in likely}:
        return None
    good, bad = adding_up.checked_sums(made, *lines, 0)
    return made if good >= 2 * adding_up.LEAST and not bad else None


def _supported(count: int) -> str:
    return f"{count} published {'sum supports' if count == 1 else 'sums support'}"


def _sums(dimension: Dimension) -> str:
    """Say which codes are sums, the first few."""
    tops = np.unique(dimension.parent[dimension.parent >= 0]).tolist()
    shown = []
    for top in tops[:3]:
        parts = [dimension.codes[i] for i in np.flatnonzero(dimension.parent == top).tolist()]
        some = " + ".join(parts[:4]) + (" + ..." if len(parts) > 4 else "")
        shown.append(f"{dimension.codes[top]} = {some}")
    return "; ".join(shown) + ("; and others" if len(tops) > 3 else "")
