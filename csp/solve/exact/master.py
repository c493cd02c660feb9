"""The relaxed problem: choose cells of least cost that satisfy the cuts found so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from csp.clock import UNLIMITED, Clock
from csp.errors import SolverError
from csp.exact import Bools, Floats, Ints
from csp.highs import Model, Status
from csp.problem.problem import Problem
from csp.solve.cuts import Cut
from csp.solve.exact.relaxation import Relaxation, entries, unit_of

# What makes the solver stop after the cuts of the root, and keep them on our columns.
_ROOT_ONLY = {
    "presolve": "off",
    "mip_max_nodes": 1,
    "mip_allow_restart": False,
    "mip_detect_symmetry": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}
_MARGIN = 1e-7
# Entries up to which an integer program over a large table is built, and up to which one is built
# for each second that is left: HiGHS looks at the clock too seldom at the root of dense ones (on
# table3 one of 2.8 million entries passed a limit of 46 s by 118).
_PROGRAM = 20_000_000
_PROGRAM_A_SECOND = 30_000


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Outcome of one relaxed solve.

    Attributes
    ----------
    status : {"optimal", "infeasible", "limit", "doubtful", "large"}
        "doubtful": the solution breaks a row a little; it proves nothing, but may be looked at.
        "large": nothing was solved, as the integer program would be too large to be stopped in time
        or to be held in memory.
    x : (n,) float64 or None
        1 at forced cells; None if there is no solution.
    bound : float
        Lower bound on the objective.
    reduced : (n,) float64 or None
        Reduced costs (linear relaxation only).
    """

    status: str
    x: Floats | None
    bound: float
    reduced: Floats | None = None


