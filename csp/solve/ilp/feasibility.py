"""Feasibility intervals as integer programs (Minami and Abe 2019, Section 2.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csp.audits.intervals import as_positions
from csp.clock import Clock
from csp.errors import OutOfTime, SolverError
from csp.exact import UNBOUNDED, Bools, Floats
from csp.solve.ilp.solvers import Solver, solve
from csp.sparse import entries
from csp.tables.patterns import as_pattern
from csp.tables.table import Table


def intervals(
    table: Table,
    pattern: ArrayLike,
    *,
    cells: ArrayLike | None = None,
    integer: bool = True,
    solver: Solver = None,
    time_limit: float | None = None,
) -> tuple[Floats, Floats]:
    """Feasibility intervals by two programs for each cell.

    Minami and Abe (2019), Equations 5 to 9. (As printed, Equation 8 fixes the cells that are
    suppressed; it has to fix the others.)

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    cells : array of int, optional
        Only these cells; NaN elsewhere.
    integer : bool
        Over tables of whole units (as the paper has it) or over all.
    solver : str or pulp solver, optional
        See `csp.ilp.solvers`; HiGHS by default.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    lower, upper : (n,) float64
        In table units; infinite for no end.

    Raises
    ------
    InputError
        If the pattern has the wrong shape, cells do not exist, or PuLP does not find the solver.
    OutOfTime
        If the time limit passed before every interval was known.
    SolverError
        If the solver ended without an answer.

    See Also
    --------
    csp.intervals : The same by flows and exact linear programs.

    Examples
    --------
    Figure 2 of Minami and Abe (2019): four suppressed cells, the first is between 0 and 17.

    >>> import numpy as np
    >>> from csp import Table, ilp
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[:2, :2] = True
    >>> lower, upper = ilp.intervals(table, pattern.ravel())
    >>> float(lower[0]), float(upper[0])
    (0.0, 17.0)
    """
    suppressed, clock = as_pattern(table, pattern), Clock.of(time_limit)
    ends = np.array([table.values, table.values], dtype=np.float64)
    asked = np.flatnonzero(suppressed)
    if cells is not None:
        wanted = as_positions(cells, table.n_cells)
        asked = np.intersect1d(asked, wanted)
        ends[:, np.setdiff1d(np.arange(table.n_cells), wanted)] = np.nan
    program, x = _consistent_tables(table, suppressed, integer=integer)
    for i in asked.tolist():
        for side, sense in enumerate((1, -1)):
            ends[side, i] = _end(table, program, x[i], i, sense, solver, clock)
    if integer:
        ends = np.where(np.isfinite(ends), np.round(ends), ends)
    return ends[0], ends[1]


def _consistent_tables(
    table: Table, suppressed: Bools, *, integer: bool
) -> tuple[Any, dict[int, Any]]:
    """Program whose solutions are the tables that agree with everything published."""
    import pulp

    program = pulp.LpProblem("interval", pulp.LpMinimize)
    kind = "Integer" if integer else "Continuous"
    x = {
        i: program.add_variable(f"x{i}", *_limits(table, i), cat=kind)
        for i in np.flatnonzero(suppressed).tolist()
    }
    for row in range(table.relations.shape[0]):
        terms = entries(table.relations, row)
        published = sum(a * int(table.values[i]) for i, a in terms if i not in x)
        hidden = [a * x[i] for i, a in terms if i in x]
        if hidden:
            program += pulp.lpSum(hidden) == -published
    return program, x


def _end(
    table: Table, program: Any, target: Any, cell: int, sense: int, solver: Solver, clock: Clock
) -> float:
    """Least (sense 1) or largest (-1) value of a cell."""
    import pulp

    clock.check("every interval was known")
    program.setObjective(sense * target)
    word = solve(program, solver, clock)
    if word == "unbounded":
        return -sense * np.inf
    if word == "optimal":
        return float(pulp.value(target))
    if clock.over:
        msg = "the time limit passed before every interval was known; allow more time"
        raise OutOfTime(msg)
    msg = f"the interval of cell {table.cell(cell)} ended as {word}"
    raise SolverError(msg)


def _limits(table: Table, i: int) -> tuple[int | None, int | None]:
    lower, upper = int(table.lower[i]), int(table.upper[i])
    return (None if lower <= -UNBOUNDED else lower), (None if upper >= UNBOUNDED else upper)
