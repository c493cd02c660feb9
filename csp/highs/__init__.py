"""One door to HiGHS: options and threads are set here, and every status is checked here.

A start is never combined with a fractional objective (it has been seen to call a wrong pattern
optimal), and rows that limit costs are checked in integers afterwards. No other package imports it
or the solvers of scipy (`tests/csp/highs`); programs in PuLP call it through PuLP. A `basis` says
where the simplex method stands; `interrupts` let Ctrl-C stop a run.
"""

from __future__ import annotations

import threading
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import OutOfTime, SolverError
from csp.exact import Floats
from csp.highs.basis import Basis as Basis
from csp.highs.basis import Position as Position
from csp.highs.interrupts import run_interruptibly

# What is changed from try to try. The primal simplex perturbs bounds, and on small degenerate
# models has been seen to lose its way back ("unknown" in HiGHS 1.15), from scratch as well.
_TRIES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"primal_simplex_bound_perturbation_multiplier": 0.0},
    {"simplex_strategy": 1},
)


# A sum of the same terms in another order differs by less, another solution by more: two values of
# an integer program that count as different are at least one unit apart, in at most 2^31 of them.
_SAME_OBJECTIVE = 1e-10

# Steps of the simplex method that are as good as no limit.
_ENDLESS = 2**31 - 1

_count = threading.local()


