"""Publish as much as possible within a subspace of deviations, most expensive first.

With wide rooms a pattern is safe if its subspace holds, for every primary cell, a vector in which
that cell moves. Cells that move together are published together; if one of them is primary, they
have to stay. Rooms are checked by vectors from least squares and from small linear programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.exact import Bools, Floats, Ints
from csp.solve.general.classes import Classes
from csp.solve.general.rooms import reaching

_FAILURES = 12

# The share of the time in which rooms are not looked at.
_PUBLISHING = 0.5


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
        One over the room of each cell; positive.
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

    matrix: Floats
    price: Floats
    keep: Bools
    inverse: Floats
    targets: Ints
    share: Floats
    trouble: Floats
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
    open: Ints
    cost: float
    span: Floats
    vectors: list[Floats] = field(default_factory=list)


def descend(
    part: Part,
    weight: Floats,
    rng: np.random.Generator,
    *,
    limit: float = np.inf,
    clock: Clock = UNLIMITED,
    first: Bools | None = None,
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
    state = Classes(part.matrix.copy(), part.keep, rng, whole=part.whole)
    blocked = part.keep.copy()
    # What is published after that may have to be taken back, for which there must be time.
    until = clock.part(_PUBLISHING)
    if first is not None:
        state.publish(first.astype(float), blocked, clock=until)
    stages = [state.copy()]
    while half := (len(state.columns) + 1) // 2:
        if state.publish(weight, blocked, most=half, clock=until) < half:
            break
        stages.append(state.copy())
    if _cost(part, state) > limit:
        return None
    vectors = _protecting(part, state, clock)
    if vectors is not None:
        return _end(part, state, vectors)
    while stages:
        state = stages.pop()
        vectors = _protecting(part, state, clock)
        if vectors is not None:
            break
    if vectors is None:
        return None
    part.tight = not stages
    failures, stride = 0, 8
    while failures < _FAILURES and not clock.over:
        if part.tight and tight.over:
            return None
        trial = state.copy()
        if not trial.publish(weight, blocked, most=stride, clock=clock):
            break
        found = _protecting(part, trial, clock, vectors)
        if found is not None:
            state, vectors, failures, stride = trial, found, 0, 2 * stride
        elif len(trial.exchanges) > len(state.exchanges) + 1:
            stride = max(1, min(stride, len(trial.exchanges) - len(state.exchanges)) // 3)
        else:
            blocked[trial.exchanges[-1][0]] = True
            failures += 1
    return None if _cost(part, state) > limit else _end(part, state, vectors)


def _cost(part: Part, classes: Classes) -> float:
    return float(part.price[classes.moving()].sum())


def _end(part: Part, classes: Classes, vectors: Floats) -> Descent:
    span = classes.span()
    return Descent(classes.exchanges, classes.columns, _cost(part, classes), span, [*vectors.T])


def _protecting(
    part: Part, classes: Classes, clock: Clock, known: Floats | None = None
) -> Floats | None:
    """Find vectors that reach every target: (m, v), in units of the rooms.

    Of a class, the cell whose room is reached first counts, and the target that is reached last.
    """
    c = len(classes.matrix)
    member, move = classes.member, classes.factor * part.inverse
    size = np.abs(move)
    largest = np.zeros(c + 1)
    np.maximum.at(largest, member, size)
    first = np.flatnonzero((size == largest[member]) & (member < c))
    last = np.zeros(c, np.int64)
    last[member[first]] = first  # of equal ones the last
    rooms = move[last]
    own = member[part.targets]
    if (own == c).any():
        part.trouble[np.argmax(own == c)] += 1
        return None
    share = part.share * np.abs(rooms[own] / move[part.targets])
    order = np.lexsort((share, own))
    order = order[np.append(np.diff(own[order]) > 0, True)[: len(order)]]
    trouble = part.trouble[order]
    if known is not None:
        known = known[last]
    found = reaching(
        classes.matrix * rooms[:, None], own[order], share[order], trouble, clock=clock, known=known
    )
    part.trouble[order] = trouble
    if found is None:
        return None
    rest = np.zeros((1, found.shape[1]))
    return np.concatenate([found / rooms[:, None], rest])[member] * move[:, None]
