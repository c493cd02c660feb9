"""The cheapest safe pattern by cuts of Fischetti and Salazar-González, in integer programs of PuLP.

The master program has one binary variable for each cell that may be suppressed. For a pattern that
it proposes, linear programs tell how far each primary cell can move; their dual prices give
inequalities that every safe pattern keeps and this one does not (Fischetti and Salazar-González
2000, Section 4). A price found in floating point is taken for the nearest fraction: the inequality
holds for any prices, and is computed from them in exact integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from csp.attacker.view import largest_room
from csp.audits.audit import Audit, judge
from csp.clock import Clock
from csp.errors import InputError, OutOfTime, SolverError
from csp.exact import Bools, Floats
from csp.problem.problem import Problem
from csp.problem.requirements import room
from csp.problem.singletons import insiders
from csp.solve.cuts import Cut, outside_cut, round_up, smallest_step
from csp.solve.exact.unions import union_cut
from csp.solve.ilp.inequalities import LATE, VIOLATED, Attacker
from csp.solve.ilp.solvers import Solver, bound_of, solve
from csp.solve.incumbent import Incumbent
from csp.solve.order import BINARY_UP_TO
from csp.solve.result import ProgressCallback, Suppression
from csp.solve.unprotectable import fully_suppressed, no_union_safe_pattern

# Cells whose order is settled in one program: their powers of two stay within a solver's precision.
_CHUNK = 16

# How far apart the costs, and values and levels, may be: what a solver takes for nothing (1e-7)
# stays below the smallest.
_FAR_APART = 2**30

# Rounds of linear relaxations end when this many have raised the bound by less than this share.
_PATIENCE, _RAISED = 3, 1e-3


def solve_by_ilp(
    problem: Problem,
    *,
    clock: Clock,
    integer: bool = False,
    solver: Solver = None,
    progress: ProgressCallback | None = None,
    start: Audit | None = None,
) -> Suppression:
    """Cheapest safe pattern with any solver that PuLP finds; see `csp.ilp.suppress`.

    The integer programs go to the solver that is named, the linear ones to HiGHS. The pattern is
    canonical unless the time ran out before ties were broken, or the table has more than
    `csp.solve.order.BINARY_UP_TO` cells. `start` is the audit of a safe pattern, which is returned
    unless a cheaper one is found.
    """
    _check_numbers(problem)
    if start is None:
        fully_suppressed(problem, integer=integer, clock=clock)
    search = _Search(problem, clock, 0.0, integer, 0, progress, solver=solver)
    if start is None:
        search.find()
    else:
        search.take(start)
    canonical = False

    def proof() -> str:
        nonlocal canonical
        if start is not None:
            search.find()
        search.prove()
        search.report("search")
        if search.bound != search.best_cost:
            return "precision"
        canonical = search.break_ties()
        search.report("tie-break")
        return "done"

    stopped = search.ended_by(proof)
    # Larger tables break ties by labels, which these programs do not.
    canonical = canonical and problem.table.n_cells <= BINARY_UP_TO
    stats = {"programs": search.programs, "cuts": search.cuts}
    return search.result("ilp", stopped, stats, canonical=canonical)


def _check_numbers(problem: Problem) -> None:
    """Refuse costs, and levels beside values, that one program in floating point cannot hold."""
    cost = problem.cost[problem.free]
    if int(cost.max(initial=0)) > _FAR_APART * smallest_step(cost):
        msg = (
            "costs are too far apart for method 'ilp', which computes in floating point; "
            "use method 'auto'"
        )
        raise InputError(msg)
    largest = largest_room(*room(problem.table))
    for p in np.flatnonzero(problem.primary).tolist():
        level = max(1, *(int(v[p]) for v in (problem.upl, problem.lpl, problem.spl)))
        if largest > _FAR_APART * level:
            msg = (
                f"the values of the table are too large beside the levels of cell "
                f"{problem.table.cell(p)} for method 'ilp', which computes in floating point; "
                "use method 'auto'"
            )
            raise InputError(msg)


@dataclass(eq=False, repr=False)
class _Search(Incumbent):
    """The master program and the inequalities found so far."""

    solver: Solver = field(kw_only=True)
    programs: int = 0
    cuts: int = 0

    def __post_init__(self) -> None:
        import pulp

        super().__post_init__()
        problem = self.problem
        self.program = pulp.LpProblem("suppression", pulp.LpMinimize)
        self.free = np.flatnonzero(problem.free)
        self.x = {
            i: self.program.add_variable(f"x{i}", 0, 1, cat="Binary") for i in self.free.tolist()
        }
        self.cost = pulp.lpSum(int(problem.cost[i]) // self.step * x for i, x in self.x.items())
        self.program.setObjective(self.cost)
        levels = [int(v.max(initial=0)) for v in (problem.lpl, problem.upl, problem.spl)]
        # Room that stands for none: beyond what a witness of a small table needs.
        self.far = 20 * (max(largest_room(*room(problem.table)), 1) + max(levels))
        known: list[tuple[tuple[int, ...], frozenset[int]]] = [((), frozenset())]
        known += [(one.knows, one.takes_part) for one in insiders(problem)]
        self.attackers = known

    def find(self) -> None:
        """Find a cheapest pattern, as far as the solver tells.

        Raises
        ------
        Unprotectable
            If no pattern is safe.
        """
        self.relax()
        best = self.cheapest(self.cost)
        if best is None:
            raise no_union_safe_pattern(self.problem)
        self.offer(best)

    def offer(self, found: Audit | None) -> None:
        """Keep a safe pattern if it is the cheapest so far."""
        if found is not None and self.would_be_best(found.certificate.pattern):
            self.take(found)

    # ---- master --------------------------------------------------------------------------------

    def add(self, cut: Cut) -> bool:
        """Add an inequality; False if it has no cell, so that no pattern keeps it."""
        import pulp

        if not len(cut.cells):
            return False
        pairs = zip(cut.cells.tolist(), cut.weights.tolist(), strict=True)
        self.program += pulp.lpSum(w * self.x[i] for i, w in pairs) >= cut.right
        self.cuts += 1
        return True

    def run(self, **options: Any) -> Floats | None:
        """Solve the master program: its point over all cells, or None if there is none."""
        import pulp

        self.clock.check("the integer programs were solved")
        self.programs += 1
        relaxed = options.get("mip") is False
        word = solve(self.program, None if relaxed else self.solver, self.clock, **options)
        if word == "infeasible":
            return None
        if word != "optimal":
            if self.clock.over:
                raise OutOfTime(LATE)
            msg = f"the integer program ended as {word}; use method 'auto' or allow more time"
            raise SolverError(msg)
        point = self.problem.forced.astype(np.float64)
        # A variable without cost and without room occurs nowhere, and has no value.
        point[self.free] = [pulp.value(x) or 0.0 for x in self.x.values()]
        return point

    def relax(self) -> None:
        """Add the inequalities that linear relaxations violate, while that raises the bound."""
        import pulp

        bounds: list[float] = []
        while len(bounds) <= _PATIENCE or bounds[-1] > (1 + _RAISED) * bounds[-1 - _PATIENCE]:
            point = self.run(mip=False)
            if point is None:
                return
            bounds.append(float(pulp.value(self.program.objective) or 0.0))
            found = [*self._lonely(point), *self._violated(point)]
            for cut in found:
                self.add(cut)
            if not found:
                return

    def cheapest(self, objective: Any, presolve: str = "off") -> Audit | None:
        """Solve, add what the answer violates, and solve again until it is safe.

        Returns
        -------
        Audit or None
            None if no pattern is safe.
        """
        self.program.setObjective(objective)
        while True:
            point = self.run(presolve=presolve)
            if point is None:
                return None
            pattern = point > 0.5
            pattern.flags.writeable = False
            found = list(self._violated(pattern.astype(np.float64)))
            if not found:
                self.audits += 1
                result = judge(self.problem, pattern, integer=self.integer, clock=self.clock)
                if result.safe:
                    return result
                found = _beyond_levels(self.problem, pattern, result)
            for cut in found:
                if not self.add(cut):
                    return None

    def break_ties(self) -> bool:
        """Among the cheapest, the smallest binary number: cells decided from the highest down.

        Returns
        -------
        bool
            False if the solver could not tell the cheapest patterns from others.
        """
        import pulp

        assert self.best_cost is not None
        self.program += self.cost <= (self.best_cost - self.constant) // self.step + 0.5
        order = self.free[::-1].tolist()
        for start in range(0, len(order), _CHUNK):
            chunk = order[start : start + _CHUNK]
            number = pulp.lpSum(2 ** (len(chunk) - 1 - k) * self.x[i] for k, i in enumerate(chunk))
            better = self.cheapest(number)
            if better is None or self.cost_of(better.certificate.pattern) != self.best_cost:
                return False
            self.take(better)
            for i in chunk:
                self.x[i].lowBound = self.x[i].upBound = int(better.certificate.pattern[i])
        return True

    def prove(self) -> None:
        """Read the bound that the solver has proved.

        HiGHS has been seen to call a wrong pattern optimal: it has to say so twice, in two ways.
        """
        proved = bound_of(self.program)
        if self.solver is None:
            other = self.cheapest(self.cost, presolve="on")
            proved = min(proved, bound_of(self.program)) if other is not None else -math.inf
            self.offer(other)
        assert self.best_cost is not None
        bound = self.constant + (self.step * round_up(proved, 1) if proved > 0 else 0)
        if bound <= self.best_cost + self.step:
            self.bound = max(self.constant, min(bound, self.best_cost))

    # ---- inequalities --------------------------------------------------------------------------

    def _lonely(self, point: Floats) -> Iterator[Cut]:
        """Ask for company: a cell that is alone in a relation cannot move, and may be published."""
        relations = self.problem.table.relations
        for start, stop in zip(relations.indptr[:-1], relations.indptr[1:], strict=True):
            members = relations.indices[start:stop].astype(np.int64)
            if self.problem.forced[members].any():
                continue
            first = members[np.argmax(point[members])]
            others = np.sort(members[(members != first) & self.problem.free[members]])
            if point[first] > point[others].sum() + VIOLATED:
                cells = np.append(others, first)
                yield Cut(cells, np.append(np.ones(len(others)), -1.0), 0.0, "bridgeless")

    def _violated(self, point: Floats) -> Iterator[Cut]:
        """Inequalities that a point violates, at most one for each primary cell and attacker."""
        problem = self.problem
        primaries = np.flatnonzero(problem.primary).tolist()
        for known, exempt in self.attackers:
            attacker = Attacker(problem, point, known, self.far, self.clock)
            for p in primaries:
                self.clock.check("the integer programs were solved")
                cut = None if p in exempt else attacker.missing(p)
                if cut is not None:
                    yield cut


def _beyond_levels(problem: Problem, pattern: Bools, result: Audit) -> list[Cut]:
    """Cuts for what linear programs do not see: sums, whole units, and what floats blur."""
    unions = [v for v in result.violations if v.kind == "union"]
    if len(unions) < len(result.violations):
        return [outside_cut(problem, pattern)]
    return [union_cut(problem, pattern, violation) for violation in unions]
