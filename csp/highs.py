"""One door to HiGHS: options and threads are set here, and every status is checked here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import SolverError

__all__ = ["build", "new_model", "optimise"]


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
        Seconds for this run alone.
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
        For any other end, after one more try from scratch.
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
    for attempt in range(2):
        if time_limit is not None:
            # The limit counts from the model's first run, not from this one.
            model.setOptionValue("time_limit", model.getRunTime() + max(time_limit, 0.01))
        _run(model, interruptible=interruptible)
        word = words.get(model.getModelStatus())
        if word is not None:
            return word
        if attempt == 0:
            model.clearSolver()
    msg = f"HiGHS ended with status {model.getModelStatus().name}"
    raise SolverError(msg)


def _run(model: Any, *, interruptible: bool) -> None:
    if not interruptible:
        model.run()
        return
    model.HandleUserInterrupt = True
    thread = model.startSolve()
    try:
        while thread.is_alive():
            thread.join(0.05)
    except KeyboardInterrupt:
        model.cancelSolve()
        thread.join()
        raise
