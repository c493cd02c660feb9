"""Multipliers of relations whose sum is one cell, found and checked in whole numbers.

Multipliers must cancel every cell that is not a candidate. A cell in one relation only rules that
relation out; one in two relations binds their multipliers to each other. That leaves few classes of
relations, a small system for cells in three or more classes, and equations that hold nothing but
candidates, which are eliminated exactly.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from attacks.large_releases.elimination import Row, echelon_rows
from attacks.large_releases.signed_classes import signed_classes
from attacks.release_alone.disclosed_cells import mixed
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError
from csp.exact import UNBOUNDED, Bools, Ints
from csp.sparse import entries, rows_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """Cells that equal combinations of relations and of cells that are known already.

    Attributes
    ----------
    cells : (c,) int64
        Ascending.
    divisors : (c,) int64
    bases : (f, r) csr_array of int64
        Multipliers of relations that leave candidates alone, shared by the proofs.
    weights : tuple of dict
        Of each cell, how often each of the bases is added; the sum is the divisor times the cell.
    whole : bool
        Whether every equation was eliminated: if not, a candidate may be known all the same.
    """

    cells: Ints
    divisors: Ints
    bases: csr_array
    weights: tuple[Row, ...]
    whole: bool

    def multipliers(self, at: int) -> Row:
        """Multipliers of relations that give one of the cells, by its position among them."""
        found: dict[int, int] = defaultdict(int)
        for base, weight in self.weights[at].items():
            for row, factor in entries(self.bases, base):
                found[row] += weight * factor
        return {row: factor for row, factor in found.items() if factor}

    def check(self, matrix: csr_array, known: Bools) -> None:
        """Add the relations up, in whole numbers.

        Parameters
        ----------
        matrix : (r, k) csr_array of int64
            All relations between withheld cells.
        known : (k,) bool
            Cells that may be left beside the one that is proved.

        Raises
        ------
        CertificateError
            If a combination leaves any other cell.
        """
        left = _without(self.bases @ matrix, known)
        for cell, divisor, weights in zip(
            self.cells.tolist(), self.divisors.tolist(), self.weights, strict=True
        ):
            total: Row = {}
            for base, weight in weights.items():
                total = mixed(total, 1, left[base], weight)
            if total != {cell: divisor} or divisor < 1:
                msg = "a combination of relations does not give the cell that it should prove"
                raise CertificateError(msg)

    def values(
        self, matrix: csr_array, right: Ints, known: Bools, values: Ints,
    ) -> list[tuple[int, int]]:  # fmt: skip
        """Value of each cell as numerator and divisor, from what is known.

        Parameters
        ----------
        matrix : (r, k) csr_array of int64
        right : (r,) int64
        known : (k,) bool
        values : (k,) int64
            Of known cells.
        """
        rest = right - matrix @ np.where(known, values, 0)
        sums = _sums(self.bases, rest)
        return [
            (sum(weight * sums[base] for base, weight in weights.items()), divisor)
            for weights, divisor in zip(self.weights, self.divisors.tolist(), strict=True)
        ]


def combinations_of(matrix: csr_array, candidates: Bools, clock: Clock = UNLIMITED) -> Combinations:
    """Prove which candidates are combinations of relations.

    Parameters
    ----------
    matrix : (r, k) csr_array of int64
        Entries 1 and -1; cells that are known already have no entry.
    candidates : (k,) bool
        A candidate that is none does no harm; a cell that is not a candidate is not proved.
    clock : Clock

    Returns
    -------
    Combinations
    """
    from scipy.sparse import csr_array

    bases, core_whole = _cancelling(matrix, candidates, clock)
    listed = np.flatnonzero(candidates)
    product = csr_array(bases @ matrix[:, listed])
    product.eliminate_zeros()
    f = bases.shape[0]
    # Beyond the candidates a row says how often each of the bases is in it.
    lines = (dict(entries(product, i)) for i in range(f))
    rows: list[Row] = [line | {len(listed) + i: 1} for i, line in enumerate(lines) if line]
    units, whole = echelon_rows(rows, clock, len(listed))
    proved = sorted(
        (pivot, row) for pivot, row in units.items() if sum(c < len(listed) for c in row) == 1
    )
    cells, divisors, weights = [], [], []
    for pivot, row in proved:
        turn = 1 if row[pivot] > 0 else -1
        cells.append(int(listed[pivot]))
        divisors.append(abs(row[pivot]))
        weights.append({c - len(listed): turn * v for c, v in row.items() if c >= len(listed)})
    return Combinations(
        np.array(cells, np.int64), np.array(divisors, np.int64), bases, tuple(weights),
        whole and core_whole,
    )  # fmt: skip


def tight_cells(
    matrix: csr_array, right: Ints, lower: Ints,
    upper: Ints, candidates: Bools, clock: Clock = UNLIMITED,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Prove that candidates are at one of their bounds: combinations that hold at no other point.

    A combination of relations in which only candidates are left may be as large as their bounds
    allow, or as small. This is computed in whole numbers, so that it is a proof.

    Parameters
    ----------
    matrix : (r, k) csr_array of int64
        Cells that are known already have no entry.
    right : (r,) int64
        Without what is known.
    lower, upper : (k,) int64
    candidates : (k,) bool
    clock : Clock

    Returns
    -------
    cells, values : (c,) int64
    """
    bases, _ = _cancelling(matrix, candidates, clock)
    sums = _sums(bases, right)
    nothing = np.zeros(matrix.shape[1], bool)
    found: Row = {}
    for row, total in zip(_without(bases @ matrix, nothing), sums, strict=True):
        for sign in (1, -1):
            # The least that the combination, or its opposite, can be.
            ends = {c: int(lower[c] if sign * v > 0 else upper[c]) for c, v in row.items()}
            if any(abs(end) >= UNBOUNDED for end in ends.values()):
                continue
            if sum(sign * v * ends[c] for c, v in row.items()) == sign * total:
                found |= ends
    cells = np.array(sorted(found), np.int64)
    return cells, np.array([found[c] for c in cells.tolist()], np.int64)


