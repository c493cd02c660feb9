"""What is left when time, patience or precision end before a first pattern: all suppressed."""

from __future__ import annotations

from csp.clock import Clock
from csp.errors import CellveilError, CertificateError, OutOfTime, SolverError
from csp.problem.problem import Problem
from csp.solve.incumbent import Incumbent
from csp.solve.result import Suppression

EVERYTHING = "no other pattern was found: everything is suppressed that may be"
"""Note of a result that is only that."""

TOO_FAR_APART = "an interval could not be followed exactly; numbers may be too far apart"
"""Note of a result where precision ended the search."""

# For the audit after a time limit: seconds, and a share of the limit. And after anything else.
_SECONDS = 0.3
_SHARE = 0.2
_OTHERWISE = 5.0


def grace(time_limit: float) -> float:
    """Seconds by which the audit of full suppression may pass a time limit."""
    return _SECONDS + _SHARE * time_limit


def everything_suppressed(
    problem: Problem, *, time_limit: float | None, stopped: str, began: float, method: str,
    integer: bool, why: str = "",
) -> Suppression | None:  # fmt: skip
    """Suppress every cell that may be suppressed, if that can be proved safe in a short time.

    Safety grows with the pattern, but for sums of suppressed cells: whatever pattern is safe, this
    one is as well. The run had `time_limit` seconds and was stopped by "time", an "interrupt", or
    "precision"; `why`, if that does not say it, is noted. The gap of the result is that to the cost
    of what has to be suppressed anyway.
    """
    seconds = grace(time_limit) if stopped == "time" and time_limit is not None else _OTHERWISE
    one = Incumbent(problem, Clock.of(seconds), 0.0, integer, 0, None, began)
    one.note(EVERYTHING)
    if why:
        one.note(why)
    try:
        result = one.judged(problem.forced | problem.free, one.clock)
    except CellveilError:
        return None
    if result is None or not result.safe:
        return None
    one.take(result)
    return one.result(method, stopped, {})


def ending(reason: BaseException) -> tuple[str, str]:
    """Say what stopped a run, and why if that does not tell."""
    if isinstance(reason, OutOfTime):
        return "time", ""
    if isinstance(reason, SolverError):
        return "precision", str(reason)
    if isinstance(reason, CertificateError):  # its own words may tell numbers of cells
        return "precision", TOO_FAR_APART
    return "interrupt", ""
