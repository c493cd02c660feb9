"""Which requirements a (fractional) pattern misses, and the cuts that say so.

The attacker's LP lives on the support of the point only. One LP certifies many requirements at
once, and every deviation found serves all requirements that it reaches (Fischetti and
Salazar-Gonzalez 2000): most LPs of a round are never solved.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import OutOfTime, SolverError
from csp.exact import UNBOUNDED, Floats, Ints
from csp.highs import Model, Status
from csp.problem.problem import Problem
from csp.problem.requirements import DOWN, SLIDE, UP, Needs
from csp.solve.cuts import Cut, CutFactory, whole_multipliers
from csp.solve.general.kernel_program import KernelProgram
from csp.solve.incumbent import Shown

_SUPPORT = 1e-9
_VIOLATED = 1e-6
_COOLING = 0.9

# Relations times cells up to which programs are solved in kernel form (docs/benchmarks.md has the
# times of HiGHS).
_DENSE = 200_000


class Separator:
    """Finds violated capacity cuts of one problem.

    Parameters
    ----------
    problem : Problem
    cutter : CutFactory
    seed : int
        Passed to the solver; it changes which cuts are found, never what they mean.
    """

    def __init__(self, problem: Problem, cutter: CutFactory, seed: int = 0) -> None:
        self._problem, self._cutter, self._seed = problem, cutter, seed
        needs = Needs.of(problem)
        self._needs = [
            *zip(needs.cell.tolist(), needs.kind.tolist(), needs.need.tolist(), strict=True)
        ]
        self._clock = UNLIMITED
        self._heat = np.zeros(len(self._needs))
        self._largest_need = max((need for _, _, need in self._needs), default=1)
        # Absolute solver tolerances suit numbers near one thousand.
        self._unit = 2.0 ** max(0, int(np.ceil(np.log2(self._largest_need))) - 10)
        self._model: Any = None
        self._cells: Ints = np.empty(0, np.int64)
        self._place = np.full(problem.table.n_cells, -1)
        self._rows: Ints = np.empty(0, np.int64)
        relations = problem.table.relations
        small = relations.shape[0] * relations.shape[1] <= _DENSE
        # Transposed: cells are taken out of it.
        self._dense = relations.T.toarray().astype(np.float64) if small else None
        self._up, self._down = np.empty(0), np.empty(0)
        self.solved = 0

    @property
    def in_kernel_form(self) -> bool:
        """Whether the table is small enough for programs in kernel form."""
        return self._dense is not None

    def misses(
        self, x: Floats, *, whole: bool, clock: Clock, most: int | None = None,
        tries: int | None = None, shown: Shown = MappingProxyType({}),
    ) -> list[tuple[Cut, ...]]:  # fmt: skip
        """Find the requirements that the point misses.

        Parameters
        ----------
        x : (n,) float64
            1 at forced cells; 0 at cells that must be published.
        whole : bool
            The point is a pattern: judge it by true capacities. Otherwise capacities are capped
            at the need, which finds stronger cuts.
        clock : Clock
            When to stop early.
        most : int, optional
            Stop after this many misses.
        tries : int, optional
            Look only at this many requirements, those missed most often of late.
        shown : mapping of int to sequence of (Claim, Claim)
            Claims about a pattern, of which those that meet a requirement spare its program.

        Returns
        -------
        list of tuple of Cut
            For each of them the cuts that prove it. An empty tuple is one without a proof, which
            only a pattern can miss.
        """
        self._set_support(x)
        self._clock = clock
        found: list[tuple[Cut, ...]] = []
        with suppress(OutOfTime):
            self._look(x, found, self._reached(shown), whole=whole, most=most, tries=tries)
        return found

    def _reached(self, shown: Shown) -> tuple[Floats, Floats]:
        """How far cells of the support move, up and down, by claims."""
        high, low = np.zeros(len(self._cells)), np.zeros(len(self._cells))
        for p, pairs in shown.items():
            j = self._place[p]
            low[j] = -max(self._distance(down.reach) for down, _ in pairs)
            high[j] = max(self._distance(up.reach) for _, up in pairs)
        return high, low

    def _distance(self, reach: Fraction | None) -> float:
        return self._largest_need / self._unit if reach is None else float(reach) / self._unit

    def _look(
        self, x: Floats, found: list[tuple[Cut, ...]], reach: tuple[Floats, Floats], *, whole: bool,
        most: int | None, tries: int | None,
    ) -> None:  # fmt: skip
        """Fill a list with misses; `reach` is how far cells move at least."""
        high, low = reach
        # A deviation within capacities capped at one need serves all larger ones: small first.
        for level in self._levels(tries, whole=whole):
            if tries is None:
                self._certify_together(level, x, high, low, whole=whole)
            for r in level:
                p, kind, need = self._needs[r]
                if self._met(p, kind, need, high, low):
                    self._heat[r] *= _COOLING
                    continue
                if self._clock.over or (most is not None and len(found) >= most):
                    return
                cuts = self._alone(x, p, kind, need, high, low, whole=whole)
                self._heat[r] = _COOLING * self._heat[r] + (cuts is not None)
                if cuts is not None:
                    found.append(cuts)

    def _levels(self, tries: int | None, *, whole: bool) -> list[list[int]]:
        """Put requirements of similar size together, in ascending order."""
        order = np.argsort(-self._heat, kind="stable")[:tries]
        if whole:
            return [order.tolist()]
        size = np.array([self._needs[r][2] for r in order.tolist()])
        order, size = order[np.argsort(size, kind="stable")], np.sort(size)
        octave = np.floor(np.log2(size)).astype(np.int64)
        return [order[octave == o].tolist() for o in np.unique(octave)]

    # ---- one requirement -----------------------------------------------------------------------

    def _met(self, p: int, kind: int, need: int, high: NDArray[Any], low: NDArray[Any]) -> bool:
        j = self._place[p]
        reach = {UP: high[j], DOWN: -low[j], SLIDE: high[j] - low[j]}[kind]
        return bool(reach * self._unit >= need * (1 - 1e-9) - 1e-7 * self._unit)

    def _alone(
        self, x: Floats, p: int, kind: int, need: int,
        high: NDArray[Any], low: NDArray[Any], *, whole: bool,
    ) -> tuple[Cut, ...] | None:  # fmt: skip
        up, down = self._capacities(x, need, whole=whole)
        j = int(self._place[p])
        limit = need / self._unit
        up[j], down[j] = min(up[j], limit), min(down[j], limit)
        self._bound(up, down)
        sides = []
        for sign in {UP: (1,), DOWN: (-1,), SLIDE: (1, -1)}[kind]:
            z, g = self._push(np.array([j], np.int32), np.array([-float(sign)]))
            np.maximum(high, z, out=high)
            np.minimum(low, z, out=low)
            if self._met(p, kind, need, high, low):
                return None
            sides.append((sign, *self._multipliers(g)))
        cut = self._cutter.capacity(p, need, sides)
        cuts = () if cut is None or cut.slack(x) > -_VIOLATED else (cut,)
        return cuts if cuts or whole else None

    def _multipliers(self, g: Floats) -> tuple[Ints, Ints, int]:
        """Relations and their multipliers as small rationals (any choice is valid)."""
        numerators, divisor = whole_multipliers(g)
        used = np.flatnonzero(numerators)
        return self._rows[used], numerators[used], divisor

    # ---- many requirements at once -------------------------------------------------------------

    def _certify_together(
        self, level: list[int], x: Floats, high: NDArray[Any], low: NDArray[Any], *, whole: bool,
    ) -> None:  # fmt: skip
        open_needs = [n for n in (self._needs[r] for r in level) if not self._met(*n, high, low)]
        if not open_needs:
            return
        caps = self._capacities(x, min(need for *_, need in open_needs), whole=whole)
        sign = 1.0
        stalled = 0
        while stalled < 2 and len(open_needs) > 3 and not self._clock.over:
            up, down = caps[0].copy(), caps[1].copy()
            columns: dict[int, float] = {}
            for p, kind, need in open_needs:
                j = int(self._place[p])
                direction = {UP: 1.0, DOWN: -1.0, SLIDE: sign}[kind]
                if columns.get(j, direction) != direction:
                    continue
                columns[j] = direction
                limit = need / self._unit
                if kind == SLIDE:
                    limit -= max(0.0, -low[j] if direction > 0 else high[j])
                    limit = max(limit, 0.0)
                side = up if direction > 0 else down
                side[j] = min(side[j], limit)
            self._bound(up, down)
            where = np.fromiter(columns, dtype=np.int32)
            z, _ = self._push(where, -np.fromiter(columns.values(), dtype=np.float64))
            np.maximum(high, z, out=high)
            np.minimum(low, z, out=low)
            left = [n for n in open_needs if not self._met(*n, high, low)]
            stalled = stalled + 1 if len(left) > 0.85 * len(open_needs) else 0
            open_needs, sign = left, -sign

    # ---- the model -----------------------------------------------------------------------------

    def _set_support(self, x: Floats) -> None:
        support = x > _SUPPORT
        inside = self._place >= 0
        held = self._model is not None and not (support & ~inside).any()
        if held and support.sum() > 0.7 * inside.sum():
            return
        self._cells = np.flatnonzero(support)
        self._place[:] = -1
        self._place[self._cells] = np.arange(len(self._cells))
        if self._dense is not None:
            dense = self._dense[self._cells].T
            self._rows = np.flatnonzero(dense.any(axis=1))
            self._model = KernelProgram.of(dense[self._rows])
            return
        from scipy.sparse import csr_array

        part = csr_array(self._problem.table.relations[:, self._cells])
        self._rows = np.flatnonzero(np.diff(part.indptr))
        part = csr_array(part[self._rows])
        options = {"presolve": "off", "solver": "simplex", "simplex_strategy": 4}
        self._model = Model(**options, random_seed=self._seed).load(
            cost=0.0, lower=0.0, upper=0.0, rows=part
        )

    def _capacities(self, x: Floats, need: int, *, whole: bool) -> tuple[Floats, Floats]:
        share = x[self._cells]
        out = []
        for bound in (self._cutter.up[self._cells], self._cutter.down[self._cells]):
            if whole:
                cap = np.where(bound >= UNBOUNDED, np.inf, bound / self._unit)
                cap[share < 0.5] = 0.0
                out.append(cap)
            else:
                out.append(np.minimum(bound, need) / self._unit * share)
        return out[0], out[1]

    def _bound(self, up: Floats, down: Floats) -> None:
        k = len(self._cells)
        if isinstance(self._model, KernelProgram):
            self._up, self._down = up, down
        elif k:
            self._model.set_bounds(np.arange(k, dtype=np.int32), -down, up)

    def _push(self, columns: NDArray[np.int32], costs: Floats) -> tuple[Floats, Floats]:
        self.solved += 1
        if isinstance(self._model, KernelProgram):
            aim = np.zeros(len(self._cells))
            aim[columns] = -costs
            return self._model.push(aim, self._up, self._down)
        self._model.set_objective(columns, costs)
        status = self._model.solve(self._clock)
        if status == Status.INFEASIBLE:
            # It never is; on large degenerate parts the solver has been seen to lose its way.
            self._model.forget()
            status = self._model.solve(self._clock)
        if status == Status.LIMIT:
            msg = "the attacker's program was not solved in time"
            raise OutOfTime(msg)
        if status != Status.OPTIMAL:
            msg = f"the attacker's program ended as {status}; the true table always solves it"
            raise SolverError(msg)
        solution = self._model.solution
        return np.asarray(solution.col_value), -np.asarray(solution.row_dual)
