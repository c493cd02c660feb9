"""The cheapest choice of groups that covers every record once, and a safe one among all groups."""

from __future__ import annotations

import numpy as np

from csp.clock import Clock
from csp.errors import OutOfTime, SolverError, Unprotectable, argument
from csp.exact import Ints
from csp.highs import Model, Status
from microagg.compliance.column_generation import Columns, Pricing, membership
from microagg.compliance.search import Task, renumbered

WHOLE_SECONDS = 60.0
"""Most seconds for the integer program over the groups found."""

LEAST_SECONDS = 0.2
"""Seconds that it gets even if the time is over."""

LISTED = 100_000
"""Most groups that are listed to close the gap."""

HALF = 0.5
"""Uncovered records, a whole number, above which the solver's bound says that there are some."""


def listed(task: Task) -> Ints:
    """Find a safe partition among all safe groups, for when the searches found none.

    Raises
    ------
    OutOfTime
        If the time was over.
    Unprotectable
        If there is none; that is proved.
    SolverError
        If there are too many groups to list.
    """
    if task.cap is None or task.late:
        msg = "the time was over before every cluster was safe; allow more time"
        raise OutOfTime(msg)
    points = task.points
    total = float(((points - points.mean(axis=0)) ** 2).sum())
    # No group costs more than all records as one; at a price above that, every group pays.
    prices = np.full(len(points), total + 1.0)
    columns = Columns(task)
    asked = f"groups of {task.k} to {task.most} records"
    if Pricing(task).enumerate(prices, columns, 0.0, LISTED):
        found, left = _covering(task, columns)
        if found is not None:
            return found
        if left > HALF:
            msg = (
                f"no partition into {asked} complies: of the {len(columns.groups)} such groups "
                f"that do, no choice covers every record once; raise {argument('most')}, or leave "
                f"out records ({argument('method', 'drop', option='--comply drop')})"
            )
            raise Unprotectable(msg)
    msg = (
        f"no compliant partition into {asked} was found, and there are too many groups to show "
        f"that there is none; raise {argument('most')}, or choose "
        f"{argument('method', 'drop', option='--comply drop')}"
    )
    raise SolverError(msg)


def _covering(task: Task, columns: Columns) -> tuple[Ints | None, float]:
    """Find a partition into the groups at hand, or how many records every choice leaves over.

    Records by themselves at price 1 beside groups at price 0: so there always is a solution, and
    the solver's bound says whether one without such records exists.
    """
    singles = Columns(task)
    singles.groups = columns.groups + [np.array([i]) for i in range(len(task.points))]
    singles.costs = [0.0] * len(columns.groups) + [1.0] * len(task.points)
    found, least = cheapest_partition(task, singles)
    whole = found is not None and int(np.bincount(found).min()) >= task.k
    return found if whole else None, 0.0 if least is None else least


def cheapest_partition(task: Task, columns: Columns) -> tuple[Ints | None, float | None]:
    """Cheapest choice of groups that covers every record once, and the solver's bound of its cost.

    The bound is None if the solver ran out of time, the partition if it has none.
    """
    n, m = len(task.points), len(columns.groups)
    rows = membership(columns.groups, n).tocsr()
    model = Model().load(
        cost=np.array(columns.costs), lower=np.zeros(m), upper=np.ones(m), rows=rows,
        row_lower=np.ones(n), row_upper=np.ones(n), integer=True,
    )  # fmt: skip
    left = max(task.clock.left, LEAST_SECONDS)
    ended = model.solve(Clock.of(min(WHOLE_SECONDS, left)), interruptible=True)
    solution = model.values
    if ended not in (Status.OPTIMAL, Status.LIMIT) or len(solution) != m:
        return None, None
    found = np.full(n, -1, np.int64)
    for g in np.flatnonzero(solution > 0.5):
        found[columns.groups[int(g)]] = g
    if (found < 0).any():
        return None, None
    return renumbered(found), model.dual_bound if ended == Status.OPTIMAL else None
