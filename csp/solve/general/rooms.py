"""Vectors of a subspace that move primary cells far enough, within the rooms of all cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.exact import Floats, Ints
from csp.highs import Model, Status


def reaching(
    scaled: Floats, targets: Ints, share: Floats, trouble: Floats, *, clock: Clock = UNLIMITED,
    known: Floats | None = None,
) -> Floats | None:  # fmt: skip
    """Find vectors of a subspace that reach every target within all rooms.

    First the vectors nearest to known ones; then the vector of least squares among those that move
    a target, which often does and costs next to nothing; else a linear program in the few
    dimensions of the subspace. Every vector is asked what else it reaches.

    Parameters
    ----------
    scaled : (c, j) float64
        Columns that span the subspace, each cell in units of its room.
    targets : (p,) int64
        Rows that must move.
    share : (p,) float64
        The share of its room that each of them must be able to reach.
    trouble : (p,) float64
        How often each of them was the obstacle so far; changed in place.
    clock : Clock
        When targets count as not reached.
    known : (c, u) float64, optional
        Vectors of a larger subspace that reach every target.

    Returns
    -------
    (c, v) float64, or None
        Vectors in units of the rooms; None if a target is not reached.
    """
    vectors: list[Floats] = []
    if not len(targets):
        return np.zeros((len(scaled), 0))
    still = ~scaled[targets].any(axis=1) | (share > 1 + 1e-10)
    if still.any():
        trouble[np.argmax(still)] += 1
        return None
    size = np.abs(scaled).max(axis=0)
    scaled = scaled[:, size > 0] / size[size > 0]
    square = scaled.T @ scaled
    # A little on the diagonal keeps nearly dependent columns apart.
    square.flat[:: len(square) + 1] *= 1 + 1e-10
    shortest = _solver(square)
    left = np.ones(len(targets), bool)

    def ask(many: Floats, asked: Ints | None = None) -> None:
        """Keep the columns that reach a target that is left; those whose own one is, if given."""
        most = np.abs(many).max(axis=0)
        reached = np.abs(many[targets]) >= share[:, None] * (most * (1 - 1e-10))
        for c in np.flatnonzero(most > 0).tolist():
            if (asked is None or left[asked[c]]) and (reached[:, c] & left).any():
                left[reached[:, c]] = False
                vectors.append(many[:, c] / most[c])

    model = None

    def ask_program(t: int) -> bool:
        nonlocal model
        if scaled.shape[1] > 1:
            model = _Program(scaled, clock) if model is None else model
            row = scaled[targets[t]]
            ask(scaled @ model.reach(row, float(share[t]), shortest(row))[:, None])
        if left[t]:
            trouble[t] += 1
        return not left[t]

    if known is not None:
        ask(scaled @ shortest(scaled.T @ known))
    order = np.argsort(-trouble, kind="stable")
    hardest = int(order[0])
    if left[hardest]:
        ask(scaled @ shortest(scaled[targets[hardest]])[:, None])
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
        ask(scaled @ shortest(scaled[targets[rest]].T), rest)
        if clock.over:
            return None
    for t in order[left[order]].tolist():
        if left[t] and not ask_program(t):
            return None
    return np.column_stack(vectors)


def _solver(square: Floats) -> Callable[[Floats], Floats]:
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

    def __init__(self, scaled: Floats, clock: Clock) -> None:
        from scipy.sparse import csr_array

        self._scaled, self._clock = scaled, clock
        k = scaled.shape[1]
        # Basis cells have one entry each: their rooms are bounds of the columns.
        self._held = (scaled != 0).sum(axis=1) == 1
        single = np.abs(scaled[self._held])
        most = np.full(k, np.inf)
        np.minimum.at(most, single.argmax(axis=1), 1 / single.max(axis=1))
        self._model = Model(presolve="off", solver="simplex").load(
            cost=0.0, lower=-most, upper=most, rows=csr_array((0, k))
        )

    def reach(self, row: Floats, share: float, guess: Floats) -> Floats:
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

    def _hold(self, size: Floats) -> bool:
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
        more = csr_array((part[entries], entries[1], ends), shape=part.shape)
        self._model.add_rows(more, -1.0, 1.0)
        self._held[rows] = True
        return True
