"""What every safe pattern satisfies, relation by relation, as one sparse linear program.

A suppressed cell needs company: a relation with exactly one suppressed cell gives it away. And the
others of a relation must be able to move as far as a primary cell in it is required to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from csp.clock import Clock
from csp.highs import Model, Status
from csp.solve.large.field import Field

__all__ = ["Relaxed", "conditions", "least", "relax"]

# A level that any move reaches.
_ANY = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Relaxed:
    """Cheapest point of the relaxation.

    Attributes
    ----------
    x : (n,) float64
        Between 0 and 1; 1 at cells that every pattern suppresses.
    bound : float
        No safe pattern has cheaper free cells: by weak duality, so that tolerances of the solver
        cannot raise it.
    """

    x: NDArray[np.float64]
    bound: float


def relax(field: Field, clock: Clock) -> Relaxed | None:
    """Solve the relaxation; None if the time ran out.

    Parameters
    ----------
    field : Field
    clock : Clock
    """
    problem = field.problem
    rows = conditions(field, field.relations)
    fixed = problem.forced & field.open
    columns = np.flatnonzero(field.open & ~fixed)
    constant = rows[:, np.flatnonzero(fixed)].sum(axis=1)
    rows = csr_array(rows[:, columns])
    keep = np.flatnonzero((np.diff(rows.indptr) > 0) & (-constant > least(rows)))
    x = fixed.astype(np.float64)
    if not len(columns):
        return Relaxed(x, 0.0)
    rows = csr_array(rows[keep])
    # What one cell adds beyond what is missing is no use: the row is as true without it.
    missing = np.repeat(-constant[keep], np.diff(rows.indptr))
    rows.data = np.where(missing > 0, np.minimum(rows.data, missing), rows.data)
    model = Model(solver="simplex").load(
        cost=field.price[columns], lower=np.zeros(len(columns)), upper=np.ones(len(columns)),
        rows=rows, row_lower=-constant[keep].astype(np.float64),
        row_upper=np.full(len(keep), np.inf),
    )  # fmt: skip
    if model.solve(clock) != Status.OPTIMAL:
        return None
    solution = model.solution
    x[columns] = np.clip(np.asarray(solution.col_value), 0, 1)
    y = np.maximum(np.asarray(solution.row_dual), 0)
    spare = np.minimum(field.price[columns] - rows.T @ y, 0)
    return Relaxed(x, float(y @ -constant[keep] + spare.sum()))


def conditions(field: Field, matrix: csr_array) -> csr_array:
    """Write what some relations ask of every safe pattern as rows that are at least 0.

    Each row is about one cell in one relation: how far the others that are suppressed can move,
    as a share of how far it has to, less the cell itself.

    Parameters
    ----------
    field : Field
    matrix : (m, n) csr_array of int64
        Relations of the problem.

    Returns
    -------
    (c, n) csr_array of float64
    """
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    cell = matrix.indices
    live = field.open[cell]
    row, cell = row[live], cell[live]
    size = np.bincount(row, minlength=matrix.shape[0])
    start = np.concatenate([[0], np.cumsum(size)])
    factor = matrix.data[live]
    sign = np.sign(factor)
    own, need, kind = _conditions(field, cell.astype(np.int64))
    length = size[row[own]]
    which = np.repeat(np.arange(len(own)), length)
    first = np.repeat(start[row[own]] - np.cumsum(length) + length, length)
    at = first + np.arange(len(which))
    other, with_it = cell[at], sign[at] == sign[own][which]
    up, down = field.up[other], field.down[other]
    rises = np.where(with_it, down, up), np.where(with_it, up, down), up + down
    room = np.choose(kind[which], rises)
    share = np.abs(factor[at] / factor[own][which])
    weight = np.minimum(1.0, room * share / need[which])
    weight[other == cell[own][which]] = -1.0
    return csr_array((weight, (which, other)), shape=(len(own), matrix.shape[1]))


def _conditions(
    field: Field, cell: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Entries of the relations on which there is a condition, how far they move, and how.

    Primary cells have one for each level: to rise, to fall, or both together. A free cell that
    cannot move is in no cheapest pattern; one that is suppressed beforehand may be stuck.
    """
    problem = field.problem
    parts = [
        (np.flatnonzero(problem.primary[cell] & (level[cell] > 0)), level, kind)
        for kind, level in enumerate((problem.upl, problem.lpl, problem.spl))
    ]
    bare = np.flatnonzero(problem.free[cell])
    needs = [level[cell[own]].astype(np.float64) for own, level, _ in parts]
    return (
        np.concatenate([*(own for own, _, _ in parts), bare]),
        np.concatenate([*needs, np.full(len(bare), _ANY)]),
        np.concatenate(
            [*(np.full(len(own), kind) for own, _, kind in parts), np.full(len(bare), 2)]
        ),
    )


def least(rows: csr_array) -> NDArray[np.float64]:
    """Least value of each row over all patterns, and a little more: more than this it has to ask.

    Parameters
    ----------
    rows : (c, n) csr_array

    Returns
    -------
    (c,) float64
    """
    negative = rows.copy()
    negative.data = np.minimum(negative.data, 0)
    return np.asarray(negative.sum(axis=1) + 1e-9, dtype=np.float64)