def _cancelling(matrix: csr_array, candidates: Bools, clock: Clock) -> tuple[csr_array, bool]:
    """Multipliers of relations that leave candidates alone, and whether these are all."""
    from scipy.sparse import csr_array

    others = csr_array(matrix.T)[np.flatnonzero(~candidates)]
    left = np.ones(others.shape[0], bool)
    classes, factors = signed_classes(others, left)
    # What is left of each cell, in classes: the same equation comes many times.
    spread = _spread(classes, factors)
    equations = _distinct(csr_array(others[np.flatnonzero(left)] @ spread.T))
    pivots, core_whole = echelon_rows(equations, clock)
    alive = set(np.unique(classes[classes >= 0]).tolist())
    bases = _bases(pivots, alive, classes, spread, matrix[:, np.flatnonzero(candidates)])
    return bases, core_whole


def _spread(classes: Ints, factors: Ints) -> csr_array:
    """Multipliers of relations, by the class that stands for them: (r, r)."""
    from scipy.sparse import coo_array, csr_array

    top, r = np.flatnonzero(classes >= 0), len(classes)
    found: Any = coo_array((factors[top], (classes[top], top)), shape=(r, r))
    return csr_array(found)


def _distinct(equations: Any) -> list[Row]:
    """Sparse equations that are not multiples of each other."""
    equations.eliminate_zeros()
    equations.sort_indices()
    ends, columns, data = equations.indptr.tolist(), equations.indices.tolist(), equations.data
    # Of each sign: the first coefficient is positive.
    starts = equations.indptr[:-1][np.diff(equations.indptr) > 0]
    turns = np.repeat(np.sign(data[starts]), np.diff(equations.indptr)[np.diff(ends) > 0])
    values = (data * turns).tolist()
    seen = {
        (*columns[start:stop], *values[start:stop])
        for start, stop in pairwise(ends)
        if stop > start
    }
    return [
        dict(zip(one[: len(one) // 2], one[len(one) // 2 :], strict=True)) for one in sorted(seen)
    ]


def _bases(
    pivots: dict[int, Row], alive: set[int], classes: Ints, spread: csr_array, touched: csr_array,
) -> csr_array:  # fmt: skip
    """Multipliers of relations that cancel all but candidates; only those that hold candidates."""
    from scipy.sparse import coo_array, csr_array

    # Of each class that stays free, what the bound ones are in it: one denominator for each.
    parts: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for pivot, row in pivots.items():
        for free, v in row.items():
            if free != pivot:
                parts[free].append((pivot, -v, row[pivot]))
    held = set(np.unique(classes[np.flatnonzero(np.diff(touched.indptr))]).tolist()) - {-1}
    bases: list[tuple[int, int, int]] = []
    count = 0
    for free in sorted(alive - pivots.keys()):
        members = parts.get(free, [])
        if free not in held and not any(pivot in held for pivot, _, _ in members):
            continue
        common = lcm(*(d for _, _, d in members)) if members else 1
        bases.append((count, free, common))
        bases += [(count, pivot, v * common // d) for pivot, v, d in members]
        count += 1
    r = len(classes)
    table = np.array(bases, np.int64).reshape(-1, 3)
    chosen: Any = coo_array((table[:, 2], (table[:, 0], table[:, 1])), shape=(count, r))
    return csr_array(csr_array(chosen) @ spread)


def _sums(bases: csr_array, amounts: Ints) -> list[int]:
    """Add amounts of relations up, in 64 bits that are known to suffice."""
    most = abs(bases).astype(np.float64) @ np.abs(amounts).astype(np.float64)
    if np.max(most, initial=0) >= 2.0**62:
        msg = "sums of published values exceed 64 bits; use a larger unit"
        raise CertificateError(msg)
    sums: list[int] = np.asarray(bases @ amounts).ravel().tolist()
    return sums


def _without(product: csr_array, known: Bools) -> list[Row]:
    """Rows of a sparse matrix as they are, but for zeros and known cells."""
    found = []
    for cells, data in rows_of(product):
        kept = (data != 0) & ~known[cells]
        found.append(dict(zip(cells[kept].tolist(), data[kept].tolist(), strict=True)))
    return found
