"""Claims about intervals that anybody can check in integers, without a solver.

A claim says how far one suppressed cell can move. Its witness is a whole table that the release
allows (so the interval is at least that wide); its proof, where there is one, is a linear
combination of published relations that shows that the cell moves no further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.view import Extreme, View, room
from csp.errors import CertificateError
from csp.exact import UNBOUNDED
from csp.tables.table import Table

__all__ = ["Certificate", "Claim", "claims_of"]


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
    cells: NDArray[np.int64]
    steps: NDArray[Any]
    denominator: int
    rows: NDArray[np.int64]
    multipliers: NDArray[Any]
    divisor: int
    exact: bool
    integer: bool = False

    def __repr__(self) -> str:
        side = "upper" if self.sign > 0 else "lower"
        return f"Claim({side} end of cell {self.cell}, {'exact' if self.exact else 'reached'})"


def claims_of(
    view: View,
    targets: NDArray[np.int64],
    signs: NDArray[np.int64],
    extremes: list[Extreme],
    known: tuple[int, ...] = (),
    *,
    integer: bool = False,
) -> list[Claim]:
    """Turn an engine's answers about a part of a pattern into claims about the table.

    Answers that share a witness become claims that share it.
    """
    places: dict[int, NDArray[np.int64]] = {}
    claims = []
    for j, sign, extreme in zip(targets.tolist(), signs.tolist(), extremes, strict=True):
        cells = places.get(id(extreme.moved))
        if cells is None:
            cells = places[id(extreme.moved)] = view.cells[extreme.moved]
        rows = view.rows[extreme.rows] if len(extreme.rows) else extreme.rows
        claims.append(
            Claim(
                int(view.cells[j]), sign, known, extreme.reach, cells, extreme.steps,
                extreme.denominator, rows, extreme.multipliers, extreme.divisor, extreme.exact,
                integer,
            )
        )  # fmt: skip
    return claims


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
    pattern: NDArray[np.bool_]
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
        from scipy.sparse import csc_array

        from csp.audits.ledger import doubtful

        up, down = room(self.table)
        columns = csc_array(self.table.relations)
        # Claims share witnesses; what is wrong with one is found once.
        witnesses: dict[tuple[Any, ...], str | None] = {}
        # Most claims are found true all at once; the others are judged one by one.
        for i in doubtful(self.claims, self.table, self.pattern, up, down):
            claim = self.claims[i]
            fault = _fault_of_form(claim, self.pattern, self.table.relations.shape[0])
            if fault is None:
                key = (
                    id(claim.cells), id(claim.steps), claim.denominator, claim.known,
                    claim.integer, claim.reach is None,
                )  # fmt: skip
                if key not in witnesses:
                    witnesses[key] = _fault_of_witness(claim, columns, self.pattern, up, down)
                fault = witnesses[key] or _fault_of_reach(claim)
            if fault is None and claim.exact:
                fault = _fault_of_proof(claim, self.table, self.pattern, up, down)
            if fault is not None:
                known = 0 <= claim.cell < self.table.n_cells
                name = self.table.cell(claim.cell) if known else str(claim.cell)
                side = "upper" if claim.sign == 1 else "lower"
                msg = f"claim about the {side} end of cell {name}: {fault}"
                raise CertificateError(msg)


def _fault_of_form(claim: Claim, pattern: NDArray[np.bool_], rows: int) -> str | None:
    """Whatever makes a claim meaningless before it is true or false."""
    n = len(pattern)
    if claim.sign not in (1, -1) or claim.denominator < 1 or claim.divisor < 1:
        return "its sign or a denominator is not allowed"
    if not 0 <= claim.cell < n or not pattern[claim.cell] or claim.cell in claim.known:
        return "it is about a cell whose value the attacker knows"
    if claim.reach is not None and not (
        isinstance(claim.reach, Fraction | int) and claim.reach >= 0
    ):
        return "its reach is not a distance"
    if claim.exact and claim.reach is None:
        return "an endless interval has no exact end"
    return _fault_of_entries(claim.rows, claim.multipliers, rows)


def _fault_of_entries(places: NDArray[np.int64], numbers: NDArray[Any], most: int) -> str | None:
    """Whatever makes a sparse vector of whole numbers none."""
    if len(places) != len(numbers) or len(set(places.tolist())) != len(places):
        return "its entries do not match or occur twice"
    if len(places) and not (places.min() >= 0 and places.max() < most):
        return "it names cells or relations that do not exist"
    if not all(isinstance(v, int) for v in numbers.tolist()):
        return "its numerators are not whole numbers"
    return None


def _fault_of_witness(
    claim: Claim, columns: Any, pattern: NDArray[np.bool_], up: Any, down: Any
) -> str | None:
    """Whatever makes the witness of a claim no deviation, wherever it moves the claim's cell."""
    fault = _fault_of_entries(claim.cells, claim.steps, len(pattern))
    if fault is not None:
        return fault
    if claim.integer and claim.denominator != 1:
        return "its witness is not a table of whole units"
    cells = claim.cells.astype(np.int64)
    if not pattern[cells].all() or np.isin(cells, claim.known).any():
        return "its witness moves a cell whose value the attacker knows"
    steps = _wide(claim.steps, claim.denominator, columns)
    limit = np.where(steps > 0, up[cells], down[cells])
    bounded = limit < UNBOUNDED
    if claim.reach is None and bounded.any():
        return "its ray moves a cell towards a bound"
    far = np.abs(steps[bounded]) > limit[bounded].astype(steps.dtype) * claim.denominator
    if np.any(far):
        return "its witness leaves the bounds of a cell"
    lengths = columns.indptr[cells + 1] - columns.indptr[cells]
    first = np.repeat(columns.indptr[cells] - np.cumsum(lengths) + lengths, lengths)
    where = first + np.arange(len(first))
    rows, order = np.unique(columns.indices[where], return_inverse=True)
    balance = np.zeros(len(rows), dtype=steps.dtype)
    np.add.at(balance, order, columns.data[where] * np.repeat(steps, lengths))
    if np.any(balance != 0):
        return "its witness breaks a relation"
    return None


