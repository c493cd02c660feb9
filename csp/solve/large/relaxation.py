"""What every safe pattern satisfies, relation by relation, as one sparse linear program.

A suppressed cell needs company: a relation with exactly one suppressed cell gives it away. And the
others of a relation must be able to move as far as a primary cell in it is required to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from csp.attacker.view import positions
from csp.clock import UNLIMITED, Clock
from csp.errors import SolverError
from csp.exact import Bools, Floats, Ints
from csp.highs import Model, Status
from csp.problem.requirements import implied_levels
from csp.problem.singletons import Attackers
from csp.solve.cuts import Cut, smallest_step
from csp.solve.large.first_order import FirstOrder
from csp.solve.witnesses.field import Field

# A level that any move reaches.
_ANY = 1e-9

# Pairs of cells in relations whose conditions are written down at once: a hundred megabytes.
_PAIRS = 1_000_000

CLOSE = 5e-4
"""Share of the cost by which point and bound may differ in the end."""

# Entries of an integer program for each second of its time (on table3 one of 2.8 million passed a
# limit of 46 s by 118), the most seconds that count, and nodes of its tree.
_ENTRIES_A_SECOND, _SECONDS = 30_000, 60.0
_NODES = 200

# Rows that change what every cell costs by less than this share hardly bind.
_BINDING = 1e-3


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Relaxed:
    """Cheapest point of the relaxation.

    Attributes
    ----------
    x : (n,) float64
        Between 0 and 1; 1 at cells that every pattern suppresses. It may break rows by a little.
    bound : float
        No safe pattern has cheaper free cells: by weak duality, however near the optimum is.
    cuts : tuple of Cut
        The rows that bind. Some cheapest pattern keeps them all, as those do from which no cell can
        be spared.
    """

    x: Floats
    bound: float
    cuts: tuple[Cut, ...] = ()


class Relaxation:
    """The relaxation of a problem, solved more closely with every call.

    Parameters
    ----------
    field : Field
    clock : Clock
        When to stop writing rows; those of the other relations are missing then.
    attackers : Attackers, optional
        Lone contributors, each of whom asks for company that it does not know.
    """

    def __init__(
        self, field: Field, clock: Clock = UNLIMITED, attackers: Attackers | None = None
    ) -> None:
        self._fixed = field.problem.forced & field.open
        self._columns = np.flatnonzero(field.open & ~self._fixed)
        asked = []
        for part in _parts(field.relations):
            asked.append(_asked(field, part, self._fixed, self._columns, attackers))
            if clock.over:
                break
        self._rows = csr_array(vstack([part for part, _ in asked]))
        self._lower = np.concatenate([least for _, least in asked])
        self._price = field.price[self._columns]
        self._step = smallest_step(field.problem.cost[field.problem.free])
        self._program = FirstOrder(self._rows, self._lower, self._price)

    def __repr__(self) -> str:
        return f"Relaxation({self._program!r})"

    def solve(
        self, gap: float = CLOSE, clock: Clock = UNLIMITED, steps: int | None = None
    ) -> Relaxed:
        """Come as near to the optimum as this, or as there is time for.

        Parameters
        ----------
        gap : float
            Share of the bound by which the cost of the point may be above it.
        clock : Clock
        steps : int, optional
            More than which are not taken in all.
        """
        program = self._program
        program.run(gap, clock, steps)
        x = self._fixed.astype(np.float64)
        x[self._columns] = program.x
        return Relaxed(x, program.bound, self._cuts())

    def whole(self, clock: Clock = UNLIMITED) -> float:
        """Bound by an integer program of the same rows; 0 if it is too large for the time.

        It is some 1 % higher (894 and 904 on `office/values-12900`, where 7 s do).
        """
        if self._rows.nnz > _ENTRIES_A_SECOND * min(clock.left, _SECONDS):
            return 0.0
        step = float(self._step)
        model = Model(mip_heuristic_effort=0.0, mip_max_nodes=_NODES, mip_abs_gap=0.5).load(
            cost=self._price / step, lower=0.0, upper=1.0, rows=self._rows,
            row_lower=self._lower, row_upper=np.inf, integer=True,
        )  # fmt: skip
        try:
            status = model.solve(clock.within(_SECONDS), interruptible=True)
        except SolverError:  # patterns need no bound
            return 0.0
        return model.dual_bound * step if status in (Status.OPTIMAL, Status.LIMIT) else 0.0

    def _cuts(self) -> tuple[Cut, ...]:
        """Rows that bind."""
        rows, y = self._rows, self._program.multipliers
        price = np.maximum(self._price, _ANY)[rows.indices]
        change = np.repeat(y, np.diff(rows.indptr)) * np.abs(rows.data) / price
        most = np.maximum.reduceat(change, rows.indptr[:-1]) if rows.nnz else y
        binding = np.flatnonzero(most > _BINDING)
        rows.sort_indices()
        ends = zip(
            rows.indptr[binding], rows.indptr[binding + 1], self._lower[binding], strict=True
        )
        return tuple(
            Cut(
                self._columns[rows.indices[begin:end]], rows.data[begin:end], float(right),
                "relation",
            )
            for begin, end, right in ends
        )  # fmt: skip


def _parts(relations: csr_array) -> Iterator[csr_array]:
    """Take some relations at a time, as the pairs of their cells can be many."""
    pairs = np.cumsum(np.diff(relations.indptr).astype(np.int64) ** 2)
    begin = 0
    while begin < len(pairs):
        before = int(pairs[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(pairs, before + _PAIRS, side="right")))
        yield csr_array(relations[begin:end])
        begin = end
    if not len(pairs):
        yield relations


def _asked(
    field: Field, relations: csr_array, fixed: Bools, columns: Ints, attackers: Attackers | None,
) -> tuple[csr_array, Floats]:  # fmt: skip
    """Write what some relations ask of the cells that are not fixed: rows, and their least values.

    Rows that every pattern satisfies are left out.
    """
    rows = conditions(field, relations, attackers)
    constant = np.asarray(rows @ fixed.astype(np.float64))
    rows = csr_array(rows[:, columns])
    keep = np.flatnonzero((np.diff(rows.indptr) > 0) & (-constant > least(rows)))
    rows, lower = csr_array(rows[keep]), -constant[keep]
    # What one cell adds beyond what is missing is of no use: the row is as valid without it.
    missing = np.repeat(lower, np.diff(rows.indptr))
    rows.data = np.where(missing > 0, np.minimum(rows.data, missing), rows.data)
    return rows, lower


def conditions(field: Field, matrix: csr_array, attackers: Attackers | None = None) -> csr_array:
    """Write what some relations ask of every safe pattern as rows that are at least 0.

    Each row is about one cell in one relation: how far the others that are suppressed can move,
    as a share of how far it has to, less the cell itself.

    Parameters
    ----------
    field : Field
    matrix : (m, n) csr_array of int64
        Relations of the problem.
    attackers : Attackers, optional
        Lone contributors, whose rows follow (`against_insiders`).

    Returns
    -------
    (c, n) csr_array of float64
    """
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    cell = matrix.indices
    live = field.open[cell]
    row, cell = row[live], cell[live]
    start = np.searchsorted(row, np.arange(matrix.shape[0] + 1))
    factor = matrix.data[live]
    sign = np.sign(factor)
    own, need, kind = _conditions(field, cell.astype(np.int64))
    at, which = positions(start[row[own]], start[row[own] + 1])
    other, with_it = cell[at], sign[at] == sign[own][which]
    up, down = field.up[other], field.down[other]
    rises = np.where(with_it, down, up), np.where(with_it, up, down), up + down
    room = np.choose(kind[which], rises)
    share = np.abs(factor[at] / factor[own][which])
    weight = np.minimum(1.0, room * share / need[which])
    weight[other == cell[own][which]] = -1.0
    rows = csr_array((weight, (which, other)), shape=(len(own), matrix.shape[1]))
    if attackers is None:
        return rows
    primary = np.flatnonzero(field.problem.primary[cell[own]])
    about = cell[own[primary]].astype(np.int64)
    known = against_insiders(csr_array(rows[primary]), about, attackers)
    return csr_array(vstack([rows, known]))


def against_insiders(rows: csr_array, own: Ints, attackers: Attackers) -> csr_array:
    """Write conditions of primary cells against each lone contributor who knows some of the others.

    To a contributor who knows a cell it gives no room, whether it is suppressed or published. So
    the others have to move as far without it.

    Parameters
    ----------
    rows : (c, n) csr_array of float64
        Conditions against an outsider (`conditions`).
    own : (c,) int64
        The primary cell that each is about.
    attackers : Attackers

    Returns
    -------
    (k, n) csr_array of float64
        Of each condition and each contributor against whom its cell is guarded.
    """
    cells, weights, ends = [], [], [0]
    for c, p in enumerate(own.tolist()):
        span = slice(rows.indptr[c], rows.indptr[c + 1])
        inside, weight = rows.indices[span], rows.data[span]
        seen: set[bytes] = set()
        for a in sorted(attackers.touched(inside[inside != p]) - attackers.exempt(p)):
            left = ~np.isin(inside, attackers.knows[a])
            if left.tobytes() not in seen:
                seen.add(left.tobytes())
                cells.append(inside[left])
                weights.append(weight[left])
                ends.append(ends[-1] + len(cells[-1]))
    shape = len(ends) - 1, rows.shape[1]
    if not cells:
        return csr_array(shape)
    return csr_array((np.concatenate(weights), np.concatenate(cells), ends), shape=shape)


def _conditions(field: Field, cell: Ints) -> tuple[Ints, Floats, Ints]:
    """Entries of the relations on which there is a condition, how far they move, and how.

    Primary cells have one for each level: to rise, to fall, or both together. A free cell that
    cannot move is in no cheapest pattern; one that is suppressed beforehand may be stuck.
    """
    problem = field.problem
    parts = [
        (np.flatnonzero(problem.primary[cell] & (level[cell] > 0)), level, kind)
        for kind, level in enumerate(implied_levels(problem))
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


def least(rows: csr_array) -> Floats:
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
