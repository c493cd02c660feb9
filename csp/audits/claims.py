"""Claims about intervals, and the one check of them: exact integers, no solver.

This file, with the room that `csp.attacker.view` reads off a table's bounds, is all that one has
to trust to believe an audit. Others find the numbers; here they are put in.

A release is a table with relations ``A``, values ``a`` and bounds; an attacker knows the published
cells and perhaps some others. What is left is a deviation ``z``: zero on every cell that is known,
``A z = 0``, and ``-down <= z <= up``. A claim says how far one suppressed cell ``c`` can move up
(sign 1) or down (sign -1), and holds if

1. it makes sense: cells and relations exist, numbers are whole, denominators positive, and the
   attacker does not know the cell;
2. its witness is such a deviation with ``sign z_c >= reach``. For an endless interval it is a ray:
   it also never moves a cell towards a bound, and ``sign z_c > 0``;
3. if it is exact, its multipliers ``y`` prove that no deviation goes further. Every deviation has
   ``sign z_c = w z`` with ``w = sign e_c - A' y``, because ``A z = 0``, and so moves the cell by at
   most ``sum_j max(w_j up_j, -w_j down_j)`` over the cells that are not known. This bound,
   rounded down where only whole units count, must not exceed the reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.view import NOTHING
from csp.errors import CertificateError
from csp.exact import UNBOUNDED, Bools, Ints
from csp.problem.requirements import room
from csp.tables.table import Table

# Vectors checked together: a table may have millions, whose products would fill the memory.
_AT_ONCE = 4000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Claim:
    """One end of one feasibility interval.

    Attributes
    ----------
    cell : int
        Index of the cell in the table.
    sign : {1, -1}
        Upper (1) or lower (-1) end.
    known : tuple of int
        Suppressed cells whose value this attacker knows.
    reach : Fraction or None
        Distance of the end from the true value, in units; None for an endless interval.
    cells, steps : (w,) arrays
        Witness: cells that move and by how much (numerators). For an endless interval a ray:
        added any number of times it leaves every relation and every bound intact.
    denominator : int
        Common denominator of `steps`.
    rows, multipliers : (v,) arrays
        Proof: relations and their multipliers (numerators); empty where ``exact`` is False.
    divisor : int
        Common denominator of `multipliers`.
    exact : bool
        Whether the claim says that the interval ends there (and not only that it reaches so far).
    integer : bool
        Whether only tables of whole units count.
    """

    cell: int
    sign: int
    known: tuple[int, ...]
    reach: Fraction | None
    cells: Ints
    steps: NDArray[Any]
    denominator: int
    rows: Ints = field(default_factory=lambda: NOTHING)
    multipliers: NDArray[Any] = field(default_factory=lambda: NOTHING)
    divisor: int = 1
    exact: bool = False
    integer: bool = False

    def __repr__(self) -> str:
        side = "upper" if self.sign > 0 else "lower"
        return f"Claim({side} end of cell {self.cell}, {'exact' if self.exact else 'reached'})"


def reached(claim: Claim) -> Claim:
    """Return the part of a claim that is its witness: an outsider sees the cell reach so far."""
    if not (claim.exact or claim.known):
        return claim
    return replace(claim, known=(), rows=NOTHING, multipliers=NOTHING, divisor=1, exact=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Certificate:
    """Claims about one pattern of one table, checkable without any solver.

    Attributes
    ----------
    table : Table
    pattern : (n,) bool
    claims : tuple of Claim
    """

    table: Table
    pattern: Bools
    claims: tuple[Claim, ...]

    def __repr__(self) -> str:
        return f"Certificate({len(self.claims)} claims)"

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def verify(self) -> None:
        """Check every claim in exact integers.

        Raises
        ------
        CertificateError
            Naming the first cell whose claim does not hold.
        """
        faults = _Check(self.table, self.pattern, self.claims).faults
        for claim, fault in zip(self.claims, faults, strict=True):
            if fault:
                exists = isinstance(claim.cell, int) and 0 <= claim.cell < self.table.n_cells
                name = self.table.cell(claim.cell) if exists else str(claim.cell)
                side = "upper" if claim.sign == 1 else "lower"
                msg = f"claim about the {side} end of cell {name}: {fault}"
                raise CertificateError(msg)


class _Check:
    """What is wrong with each claim: `faults`, an empty text where it holds."""

    def __init__(self, table: Table, pattern: Bools, claims: Sequence[Claim]) -> None:
        from scipy.sparse import csc_array, csr_array

        self._claims, self._pattern = claims, pattern
        self._up, self._down = room(table)
        self._hidden = np.flatnonzero(pattern)
        self._relations = csc_array(table.relations)
        self._transposed = csc_array(csr_array(table.relations[:, self._hidden]).T)
        self.faults = [self._fault_of_form(claim) for claim in claims]
        self._check_witnesses([i for i, fault in enumerate(self.faults) if not fault])
        self._check_proofs([i for i, c in enumerate(claims) if not self.faults[i] and c.exact])

    def _fault_of_form(self, claim: Claim) -> str:
        """Whatever makes a claim meaningless before it is true or false."""
        given = claim.cell, claim.sign, claim.denominator, claim.divisor, *claim.known
        if not all(isinstance(v, int) for v in given):
            return "its numbers are not whole"
        if claim.sign not in (1, -1) or claim.denominator < 1 or claim.divisor < 1:
            return "its sign or a denominator is not allowed"
        n, known = len(self._pattern), claim.known
        if not 0 <= claim.cell < n or (known and not 0 <= min(known) <= max(known) < n):
            return "it names cells that do not exist"
        if not self._pattern[claim.cell] or claim.cell in known:
            return "it is about a cell whose value the attacker knows"
        reach = claim.reach
        if reach is not None and not (isinstance(reach, Fraction | int) and reach.numerator >= 0):
            return "its reach is not a distance"
        if claim.exact and reach is None:
            return "an endless interval has no exact end"
        if claim.integer and claim.denominator != 1:
            return "its witness is not a table of whole units"
        vectors = [(claim.cells, claim.steps), (claim.rows, claim.multipliers)]
        for places, numbers in vectors if claim.exact else vectors[:1]:
            if places.dtype.kind != "i" or numbers.dtype.kind not in "iO":
                return "its entries are not whole numbers"
            if places.ndim != 1 or places.shape != numbers.shape:
                return "its entries do not match"
        return ""

    def _check_witnesses(self, where: list[int]) -> None:
        """Check part 2. Claims share witnesses; each is checked once."""
        users: dict[tuple[int, int, int, bool], list[int]] = {}
        for i in where:
            c = self._claims[i]
            key = id(c.cells), id(c.steps), c.denominator, c.reach is None
            users.setdefault(key, []).append(i)
        shared = list(users.values())
        claims = [self._claims[some[0]] for some in shared]
        given = [(c.cells, c.steps, c.denominator) for c in claims]
        for z in _batches(given, self._relations):
            endless = np.array([claims[w].reach is None for w in z.which])
            limit = np.where(z.numbers > 0, self._up[z.places], self._down[z.places])
            limit = np.where(endless[z.owner] & (limit < UNBOUNDED), 0, limit)
            units = -(-np.abs(z.numbers) // z.scale[z.owner])  # rounded up
            owner, _, balance = z.product()
            faults = np.full(len(z.which), "", dtype=object)
            faults[owner[balance != 0]] = "its witness breaks a relation"
            faults[z.owner[(limit < UNBOUNDED) & (units > limit)]] = "its witness breaks a bound"
            faults[z.owner[~self._pattern[z.places]]] = "its witness moves a published cell"
            faults[z.odd] = "its witness is not a vector over cells"
            which = np.repeat(np.arange(len(z.which)), [len(shared[w]) for w in z.which])
            using = [i for w in z.which for i in shared[w]]
            moved, _ = z.at(which, np.array([self._claims[i].cell for i in using], np.int64))
            for i, fault, step in zip(using, faults[which], moved.tolist(), strict=True):
                self.faults[i] = fault or _fault_of_reach(self._claims[i], step)
            known = [len(self._claims[i].known) for i in using]
            cells = np.array([k for i in using for k in self._claims[i].known], np.int64)
            _, moves = z.at(np.repeat(which, known), cells)
            for t in np.unique(np.repeat(np.arange(len(using)), known)[moves]).tolist():
                self.faults[using[t]] = "its witness moves a cell whose value the attacker knows"

    def _check_proofs(self, where: list[int]) -> None:
        """Check part 3."""
        claims = [self._claims[i] for i in where]
        given = [(c.rows, c.multipliers, c.divisor) for c in claims]
        position = np.full(len(self._pattern), -1, np.int64)
        position[self._hidden] = np.arange(len(self._hidden))
        for y in _batches(given, self._transposed):
            some = [claims[i] for i in y.which]
            own = position[[c.cell for c in some]]
            sign = np.array([c.sign for c in some])
            # The weights w times the divisor: first those of other cells, then each claim's own.
            owner, place, product = y.product()
            mine = place == own[owner]
            last = sign * y.scale
            last[owner[mine]] -= product[mine]
            owner = np.concatenate([owner[~mine], np.arange(len(some))])
            cells = self._hidden[np.concatenate([place[~mine], own])]
            weights = np.concatenate([-product[~mine], last])
            if any(c.known for c in some):
                n = len(self._pattern)
                known = [t * n + k for t, c in enumerate(some) for k in c.known]
                weights[np.isin(owner * n + cells, known)] = 0
            limit = np.where(weights > 0, self._up[cells], self._down[cells])
            endless = (limit >= UNBOUNDED) & (weights != 0)
            limit[limit >= UNBOUNDED] = 0
            weights, limit = np.abs(weights), _exactly(limit, weights, np.bincount(owner).max())
            terms = weights * limit
            bound = np.zeros(len(some), terms.dtype)
            np.add.at(bound, owner, terms)
            faults = [_fault_of_end(c, end) for c, end in zip(some, bound.tolist(), strict=True)]
            for t in np.unique(owner[endless]).tolist():
                faults[t] = "its proof uses a cell without a bound"
            for t in np.flatnonzero(y.odd).tolist():
                faults[t] = "its proof is not a vector over relations"
            for i, fault in zip(y.which, faults, strict=True):
                self.faults[where[i]] = fault


def _fault_of_reach(claim: Claim, step: int) -> str:
    """Whether the witness of a claim moves its cell too little."""
    step = claim.sign * step
    if claim.reach is None:
        reaches = step > 0
    else:
        reaches = step * claim.reach.denominator >= claim.reach.numerator * claim.denominator
    return "" if reaches else "its witness does not reach the end"


def _fault_of_end(claim: Claim, bound: int) -> str:
    """Whether a proved bound, times the divisor, leaves room beyond the reach of a claim."""
    assert claim.reach is not None
    if claim.integer:
        bound -= bound % claim.divisor
    holds = bound * claim.reach.denominator <= claim.reach.numerator * claim.divisor
    return "" if holds else "its proof leaves room beyond the end"


def _exactly(limit: Ints, weights: NDArray[Any], terms: int) -> NDArray[Any]:
    """Give limits a type in which sums of that many products with weights are exact."""
    most = int(np.abs(weights).max(initial=0)) * int(limit.max(initial=0)) * int(terms)
    return limit if most < 2**62 else limit.astype(object)


class _Vectors:
    """Some sparse vectors: entry t says that vector `owner[t]` has `numbers[t]` at `places[t]`.

    Attributes
    ----------
    which : list of int
        Which of the given vectors these are.
    scale : (k,)
        Their denominators.
    odd : (k,) bool
        Vectors with a place that does not exist or occurs twice, or a number that is not whole.
        What is computed for these means nothing.
    """

    def __init__(
        self, given: Sequence[tuple[Ints, NDArray[Any], int]], which: list[int],
        matrix: Any, kind: type,
    ) -> None:  # fmt: skip
        self.which, self._matrix, self._length = which, matrix, matrix.shape[1]
        parts = [given[w] for w in which]
        size = [len(places) for places, _, _ in parts]
        self._starts = np.concatenate([[0], np.cumsum(size)])
        self.owner = np.repeat(np.arange(len(parts)), size)
        none = np.empty(0, np.int64)
        self.places = np.concatenate([none, *(p for p, _, _ in parts)]).astype(np.int64)
        self.numbers: NDArray[Any] = np.concatenate([none, *(v for _, v, _ in parts)]).astype(kind)
        self.scale: NDArray[Any] = np.array([scale for _, _, scale in parts], dtype=kind)
        self.odd = np.zeros(len(parts), dtype=bool)
        if kind is object:
            part = np.array([type(v) is not int for v in self.numbers.tolist()], dtype=bool)
            self._leave_out(part)
        self._leave_out((self.places < 0) | (self.places >= self._length))
        key = self.owner * self._length + self.places
        self._order = np.argsort(key, kind="stable")
        self._sorted = key[self._order]
        self.odd[self.owner[self._order[1:]][self._sorted[1:] == self._sorted[:-1]]] = True

    def _leave_out(self, part: Bools) -> None:
        self.odd[self.owner[part]] = True
        self.places[part], self.numbers[part] = 0, 0

    def at(self, owner: Ints, places: Ints) -> tuple[NDArray[Any], Bools]:
        """Numbers of vectors at places, and whether there are any."""
        key = owner * self._length + places
        spot = np.searchsorted(self._sorted, key)
        found = np.append(self._sorted, -1)[spot] == key
        return np.where(found, np.append(self.numbers[self._order], 0)[spot], 0), found

    def product(self) -> tuple[Ints, Ints, NDArray[Any]]:
        """Entries of the matrix times each vector: owner, place and number."""
        from scipy.sparse import csc_array

        matrix, count = self._matrix, len(self.which)
        if self.numbers.dtype != object:
            shape = (self._length, count)
            vectors = csc_array((self.numbers, self.places, self._starts), shape=shape)
            out = csc_array(matrix @ vectors)
            owner = np.repeat(np.arange(count), np.diff(out.indptr))
            return owner, out.indices.astype(np.int64), out.data
        # The same in Python integers, which sparse arrays do not hold.
        size = np.diff(matrix.indptr)[self.places]
        at = np.repeat(matrix.indptr[self.places] - np.cumsum(size) + size, size)
        at = at + np.arange(len(at))
        key = np.repeat(self.owner, size) * matrix.shape[0] + matrix.indices[at]
        key, entry = np.unique(key, return_inverse=True)
        sums = np.zeros(len(key), dtype=object)
        np.add.at(sums, entry, matrix.data[at].astype(object) * np.repeat(self.numbers, size))
        return key // matrix.shape[0], key % matrix.shape[0], sums


def _batches(given: Sequence[tuple[Ints, NDArray[Any], int]], matrix: Any) -> Iterator[_Vectors]:
    """Yield some vectors at a time: first those whose products with a matrix fit 64 bits."""
    # Rounding in the norm is far less than the factor 2 that is left to 2**62.
    sums = np.bincount(matrix.indices, np.abs(matrix.data.astype(np.float64)))
    norm = float(sums.max(initial=1.0))
    most = int(2.0**61 / norm)
    wide = [w for w, (_, v, scale) in enumerate(given) if v.dtype.kind != "i" or scale > most]
    narrow = sorted(set(range(len(given))).difference(wide))
    for part in _slices(narrow):
        vectors = _Vectors(given, part, matrix, np.int64)
        large = vectors.owner[(vectors.numbers > most) | (vectors.numbers < -most)]
        if len(large):
            wide += [part[t] for t in np.unique(large).tolist()]
            part = sorted(set(part).difference(wide))
            vectors = _Vectors(given, part, matrix, np.int64)
        if part:
            yield vectors
    for part in _slices(wide):
        yield _Vectors(given, part, matrix, object)


def _slices(numbers: list[int]) -> Iterator[list[int]]:
    for begin in range(0, len(numbers), _AT_ONCE):
        yield numbers[begin : begin + _AT_ONCE]
