"""Interval ends by linear programming on one live model, made exact afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.elimination import determined
from csp.attacker.exact import (
    basic_solution,
    common_denominator,
    dual_bound,
    is_deviation,
    rationalise,
)
from csp.attacker.view import Extreme, View
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError
from csp.highs import Model, Status
from csp.numbers import UNBOUNDED

__all__ = ["LpEngine"]

# How often a basis is refined, and the unit of a refinement in units of the one before.
_REFINEMENTS = 4
_FINER = 2.0**-20

_NOTHING = (np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """An exact deviation: positions that move, numerators, common denominator."""

    moved: NDArray[np.int64]
    steps: NDArray[Any]
    denominator: int

    def reach(self, j: int, sign: int) -> Fraction:
        at = np.searchsorted(self.moved, j)
        if at == len(self.moved) or self.moved[at] != j:
            return Fraction(0)
        return Fraction(sign * int(self.steps[at]), self.denominator)


class LpEngine:
    """Interval ends of the cells of any part of a pattern.

    One HiGHS model lives as long as the engine; between calls only bounds and the objective
    change. Deviations are scaled by a power of two to keep the solver's absolute tolerances
    meaningful for large totals.
    """

    def __init__(self, view: View, witnesses: Sequence[tuple[NDArray[np.int64], int]] = ()) -> None:
        self._view, self._witnesses = view, witnesses
        finite = np.concatenate([view.up[view.up < UNBOUNDED], view.down[view.down < UNBOUNDED]])
        largest = float(finite.max(initial=1))
        self._unit = 2.0 ** max(0, int(np.ceil(np.log2(max(largest, 1.0)))) - 20)
        self._low, self._high = -_float(view.down, self._unit), _float(view.up, self._unit)
        self._model = self._loaded(self._low, self._high)
        self._priced = np.empty(0, np.int32)
        self._capped = np.empty(0, np.int32)

    def ends(
        self,
        targets: NDArray[np.int64],
        signs: NDArray[np.int64],
        enough: NDArray[np.int64] | None = None,
        clock: Clock = UNLIMITED,
    ) -> list[Extreme]:
        """Furthest deviation of each target in its direction; see `csp.attacker.Engine`."""
        found: list[Extreme | None] = [None] * len(targets)
        if enough is not None:
            for steps, scale in self._witnesses:
                clock.check()
                if is_deviation(self._view, steps, scale):
                    moved = np.flatnonzero(steps)
                    table = _Table(moved, steps[moved], scale)
                    self._share(found, table, targets, signs, enough)
            self._together(found, targets, signs, enough, clock)
        # All of one direction first: neighbouring objectives keep the simplex warm.
        for sign in (-1, 1):
            for t in np.flatnonzero(signs == sign).tolist():
                if found[t] is not None:
                    continue
                clock.check()
                j = int(targets[t])
                if enough is None:
                    found[t] = self.extreme(j, sign, clock=clock)
                    continue
                found[t] = answer = self.extreme(j, sign, int(enough[t]), clock)
                if answer.reach is not None:
                    table = _Table(answer.moved, answer.steps, answer.denominator)
                    self._share(found, table, targets, signs, enough)
        return [e for e in found if e is not None]

    def extreme(
        self, j: int, sign: int, enough: int | None = None, clock: Clock = UNLIMITED
    ) -> Extreme:
        """Furthest deviation of one cell, or `enough` of it; see `ends`.

        Raises
        ------
        CertificateError
            If no exact witness can be made of the solver's answer.
        """
        where = np.array([j], dtype=np.int32)
        need = None if enough is None else np.array([enough])
        word = self._solve(where, np.array([sign]), need, clock)
        if word == Status.UNBOUNDED:
            ray = LpEngine(self._view.recession()).extreme(j, sign)
            return Extreme(None, ray.moved, ray.steps, ray.denominator, *_NOTHING, 1, exact=False)
        clock.check()
        if word != Status.OPTIMAL:
            msg = f"the attacker's LP ended as {word}; it always has the true table as a solution"
            raise CertificateError(msg)
        solution = self._model.solution
        z = np.asarray(solution.col_value) * self._unit
        g = -np.asarray(solution.row_dual)
        table = self._exact(z)
        if table is not None and enough is not None:
            reach = table.reach(j, sign)
            if reach >= enough:
                return self._reached(table, j, sign)
        proof = None if table is None else self._proof(j, sign, g, table.reach(j, sign))
        if table is None or proof is None:
            table, proof = self._from_basis(j, sign, table, clock, enough)
        reach = table.reach(j, sign)
        exact = proof is not None and dual_bound(self._view, j, sign, *proof) == reach
        if not exact and enough is not None and reach >= enough:
            return self._reached(table, j, sign)
        rows, multipliers, divisor = *_NOTHING, 1
        if exact and proof is not None:
            rows = np.flatnonzero(proof[0])
            multipliers, divisor = proof[0][rows], proof[1]
        return Extreme(
            reach, table.moved, table.steps, table.denominator, rows, multipliers, divisor, exact
        )

    # ---- many targets at once ------------------------------------------------------------------

    def _together(
        self, found: list[Extreme | None], targets: NDArray[np.int64],
        signs: NDArray[np.int64], enough: NDArray[np.int64], clock: Clock,
    ) -> None:  # fmt: skip
        """Move many targets in one table, again until that no longer serves a good part."""
        turn, stalled = 0, 0
        while stalled < 2:
            left = [t for t, e in enumerate(found) if e is None]
            if len(left) <= 3:
                return
            clock.check()
            # A cell that lacks both ends goes up in one turn and down in the next; neighbours
            # go opposite ways, since what one gains another in its relation must lose.
            choice: dict[int, int] = {}
            for t in left:
                j, s = int(targets[t]), int(signs[t])
                if j not in choice or s == (1 if (j + turn) % 2 else -1):
                    choice[j] = t
            chosen = np.fromiter(choice.values(), dtype=np.int64)
            where = targets[chosen].astype(np.int32)
            word = self._solve(where, signs[chosen], enough[chosen], clock)
            if word != Status.OPTIMAL:
                return
            table = self._exact(self._model.values * self._unit)
            if table is None:
                return
            self._share(found, table, targets, signs, enough)
            other = self._mirrored(table)
            if other is not None:
                self._share(found, other, targets, signs, enough)
            rest = sum(e is None for e in found)
            stalled = stalled + 1 if rest > 0.85 * len(left) else 0
            turn += 1

    def _share(
        self, found: list[Extreme | None], table: _Table, targets: NDArray[np.int64],
        signs: NDArray[np.int64], enough: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Give a table to every target without an answer that it moves far enough."""
        full = np.zeros(len(self._view.cells), dtype=table.steps.dtype)
        full[table.moved] = table.steps
        need = enough if table.denominator == 1 else enough.astype(object) * table.denominator
        for t in np.flatnonzero(np.asarray(signs * full[targets] >= need, dtype=bool)).tolist():
            if found[t] is None:
                found[t] = self._reached(table, int(targets[t]), int(signs[t]))

    def _reached(self, table: _Table, j: int, sign: int) -> Extreme:
        reach = table.reach(j, sign)
        return Extreme(
            reach, table.moved, table.steps, table.denominator, *_NOTHING, 1, exact=False
        )

    def _mirrored(self, table: _Table) -> _Table | None:
        """Return the opposite deviation, if bounds allow it."""
        steps = -table.steps
        limit = np.where(steps > 0, self._view.up[table.moved], self._view.down[table.moved])
        far = np.abs(steps) > _times(limit, table.denominator)
        if np.any(far & (limit < UNBOUNDED)):
            return None
        return _Table(table.moved, steps, table.denominator)

    # ---- the model -----------------------------------------------------------------------------

    def _solve(
        self, where: NDArray[np.int32], signs: NDArray[np.int64], need: NDArray[np.int64] | None,
        clock: Clock,
    ) -> Status:  # fmt: skip
        """Move some cells as far as they go together, each no further than its need."""
        model = self._model
        if len(self._priced):
            model.set_costs(self._priced, np.zeros(len(self._priced)))
        if len(self._capped):
            old = self._capped
            model.set_bounds(old, self._low[old], self._high[old])
            self._capped = np.empty(0, np.int32)
        price = -signs.astype(np.float64)
        if need is not None:
            cap = need / self._unit
            low = np.where(signs < 0, np.maximum(self._low[where], -cap), self._low[where])
            high = np.where(signs > 0, np.minimum(self._high[where], cap), self._high[where])
            model.set_bounds(where, low, high)
            self._capped = where
            if len(where) > 1:
                price *= float(need.max(initial=1)) / np.maximum(need, 1)
        model.set_costs(where, price)
        self._priced = where
        word = model.solve(clock)
        if word == Status.INFEASIBLE:
            # It never is; on large degenerate parts the solver has been seen to lose its way.
            model.forget()
            word = model.solve(clock)
        return word

    def _exact(self, z: NDArray[np.float64]) -> _Table | None:
        for numerators, denominator in rationalise(z):
            clipped = np.minimum(numerators, _times(self._view.up, denominator))
            clipped = np.maximum(clipped, -_times(self._view.down, denominator))
            if is_deviation(self._view, clipped, denominator):
                moved = np.flatnonzero(clipped)
                return _Table(moved, clipped[moved], denominator)
        divisor = common_denominator(z)
        if divisor is None or np.abs(z).max(initial=0.0) * divisor >= 2.0**62:
            return None
        numerators = np.rint(z * divisor).astype(np.int64)
        if not is_deviation(self._view, numerators, divisor):
            return None
        moved = np.flatnonzero(numerators)
        return _Table(moved, numerators[moved], divisor)

    def _proof(
        self, j: int, sign: int, g: NDArray[np.float64], reach: Fraction
    ) -> tuple[NDArray[Any], int] | None:
        for numerators, divisor in rationalise(g):
            bound = dual_bound(self._view, j, sign, numerators, divisor)
            if bound is not None and bound == reach:
                return numerators, divisor
        return None

    def _from_basis(
        self, j: int, sign: int, table: _Table | None, clock: Clock, enough: int | None
    ) -> tuple[_Table, tuple[NDArray[Any], int] | None]:
        """Solve the final basis in rationals: slower, but exact at any denominators.

        Where a bound is broken, the program is solved again for what is missing, in a smaller
        unit (iterative refinement; Gleixner, Steffy and Wolter 2016).
        """
        import highspy

        kind = highspy.HighsBasisStatus
        basis, unit = self._model.basis, self._unit
        up, down = self._view.up.astype(object), self._view.down.astype(object)
        if enough is not None:
            side = up if sign > 0 else down
            side[j] = min(side[j], enough)
        for _ in range(_REFINEMENTS):
            columns, rows = list(basis.col_status), list(basis.row_status)
            at = np.array([0] * len(columns), dtype=object)
            for i, s in enumerate(columns):
                at[i] = up[i] if s == kind.kUpper else -down[i] if s == kind.kLower else 0
            basic = np.array([i for i, s in enumerate(columns) if s == kind.kBasic], np.int64)
            if enough is not None:
                # The deviation alone will do, and sparse elimination finds it far sooner.
                others = np.setdiff1d(np.arange(len(columns)), basic)
                found = determined(self._view.matrix, others, at[others, None], clock)
                if found is not None and is_deviation(self._view, found[0][:, 0], found[1]):
                    moved = np.flatnonzero(found[0][:, 0])
                    better = _Table(moved, found[0][moved, 0], found[1])
                    if better.reach(j, sign) >= enough:
                        return better, None
            tight = np.array([i for i, s in enumerate(rows) if s != kind.kBasic], np.int64)
            answer = basic_solution(self._view, basic, at, tight, j, sign, clock)
            if answer is None:
                break
            numerators, denominator, multipliers, divisor = answer
            if is_deviation(self._view, numerators, denominator):
                moved = np.flatnonzero(numerators)
                return _Table(moved, numerators[moved], denominator), (multipliers, divisor)
            unit = max(unit * _FINER, _FINER)
            low = _distance(-down, numerators, denominator, unit)
            high = _distance(up, numerators, denominator, unit)
            finer = self._loaded(low, high)
            finer.set_costs(np.array([j], np.int32), np.array([-float(sign)]))
            finer.set_basis(basis)
            if finer.solve(clock) != Status.OPTIMAL:
                break
            basis = finer.basis
        if table is not None:
            return table, None
        clock.check("an exact witness was found")
        msg = (
            "no exact table could be made of the attacker's LP solution; the numbers of the table "
            "may be too far apart: use a larger unit, or tables of smaller parts"
        )
        raise CertificateError(msg)

    def _loaded(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Model:
        zero = np.zeros(len(self._view.rows))
        return Model(presolve="off", solver="simplex", simplex_strategy=4).load(
            cost=np.zeros(len(low)), lower=low, upper=high,
            rows=self._view.matrix, row_lower=zero, row_upper=zero,
        )  # fmt: skip


def _distance(
    bound: NDArray[Any], numerators: NDArray[Any], denominator: int, unit: float
) -> NDArray[np.float64]:
    """From rational values to bounds, in a unit; infinite where there is no bound."""
    scale = denominator * Fraction(unit)
    return np.array(
        [
            float(np.sign(b)) * np.inf
            if abs(b) >= UNBOUNDED
            else float((b * denominator - n) / scale)
            for b, n in zip(bound.tolist(), numerators.tolist(), strict=True)
        ]
    )


def _float(bound: NDArray[np.int64], unit: float) -> NDArray[np.float64]:
    return np.where(bound >= UNBOUNDED, np.inf, bound / unit)


def _times(bound: NDArray[np.int64], denominator: int) -> NDArray[Any]:
    """Scale a bound; object integers where the product may not fit int64."""
    if denominator == 1:
        return bound
    return bound.astype(object) * denominator
