"""Runs of HiGHS that Ctrl-C and the clock can stop, and solvers still at work after one."""

from __future__ import annotations

import threading
import time
from math import inf
from typing import Any

from csp.errors import OutOfTime

# Seconds that an interrupted solver has to stop. It does not look up within searches of its own
# heuristics, which have been seen to take a minute.
_PATIENCE = 1.0

_left_behind: list[threading.Thread] = []


def run_interruptibly(model: Any, seconds: float = inf) -> Any:
    """Run a ``highspy.Highs`` in a thread that Ctrl-C can stop, and return what its run returns.

    The solver's own way of doing so has one lock for all models of a process: two threads could
    not solve at once, and an interrupt at the wrong moment would leave it taken for good.

    Raises
    ------
    OutOfTime
        If the solver, whose own limit is `seconds`, does not come back from them: HiGHS does not
        look at its clock everywhere. The model is lost then, as the thread goes on with it.
    """
    latest = time.monotonic() + 1.5 * seconds + _PATIENCE
    model.HandleUserInterrupt = True
    guard, over = threading.Lock(), threading.Event()
    state: dict[str, Any] = {"begun": False, "cancelled": False, "outcome": None}

    def work() -> None:
        with guard:
            if state["cancelled"]:
                return
            state["begun"] = True
        try:
            state["outcome"] = model.run()
        finally:
            over.set()

    # Not a daemon: Python must not end while the solver calls it. `lingering` is for those who
    # cannot wait.
    thread = threading.Thread(target=work)
    try:
        thread.start()
        while not over.wait(0.05):
            if time.monotonic() > latest:
                model.cancelSolve()
                if not over.wait(_PATIENCE):
                    _left_behind.append(thread)
                    msg = "the solver does not come back from its time limit"
                    raise OutOfTime(msg)
    except KeyboardInterrupt:
        model.cancelSolve()
        with guard:
            state["cancelled"] = True
            begun = state["begun"]
        if begun:
            # The thread holds the model until the solver looks up.
            _left_behind.append(thread)
            over.wait(_PATIENCE)
        raise
    return state["outcome"]


def lingering() -> bool:
    """Whether a solver that was interrupted is still at work, so that Python would wait for it."""
    _left_behind[:] = [thread for thread in _left_behind if thread.is_alive()]
    return bool(_left_behind)
