"""Whether a candidate table would have been published with the same pattern.

The compiled judge of networks is part of `attacks.walk`; this one takes any mechanism and table.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from attacks.candidates import Candidates
from csp.auditing import audit
from csp.errors import InputError, OutOfTime, Unprotectable
from csp.problem import Problem
from csp.solve import suppress
from csp.solve.order import BINARY_UP_TO, label_order, reordered
from csp.solve.tiebreak import prefers

__all__ = ["Judge", "SolverJudge", "SupportJudge", "judge_for", "published_as"]

_POOL = 40


def published_as(
    given: Candidates, values: NDArray[np.int64], time_limit: float | None = None
) -> bool:
    """Whether the mechanism publishes a table with the pattern of the release, by running it.

    Paper 003, Algorithm 1, lines 11 to 13.

    Parameters
    ----------
    given : Candidates
    values : (k,) int64
        Of the suppressed cells.
    time_limit : float, optional
        Seconds.

    Raises
    ------
    OutOfTime
        If the time runs out before the verdict.
    """
    table = given.release.table(values)
    try:
        problem = given.mechanism.problem(table)
        integer = given.mechanism.attacker_is_integer(table)
        found = suppress(problem, integer=integer, time_limit=time_limit)
    except (Unprotectable, InputError):
        return False
    if not found.canonical:
        msg = "the time limit passed before a table was judged; allow more time"
        raise OutOfTime(msg)
    if given.marks is not None and (problem.primary[given.cells] != given.marks).any():
        return False
    return bool((found.pattern == given.release.pattern).all())


class Judge(Protocol):
    """Match test of one table after the other."""

    def matches(self, values: NDArray[np.int64], time_limit: float | None = None) -> bool:
        """Whether the mechanism may publish this table with the pattern of the release."""
        ...


def judge_for(given: Candidates) -> Judge:
    """Match test that suits a mechanism, with a defence or without."""
    return SolverJudge(given) if given.mechanism.defence is None else SupportJudge(given)


def _posed(given: Candidates, values: NDArray[np.int64]) -> Problem | None:
    """Problem of a table; None if no mechanism of these rules publishes it with this pattern.

    The mechanism's word on single cells is asked first: that is cheap.
    """
    if given.facts is not None:
        place = np.arange(len(values)), values - given.lower
        if not given.facts.allowed[place].all():
            return None
        if given.mechanism.defence is None and not given.facts.primary[place].any():
            return None
    try:
        problem = given.mechanism.problem(given.release.table(values))
    except InputError:
        return None
    if (problem.primary & ~given.release.pattern).any():
        return None
    if given.marks is not None and (problem.primary[given.cells] != given.marks).any():
        return None
    return problem


class SupportJudge:
    """Match test of mechanisms with decoys: whether some key could have led to this pattern.

    It could exactly if the sensitive cells are suppressed and keep their levels: then it does if
    the coins fall on all suppressed cells. (That all of them are wide does not depend on hidden
    values, and `attacks.candidates.candidates` has checked it.)

    Parameters
    ----------
    given : Candidates
    """

    def __init__(self, given: Candidates) -> None:
        self._given = given

    def __repr__(self) -> str:
        return "SupportJudge()"

    def matches(self, values: NDArray[np.int64], time_limit: float | None = None) -> bool:
        """Whether some key publishes this table with the pattern of the release.

        Parameters
        ----------
        values : (k,) int64
            Of the suppressed cells.
        time_limit : float, optional
            Seconds.

        Raises
        ------
        OutOfTime
            If the time runs out before the verdict.
        """
        given = self._given
        if given.excludes_nothing:
            return True
        problem = _posed(given, values)
        if problem is None:
            return False
        integer = given.mechanism.attacker_is_integer(problem.table)
        return audit(
            problem, given.release.pattern, integer=integer, only_primary=True,
            time_limit=time_limit,
        ).safe  # fmt: skip


class SolverJudge:
    """Match test by the suppression solver, with patterns that beat others before.

    Parameters
    ----------
    given : Candidates
    """

    def __init__(self, given: Candidates) -> None:
        self._given = given
        n = given.table.n_cells
        # Ties are broken in the order of labels (`csp.suppress`).
        self._order = label_order(given.table) if n <= BINARY_UP_TO else np.arange(n)
        self._pattern = given.release.pattern[self._order]
        self._pool: list[NDArray[np.bool_]] = []
        self.solved = 0

    def __repr__(self) -> str:
        return f"SolverJudge({self.solved} problems solved)"

    def matches(self, values: NDArray[np.int64], time_limit: float | None = None) -> bool:
        """Whether the mechanism publishes this table with the pattern of the release.

        Parameters
        ----------
        values : (k,) int64
            Of the suppressed cells.
        time_limit : float, optional
            Seconds.

        Raises
        ------
        OutOfTime
            If the time runs out before the verdict.
        """
        given, pattern = self._given, self._pattern
        bare = _posed(given, values)
        if bare is None or not bare.primary.any():
            return False
        integer = given.mechanism.attacker_is_integer(bare.table)
        problem = reordered(bare, self._order)
        for i, other in enumerate(self._pool):
            if self._is_better(problem, other) and self._is_safe(problem, other, integer=integer):
                self._pool.insert(0, self._pool.pop(i))
                return False
        if not self._is_safe(problem, pattern, integer=integer):
            return False
        try:
            found = suppress(problem, integer=integer, time_limit=time_limit)
        except Unprotectable:
            return False
        self.solved += 1
        if self._is_better(problem, found.pattern):
            self._pool.insert(0, found.pattern)
            del self._pool[_POOL:]
            return False
        if not found.canonical:
            msg = "the time limit passed before a table was judged; allow more time"
            raise OutOfTime(msg)
        return bool((found.pattern == pattern).all())

    def _is_better(self, problem: Problem, other: NDArray[np.bool_]) -> bool:
        """Whether another pattern would be preferred if it is safe."""
        if (problem.forced & ~other).any() or (other & (problem.status == "z")).any():
            return False
        pattern = self._pattern
        cost = sum(problem.cost[other & ~pattern].tolist())
        cost -= sum(problem.cost[pattern & ~other].tolist())
        return cost < 0 or (cost == 0 and prefers(problem, other, pattern))

    @staticmethod
    def _is_safe(problem: Problem, pattern: NDArray[np.bool_], *, integer: bool) -> bool:
        return audit(problem, pattern, integer=integer, only_primary=True).safe
