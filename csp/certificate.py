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
from csp.numbers import UNBOUNDED
from csp.table import Table

__all__ = ["Certificate", "Claim", "claim_of"]


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
        Witness: cells that move and by how much (numerators).
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


def claim_of(
    view: View,
    j: int,
    sign: int,
    extreme: Extreme,
    known: tuple[int, ...] = (),
    *,
    integer: bool = False,
) -> Claim:
    """Turn an engine's answer about a part of a pattern into a claim about the table."""
    moved = np.flatnonzero(extreme.witness)
    if extreme.multipliers is None:
        used, multipliers = np.empty(0, np.int64), np.empty(0, np.int64)
    else:
        used = np.flatnonzero(extreme.multipliers)
        multipliers = extreme.multipliers[used]
    return Claim(
        int(view.cells[j]), sign, known, extreme.reach,
        view.cells[moved], extreme.witness[moved], extreme.denominator,
        view.rows[used], multipliers, extreme.divisor, extreme.exact, integer,
    )  # fmt: skip


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

        up, down = room(self.table)
        columns = csc_array(self.table.relations)
        for claim in self.claims:
            fault = _fault_of_witness(claim, columns, self.pattern, up, down)
            if fault is None and claim.exact:
                fault = _fault_of_proof(claim, self.table, self.pattern, up, down)
            if fault is not None:
                side = "upper" if claim.sign > 0 else "lower"
                msg = f"claim about the {side} end of cell {self.table.cell(claim.cell)}: {fault}"
                raise CertificateError(msg)


def _fault_of_witness(
    claim: Claim, columns: Any, pattern: NDArray[np.bool_], up: Any, down: Any
) -> str | None:
    if claim.integer and claim.denominator != 1:
        return "its witness is not a table of whole units"
    cells, steps = claim.cells, claim.steps
    if not pattern[cells].all() or np.isin(cells, claim.known).any():
        return "its witness moves a cell whose value the attacker knows"
    if not _fits(steps, claim.denominator, columns):
        steps = steps.astype(object)  # Python integers: slower, never too small
    limit = np.where(steps > 0, up[cells], down[cells])
    bounded = limit < UNBOUNDED
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
    at = sum(int(v) for v in steps[cells == claim.cell])
    if claim.reach is not None and claim.sign * at < claim.reach * claim.denominator:
        return "its witness does not reach the end"
    return None


def _fits(steps: NDArray[Any], denominator: int, columns: Any) -> bool:
    """Whether sums of the steps over a relation, and scaled bounds, stay within int64."""
    if steps.dtype == object:
        return False
    largest = max(abs(int(steps.min(initial=0))), abs(int(steps.max(initial=0))))
    weight = int(np.abs(columns.data).max(initial=1))
    return largest * weight * max(1, len(steps)) < 2**62 and denominator < 2**8


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
