"""Method "small": the search of one problem in slices, with clock, progress and audit."""

from __future__ import annotations

from csp.audits.audit import Audit, judge
from csp.clock import Clock, now
from csp.errors import OutOfTime, SolverError
from csp.problem.problem import Problem
from csp.solve.incumbent import NONE_IN_TIME
from csp.solve.order import BINARY_UP_TO
from csp.solve.result import Progress, ProgressCallback, Suppression
from csp.solve.small.one import SLICE, SmallAnswer, SmallSearch
from csp.solve.unprotectable import fully_suppressed


def solve_by_search(
    problem: Problem, *, clock: Clock, gap: float, integer: bool,
    progress: ProgressCallback | None, start: Audit | None = None,
) -> Suppression:  # fmt: skip
    """Solve a problem by the search for small networks; see `csp.suppress` for the parameters.

    `start` is the audit of a safe pattern to begin with.

    A loop is not interrupted, so it runs some hundredths of a second at a time; clock, gap and
    interrupts are seen to in between.

    Raises
    ------
    InputError
        If the problem is not a small network; the message says why.
    SolverError
        If the audit does not confirm the search.
    Unprotectable, OutOfTime, KeyboardInterrupt
        See `csp.solve.exact.cut_loop.solve_by_cuts`.
    """
    began = now()
    search = SmallSearch(problem)
    if start is not None:
        search.begin_with(start.certificate.pattern)

    def tell(phase: str, answer: SmallAnswer) -> None:
        if progress is not None:
            suppressed = None if answer.pattern is None else int(answer.pattern.sum())
            seconds = now() - began
            progress(Progress(phase, answer.bound, answer.cost, seconds, suppressed))

    stopped = "done"
    try:
        tell("protectable", search.answer())
        while not search.step(min(SLICE, search.slice)):
            answer = search.answer()
            tell("search", answer)
            # Gap 0 asks for more than the cost: the search goes on for the canonical pattern.
            if gap and answer.cost is not None and answer.cost - answer.bound <= gap * answer.cost:
                stopped = "gap"
                break
            if clock.over:
                stopped = "time"
                break
    except KeyboardInterrupt:
        if search.answer().pattern is None:
            raise
        stopped = "interrupt"
    return _audited(problem, search.answer(), stopped, began, integer=integer)


def _audited(
    problem: Problem, answer: SmallAnswer, stopped: str, began: float, *, integer: bool
) -> Suppression:
    """Return the answer once the audit has passed it."""
    if answer.outcome == "infeasible":
        fully_suppressed(problem)
        msg = "the search found no safe pattern, but the audit passes full suppression"
        raise SolverError(msg)
    if answer.pattern is None or answer.cost is None:
        raise OutOfTime(NONE_IN_TIME)
    result = judge(problem, answer.pattern, integer=integer)
    if not result.safe:
        msg = "the audit refuses the pattern that the search found"
        raise SolverError(msg)
    return Suppression(
        answer.pattern, answer.cost, answer.bound,
        # Larger tables break ties by labels, which the search does not know.
        canonical=answer.outcome == "proven" and problem.table.n_cells <= BINARY_UP_TO,
        seconds=now() - began, method="small", stopped=stopped,
        stats={"nodes": answer.nodes, "audits": 1}, audit=result,
    )  # fmt: skip
