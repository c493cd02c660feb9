"""How the codes of one dimension of a published table add up: told, named, or found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
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


def parts_of(codes: Sequence[str], parents: Mapping[str, str]) -> Dimension:
    """Dimension of codes and what each is a part of, by their names."""
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
    return parts_of(codes, parents)


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
    return parts_of(codes, dict.fromkeys(parts, root or ""))


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
    return parts_of(codes, {**parts, **top})


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
    return parts_of(codes, parents)


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
    return parts_of(codes, parents)


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


def _some(codes: Sequence[str]) -> str:
    return ", ".join(map(repr, codes[:8])) + (" and others" if len(codes) > 8 else "")
