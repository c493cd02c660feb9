"""What a release proves of a cell or a sum: combinations of its relations, in published numbers.

For whole multipliers ``g`` of the relations and a divisor ``d > 0``, moving the published cells to
the right gives ``d * x_j + sum w_i x_i = T`` over suppressed cells. Putting the worst bound of each
``x_i`` into that is weak duality: whatever the multipliers are, the end is never too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker import components, engine, integer_extreme
from csp.attacker.exact import rationalise
from csp.attacker.view import Extreme, View
from csp.audits.claims import Certificate, Claim
from csp.audits.intervals import claims_of
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, SolverError
from csp.exact import UNBOUNDED
from csp.highs import Model, Status
from csp.release.release import Release
from csp.tables.patterns import as_pattern
from csp.tables.table import Table

__all__ = ["Equation", "Proof", "end_of", "ends", "proof_of", "shortened"]

_LARGEST = 1500


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Equation:
    """What a proof says, in numbers: ``divisor * goal + sum of others = total``.

    Attributes
    ----------
    amounts : tuple of int
        What each relation of the proof leaves for its suppressed cells, times its multiplier.
    total : int
        Their sum.
    others : tuple of (int, int, int)
        Suppressed cells that remain: cell, coefficient, and the bound put in for it.
    divisor : int
    end : Fraction
        End of the goal that follows, in units.
    """

    amounts: tuple[int, ...]
    total: int
    others: tuple[tuple[int, int, int], ...]
    divisor: int
    end: Fraction

    def __repr__(self) -> str:
        return f"Equation({len(self.amounts)} relations, {len(self.others)} bounds)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proof:
    """Combination of relations that bounds a cell, or a sum of cells.

    Attributes
    ----------
    goal : tuple of (int, int)
        Suppressed cells and their coefficients; one cell with coefficient 1 for a single cell.
    sign : {1, -1}
        Upper (1) or lower (-1) end.
    rows, multipliers : tuple of int
        Relations, and how often each is added; none of them 0.
    divisor : int
        What the combination is divided by in the end.
    """

    goal: tuple[tuple[int, int], ...]
    sign: int
    rows: tuple[int, ...]
    multipliers: tuple[int, ...]
    divisor: int

    def __repr__(self) -> str:
        side = "upper" if self.sign > 0 else "lower"
        return f"Proof({side} end from {len(self.rows)} relations)"

    def equation(self, release: Release) -> Equation:
        """Put the published numbers in, in exact integers.

        Parameters
        ----------
        release : Release

        Raises
        ------
        CertificateError
            If a cell or relation does not exist, the goal is not suppressed, or a suppressed cell
            that remains has no bound on the side that is needed.
        """
        relations, pattern = release.relations, release.pattern
        n, m = len(pattern), relations.shape[0]
        goal = dict(self.goal)
        if (
            self.divisor < 1
            or self.sign not in (1, -1)
            or len(self.rows) != len(self.multipliers)
            or not all(0 <= cell < n and pattern[cell] for cell in goal)
            or not all(0 <= row < m for row in self.rows)
        ):
            msg = "the proof does not belong to this release: it names other cells or relations"
            raise CertificateError(msg)
        left: dict[int, int] = {}
        amounts = []
        for row, factor in zip(self.rows, self.multipliers, strict=True):
            span = slice(relations.indptr[row], relations.indptr[row + 1])
            amount = 0
            cells, signs = relations.indices[span].tolist(), relations.data[span].tolist()
            for cell, a in zip(cells, signs, strict=True):
                if pattern[cell]:
                    left[cell] = left.get(cell, 0) + factor * a
                else:
                    amount -= factor * a * int(release.published[cell])
            amounts.append(amount)
        for cell, a in goal.items():
            left[cell] = left.get(cell, 0) - self.divisor * a
        total, others, rest = sum(amounts), [], 0
        for cell in sorted(left):
            weight = left[cell]
            if not weight:
                continue
            # goal = (total - weight * x) / divisor grows as x falls, for a positive weight.
            low = (weight > 0) == (self.sign > 0)
            bound = int(release.lower[cell] if low else release.upper[cell])
            if abs(bound) >= UNBOUNDED:
                msg = f"the proof needs a bound of cell {release.labels[cell]}, which has none"
                raise CertificateError(msg)
            others.append((cell, weight, bound))
            rest += weight * bound
        end = Fraction(total - rest, self.divisor)
        return Equation(tuple(amounts), total, tuple(others), self.divisor, end)


def end_of(value: int, claim: Claim) -> Fraction | None:
    """End that a claim states, in units; None if there is none."""
    return None if claim.reach is None else value + claim.sign * Fraction(claim.reach)


def ends(
    table: Table,
    pattern: NDArray[np.bool_],
    *,
    integer: bool = True,
    cells: Iterable[int] | None = None,
    clock: Clock = UNLIMITED,
) -> tuple[dict[int, tuple[Claim, Claim]], dict[int, tuple[Claim, Claim]]]:
    """Rational and whole-number interval ends of suppressed cells, each linear program once.

    Parameters
    ----------
    table : Table
        Any completion of the release.
    pattern : (n,) bool
    integer : bool
        Whether to find the whole-number ends as well.
    cells : iterable of int, optional
        Only these.
    clock : Clock

    Returns
    -------
    rational, whole : dict of int to (Claim, Claim)
        Lower and upper claim of each cell, checked; `whole` is empty without `integer`.

    Raises
    ------
    CertificateError
        If a claim cannot be proved; for whole numbers also if cells have more than 10**9 units of
        room and the rational end is a fraction.
    OutOfTime
        If the time runs out.
    """
    rational: dict[int, tuple[Claim, Claim]] = {}
    whole: dict[int, tuple[Claim, Claim]] = {}
    wanted = as_pattern(table, pattern).copy()
    if cells is not None:
        wanted[:] = False
        wanted[list(cells)] = True
    for view in components(table, pattern):
        here = np.flatnonzero(wanted[view.cells])
        if not len(here):
            continue
        clock.check()
        targets, signs = np.tile(here, 2), np.repeat([-1, 1], len(here))
        answers = engine(view).ends(targets, signs, None, clock)
        _pair(rational, view, here, claims_of(view, targets, signs, answers))
        if integer:
            tight = _whole(view, targets, signs, answers, clock)
            _pair(whole, view, here, claims_of(view, targets, signs, tight, integer=True))
    claims = [c for found in (rational, whole) for pair in found.values() for c in pair]
    Certificate(table, pattern, tuple(claims)).verify()
    return rational, whole


def _whole(
    view: View, targets: NDArray[np.int64], signs: NDArray[np.int64], answers: list[Extreme],
    clock: Clock,
) -> list[Extreme]:  # fmt: skip
    """Whole-number ends; deviations found for one cell serve others that they move as far."""
    k = len(view.cells)
    pool = [a.witness(k) for a in answers if a.denominator == 1 and a.reach is not None]
    tight = []
    for j, sign, answer in zip(targets.tolist(), signs.tolist(), answers, strict=True):
        clock.check()
        found = answer
        if answer.denominator != 1:
            shared = None
            if answer.exact and answer.reach is not None:
                end = answer.reach.numerator // answer.reach.denominator
                shared = next((z for z in pool if sign * int(z[j]) == end), None)
            if shared is None:
                found = integer_extreme(view, j, sign, answer, clock)
                if found.reach is not None:
                    pool.append(found.witness(k))
            else:
                moved = np.flatnonzero(shared)
                found = replace(
                    answer, reach=Fraction(end), moved=moved, steps=shared[moved], denominator=1
                )
        tight.append(found)
    return tight


def _pair(
    found: dict[int, tuple[Claim, Claim]], view: View, here: NDArray[np.int64], claims: list[Claim]
) -> None:
    cells = view.cells[here].tolist()
    pairs = zip(claims[: len(here)], claims[len(here) :], strict=True)
    found.update(zip(cells, pairs, strict=True))


def proof_of(claim: Claim) -> Proof | None:
    """Proof behind a claim, free of the true values; None if it has none.

    Parameters
    ----------
    claim : Claim
        About a single cell.
    """
    if not claim.exact or claim.reach is None:
        return None
    pairs = zip(claim.rows.tolist(), claim.multipliers.tolist(), strict=True)
    signed = {int(row): claim.sign * int(factor) for row, factor in pairs if factor}
    return _proof(((claim.cell, 1),), claim.sign, signed, int(claim.divisor))


def _proof(
    goal: tuple[tuple[int, int], ...], sign: int, factors: Mapping[int, int], divisor: int
) -> Proof:
    common = gcd(divisor, *factors.values())
    # Whatever is added comes first: "row 1 + row 2 - column 4".
    rows = sorted(factors, key=lambda row: (factors[row] < 0, row))
    return Proof(
        goal, sign, tuple(rows), tuple(factors[r] // common for r in rows), divisor // common
    )


def shortened(
    release: Release, proof: Proof, view: View | None = None, *, bounds: bool = True,
    clock: Clock = UNLIMITED,
) -> Proof:  # fmt: skip
    """Proof of the same end with smaller multipliers, where one is found.

    Parameters
    ----------
    release : Release
    proof : Proof
    view : View, optional
        The part of the pattern that holds the goal; the whole of it by default.
    bounds : bool
        Whether bounds of cells may be used; without them the relations must do alone.
    clock : Clock
        When it runs out, the proof stays as it is.

    Returns
    -------
    Proof
        The one given if nothing better comes out of the linear program, whose answer is only a
        suggestion: its end is recomputed in integers.
    """
    from scipy.sparse import csr_array

    if view is None:
        cells = np.flatnonzero(release.pattern)
        part = csr_array(release.relations[:, cells])
        rows = np.flatnonzero(np.diff(part.indptr))
        matrix = csr_array(part[rows])
    else:
        cells, rows, matrix = view.cells, view.rows, view.matrix
    size = sum(map(abs, proof.multipliers))
    if clock.over or len(rows) + len(cells) > _LARGEST or size <= proof.divisor:
        return proof
    end = proof.equation(release).end
    guess = _smallest(release, proof, cells, rows, matrix, end, clock, bounds=bounds)
    if guess is None:
        return proof
    for numerators, divisor in rationalise(guess):
        factors = {
            int(r): int(v) for r, v in zip(rows.tolist(), numerators.tolist(), strict=True) if v
        }
        found = _proof(proof.goal, proof.sign, factors, divisor)
        try:
            equation = found.equation(release)
        except CertificateError:
            continue
        length = Fraction(sum(map(abs, found.multipliers)), found.divisor)
        good = equation.end == end and (bounds or not equation.others)
        if good and length < Fraction(size, proof.divisor):
            return found
    return proof


def _smallest(
    release: Release, proof: Proof, cells: NDArray[np.int64], rows: NDArray[np.int64],
    matrix: Any, end: Fraction, clock: Clock, *, bounds: bool,
) -> NDArray[np.float64] | None:  # fmt: skip
    """Multipliers of least absolute sum that prove an end, in floats."""
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    r, k = len(rows), len(cells)
    goal = np.zeros(k)
    for cell, a in proof.goal:
        goal[np.searchsorted(cells, cell)] = a
    shown = np.where(release.pattern, 0, release.published)
    right = -(release.relations[rows] @ shown).astype(np.float64)
    # goal = M'g - w with w = plus - minus; w > 0 needs the lower bound in an upper end.
    first, second = release.lower[cells], release.upper[cells]
    if proof.sign < 0:
        first, second = second, first
    none = np.zeros(k)
    top = [np.where(np.abs(b) >= UNBOUNDED, none, np.inf) if bounds else none
           for b in (first, second)]  # fmt: skip
    first = np.where(np.abs(first) >= UNBOUNDED, 0, first).astype(np.float64)
    second = np.where(np.abs(second) >= UNBOUNDED, 0, second).astype(np.float64)
    unit = max(1.0, float(np.abs(right).max(initial=0)))
    turned = csr_array(matrix.T).astype(np.float64)
    eye = eye_array(k)
    left = hstack([turned, -turned, -eye, eye], format="csr")
    value = proof.sign * np.concatenate([right, -right, -first, second]) / unit
    upper = np.concatenate([np.full(2 * r, np.inf), *top])
    rows_of = csr_array(vstack([left, csr_array(value[None, :])], format="csr"))
    most = proof.sign * float(end) / unit
    model = Model().load(
        cost=np.concatenate([np.ones(2 * r), np.full(2 * k, 1e-3)]),
        lower=np.zeros(2 * r + 2 * k), upper=upper, rows=rows_of,
        row_lower=np.append(goal, -np.inf), row_upper=np.append(goal, most),
    )  # fmt: skip
    try:
        if model.solve(clock) != Status.OPTIMAL:
            return None
    except SolverError:
        # A longer proof is a proof.
        return None
    return np.asarray(model.values[:r] - model.values[r : 2 * r])
