"""The dimensions of a table whose labels do not show them, recognised by its relations.

Labels of a table from a file are often mere numbers. Its relations still lie in a grid: if an inner
cell is a part of one relation along activity and of one along region, the two totals are parts of
two more relations that meet in the total of all, and the four relations are the sides of a *quad*.
Opposite sides of a quad run along the same dimension and adjacent ones along different dimensions.
So quads sort relations into classes of parallel ones (those of one code at all codes of the other
dimensions), and classes into dimensions: where the total of one class is a part in another, or both
have a part in common, and no quad has shown the two to be orthogonal, they belong to one hierarchy.
The code of a cell in a dimension is what the relations of all other dimensions leave alone.

In a table with all margins whose dimensions are trees of codes this finds the dimensions exactly;
cells may be missing as long as the margins of each cell that is there are there too. Two relations
that run along the same dimension at the same place may form a quad only if a code has two parents.
Whatever the classes are, the result is checked against every relation before it is used.
"""

from __future__ import annotations

from itertools import count

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from csp.attacker.view import positions
from csp.exact import Bools, Ints

# More dimensions than any table has; a set of relations that seems to have more is not a grid.
_MOST = 16

Whole = Ints


def recognised_codes(relations: csr_array) -> Whole | None:
    """Codes of all cells in the dimensions that the relations show.

    Parameters
    ----------
    relations : (m, n) csr_array of int64
        As in a table.

    Returns
    -------
    (n, d) int64, or None
        Each relation has one code throughout in all dimensions but one, and in that one as many
        codes as cells; no two cells have the same codes; no code is an ancestor of itself. None if
        the relations are not all sums, or show no two dimensions.
    """
    coefficients, sizes = relations.data, np.diff(relations.indptr)
    row = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    is_total = coefficients == -1
    if (
        not len(sizes)
        or (np.abs(coefficients) != 1).any()
        or (sizes < 2).any()
        or (np.bincount(row[is_total], minlength=len(sizes)) != 1).any()
    ):
        return None
    sums = _Sums(relations)
    dimension = _dimensions(sums)
    d = int(dimension.max()) + 1
    if d > _MOST:
        return None
    while d > 1 and (clash := _clash(sums, dimension, d)) is not None:
        # Two classes taken for orthogonal were not: codes with several parents make such quads.
        dimension[dimension == clash[1]] = clash[0]
        dimension[dimension > clash[1]] -= 1
        d -= 1
    if d < 2:
        return None
    codes = np.stack([sums.codes(dimension != k) for k in range(d)], axis=1)
    if len(np.unique(codes, axis=0)) < len(codes):
        return None
    return codes if all(_is_order(sums, dimension == k, codes[:, k]) for k in range(d)) else None


class _Sums:
    """Relations that are sums, each once, as pairs of a part and its relation.

    Attributes
    ----------
    total : (m,) int64
        Cell that each relation adds up to.
    part, of : (k,) int64
        Cell and relation of every part, by cell.
    first : (n + 1,) int64
        Where the parts that are each cell begin.
    overlapping : (2, p) int64
        Pairs of relations with more than one cell in common.
    """

    def __init__(self, relations: csr_array) -> None:
        m, self.n = relations.shape
        # Linked tables state what they share several times. By 62 random bits no two relations are
        # taken for one; if they were, the reader of trees from the codes would notice.
        weight = np.random.default_rng(0).integers(1, 2**62, self.n)
        _, once = np.unique(relations @ weight, return_index=True)
        if len(once) < m:
            relations = csr_array(relations[np.sort(once)])
        self.m = relations.shape[0]
        row = np.repeat(np.arange(self.m, dtype=np.int64), np.diff(relations.indptr))
        cell = relations.indices.astype(np.int64)
        is_total = relations.data < 0
        self.total = np.empty(self.m, np.int64)
        self.total[row[is_total]] = cell[is_total]
        order = np.argsort(cell[~is_total], kind="stable")
        self.part, self.of = cell[~is_total][order], row[~is_total][order]
        self.first = np.searchsorted(self.part, np.arange(self.n + 1))
        common = coo_array(abs(relations) @ abs(relations).T)
        several = (common.data > 1) & (common.row < common.col)
        self.overlapping = np.stack([common.row[several], common.col[several]]).astype(np.int64)

    def containing(self, cells: Whole) -> tuple[Whole, Whole]:
        """Relations that some cells are parts of, and the position of the cell of each."""
        at, which = positions(self.first[cells], self.first[cells + 1])
        return self.of[at], which

    def codes(self, rows: Bools) -> Whole:
        """Give cells that some of the relations join the same number."""
        inside = rows[self.of]
        return _joined(self.n, self.part[inside], self.total[self.of[inside]])

    def clashes(self, rows: Bools) -> int:
        """How often a relation of these has two cells that the others join."""
        code = self.codes(~rows)
        inside = np.flatnonzero(rows)
        parts = rows[self.of]
        keys = np.concatenate(
            [self.of[parts] * self.n + code[self.part[parts]],
             inside * self.n + code[self.total[inside]]]
        )  # fmt: skip
        return len(keys) - len(np.unique(keys))


