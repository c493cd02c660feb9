"""Interval ends by linear programming on one live model, made exact afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from csp.attacker.ilp import FURTHEST
from csp.attacker.view import Deviation, Extreme, View, largest_room
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, OutOfTime
from csp.exact import UNBOUNDED, Floats, Ints
from csp.highs import Basis, Model, Position, Status

# How often a basis is refined, and the unit of a refinement in units of the one before.
_REFINEMENTS = 4
_FINER = 2.0**-20

# The share of open ends that a program for many has to leave at most, and how few are followed one
# by one.
_GOOD = 0.85
_FEW = 3

# Number of cells from which the simplex method does not begin on its own: on 6,546 of a deep
# hierarchy it takes 14 s from scratch, where an interior-point method takes 0.7. From the vertex of
# the last program it takes less still, if it does not take more steps than this.
_LARGE = 1000
_MOST_STEPS = 3000

# What counts as a whole number in a solution.
_FRACTION = 1e-6

# Seconds and gap of an integer program for many targets: most of them are served by any good table
# (near the linear program's, 0.05 s for 700 cells of 3,000 and 0.5 for 4,500 of a flat three-way
# table of counts; with no cell held, 2.6).
_WHOLE_SECONDS = 6.0
_WHOLE_GAP = 0.3


class LpEngine:
    """Interval ends of the cells of any part of a pattern.

    One HiGHS model lives as long as the engine; between calls only bounds and the objective
    change. Deviations are scaled by a power of two to keep the solver's absolute tolerances
    meaningful for large totals.
    """

    def __init__(
        self, view: View, witnesses: Sequence[tuple[Ints, int]] = (), *, whole: bool = False,
    ) -> None:  # fmt: skip
        self._view, self._witnesses, self._whole = view, witnesses, whole
        largest = max(largest_room(view.up, view.down), 1)
        self._unit = 2.0 ** max(0, int(np.ceil(np.log2(float(largest)))) - 20)
        # Rooms as they stand in the program: some cells are held to what is enough.
        self._top, self._bottom = view.up.copy(), view.down.copy()
        self._model = self._loaded(-_float(view.down, self._unit), _float(view.up, self._unit))
        self._warm = False
        self._priced, self._prices = np.empty(0, np.int32), np.empty(0)
        self._capped = np.empty(0, np.int32)

    def ends(
        self,
        targets: Ints,
        signs: Ints,
        enough: Ints | None = None,
        clock: Clock = UNLIMITED,
    ) -> list[Extreme]:
        """Furthest deviation of each target in its direction; see `csp.attacker.Engine`."""
        found: list[Extreme | None] = [None] * len(targets)
        if enough is not None:
            # A cell that moves as far as its own bound lets it has reached its end as well.
            room = np.where(signs > 0, self._view.up[targets], self._view.down[targets])
            enough = np.minimum(enough, room)
            for t in np.flatnonzero(enough == 0).tolist():
                found[t] = self._reached(Deviation(), int(targets[t]), int(signs[t]))
            for steps, scale in self._witnesses:
                clock.check()
                if is_deviation(self._view, steps, scale):
                    self._share(found, Deviation.of(steps, scale), targets, signs, enough)
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
                    table = Deviation(answer.moved, answer.steps, answer.denominator)
                    self._share(found, table, targets, signs, enough)
        return [e for e in found if e is not None]

    def shared(
        self, targets: Ints, signs: Ints, enough: Ints, clock: Clock = UNLIMITED,
    ) -> list[Extreme]:  # fmt: skip
        """Deviations that few programs find, each of which moves many targets far enough.

        Parameters
        ----------
        targets, signs, enough : (t,) int64
            As in `ends`.
        clock : Clock

        Returns
        -------
        list of Extreme
            One for each deviation, about some target that it serves.
        """
        found: list[Extreme | None] = [None] * len(targets)
        self._together(found, targets, signs, enough, clock)
        return list({id(e.steps): e for e in found if e is not None}.values())

    def extreme(
        self, j: int, sign: int, enough: int | None = None, clock: Clock = UNLIMITED
    ) -> Extreme:
        """Furthest deviation of one cell, or `enough` of it; see `ends`.

        Raises
        ------
        CertificateError
            If no exact witness can be made of the solver's answer.
        """
        word = self._solve(j, sign, enough, clock)
        if word == Status.UNBOUNDED:
            ray = LpEngine(self._view.recession()).extreme(j, sign)
            return Extreme(None, ray.moved, ray.steps, ray.denominator)
        clock.check()
        if word != Status.OPTIMAL:
            msg = (
                f"the attacker's LP ended with status {word}, although the true table is always a "
                "solution"
            )
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
        answer = Extreme(reach, table.moved, table.steps, table.denominator)
        if not exact or proof is None:
            return answer
        rows = np.flatnonzero(proof[0])
        return replace(answer, rows=rows, multipliers=proof[0][rows], divisor=proof[1], exact=True)

    # ---- many targets at once ------------------------------------------------------------------

    def _together(
        self, found: list[Extreme | None], targets: Ints, signs: Ints, enough: Ints, clock: Clock,
    ) -> None:  # fmt: skip
        """Move many targets in one table, again until that no longer serves a good part.

        Each program moves every cell that lacks an end one way or the other, as drawn: it
        maximises the sum of the shares of what is enough. Some ten such tables serve thousands of
        cells, and their opposites, where bounds allow them, the other ends.
        """
        rng = np.random.default_rng(0)
        bounded = False
        while True:
            left = rng.permutation([t for t, e in enumerate(found) if e is None])
            if len(left) <= _FEW:
                return
            clock.check()
            if not bounded:
                self._bound(targets[left].astype(np.int32), enough[left])
                self._warm = False
            # The first of the two ends of a cell in this order.
            chosen = left[np.unique(targets[left], return_index=True)[1]]
            self._price(targets[chosen].astype(np.int32), signs[chosen], enough[chosen])
            if self._run(clock) != Status.OPTIMAL:
                return
            table = self._exact(self._model.values * self._unit)
            if table is None:
                table = self._eliminated(self._model.basis, clock)
            if self._whole and table is not None and table.denominator > 1:
                table = self._in_whole_units(clock)
            if table is not None:
                self._share(found, table, targets, signs, enough)
                other = self._mirrored(table)
                if other is not None:
                    self._share(found, other, targets, signs, enough)
            rest = sum(e is None for e in found)
            if rest <= _GOOD * len(left):
                bounded = True
            elif bounded:
                # Cells that are served need no bounds on their steps any more.
                bounded = False
            else:
                return

    def _share(
        self, found: list[Extreme | None], table: Deviation, targets: Ints,
        signs: Ints, enough: Ints,
    ) -> None:  # fmt: skip
        """Give a table to every target without an answer that it moves far enough."""
        full = np.zeros(len(self._view.cells), dtype=table.steps.dtype)
        full[table.moved] = table.steps
        need = enough if table.denominator == 1 else enough.astype(object) * table.denominator
        for t in np.flatnonzero(np.asarray(signs * full[targets] >= need, dtype=bool)).tolist():
            if found[t] is None:
                found[t] = self._reached(table, int(targets[t]), int(signs[t]))

    def _reached(self, table: Deviation, j: int, sign: int) -> Extreme:
        reach = table.reach(j, sign)
        room = int((self._view.up if sign > 0 else self._view.down)[j])
        return Extreme(reach, table.moved, table.steps, table.denominator, exact=reach == room)

    def _mirrored(self, table: Deviation) -> Deviation | None:
        """Return the opposite deviation, if bounds allow it."""
        steps = -table.steps
        limit = np.where(steps > 0, self._view.up[table.moved], self._view.down[table.moved])
        far = np.abs(steps) > _times(limit, table.denominator)
        if np.any(far & (limit < UNBOUNDED)):
            return None
        return Deviation(table.moved, steps, table.denominator)

    # ---- the model -----------------------------------------------------------------------------

    def _solve(self, j: int, sign: int, need: int | None, clock: Clock) -> Status:
        """Move one cell as far as it goes, but no further than its need."""
        where, some = np.array([j], np.int32), np.array([0 if need is None else need])
        self._bound(where[: 0 if need is None else 1], some[: 0 if need is None else 1])
        self._price(where, np.array([sign]), None)
        return self._run(clock, endless=need is None)

    def _bound(self, where: NDArray[np.int32], need: Ints) -> None:
        """Let these cells move no further than their needs, and all others as far as they can."""
        view, old = self._view, self._capped
        self._top[old], self._bottom[old] = view.up[old], view.down[old]
        self._top[where] = np.minimum(self._top[where], need)
        self._bottom[where] = np.minimum(self._bottom[where], need)
        changed = np.union1d(old, where).astype(np.int32)
        if len(changed):
            low = -_float(self._bottom[changed], self._unit)
            self._model.set_bounds(changed, low, _float(self._top[changed], self._unit))
        self._capped = where

    def _price(self, where: NDArray[np.int32], signs: Ints, need: Ints | None) -> None:
        """Let the objective be the sum of some steps, or of their shares of the needs."""
        price = -signs.astype(np.float64)
        if need is not None:
            price *= float(need.max(initial=1)) / np.maximum(need, 1)
        self._model.set_objective(where, price)
        self._priced, self._prices = where, price

    def _run(self, clock: Clock, *, endless: bool = False) -> Status:
        """Solve the program as it stands."""
        model = self._model
        if endless or len(self._view.cells) < _LARGE:
            word = model.solve(clock)
        else:
            word = model.solve_stepwise(clock, _MOST_STEPS if self._warm else 0)
            self._warm = word == Status.OPTIMAL
        if word == Status.INFEASIBLE:
            # It never is; on large degenerate parts the solver has been seen to lose its way.
            model.forget()
            word = model.solve(clock)
        if word == Status.LIMIT:
            msg = "the time limit passed before there was an answer; allow more time"
            raise OutOfTime(msg)
        return word

    def _in_whole_units(self, clock: Clock) -> Deviation | None:
        """Solve the program as it stands in whole units, with a gap, near its solution.

        Cells without a fraction in any of their relations stay, the others move by a unit and what
        is missing to a whole one. Where nothing is that near, all are free to move.
        """
        view = self._view
        if largest_room(view.up, view.down) > FURTHEST:
            return None
        z = self._model.values * self._unit
        near = np.rint(z)
        links = abs(view.matrix)
        loose = links.T @ (links @ (np.abs(z - near) > _FRACTION)) > 0
        low, high = -_float(self._bottom, 1.0), _float(self._top, 1.0)
        least = np.where(loose, np.maximum(np.floor(z + _FRACTION) - 1, low), near)
        most = np.where(loose, np.minimum(np.ceil(z - _FRACTION) + 1, high), near)
        cost = np.zeros(len(view.cells))
        cost[self._priced] = self._prices
        until = clock.within(_WHOLE_SECONDS)
        for bottom, top in ((least, most), (low, high)):
            model = Model(mip_rel_gap=_WHOLE_GAP).load(
                cost=cost, lower=bottom, upper=top, rows=view.matrix, integer=True
            )
            model.solve(until, interruptible=True)
            numerators = np.rint(model.values).astype(np.int64)
            if len(numerators) == len(view.cells) and is_deviation(view, numerators, 1):
                return Deviation.of(numerators, 1)
        return None

    def _exact(self, z: Floats) -> Deviation | None:
        for numerators, denominator in rationalise(z):
            clipped = np.minimum(numerators, _times(self._view.up, denominator))
            clipped = np.maximum(clipped, -_times(self._view.down, denominator))
            if is_deviation(self._view, clipped, denominator):
                return Deviation.of(clipped, denominator)
        divisor = common_denominator(z)
        if divisor is None or np.abs(z).max(initial=0.0) * divisor >= 2.0**62:
            return None
        numerators = np.rint(z * divisor).astype(np.int64)
        if not is_deviation(self._view, numerators, divisor):
            return None
        return Deviation.of(numerators, divisor)

    def _eliminated(self, basis: Basis, clock: Clock) -> Deviation | None:
        """Find the deviation of a basis by sparse elimination, whatever its denominators."""
        others = np.flatnonzero(basis.columns != Position.BASIC)
        at = self._resting(basis)[others].reshape(-1, 1)
        found = determined(self._view.matrix, others, at, clock)
        if found is None or not is_deviation(self._view, found[0][:, 0], found[1]):
            return None
        return Deviation.of(found[0][:, 0], found[1])

    def _resting(self, basis: Basis) -> NDArray[Any]:
        """Exact steps of cells that a basis leaves at a bound; 0 for all others."""
        columns = basis.columns
        at = np.zeros(len(columns), dtype=object)
        upper, lower = columns == Position.UPPER, columns == Position.LOWER
        at[upper], at[lower] = self._top[upper].astype(object), -self._bottom[lower].astype(object)
        return at

    def _proof(
        self, j: int, sign: int, g: Floats, reach: Fraction
    ) -> tuple[NDArray[Any], int] | None:
        for numerators, divisor in rationalise(g):
            bound = dual_bound(self._view, j, sign, numerators, divisor)
            if bound is not None and bound == reach:
                return numerators, divisor
        return None

    def _from_basis(
        self, j: int, sign: int, table: Deviation | None, clock: Clock, enough: int | None
    ) -> tuple[Deviation, tuple[NDArray[Any], int] | None]:
        """Solve the final basis in rationals: slower, but exact at any denominators.

        Where a bound is broken, the program is solved again for what is missing, in a smaller
        unit (iterative refinement; Gleixner, Steffy and Wolter 2016).
        """
        basis, unit = self._model.basis, self._unit
        up, down = self._top.astype(object), self._bottom.astype(object)
        for _ in range(_REFINEMENTS):
            at = self._resting(basis)
            basic = np.flatnonzero(basis.columns == Position.BASIC)
            if enough is not None:
                # The deviation alone will do, and sparse elimination finds it far sooner.
                better = self._eliminated(basis, clock)
                if better is not None and better.reach(j, sign) >= enough:
                    return better, None
            tight = np.flatnonzero(basis.rows != Position.BASIC)
            answer = basic_solution(self._view, basic, at, tight, j, sign, clock)
            if answer is None:
                break
            numerators, denominator, multipliers, divisor = answer
            if is_deviation(self._view, numerators, denominator):
                return Deviation.of(numerators, denominator), (multipliers, divisor)
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
            "no exact table could be derived from the attacker's LP solution; the numbers of the "
            "table may be too far apart: use a larger unit, or tables of smaller parts"
        )
        raise CertificateError(msg)

    def _loaded(self, low: Floats, high: Floats) -> Model:
        return Model(presolve="off", solver="simplex", simplex_strategy=4).load(
            cost=0.0, lower=low, upper=high, rows=self._view.matrix
        )


def _distance(
    bound: NDArray[Any], numerators: NDArray[Any], denominator: int, unit: float
) -> Floats:
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


def _float(bound: Ints, unit: float) -> Floats:
    return np.where(bound >= UNBOUNDED, np.inf, bound / unit)


def _times(bound: Ints, denominator: int) -> NDArray[Any]:
    """Scale a bound; object integers where the product may not fit int64."""
    if denominator == 1:
        return bound
    return bound.astype(object) * denominator
