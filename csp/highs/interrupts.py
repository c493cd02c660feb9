"""Runs of HiGHS that Ctrl-C and the clock can stop, and solvers still at work after one."""

from __future__ import annotations

import _thread
import atexit
import time
from math import inf
from typing import Any

from csp.errors import OutOfTime

# Seconds that an interrupted solver has to stop. It does not look up within searches of its own
# heuristics, which have been seen to take a minute.
_PATIENCE = 1.0

_LOOK = 0.05
"""Seconds between two looks at the clock, and at whether Ctrl-C was pressed."""

_left_behind: list[dict[str, Any]] = []
"""States of runs that were left at work."""


def run_interruptibly(model: Any, seconds: float = inf) -> Any:
    """Run a ``highspy.Highs`` in a thread that Ctrl-C can stop, and return what its run returns.

    The solver's own way of doing so has one lock for all models of a process: two threads could
    not solve at once, and an interrupt at the wrong moment would leave it taken for good. So would
    one in the events and threads of `threading`, which are written in Python; plain locks are not.

    Raises
    ------
    OutOfTime
        If the solver, whose own limit is `seconds`, does not come back from them: HiGHS does not
        look at its clock everywhere. The model is lost then, as the thread goes on with it.
    """
    latest = time.monotonic() + 1.5 * seconds + _PATIENCE
    model.HandleUserInterrupt = True
    guard, at_work = _thread.allocate_lock(), _thread.allocate_lock()
    state: dict[str, Any] = {"begun": False, "cancelled": False, "over": False, "outcome": None}

    def work() -> None:
        try:
            with guard:
                if state["cancelled"]:
                    return
                state["begun"] = True
            state["outcome"] = model.run()
        finally:
            state["over"] = True
            at_work.release()

    at_work.acquire()
    try:
        _thread.start_new_thread(work, ())
        while not at_work.acquire(timeout=_LOOK):
            if time.monotonic() > latest:
                model.cancelSolve()
                if not at_work.acquire(timeout=_PATIENCE):
                    _left_behind.append(state)
                    msg = "the solver does not come back from its time limit"
                    raise OutOfTime(msg)
    except KeyboardInterrupt:
        model.cancelSolve()
        with guard:
            state["cancelled"] = True
            begun = state["begun"]
        if begun:
            # The thread holds the model until the solver looks up.
            _left_behind.append(state)
            if not state["over"]:
                at_work.acquire(timeout=_PATIENCE)
        raise
    return state["outcome"]


def lingering() -> bool:
    """Whether a solver that was interrupted is still at work, so that Python would wait for it."""
    _left_behind[:] = [state for state in _left_behind if not state["over"]]
    return bool(_left_behind)


@atexit.register
def _wait() -> None:
    """Let no solver call Python when that is gone; `lingering` is for those who cannot wait."""
    while lingering():
        time.sleep(_LOOK)