def _quads(sums: _Sums) -> tuple[Whole, Whole, Whole, Whole]:
    """Sides r, s, r', s' of all quads with a total at each of three corners: r opposite r'.

    A cell is a part of r and of s, the total of r is a part of s', that of s a part of r', and r'
    and s' have the same total.
    """
    m, n = sums.m, sums.n
    overlapping = np.sort(sums.overlapping[0] * m + sums.overlapping[1])

    def meet_once(a: Whole, b: Whole) -> Bools:
        keys = np.minimum(a, b) * m + np.maximum(a, b)
        found = np.searchsorted(overlapping, keys)
        apart = np.append(overlapping, -1)[found] != keys
        return np.asarray(apart & (a != b))

    s, which = sums.containing(sums.part)
    r = sums.of[which]
    keep = (r < s) & meet_once(r, s)
    r, s = r[keep], s[keep]
    across, which = sums.containing(sums.total[r])
    r, s = r[which], s[which]
    # Relations by part and total: those from the total of s to the total of s'.
    key = sums.part * n + sums.total[sums.of]
    order = np.argsort(key, kind="stable")
    wanted = sums.total[s] * n + sums.total[across]
    ends = (np.searchsorted(key[order], wanted, side) for side in ("left", "right"))
    at, which = positions(*ends)
    along, r, s, across = sums.of[order[at]], r[which], s[which], across[which]
    keep = meet_once(r, across) & meet_once(s, along) & meet_once(along, across)
    keep &= (along != r) & (across != s)
    return r[keep], s[keep], along[keep], across[keep]


def _dimensions(sums: _Sums) -> Whole:
    """Dimension of each relation as far as quads and levels show it."""
    r, s, along, across = _quads(sums)
    # Relations along different dimensions have no two cells in common.
    joined = np.stack([np.concatenate([r, s]), np.concatenate([along, across])])
    kind = _joined(sums.m, *np.concatenate([joined, sums.overlapping], axis=1))
    # A code and what it is split into come before codes that have a part in common.
    higher, below = sums.containing(sums.total)
    other, which = sums.containing(sums.part)
    links = [_often(kind[below], kind[higher]), _often(kind[sums.of[which]], kind[other])]
    against: list[set[int]] = [set() for _ in range(int(kind.max()) + 1)]
    for a, b in np.unique(np.stack([kind[r], kind[s]]), axis=1).T.tolist():
        if a != b:
            against[a].add(b)
            against[b].add(a)
    of = list(range(len(against)))
    for one, two in (pair for some in links for pair in some):
        a, b = _root(of, one), _root(of, two)
        if a == b or b in against[a]:
            continue
        if len(against[a]) < len(against[b]):
            a, b = b, a
        of[b] = a
        against[a] |= against[b]
        for c in against[b]:
            against[c].add(a)
    level = np.array([_root(of, a) for a in range(len(of))], np.int64)[kind]
    return _numbered(sums, level)


def _numbered(sums: _Sums, level: Whole) -> Whole:
    """Give the dimensions of every connected part of a table numbers from 0, the largest first."""
    piece = sums.codes(np.ones(sums.m, dtype=bool))[sums.total]
    size = np.bincount(level)
    number = np.zeros(len(size), np.int64)
    counters: dict[int, count[int]] = {}
    kinds, example = np.unique(level, return_index=True)
    for k in np.argsort(-size[kinds], kind="stable").tolist():
        number[kinds[k]] = next(counters.setdefault(int(piece[example[k]]), count()))
    return number[level]


def _clash(sums: _Sums, dimension: Whole, d: int) -> tuple[int, int] | None:
    """Two dimensions of which one joins cells of a relation of the other, if there are any."""
    for k in range(d):
        if sums.clashes(dimension == k):
            others = [j for j in range(d) if j != k]
            left = [sums.clashes((dimension == k) | (dimension == j)) for j in others]
            j = others[int(np.argmin(left))]
            return min(j, k), max(j, k)
    return None


def _is_order(sums: _Sums, rows: Bools, code: Whole) -> bool:
    """Whether no code of a dimension is above itself."""
    inside = rows[sums.of]
    size = int(code.max()) + 1
    ends = code[sums.part[inside]], code[sums.total[sums.of[inside]]]
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(size, size))
    return bool(connected_components(graph, connection="strong")[0] == size)


def _joined(size: int, a: Whole, b: Whole) -> Whole:
    """Give the nodes of each connected component of a graph the same number."""
    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(size, size))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _often(a: Whole, b: Whole) -> list[list[int]]:
    """Pairs of different numbers, the most frequent first."""
    pairs = np.stack([a, b])[:, a != b]
    pairs, times = np.unique(pairs, axis=1, return_counts=True)
    found: list[list[int]] = pairs[:, np.argsort(-times, kind="stable")].T.tolist()
    return found


def _root(of: list[int], a: int) -> int:
    """Follow links to the first of a set."""
    while of[a] != a:
        of[a] = of[of[a]]
        a = of[a]
    return a
