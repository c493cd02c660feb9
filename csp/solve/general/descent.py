"""Publish as much as possible within a subspace of deviations, most expensive first.

With wide rooms a pattern is safe if its subspace holds, for every primary cell, a vector in which
that cell moves. Cells whose rows in the tableau are parallel move together or not at all: they
form a class, and publishing one of them publishes all. A class with a primary cell has to stay.
Rooms are checked by vectors from least squares and from small linear programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.highs import Model, Status
from csp.solve.general.tableau import ZERO, eliminate

__all__ = ["Descent", "Part", "descend", "protecting"]

_PARALLEL = 1e-8
_MOVES = 1e-6
_FAILURES = 12

# The share of the time in which rooms are not looked at.
_PUBLISHING = 0.5
_SMALL = 200_000


@dataclass(slots=True, eq=False, repr=False)
class Part:
    """Cells that move in a subspace, and what is asked of them.

    Attributes
    ----------
    matrix : (m, k) float64
        Rows of a tableau: cells; columns: open dimensions.
    price : (m,) float64
        What is saved by publishing a cell.
    keep : (m,) bool
        Cells that must go on moving.
    inverse : (m,) float64
        One over the room of each cell, 0 where nothing limits it.
    targets : (p,) int64
        Rows of the primary cells whose rooms are checked.
    share : (p,) float64
        The share of its room that each of them must be able to reach in both directions.
    trouble : (p,) float64
        How often each of them was the obstacle so far; changed in place.
    whole : bool
        Whether vectors must stay whole: an audit can then take them as they are, where fractions
        in deep hierarchies get denominators that no integer type holds.
    tight : bool
        Whether rooms bind before half of the dimensions are gone; set by a descent.
    """

    matrix: NDArray[np.float64]
    price: NDArray[np.float64]
    keep: NDArray[np.bool_]
    inverse: NDArray[np.float64]
    targets: NDArray[np.int64]
    share: NDArray[np.float64]
    trouble: NDArray[np.float64]
    whole: bool = False
    tight: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Descent:
    """End of a descent.

    Attributes
    ----------
    exchanges : list of (int, int)
        Rows and columns of the exchanges, in order.
    open : (j,) int64
        Columns that are still open.
    cost : float
    span : (m, j) float64
        Columns that span the subspace.
    vectors : list of (m,) float64
        Vectors of the subspace that reach every target.
    """

    exchanges: list[tuple[int, int]]
    open: NDArray[np.int64]
    cost: float
    span: NDArray[np.float64]
    vectors: list[NDArray[np.float64]] = field(default_factory=list)


def descend(
    part: Part,
    weight: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    limit: float = np.inf,
    clock: Clock = UNLIMITED,
    first: NDArray[np.bool_] | None = None,
    tight: Clock = UNLIMITED,
) -> Descent | None:
    """Publish classes, the one of most weight first, until none can go.

    Rooms are looked at only once nothing is left to publish: they rarely bind before. If they do,
    the descent goes back to a stage that keeps them, and checks every step from there.

    Parameters
    ----------
    part : Part
    weight : (m,) float64
        Weights that rank the classes.
    rng : numpy.random.Generator
    limit : float
        Give up if the pattern costs more than this.
    clock : Clock
        When to give up.
    first : (m,) bool, optional
        Cells to publish before all others; a descent never goes back before that.
    tight : Clock
        When to give up if rooms bind before half of the dimensions are gone: from there every step
        has to be checked.

    Returns
    -------
    Descent or None
        None if it was given up, or if not even the part it begins with reaches every target.
    """
    part.tight = False
    state = _State(part, np.arange(part.matrix.shape[1]), part.matrix.copy(), [], rng)
    blocked = part.keep.copy()
    # What is published after that may have to be taken back, for which there must be time.
    until = clock.part(_PUBLISHING)
    if first is not None:
        while not until.over and (row := state.choose(first.astype(float), blocked)) >= 0:
            if not state.publish(row):
                blocked[row] = True
    stages = [state.copy()]
    while not until.over and (row := state.choose(weight, blocked)) >= 0:
        if not state.publish(row):
            blocked[row] = True
        elif state.dimensions <= 0.5 * len(stages[-1].columns):
            stages.append(state.copy())
    cost = state.cost()
    if cost > limit:
        return None
    vectors = protecting(part, state.matrix, clock=clock)
    if vectors is not None:
        return Descent(state.exchanges, state.columns, cost, state.matrix, vectors)
    while stages:
        state = stages.pop()
        vectors = protecting(part, state.matrix, clock=clock)
        if vectors is not None:
            break
    if vectors is None:
        return None
    part.tight = not stages
    failures, stride = 0, 8
    while failures < _FAILURES and not clock.over:
        if part.tight and tight.over:
            return None
        trial, row = state.copy(), -1
        for _ in range(stride):
            row = trial.choose(weight, blocked)
            if row < 0:
                break
            if not trial.publish(row):
                blocked[row] = True
        if len(trial.exchanges) == len(state.exchanges):
            if row < 0:
                break
            continue
        found = protecting(part, trial.matrix, clock=clock, known=vectors)
        if found is not None:
            state, vectors, failures, stride = trial, found, 0, 2 * stride
        elif len(trial.exchanges) > len(state.exchanges) + 1:
            stride = max(1, min(stride, len(trial.exchanges) - len(state.exchanges)) // 3)
        else:
            blocked[trial.exchanges[-1][0]] = True
            failures += 1
    cost = state.cost()
    if cost > limit:
        return None
    return Descent(state.exchanges, state.columns, cost, state.matrix, vectors)


class _State:
    """A subspace on its way down; two random projections of every row tell parallel rows.

    Projections, and the numbers of entries of the columns, are computed anew after every step
    where that is quick, else after some.
    """

    def __init__(
        self, part: Part, columns: NDArray[np.int64], matrix: NDArray[np.float64],
        exchanges: list[tuple[int, int]], rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.part, self.columns, self.matrix = part, columns, matrix
        self.exchanges, self._rng = exchanges, rng
        self._closed = np.zeros(len(columns), bool)
        self._entries: NDArray[np.int64] = np.zeros(len(columns), np.int64)
        self._project()

    def copy(self) -> _State:
        """Return an independent state without closed columns."""
        self._compact()
        return _State(self.part, self.columns, self.matrix.copy(), list(self.exchanges), self._rng)

    def cost(self) -> float:
        self._compact()
        return float(self.part.price[(self.matrix != 0).any(axis=1)].sum())

    def choose(self, weight: NDArray[np.float64], blocked: NDArray[np.bool_]) -> int:
        """Row of the class of most weight that may be published, or -1."""
        x, y = self._sides
        rows = np.flatnonzero(np.abs(x) + np.abs(y) > _MOVES)
        if not len(rows):
            return -1
        slope = x[rows] / np.where(y[rows] == 0, 1e-30, y[rows])
        order = np.argsort(slope)
        slope, rows = slope[order], rows[order]
        apart = np.diff(slope) > _PARALLEL * (np.abs(slope[1:]) + 1e-3)
        first = np.concatenate([[0], np.flatnonzero(apart) + 1])
        total = np.add.reduceat(weight[rows], first)
        total[np.logical_or.reduceat(blocked[rows], first)] = 0.0
        best = int(np.argmax(total))
        return int(np.minimum.reduceat(rows, first)[best]) if total[best] > 0 else -1

    @property
    def dimensions(self) -> int:
        """Number of open columns."""
        return int(len(self._closed) - self._closed.sum())

    def publish(self, row: int) -> bool:
        """Cut the subspace by the hyperplane in which a row is zero.

        Refuses (False) if a cell that must move would come to rest: projections can miss that.
        """
        matrix = self.matrix
        column = int(np.argmax(np.abs(matrix[row])))
        if self.part.whole:
            # Pivots of 1 keep all entries whole.
            ones = np.flatnonzero(np.abs(np.abs(matrix[row]) - 1) < ZERO)
            if len(ones):
                column = int(ones[np.argmin(self._entries[ones])])
            elif abs(matrix[row, column]) >= 10 * ZERO:
                return False
        if abs(matrix[row, column]) < 10 * ZERO:
            # The projections say that it moves, the matrix does not: noise of their updates.
            self._project()
            matrix[row] = 0.0
            for projection in self._sides:
                projection[row] = 0.0
            return True
        side = matrix[:, column] / matrix[row, column]
        if not eliminate(matrix, row, column, self.part.keep):
            return False
        matrix[:, column] = 0.0
        matrix[row] = 0.0
        self._closed[column] = True
        self.exchanges.append((row, int(self.columns[column])))
        if self._closed.sum() * 2 > len(self._closed):
            self._compact()
        if matrix.size < _SMALL or len(self.exchanges) % 16 == 0:
            self._project()
            return True
        for projection in self._sides:
            projection -= side * projection[row]
            projection[row] = 0.0
        return True

    def _compact(self) -> None:
        if self._closed.any():
            self.matrix = np.ascontiguousarray(self.matrix[:, ~self._closed])
            self.columns = self.columns[~self._closed]
            self._entries = self._entries[~self._closed]
            self._closed = np.zeros(len(self.columns), bool)

    def _project(self) -> None:
        if self.part.whole:
            self._entries = np.count_nonzero(self.matrix, axis=0)
        lines = self._rng.normal(size=(2, self.matrix.shape[1])) * ~self._closed
        self._sides = self.matrix @ lines[0], self.matrix @ lines[1]


def protecting(
    part: Part, matrix: NDArray[np.float64], *, clock: Clock = UNLIMITED,
    known: list[NDArray[np.float64]] | None = None,
) -> list[NDArray[np.float64]] | None:  # fmt: skip
    """Find vectors of a subspace that reach every target within all rooms.

    First the vectors nearest to known ones; then the vector of least squares among those that move
    a target, which often does and costs next to nothing; else a linear program in the few
    dimensions of the subspace. Every vector is asked what else it reaches.

    Parameters
    ----------
    part : Part
    matrix : (m, j) float64
        Columns that span the subspace.
    clock : Clock
        When targets count as not reached.
    known : list of (m,) float64, optional
        Vectors of a larger subspace that reach every target.

    Returns
    -------
    list of (m,) float64, or None
        Scaled to the rooms; None if a target is not reached.
    """
    scaled = matrix * part.inverse[:, None]
    rows = np.flatnonzero(scaled.any(axis=1))
    place = np.full(len(matrix), -1)
    place[rows] = np.arange(len(rows))
    where = place[part.targets]
    if (where < 0).any():
        part.trouble[np.argmax(where < 0)] += 1
        return None
    if not len(where):
        return []
    scaled = scaled[rows]
    size = np.abs(scaled).max(axis=0)
    scaled = scaled[:, size > 0] / size[size > 0]
    square = scaled.T @ scaled
    # A little on the diagonal keeps nearly dependent columns apart.
    square.flat[:: len(square) + 1] *= 1 + 1e-10
    shortest = _solver(square)
    left = np.ones(len(where), bool)
    vectors: list[NDArray[np.float64]] = []

    def ask(many: NDArray[np.float64], asked: NDArray[np.int64] | None = None) -> None:
        """Keep the columns that reach a target that is left; those whose own one is, if given."""
        most = np.abs(many).max(axis=0)
        reached = np.abs(many[where]) >= part.share[:, None] * (most * (1 - 1e-10))
        for c in np.flatnonzero(most > 0).tolist():
            if (asked is None or left[asked[c]]) and (reached[:, c] & left).any():
                left[reached[:, c]] = False
                full = np.zeros(len(matrix))
                full[rows] = many[:, c] / most[c]
                vectors.append(full)

    model = None

    def ask_program(t: int) -> bool:
        nonlocal model
        if scaled.shape[1] > 1:
            model = _Program(scaled, clock) if model is None else model
            row = scaled[where[t]]
            ask(scaled @ model.reach(row, float(part.share[t]), shortest(row))[:, None])
        if left[t]:
            part.trouble[t] += 1
        return not left[t]

    if known:
        ask(scaled @ shortest(scaled.T @ np.stack(known)[:, rows].T))
    order = np.argsort(-part.trouble, kind="stable")
    hardest = int(order[0])
    if left[hardest]:
        ask(scaled @ shortest(scaled[where[hardest]])[:, None])
    if left[hardest] and not ask_program(hardest):
        return None
    # Many vectors at once are far quicker than one by one; most serve others as well.
    begin, width = 1, 1
    while left.any() and begin < len(order):
        rest = order[begin:]
        rest = rest[left[rest]][:width]
        if not len(rest):
            break
        begin = int(np.flatnonzero(order == rest[-1])[0]) + 1
        width *= 2
        ask(scaled @ shortest(scaled[where[rest]].T), rest)
        if clock.over:
            return None
    for t in order[left[order]].tolist():
        if left[t] and not ask_program(t):
            return None
    return vectors


def _solver(square: NDArray[np.float64]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Solutions of a positive definite system; by its inverse where it is so in theory only."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        factor = cho_factor(square, lower=True, check_finite=False)
    except LinAlgError:
        inverse = np.linalg.inv(square)
        return lambda right: np.asarray(inverse @ right)
    return lambda right: np.asarray(cho_solve(factor, right, check_finite=False))


class _Program:
    """Vectors of a subspace within the rooms; rooms join the model once they are left."""

    def __init__(self, scaled: NDArray[np.float64], clock: Clock) -> None:
        from scipy.sparse import csr_array

        self._scaled, self._clock = scaled, clock
        k = scaled.shape[1]
        # Basis cells have one entry each: their rooms are bounds of the columns.
        self._held = (scaled != 0).sum(axis=1) == 1
        single = np.abs(scaled[self._held])
        most = np.full(k, np.inf)
        np.minimum.at(most, single.argmax(axis=1), 1 / single.max(axis=1))
        self._model = Model(presolve="off", solver="simplex").load(
            cost=np.zeros(k), lower=-most, upper=most,
            rows=csr_array((0, k)), row_lower=np.empty(0), row_upper=np.empty(0),
        )  # fmt: skip

    def reach(
        self, row: NDArray[np.float64], share: float, guess: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Vector that moves a row by a share of its room, or zero if there is none."""
        k = len(row)
        self._hold(np.abs(self._scaled @ guess))
        self._model.set_costs(np.arange(k, dtype=np.int32), -row)
        while not self._clock.over:
            if self._model.solve(self._clock) != Status.OPTIMAL:
                break
            y = self._model.values
            size = np.abs(self._scaled @ y)
            if row @ y < share * (1 - 1e-9):
                break
            if row @ y >= share * size.max() or not self._hold(np.where(size > 1 + 1e-9, size, 0)):
                return y
        return np.zeros(k)

    def _hold(self, size: NDArray[np.float64]) -> bool:
        """Add the rooms that are left most; False if there is none."""
        size = np.where(self._held, 0.0, size)
        left = np.flatnonzero(size)
        if not len(left):
            return False
        from scipy.sparse import csr_array

        most = 20 + self._scaled.shape[1]
        rows = left if len(left) <= most else left[np.argpartition(-size[left], most)[:most]]
        # Made of its parts: scipy takes ten times as long to find the entries itself.
        part = self._scaled[rows]
        ends = np.concatenate([[0], np.cumsum(np.count_nonzero(part, axis=1))])
        entries = np.nonzero(part)
        one = np.ones(len(rows))
        self._model.add_rows(
            csr_array((part[entries], entries[1], ends), shape=part.shape), -one, one
        )
        self._held[rows] = True
        return True
