"""How the codes of one dimension of a published table add up: told, named, or found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.published.sums.of_which import OfWhich, beside_sums, of_which
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.totals import is_total

_LIKELY = re.compile(
    r"(?:all|alle|both|beide|whole|every|tous|toutes|todos|tutti)\b|tot\b|t$|tt$|.*\baltogether$",
    re.IGNORECASE,
)
"""How names of codes begin that may be totals: "All persons", but also "All other services"."""

LEAST = 3
"""Sums that must hold, and none fail, before codes are taken for parts of another by themselves."""

_MOST = 150
"""Codes up to which runs are tried: beyond, a hierarchy is not printed as a list."""

_SEVERAL = {"31": ("32", "33"), "44": ("45",), "48": ("49",)}
"""Sectors of NAICS that hold codes of several beginnings; files write them as "31----"."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """Codes of a dimension and what each is a part of.

    Attributes
    ----------
    codes : tuple of str
        In their order; those that no cell has may be among them.
    parent : (k,) int64
        Position of the code that each is a part of; -1 for none.
    rests : tuple of OfWhich
        Parts that are named without the others. Their rests are codes that the print does not have.
    """

    codes: tuple[str, ...]
    parent: Ints
    rests: tuple[OfWhich, ...] = ()

    @property
    def root(self) -> str:
        """The code that is the total of all; the empty text if there is none."""
        below = {i for one in self.rests for i in (*one.parts, one.rest)}
        tops = [i for i in np.flatnonzero(self.parent < 0).tolist() if i not in below]
        return self.codes[tops[0]] if len(tops) == 1 and len(self.codes) > 1 else ""


def _of(codes: Sequence[str], parents: Mapping[str, str]) -> Dimension:
    # Inner codes that the table does not have leave their parts to what is above them.
    inner = {above for above in parents.values() if above not in codes}

    def above(code: str) -> str | None:
        found = parents.get(code)
        while found in inner:
            found = parents.get(found)
        return found

    parents = {c: up for c in parents if c not in inner and (up := above(c)) is not None}
    known = [*dict.fromkeys([*codes, *parents])]
    place = {code: i for i, code in enumerate(known)}
    parent = np.array([place[parents[c]] if c in parents else -1 for c in known], np.int64)
    return Dimension(tuple(known), parent)


def with_rests(
    dimension: Dimension, n: int, above: Mapping[str, str],
    lines: tuple[Ints, Bools] | None, *, alone: bool,
) -> Dimension:  # fmt: skip
    """Add the rests of parts that are named without the others among the first `n` codes."""
    names, rests = of_which(
        dimension.codes[:n], dimension.parent[:n].tolist(), above, lines, alone=alone
    )
    if not rests:
        return dimension
    # Codes that only a hierarchy has lie between those of the table and the rests.
    shift = len(dimension.codes) - n
    moved = tuple(
        OfWhich(one.parts, one.whole, one.rest + (shift if one.rest >= n else 0)) for one in rests
    )
    parent = np.concatenate([dimension.parent, np.full(len(names), -1, np.int64)])
    return Dimension((*dimension.codes, *names), parent, moved)


def given(codes: Sequence[str], tree: Hierarchy, name: str, total: str | None) -> Dimension:
    """Dimension of a hierarchy, whose root may go by another name in the table.

    Raises
    ------
    InputError
        If a code of the table is not in the hierarchy.
    """
    root = tree.root
    named = total or next((c for c in codes if c not in tree.codes and is_total(c)), root)
    rename = {root: named} if root not in codes else {}
    parents = {
        rename.get(code, code): rename.get(tree.codes[p], tree.codes[p])
        for code, p in zip(tree.codes, tree.parent, strict=True)
        if p >= 0
    }
    known = {*parents, *parents.values()}
    strange = [code for code in codes if code not in known]
    if strange:
        msg = (
            f"code {strange[0]!r} of column {name!r} is not in its hierarchy"
            + (f" ({len(strange)} codes are not)" if len(strange) > 1 else "")
            + f"; add it, or say that it is the total with {argument('total', {name: strange[0]})}"
        )
        raise InputError(msg)
    if named not in codes:  # a total that the table does not have binds nothing
        parents = {code: above for code, above in parents.items() if above != named}
    return _of(codes, parents)


def flat(codes: Sequence[str], name: str, total: str | None) -> Dimension:
    """Dimension whose codes add up to the one that is named, or has the name of a total.

    Raises
    ------
    InputError
        If the total that is named is not there, or several codes have the name of one.
    """
    if total is not None and total not in codes:
        msg = f"the total {total!r} of column {name!r} does not occur; it has {_some(codes)}"
        raise InputError(msg)
    root = total or whole_of(codes)
    called = [code for code in codes if is_total(code)]
    if root is None and called:
        msg = (
            f"codes {called[0]!r} and {called[1]!r} of column {name!r} both have the name of a "
            "total; say which is the total of all with "
            f"{argument('total', {name: called[0]})}, or give a hierarchy"
        )
        raise InputError(msg)
    aside = beside_sums(codes)
    parts = [] if root is None else [c for c in codes if c != root and c not in aside]
    # One part beside a total is "of which", unless the caller names the total.
    parts = [] if total is None and len(parts) == 1 else parts
    return _of(codes, dict.fromkeys(parts, root or ""))


def whole_of(codes: Sequence[str]) -> str | None:
    """Return the code with the name of a total; of several the one of a single word, if any is."""
    called = [code for code in codes if is_total(code)]
    if len(called) > 1:
        called = [code for code in called if len(code.split()) == 1]
    return called[0] if len(called) == 1 else None


def likely_totals(codes: Sequence[str]) -> list[int]:
    """Positions of codes whose names are those of totals, or else may be."""
    called = [i for i, code in enumerate(codes) if is_total(code)]
    return called or [i for i, code in enumerate(codes) if _LIKELY.match(code.strip())]


def under(
    codes: Sequence[str], above: Mapping[str, str], name: str, total: str | None,
    ends: Collection[str] = (),
) -> Dimension:  # fmt: skip
    """Dimension of codes under headings; what has none above it adds up to the total.

    Headings among `ends` are sums even of one code.
    """
    tops = [code for code in dict.fromkeys([*codes, *above.values()]) if code not in above]
    root = total
    if ends and root is None:
        # What has parts is a total of these, not of all, whatever its name.
        root = whole_of([top for top in tops if top not in ends])
    top: dict[str, str] = {}
    if root is not None or not ends:
        whole = flat(tops, name, root)
        top = {
            whole.codes[i]: whole.codes[p] for i, p in enumerate(whole.parent.tolist()) if p >= 0
        }
    aside = beside_sums(codes)
    beside = Counter(above.values())
    parts = {
        code: up for code, up in above.items()
        if (beside[up] > 1 or up not in codes or up in ends) and code not in aside
    }  # fmt: skip
    return _of(codes, {**parts, **top})


def by_indents(codes: Sequence[str], indents: Sequence[int], total: str | None) -> Dimension | None:
    """Dimension of an indented list; None if nothing is indented."""
    if len(set(indents)) < 2:
        return None
    parents: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    whole = total or whole_of(codes)
    for code, depth in zip(codes, indents, strict=True):
        while above and (above[-1][0] >= depth or code == whole):  # the total is part of nothing
            above.pop()
        if above:
            parents[code] = above[-1][1]
        above.append((depth, code))
    aside = beside_sums(codes)
    single = Counter(parents.values())
    parents = {
        code: up for code, up in parents.items() if single[up] > 1 and code not in aside
    }  # fmt: skip
    lost = {
        code
        for code, depth in zip(codes, indents, strict=True)
        if depth > min(indents) and code != whole
    }
    tops = [code for code in codes if code not in parents and code not in lost | aside]
    # What has parts below it is a total of these, not of all.
    called = [code for code in tops if is_total(code) and code not in {*parents.values()}]
    root = whole or (called[0] if called else None)
    if root is not None:
        parents |= {code: root for code in tops if code != root}
    return _of(codes, parents)


def by_prefixes(codes: Sequence[str], total: str | None) -> Dimension | None:
    """Dimension whose codes lie below their longest prefix; None if no code is one.

    A range such as "31-33" is the prefix of what begins with 31, 32 or 33; fillers at the end
    ("11----", "44-45//") do not count. "31----" holds 32 and 33 as well, "44----" 45, "48----" 49.
    """
    plain = {code: code.rstrip("-/ .") or code for code in codes}
    starts: dict[str, str] = {}
    for code, text in plain.items():
        low, dash, high = text.partition("-")
        if dash and low.isdecimal() and high.isdecimal() and len(low) == len(high) < 4:
            starts |= {str(n).zfill(len(low)): code for n in range(int(low), int(high) + 1)}
        else:
            starts[text] = code
    for first, others in _SEVERAL.items():
        # Only where the filler shows that it is a sector, and the others have no row.
        if starts.get(first, "").endswith("-"):
            starts |= {other: starts[first] for other in others if other not in starts}
    root = total or next((code for code in codes if is_total(code)), None)
    parents: dict[str, str] = {}
    for code, text in plain.items():
        if code == root:
            continue
        for n in range(len(text) - 1, 0, -1):
            above = starts.get(text[:n])
            if above is not None and above not in (code, root):
                parents[code] = above
                break
    if not parents:
        return None
    if root is not None:
        parents |= {code: root for code in codes if code not in parents and code != root}
    return _of(codes, parents)


def checked_sums(dimension: Dimension, values: Ints, shown: Bools, slack: int) -> tuple[int, int]:
    """Count the sums of a dimension that can be checked, and those of them that do not hold.

    Parameters
    ----------
    dimension : Dimension
    values, shown : (k, lines) int64 and bool
        Of each code in all combinations of the other dimensions.
    slack : int
        By how much each number may be off.
    """
    k = len(values)
    checked = failed = 0
    for position in np.unique(dimension.parent[dimension.parent >= 0]).tolist():
        parts = np.flatnonzero(dimension.parent == position)
        if position >= k or (parts >= k).any():
            continue
        whole = shown[position] & shown[parts].all(axis=0)
        off = np.abs(values[parts].sum(axis=0) - values[position])
        checked += int(whole.sum())
        failed += int((off[whole] > slack * (len(parts) + 1)).sum())
    return checked, failed


def below(dimension: Dimension, root: str) -> Dimension:
    """Dimension in which all that is part of nothing is part of a root that holds nothing yet."""
    place = dimension.codes.index(root) if root in dimension.codes else -1
    aside = beside_sums(dimension.codes)
    free = [code not in aside and code != root for code in dimension.codes]
    if place < 0 or dimension.parent[place] >= 0 or (dimension.parent == place).any():
        return dimension
    parent = np.where((dimension.parent < 0) & free, place, dimension.parent)
    return Dimension(dimension.codes, parent, dimension.rests)


def only(dimension: Dimension, root: str) -> Dimension:
    """Dimension of the parts of one code alone."""
    place = dimension.codes.index(root)
    return Dimension(dimension.codes, np.where(dimension.parent == place, place, -1))


def exceeded(dimension: Dimension, values: Ints, shown: Bools, slack: int) -> bool:
    """Whether published parts of a sum are more than it, where none is negative.

    Parameters
    ----------
    dimension, values, shown, slack
        As for `checked_sums`.
    """
    k = len(values)
    for position in np.unique(dimension.parent[dimension.parent >= 0]).tolist():
        parts = np.flatnonzero(dimension.parent[:k] == position)
        if position < k:
            over = (values * shown)[parts].sum(axis=0) - values[position]
            off = slack * (shown[parts].sum(axis=0) + 1)
            if (over > off)[shown[position]].any():
                return True
    return False


def found(
    codes: Sequence[str], values: Ints, shown: Bools, slack: int,
    likely: Collection[int] = (), least: int = LEAST,
) -> tuple[Dimension, int] | None:  # fmt: skip
    """Find totals by adding up runs of neighbours; None if there are none.

    A code is the total of the codes right before or right after it if that holds wherever all of
    them are published, in `least` lines or more of which not all are 0. Of several, the longest run
    counts. Runs are nested or apart, as in a printed table. One line is enough for the positions of
    codes that are `likely` to be totals by their names.

    Returns
    -------
    Dimension, int
        And how many sums support it.
    """
    k = len(codes)
    if k > _MOST:
        return None
    parents: dict[int, int] = {}
    support = 0

    def tops(indices: Sequence[int]) -> list[int]:
        return [i for i in indices if i not in parents]

    # Short runs first, and again after each find, so that a total of subtotals finds these alone.
    length = 2
    while length < k:
        parts, position, sums_held = _run(
            values, shown, tops, parents, length, slack, likely, least
        )
        if parts:
            parents |= dict.fromkeys(parts, position)
            support += sums_held
            length = 2
        else:
            length += 1
    if not parents:
        return None
    named = {codes[i]: codes[p] for i, p in parents.items()}
    return _of(codes, named), support


def _run(
    values: Ints, shown: Bools, tops: Callable[[Sequence[int]], list[int]],
    parents: Mapping[int, int], length: int, slack: int, likely: Collection[int], least: int,
) -> tuple[list[int], int, int]:  # fmt: skip
    """Find a code that is the sum of so many neighbours; no parts if there is none."""
    k = len(values)
    for position in range(k):
        if position in parents.values():
            continue
        top = position
        while top in parents:
            top = parents[top]
        after = tops(range(position + 1, k))[:length]
        before = tops(range(position - 1, -1, -1))[:length]
        for parts in (after, before):
            if len(parts) < length or top in parts:
                continue
            whole = shown[position] & shown[parts].all(axis=0)
            telling = whole & (values[position] != 0)
            off = np.abs(values[parts].sum(axis=0) - values[position])
            needed = 1 if position in likely else least
            if int(telling.sum()) < needed or (off[whole] > slack * (length + 1)).any():
                continue
            # Where one part is all there is, equality says little.
            if int((values[parts] != 0).sum(axis=0)[telling].max(initial=0)) >= 2:
                return parts, position, int(whole.sum())
    return [], -1, 0


def _some(codes: Sequence[str]) -> str:
    return ", ".join(map(repr, codes[:8])) + (" and others" if len(codes) > 8 else "")