def _fault_of_reach(claim: Claim) -> str | None:
    """Whether the witness of a claim moves its cell too little."""
    at = claim.sign * sum(int(v) for v in claim.steps[claim.cells == claim.cell])
    if at <= 0 if claim.reach is None else at < claim.reach * claim.denominator:
        return "its witness does not reach the end"
    return None


def _wide(steps: NDArray[Any], denominator: int, columns: Any) -> NDArray[Any]:
    """Give steps a type in which sums over a relation and scaled bounds are exact."""
    numbers = [int(v) for v in steps.tolist()]
    largest = max((abs(v) for v in numbers), default=0)
    weight = int(np.abs(columns.data).max(initial=1))
    fits = largest * weight * max(1, len(numbers)) < 2**62 and denominator < 2**8
    return np.array(numbers, dtype=np.int64 if fits else object)


def _fault_of_proof(
    claim: Claim, table: Table, pattern: NDArray[np.bool_], up: Any, down: Any
) -> str | None:
    relations = table.relations
    c: dict[int, int] = {claim.cell: claim.sign * claim.divisor}
    for row, factor in zip(claim.rows.tolist(), claim.multipliers.tolist(), strict=True):
        span = slice(relations.indptr[row], relations.indptr[row + 1])
        cells, coefficients = relations.indices[span], relations.data[span]
        inside = pattern[cells]
        for cell, a in zip(cells[inside].tolist(), coefficients[inside].tolist(), strict=True):
            c[cell] = c.get(cell, 0) - a * factor
    bound = 0
    for cell, weight in c.items():
        if weight == 0 or cell in claim.known:
            continue
        limit = int(up[cell] if weight > 0 else down[cell])
        if limit >= UNBOUNDED:
            return "its proof uses a cell without a bound"
        bound += abs(weight) * limit
    if claim.integer:
        # A deviation of whole units stays below the bound rounded down.
        bound = bound // claim.divisor * claim.divisor
    if claim.reach is None or bound > claim.reach * claim.divisor:
        return "its proof leaves room beyond the end"
    return None
