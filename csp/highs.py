"""One door to HiGHS: options and threads are set here, and every status is checked here."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import SolverError

__all__ = ["build", "new_model", "optimise"]

# What is changed from try to try. The primal simplex perturbs bounds, and on small degenerate
# models has been seen to lose its way back ("unknown" in HiGHS 1.15), from scratch as well.
_TRIES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"primal_simplex_bound_perturbation_multiplier": 0.0},
    {"simplex_strategy": 1},
)


def new_model(**options: Any) -> Any:
    """Silent, single-threaded, gap-free ``highspy.Highs``.

    HiGHS fixes its number of threads at the first run of a process, so it is never set elsewhere;
    its default MIP gap of 1e-4 would call a wrong optimum optimal.
    """
    import highspy

    model = highspy.Highs()
    settings: dict[str, Any] = {
        "output_flag": False,
        "threads": 1,
        "random_seed": 0,
        "mip_rel_gap": 0.0,
    }
    for name, value in (settings | options).items():
        if model.setOptionValue(name, value) == highspy.HighsStatus.kError:
            msg = f"HiGHS refuses option {name}={value!r}"
            raise SolverError(msg)
    return model


def build(
    model: Any,
    *,
    cost: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    rows: Any,
    row_lower: NDArray[np.float64],
    row_upper: NDArray[np.float64],
    integer: bool = False,
) -> Any:
    """Load ``min cost z, row_lower <= rows z <= row_upper, lower <= z <= upper`` into a model.

    Parameters
    ----------
    model : highspy.Highs
    cost, lower, upper : (n,) float64
        Infinite bounds as ``numpy.inf``.
    rows : (m, n) csr_array
    row_lower, row_upper : (m,) float64
    integer : bool
        Whether all columns are integer.

    Returns
    -------
    highspy.Highs
        The same model.

    Raises
    ------
    SolverError
        If HiGHS refuses the model.
    """
    import highspy

    lp = highspy.HighsLp()
    m, n = rows.shape
    lp.num_col_, lp.num_row_ = n, m
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, lower, upper
    lp.row_lower_, lp.row_upper_ = row_lower, row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = n, m
    lp.a_matrix_.start_ = rows.indptr.astype(np.int32)
    lp.a_matrix_.index_ = rows.indices.astype(np.int32)
    lp.a_matrix_.value_ = rows.data.astype(np.float64)
    if integer:
        lp.integrality_ = [highspy.HighsVarType.kInteger] * n
    if model.passModel(lp) == highspy.HighsStatus.kError:
        msg = f"HiGHS refuses a model of {m} rows and {n} columns"
        raise SolverError(msg)
    return model


def optimise(
    model: Any,
    *,
    time_limit: float | None = None,
    interruptible: bool = False,
    doubtful: bool = False,
) -> str:
    """Run a model and say in one word how it ended.

    Parameters
    ----------
    model : highspy.Highs
    time_limit : float, optional
        Seconds for this call alone, further tries included.
    interruptible : bool
        Whether Ctrl-C stops the run (it then raises KeyboardInterrupt here).
    doubtful : bool
        Whether the caller can use a solution that HiGHS itself finds slightly infeasible.

    Returns
    -------
    {"optimal", "infeasible", "unbounded", "limit", "cutoff", "doubtful"}

    Raises
    ------
    SolverError
        For any other end, after further tries from scratch and in other ways.
    """
    import highspy

    status = highspy.HighsModelStatus
    words = {
        status.kOptimal: "optimal",
        status.kModelEmpty: "optimal",
        status.kInfeasible: "infeasible",
        status.kUnbounded: "unbounded",
        status.kTimeLimit: "limit",
        status.kIterationLimit: "limit",
        status.kSolutionLimit: "limit",
        status.kInterrupt: "limit",
        status.kObjectiveBound: "cutoff",
    }
    if doubtful:
        words[status.kSolveError] = "doubtful"
    deadline = None if time_limit is None else time.monotonic() + time_limit
    for change in _TRIES:
        before = {name: model.getOptionValue(name)[1] for name in change}
        for name, value in change.items():
            model.setOptionValue(name, value)
        if deadline is not None:
            # The limit counts from the model's first run, not from this one.
            left = max(deadline - time.monotonic(), 0.01)
            model.setOptionValue("time_limit", model.getRunTime() + left)
        try:
            _run(model, interruptible=interruptible)
        finally:
            for name, value in before.items():
                model.setOptionValue(name, value)
        ended = model.getModelStatus()
        if ended in words:
            return words[ended]
        model.clearSolver()
    msg = f"HiGHS ended with status {ended.name}"
    raise SolverError(msg)


def _run(model: Any, *, interruptible: bool) -> None:
    """Run a model; if asked to, in a thread that Ctrl-C can stop.

    The solver's own way of doing so has one lock for all models of a process: two threads could
    not solve at once, and an interrupt at the wrong moment would leave it taken for good.
    """
    if not interruptible:
        model.run()
        return
    model.HandleUserInterrupt = True
    guard, over = threading.Lock(), threading.Event()
    state = {"begun": False, "cancelled": False}

    def work() -> None:
        with guard:
            if state["cancelled"]:
                return
            state["begun"] = True
        try:
            model.run()
        finally:
            over.set()

    try:
        threading.Thread(target=work, daemon=True).start()
        while not over.wait(0.05):
            pass
    except KeyboardInterrupt:
        model.cancelSolve()
        with guard:
            state["cancelled"] = True
            begun = state["begun"]
        if begun:
            # The model must not be let go while the solver works on it.
            over.wait()
        raise
