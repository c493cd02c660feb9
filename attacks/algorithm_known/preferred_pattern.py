"""Whether a safe pattern is the one that the suppression solver publishes.

An exact search for a safe pattern that is cheaper, or as cheap and preferred, by integer programs
over inequalities that safe patterns keep (Fischetti and Salazar-González 2000), most of them
carried from other tables.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.carried_proofs import Carried, KnownPatterns, NotedCutter
from csp.clock import Clock
from csp.errors import OutOfTime, SolverError
from csp.problem.problem import Problem
from csp.solve.cuts import outside_cut, round_up, smallest_step
from csp.solve.exact.choice import GAVE_UP, NONE
from csp.solve.exact.master import Answer, Master
from csp.solve.general.separate import Separator

__all__ = ["PreferredPattern"]

_CHUNK = 16
"""Cells whose order one integer program settles: powers of two stay within its precision."""

_AT_ONCE = 20
"""Carried inequalities added to the programs at a time."""

_SMALL = {
    "mip_allow_restart": False,
    "mip_detect_symmetry": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
}
"""Options of HiGHS for programs of some dozens of columns: searching them takes less than preparing
the search (698 candidates of a 4x4x4 table: 6.9 to 4.8 s of CPU time)."""

_NODES = 5_000
"""Nodes of a search by rows before programs take its place, a hundredth of a second: candidates of
3x3x3 tables need 40 to 300 (769 searches: 0.1 s of CPU time, programs 4.6 s)."""

_FLIPS = 5_000
"""Cells that repair turns before a search by rows, some thousandths of a second (825 candidates of
a 4x4x4 table: 732 programs without, 66 with 5,000, as many with 50,000)."""

_FAR_APART = 2**30
"""Costs up to which, in their smallest step, an integer program tells patterns apart."""


class PreferredPattern:
    """Search for a safe pattern that is preferred to a given one, which is safe.

    The problem has up to `csp.solve.order.BINARY_UP_TO` cells, in the order in which ties are
    broken.
    """

    def __init__(
        self, problem: Problem, pattern: NDArray[np.bool_], carried: Carried,
        known: KnownPatterns, clock: Clock,
    ) -> None:  # fmt: skip
        self._problem, self._pattern, self._carried = problem, pattern, carried
        self._patterns, self._clock = known, clock
        self._step = smallest_step(problem.cost[problem.free])
        self._spent = int(problem.cost[pattern & problem.free].sum())

    @property
    def applies(self) -> bool:
        """Whether costs are near enough to each other for floating point."""
        cost = self._problem.cost[self._problem.free]
        return int(cost.max(initial=0)) <= _FAR_APART * self._step

    def run(self) -> NDArray[np.bool_] | None:
        """Find a preferred safe pattern; None if there is none.

        Raises
        ------
        OutOfTime
            If the time runs out first.
        SolverError
            If floating point does not tell costs apart.
        """
        self._cutter = NotedCutter(self._problem, self._carried)
        self._separator = Separator(self._problem, self._cutter)
        self._master = Master(self._problem, clock=self._clock)
        self._known = self._carried.for_(self._problem)
        self._relaxed: Answer | None = None
        if not self._relax():
            cost = self._problem.cost.astype(np.float64)
            better = self._least(
                cost, self._spent, self._problem.free, np.zeros_like(self._pattern), [],
                step=float(self._step),
            )  # fmt: skip
            if better is not None:
                return better
        return self._earlier()

    def _relax(self) -> bool:
        """Cut off points of the linear relaxation; whether its bound excludes cheaper patterns."""
        while True:
            self._clock.check("a table was tested")
            answer = self._relaxed = self._master.relax()
            if answer.x is None:
                return False
            if round_up(answer.bound, self._step) >= self._spent:
                return True
            if not self._cut_off(answer.x, whole=False):
                return False

    def _earlier(self) -> NDArray[np.bool_] | None:
        """Among patterns of the same cost, one that is smaller as a binary number."""
        candidates, kept = self._problem.free.copy(), np.zeros_like(self._pattern)
        limits = [(self._problem.cost, self._spent)]
        undecided = np.flatnonzero(self._problem.free)[::-1]
        while len(undecided):
            bits = self._pattern[undecided]
            if not bits.any():
                break
            first = int(np.argmax(bits))
            chunk = undecided[first : first + _CHUNK]
            candidates[undecided[:first]] = False
            objective = np.zeros(len(self._pattern))
            objective[chunk] = 2.0 ** np.arange(len(chunk))[::-1]
            beaten = int(objective[self._pattern].sum())
            better = self._least(objective, beaten, candidates, kept, limits, step=1.0)
            if better is not None:
                return better
            candidates[chunk] = False
            kept[chunk] = self._pattern[chunk]
            undecided = undecided[first + _CHUNK :]
        return None

    def _least(
        self, objective: NDArray[np.float64], beaten: int, candidates: NDArray[np.bool_],
        kept: NDArray[np.bool_], limits: list[tuple[NDArray[np.int64], int]], *, step: float,
    ) -> NDArray[np.bool_] | None:  # fmt: skip
        """Find a safe pattern whose objective is below the published one's; None if none is.

        Limits are counted again in whole numbers: a program keeps to them within its tolerance.
        """
        problem, whole = self._problem, objective.astype(np.int64)
        # Any pattern below the published one will do: a row in place of an objective, which takes
        # two thirds of the time (825 candidates of a 4x4x4 table: 37 and 23 s in programs).
        fixed, limits = limits, [*limits, (whole, beaten - int(step))]
        nodes, near, asked = _NODES, self._pattern, np.zeros_like(objective)
        while True:
            self._clock.check("a table was tested")
            status = GAVE_UP
            if not asked.any():
                status, found = self._master.choose(
                    limits, candidates=candidates, kept=kept, relaxed=self._relaxed, near=near,
                    most=nodes, flips=_FLIPS,
                )  # fmt: skip
            if status == NONE:
                return None
            if status == GAVE_UP:
                nodes = 0
                answer = self._master.search(
                    asked, candidates=candidates, kept=kept, limits=limits, step=step,
                    clock=self._clock, options=_SMALL,
                )  # fmt: skip
                if answer.status == "infeasible":
                    return None
                if answer.status != "optimal" or answer.x is None:
                    msg = "the time limit passed before a table was tested; allow more time"
                    raise OutOfTime(msg)
                found = answer.x > 0.5
            near = found
            if any(int(weights[found & problem.free].sum()) > top for weights, top in fixed):
                msg = "an integer program did not keep to the cost of the published pattern"
                raise SolverError(msg)
            if int(whole[found & problem.free].sum()) >= beaten:
                if asked.any():
                    return None
                # The program did not keep to the row by the unit.
                asked, limits = objective, limits[:-1]
                continue
            if self._cut_off(found.astype(np.float64), whole=True):
                continue
            if self._patterns.keeps(problem, found, self._clock):
                return found
            self._master.add([outside_cut(problem, found)])

    def _cut_off(self, x: NDArray[np.float64], *, whole: bool) -> bool:
        """Add inequalities that a point violates; False if none is found."""
        cuts = self._cutter.bridgeless(x) or self._known.violated(x, _AT_ONCE)
        if not cuts or not self._master.add(cuts):
            cuts = [*chain(*self._separator.misses(x, whole=whole, clock=self._clock))]
            return self._master.add(cuts) > 0
        return True