class Master:
    """Pool of cuts with its linear relaxation and its integer program.

    Parameters
    ----------
    problem : Problem
    seed : int
        Passed to the solver.
    clock : Clock
        When relaxations stop.
    priced : bool
        Whether the relaxation takes in columns only as they are needed, for large tables.
    """

    def __init__(
        self, problem: Problem, seed: int = 0, clock: Clock = UNLIMITED, *, priced: bool = False
    ) -> None:
        self._problem, self._seed, self._clock = problem, seed, clock
        self._free = np.flatnonzero(problem.free)
        self.cost = problem.cost[self._free].astype(np.float64)
        self.unit = unit_of(self.cost)
        self._start_anew([])
        self._is_priced = priced
        self._preferred = np.zeros(problem.table.n_cells, dtype=bool)

    def prefer(self, pattern: Bools) -> None:
        """Tell of a safe pattern, near which solutions of the relaxation may be."""
        self._preferred |= pattern
        if self._lp is not None:
            self._lp.prefer(pattern)

    def add(self, cuts: list[Cut]) -> int:
        """Add cuts that are not there yet; returns how many were new."""
        fresh = 0
        for cut in cuts:
            if cut.key not in self._keys:
                self._keys.add(cut.key)
                self.cuts.append(cut)
                fresh += 1
            elif self._lp is not None and self._lp.revive(cut.key):
                fresh += 1
        return fresh

    def forget(self, kind: str) -> None:
        """Drop all cuts of a kind, because what they rest on has changed."""
        self._start_anew([cut for cut in self.cuts if cut.kind != kind])

    def forget_rounded(self, cost: int) -> None:
        """Drop cuts that some pattern of this cost might not satisfy."""
        if any(cut.below <= cost for cut in self.cuts):
            self._start_anew([cut for cut in self.cuts if cut.below > cost])

    def restrict(self, alive: Bools) -> None:
        """From now on publish all free cells but these; the linear relaxation starts anew."""
        self._free = np.flatnonzero(alive)
        self.cost = self._problem.cost[self._free].astype(np.float64)
        if self._lp is not None and self._is_priced:
            self._preferred[self._lp.columns] = True
        self._start_anew([cut.within(alive) for cut in self.rows])

    @property
    def rows(self) -> list[Any]:
        """Cuts that the relaxation and the programs hold: all but those that it has dropped."""
        if self._lp is None:
            return self.cuts
        return [*self._lp.held, *self.cuts[self._loaded :]]

    def _start_anew(self, cuts: list[Any]) -> None:
        self.cuts, self._keys = cuts, {cut.key for cut in cuts}
        self._lp: Relaxation | None = None
        self._loaded = 0
        self._matrix: Any = csr_array((0, self._problem.table.n_cells))

    def relax(self, objective: Floats | None = None) -> Answer:
        """Solve the linear relaxation, warm from the last time.

        Parameters
        ----------
        objective : (n,) float64, optional
            In place of the costs, never negative.
        """
        if self._lp is None:
            self._lp = Relaxation(
                self._free, self._problem.table.n_cells, self.cost, self.unit, self._seed,
                self._clock, priced=self._is_priced,
            )  # fmt: skip
            self.prefer(self._preferred)
        self._lp.add(self.cuts[self._loaded :])
        self._loaded = len(self.cuts)
        found = self._lp.solve(None if objective is None else objective[self._free])
        if isinstance(found, Status):
            return Answer(found, None, np.inf)
        reduced = np.zeros(self._problem.table.n_cells)
        reduced[self._free] = found.reduced
        return Answer(Status.OPTIMAL, self._full(found.x), found.bound, reduced)

    def search(
        self,
        objective: Floats,
        *,
        candidates: Bools,
        kept: Bools | None = None,
        limits: list[tuple[Ints, int]] | None = None,
        step: float = 1.0,
        start: Bools | None = None,
        clock: Clock = UNLIMITED,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> Answer:
        """Solve the integer program over the cells that occur in cuts.

        Parameters
        ----------
        objective : (n,) float64
            Never negative, so that cells outside all cuts stay published.
        candidates : (n,) bool
            Free cells that may be suppressed.
        kept : (n,) bool, optional
            Free cells that are suppressed in any case.
        limits : list of ((n,) int64, int), optional
            Totals of whole numbers over the free cells that must not be exceeded.
        step : float
            Two different objective values differ by at least this much.
        start : (n,) bool, optional
            Pattern to start from.
        clock : Clock
        options : mapping of str to value, optional
            Of HiGHS.

        Returns
        -------
        Answer
            `x` is integral; `bound` is the solver's lower bound.
        """
        if kept is None:
            kept = np.zeros(len(candidates), dtype=bool)
        program = self._program(objective, candidates, kept, limits or [], step, clock, options)
        if isinstance(program, Answer):
            return program
        model, cells, scale = program
        # HiGHS has been seen to call a start optimal that is not, with fractional objectives.
        usable = start is not None and scale == step and (np.mod(objective[cells], step) == 0).all()
        known = ~self._problem.free | candidates | kept
        if usable and start is not None and known[start].all():
            model.set_start(start[cells].astype(np.float64))
        status = model.solve(clock, interruptible=True, doubtful=True)
        answer = self._answer(model, status, cells, scale)
        if answer.x is not None:
            answer.x[kept] = 1.0
        return replace(answer, bound=answer.bound + objective[kept].sum())

    def root(
        self, candidates: Bools, step: int, clock: Clock = UNLIMITED
    ) -> tuple[Answer, list[Cut]]:
        """Solve the root of the integer program, and read the cuts that tighten it.

        The solver derives them by rounding combinations of the rows (Marchand and Wolsey 2001).
        Its searches are off as far as they can be: cuts also rest on the best solution it knows.

        Parameters
        ----------
        candidates : (n,) bool
            Free cells that may be suppressed.
        step : int
            Two different costs differ by at least this much.
        clock : Clock

        Returns
        -------
        answer : Answer
            With a solution if the solver met one.
        cuts : list of Cut
            Valid for patterns of candidates that satisfy all cuts of the pool and cost less
            than what `Cut.below` says.
        """
        cost, none = self._problem.cost.astype(np.float64), np.zeros(len(candidates), dtype=bool)
        program = self._program(cost, candidates, none, [], step, clock, _ROOT_ONLY)
        if isinstance(program, Answer):
            return program, []
        model, cells, scale = program
        cuts: list[Cut] = []
        model.on_cut_pool(lambda event: cuts.extend(_pool(event.data_out, cells, scale, step)))
        status = model.solve(clock, interruptible=True, doubtful=True)
        return self._answer(model, status, cells, scale), cuts

    def _program(
        self, objective: Floats, candidates: Bools, kept: Bools, limits: list[tuple[Ints, int]],
        step: float, clock: Clock, options: Mapping[str, Any],
    ) -> tuple[Any, Ints, float] | Answer:  # fmt: skip
        """Build the integer program: model, its cells, and the unit of its objective.

        Cells that are kept are in neither. An answer instead if there is nothing to choose, or too
        much for the time.
        """
        n, cuts = len(candidates), self.rows
        near = np.flatnonzero(candidates | kept) if self._is_priced else np.arange(n)
        whole = entries(cuts, near, n, _PROGRAM) if self._is_priced else self._stacked()
        if whole is None:
            return Answer("large", None, -np.inf)
        right = np.array([c.right for c in cuts]) - whole @ kept[near].astype(np.float64)
        choice = np.flatnonzero((candidates & ~kept)[near])
        rows = csr_array(whole[:, choice])
        # Rows that the kept cells satisfy say nothing of the others.
        asking = np.flatnonzero(right > rows.minimum(0).sum(axis=1))
        rows, right = csr_array(rows[asking]), right[asking]
        if not self._is_priced and rows.nnz > _PROGRAM_A_SECOND * max(clock.left, 10.0):
            return Answer("large", None, -np.inf)
        # Cells that no row holds stay published.
        used = np.bincount(rows.indices, minlength=len(choice)) > 0
        rows, cells = csr_array(rows[:, np.flatnonzero(used)]), near[choice[used]]
        top = np.full(len(right), np.inf)
        for weights, most in limits:
            # Totals are whole, so half a unit more admits nothing new. Scaled to a million, the
            # row is as sharp as the solver's absolute tolerance lets it be; callers check sums.
            most -= int(weights[kept].sum())
            sharp = 2.0**20 / max(1.0, float(weights[cells].max(initial=0)))
            rows = csr_array(vstack([rows, csr_array(weights[cells][None, :] * sharp)]))
            right = np.append(right, -np.inf)
            top = np.append(top, (most + 0.5) * sharp)
        if not len(cells):
            # Nothing left to choose: the empty choice satisfies the cuts, or nothing does.
            if (right > 0).any() or (top < 0).any():
                return Answer("infeasible", None, np.inf)
            x = (self._problem.forced | kept).astype(np.float64)
            return Answer("optimal", x, float(objective[kept].sum()))
        cost = objective[cells]
        # One unit of the objective is the smallest difference that counts, unless the largest
        # coefficient would then pass what a float solver can tell apart.
        scale = max(step, float(cost.max(initial=0.0)) / 2.0**31)
        fixed = {"random_seed": self._seed, "mip_abs_gap": 0.5 * step / scale}
        model = Model(**fixed, **options).load(
            cost=cost / scale, lower=0.0, upper=1.0, rows=rows, row_lower=right, row_upper=top,
            integer=True,
        )  # fmt: skip
        return model, cells, scale

    def _stacked(self) -> Any:
        """Weights of all cuts as a csr_array over the cells of the table."""
        n = self._problem.table.n_cells
        new = self.cuts[self._matrix.shape[0] :]
        if new:
            self._matrix = vstack([self._matrix, entries(new, np.arange(n), n)], format="csr")
        return self._matrix

    def _answer(self, model: Model, status: Status, cells: Ints, scale: float) -> Answer:
        """Read what an integer program found."""
        if status == Status.INFEASIBLE:
            return Answer(status, None, np.inf)
        if status == Status.UNBOUNDED:
            msg = "the relaxed problem is unbounded; costs must not be negative"
            raise SolverError(msg)
        bound = model.dual_bound * scale
        solution = model.solution
        values = np.asarray(solution.col_value)
        if status == Status.DOUBTFUL:
            bound = -np.inf
        if len(values) != len(cells) or not solution.value_valid:
            return Answer(Status.LIMIT, None, bound)
        x = self._problem.forced.astype(np.float64)
        x[cells] = np.rint(values)
        return Answer(status, x, bound)

    def _full(self, values: Floats) -> Floats:
        x = self._problem.forced.astype(np.float64)
        x[self._free] = values
        return x


def _pool(found: Any, cells: Ints, scale: float, step: float) -> Iterator[Cut]:
    """Cuts of the solver as cuts over the table, a little wider than they are."""
    starts = np.append(found.cutpool_start, len(found.cutpool_index))
    # Half a step less than the best solution known there: its cost is a float. Where costs are too
    # large for one, nothing is sure.
    if scale != step:
        return
    below = float(found.mip_primal_bound) * scale - 0.5 * step
    lower, upper = np.asarray(found.cutpool_lower), np.asarray(found.cutpool_upper)
    for i in range(int(found.cutpool_num_cut)):
        span = slice(int(starts[i]), int(starts[i + 1]))
        where = cells[np.asarray(found.cutpool_index[span], np.int64)]
        weights, order = np.asarray(found.cutpool_value[span]), np.argsort(where)
        for sign, right in ((1.0, lower[i]), (-1.0, -upper[i])):
            if np.isfinite(right):
                wider = float(right - _MARGIN * max(1.0, abs(right)))
                yield Cut(where[order], sign * weights[order], wider, "rounded", below)