class Status(StrEnum):
    """How a run of a model ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LIMIT = "limit"
    """Time, iterations, nodes, or an interrupt."""
    CUTOFF = "cutoff"
    """The objective has passed the bound that was set."""
    DOUBTFUL = "doubtful"
    """There is a solution that HiGHS itself finds slightly infeasible."""


def retries() -> int:
    """Count the further tries that models of this thread have needed so far."""
    return getattr(_count, "retries", 0)


class Model:
    """A silent, single-threaded, gap-free model of HiGHS whose every answer is checked.

    HiGHS fixes its number of threads at the first run of a process, so it is never set elsewhere;
    its default MIP gap of 1e-4 would call a wrong optimum optimal.

    Parameters
    ----------
    **options
        Of HiGHS.

    Raises
    ------
    SolverError
        Like every method, if HiGHS refuses what is asked.
    """

    __slots__ = ("_error", "_highs", "_priced", "_started", "_status")

    def __init__(self, **options: Any) -> None:
        import highspy

        self._highs: Any = highspy.Highs()
        self._started, self._priced = False, np.empty(0, np.int32)
        self._error, self._status = highspy.HighsStatus.kError, highspy.HighsModelStatus
        settings: dict[str, Any] = {
            "output_flag": False,
            "threads": 1,
            "random_seed": 0,
            "mip_rel_gap": 0.0,
        }
        for name, value in (settings | options).items():
            self.set_option(name, value)

    def __repr__(self) -> str:
        return f"Model({self._highs.getNumRow()} rows, {self._highs.getNumCol()} columns)"

    def _done(self, status: Any, asked: str) -> None:
        if status == self._error:
            msg = f"HiGHS refuses {asked}"
            raise SolverError(msg)

    # ---- what is asked -------------------------------------------------------------------------

    def load(
        self,
        *,
        cost: Floats | float,
        lower: Floats | float,
        upper: Floats | float,
        rows: Any,
        row_lower: Floats | float = 0.0,
        row_upper: Floats | float = 0.0,
        integer: bool = False,
    ) -> Self:
        """Load ``min cost z, row_lower <= rows z <= row_upper, lower <= z <= upper``.

        Parameters
        ----------
        cost, lower, upper : (n,) float64, or one number for all
            Infinite bounds as ``numpy.inf``.
        rows : (m, n) csr_array
        row_lower, row_upper : (m,) float64, or one number for all
        integer : bool
            Whether all columns are integer.

        Returns
        -------
        Model
            This one.
        """
        import highspy

        lp = highspy.HighsLp()
        m, n = rows.shape
        lp.num_col_, lp.num_row_ = n, m
        lp.col_cost_ = np.full(n, cost, np.float64)
        lp.col_lower_, lp.col_upper_ = (np.full(n, v, np.float64) for v in (lower, upper))
        lp.row_lower_, lp.row_upper_ = (np.full(m, v, np.float64) for v in (row_lower, row_upper))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = n, m
        lp.a_matrix_.start_ = rows.indptr.astype(np.int32)
        lp.a_matrix_.index_ = rows.indices.astype(np.int32)
        lp.a_matrix_.value_ = rows.data.astype(np.float64)
        if integer:
            lp.integrality_ = [highspy.HighsVarType.kInteger] * n
        self._done(self._highs.passModel(lp), f"a model of {m} rows and {n} columns")
        self._priced = np.empty(0, np.int32)
        return self

    def set_option(self, name: str, value: Any) -> None:
        """Set an option of HiGHS."""
        self._done(self._highs.setOptionValue(name, value), f"option {name}={value!r}")

    def set_costs(self, columns: NDArray[np.int32], costs: Floats) -> None:
        """Change the costs of some columns."""
        self._done(
            self._highs.changeColsCost(len(columns), columns, costs),
            f"costs of {len(columns)} columns",
        )

    def set_objective(self, columns: NDArray[np.int32], costs: Floats) -> None:
        """Change the costs of some columns, and take back what the last such call changed."""
        if len(self._priced):
            self.set_costs(self._priced, np.zeros(len(self._priced)))
        self.set_costs(columns, costs)
        self._priced = columns

    def set_bounds(self, columns: NDArray[np.int32], lower: Floats, upper: Floats) -> None:
        """Change the bounds of some columns."""
        self._done(
            self._highs.changeColsBounds(len(columns), columns, lower, upper),
            f"bounds of {len(columns)} columns",
        )

    def set_row_bounds(self, rows: NDArray[np.int32], lower: Floats, upper: Floats) -> None:
        """Change the bounds of some rows."""
        self._done(
            self._highs.changeRowsBounds(len(rows), rows, lower, upper),
            f"bounds of {len(rows)} rows",
        )

    def add_rows(self, rows: Any, lower: Floats | float, upper: Floats | float) -> None:
        """Add the rows of a csr_array, ``lower <= rows z <= upper``."""
        lower, upper = (np.full(rows.shape[0], v, np.float64) for v in (lower, upper))
        status = self._highs.addRows(
            rows.shape[0], lower, upper, len(rows.data), rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32), rows.data.astype(np.float64),
        )  # fmt: skip
        self._done(status, f"{rows.shape[0]} more rows")

    def add_columns(self, columns: Any, cost: Floats, lower: Floats, upper: Floats) -> None:
        """Add the columns of a csc_array."""
        status = self._highs.addCols(
            columns.shape[1], cost, lower, upper, len(columns.data),
            columns.indptr[:-1].astype(np.int32), columns.indices.astype(np.int32),
            columns.data.astype(np.float64),
        )  # fmt: skip
        self._done(status, f"{columns.shape[1]} more columns")

    def delete_rows(self, rows: NDArray[np.int32]) -> None:
        """Delete rows."""
        self._done(self._highs.deleteRows(len(rows), rows), f"{len(rows)} rows less")

    def set_basis(self, basis: Basis) -> bool:
        """Start the next run from a basis; False if HiGHS refuses it, and starts from scratch."""
        return bool(self._highs.setBasis(basis.raw) != self._error)

    def set_start(self, values: Floats) -> None:
        """Start the next tree search from a solution."""
        self._done(set_start(self._highs, values), "a first solution")
        self._started = True

    def forget(self) -> None:
        """Forget basis and solution: the next run starts from scratch."""
        self._done(self._highs.clearSolver(), "to start from scratch")
        self._started = False

    def on_cut_pool(self, handler: Any) -> None:
        """Call a function with the pool of cuts of each tree search."""
        self._highs.cbMipGetCutPool.subscribe(handler)

    # ---- what it answers -----------------------------------------------------------------------

    @property
    def values(self) -> Floats:
        """Values of the columns."""
        return np.asarray(self._highs.getSolution().col_value)

    @property
    def solution(self) -> Any:
        """The ``highspy.HighsSolution``: `col_value`, `row_value`, `row_dual`."""
        return self._highs.getSolution()

    @property
    def dual_ray(self) -> Floats:
        """Multipliers of the rows by which a linear program has no solution; empty without any."""
        _, there, ray = self._highs.getDualRay()
        return np.asarray(ray, np.float64) if there else np.empty(0)

    @property
    def basis(self) -> Basis:
        """The basis at the end."""
        return Basis(self._highs.getBasis())

    @property
    def objective(self) -> float:
        """Objective at the end of the last run."""
        return float(self._highs.getInfo().objective_function_value)

    @property
    def dual_bound(self) -> float:
        """Bound on the objective that the last tree search has proved."""
        return float(self._highs.getInfo().mip_dual_bound)

    # ---- runs ----------------------------------------------------------------------------------

    def solve(
        self, clock: Clock = UNLIMITED, *, interruptible: bool = False, doubtful: bool = False
    ) -> Status:
        """Run the model and say how it ended.

        Parameters
        ----------
        clock : Clock
            For this call, further tries included.
        interruptible : bool
            Whether Ctrl-C stops the run (it then raises KeyboardInterrupt here).
        doubtful : bool
            Whether the caller can use a solution that HiGHS itself finds slightly infeasible.

        Returns
        -------
        Status

        Raises
        ------
        OutOfTime
            If HiGHS does not come back; the model is empty then.
        SolverError
            For any other end, after further tries from scratch and in other ways.
        """
        model, status = self._highs, self._status
        ends = {
            status.kOptimal: Status.OPTIMAL,
            status.kModelEmpty: Status.OPTIMAL,
            status.kInfeasible: Status.INFEASIBLE,
            status.kUnbounded: Status.UNBOUNDED,
            status.kTimeLimit: Status.LIMIT,
            status.kIterationLimit: Status.LIMIT,
            status.kSolutionLimit: Status.LIMIT,
            status.kInterrupt: Status.LIMIT,
            status.kObjectiveBound: Status.CUTOFF,
        }
        for number, change in enumerate(_TRIES):
            if number:
                _count.retries = retries() + 1
            before = {name: model.getOptionValue(name)[1] for name in change}
            for name, value in change.items():
                self.set_option(name, value)
            if clock.stop < np.inf:
                # The limit counts from the model's first run, not from this one.
                self.set_option("time_limit", model.getRunTime() + max(clock.left, 0.01))
            try:
                left = max(clock.left, 0.01)
                outcome = run_interruptibly(model, left) if interruptible else model.run()
            except OutOfTime:
                self._highs = type(model)()  # the other one is still at work
                raise
            finally:
                for name, value in before.items():
                    self.set_option(name, value)
            ended = model.getModelStatus()
            if doubtful and ended == status.kSolveError:
                return Status.DOUBTFUL
            if ended in ends and outcome != self._error and not self._has_kept_the_start(ended):
                return ends[ended]
            self.forget()
        msg = f"HiGHS ended with status {ended.name}"
        raise SolverError(msg)

    def _has_kept_the_start(self, ended: Any) -> bool:
        """Whether HiGHS calls the start optimal, and its own objective says something else.

        HiGHS 1.16.0 does so where presolve reduces the integer program.
        """
        if not self._started or ended != self._status.kOptimal:
            return False
        lp, objective = self._highs.getLp(), self.objective
        found = float(np.dot(lp.col_cost_, self.values)) + lp.offset_
        return bool(abs(found - objective) > _SAME_OBJECTIVE * max(1.0, abs(objective)))

    def solve_stepwise(self, clock: Clock, steps: int, *, interruptible: bool = False) -> Status:
        """Solve a linear program by the simplex method, or else by an interior-point method.

        The latter ends at a vertex all the same.

        Parameters
        ----------
        clock : Clock
        steps : int
            Of the simplex method at most.
        interruptible : bool
            As for `solve`.
        """
        word = Status.LIMIT
        if steps:
            self.set_option("simplex_iteration_limit", steps)
            try:
                word = self.solve(clock, interruptible=interruptible)
            finally:
                self.set_option("simplex_iteration_limit", _ENDLESS)
        if word != Status.LIMIT or clock.over:
            return word
        self.forget()
        self.set_option("solver", "ipm")
        try:
            return self.solve(clock, interruptible=interruptible)
        finally:
            self.set_option("solver", "simplex")


def set_start(model: Any, values: NDArray[Any]) -> Any:
    """Have a ``highspy.Highs`` start from a solution, and return what it says of it."""
    import highspy

    solution = highspy.HighsSolution()
    solution.col_value = values.tolist()
    return model.setSolution(solution)
