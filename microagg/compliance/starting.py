"""A first safe partition by quick means, and others near to it for their groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from csp.errors import OutOfTime
from microagg.compliance.search import (
    Interrupted,
    Task,
    faults_of,
    grown,
    improved,
    joined,
    renumbered,
)

__all__ = ["first_partition", "shared_error", "squared_error"]

SHAKES = 30
"""Times that the best partition is shaken for other groups."""


def first_partition(
    task: Task, start: NDArray[np.int64], seen: Callable[[NDArray[np.int64]], None]
) -> NDArray[np.int64]:
    """Find a good safe partition by the other methods and by shaking the best.

    Parameters
    ----------
    task : Task
    start : (n,) int64
        Clusters of at least k records, safe or not.
    seen : callable
        Called with every safe partition on the way.

    Raises
    ------
    OutOfTime
        If the time was over before there was one.
    Interrupted
        On Ctrl-C after there was one.
    """
    best: NDArray[np.int64] | None = None
    for labels in (start, renumbered(grown(task))):
        safe = joined(task, labels)
        if faults_of(task, safe).any():
            msg = "the time was over before every cluster was safe; allow more time"
            raise OutOfTime(msg)
        safe = improved(task, safe)
        seen(safe)
        if best is None or squared_error(task, safe) < squared_error(task, best):
            best = safe
    assert best is not None
    random = np.random.default_rng(20231125)
    try:
        for shake in range(SHAKES):
            if task.late:
                break
            other = improved(task, _shaken(task, best, random))
            seen(other)
            if squared_error(task, other) < squared_error(task, best):
                best = other
            task.say("shaking the best partition", (shake + 1) / SHAKES)
    except KeyboardInterrupt:
        raise Interrupted(best) from None
    return best


def _shaken(
    task: Task, labels: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Join a tenth of the clusters with one near to them, so that other cuts can be found."""
    found = labels.copy()
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), task.points.shape[1]))
    np.add.at(sums, labels, task.points)
    means = sums / sizes[:, None]
    for g in random.choice(len(sizes), max(1, len(sizes) // 10), replace=False):
        far = ((means - means[g]) ** 2).sum(axis=1)
        near = np.argsort(far, kind="stable")[1:4]
        if len(near):
            found[found == g] = found[labels == random.choice(near)][0]
    return renumbered(found)


def squared_error(task: Task, labels: NDArray[np.int64]) -> float:
    """Compute the squared error of a partition."""
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), task.points.shape[1]))
    np.add.at(sums, labels, task.points)
    means = sums / sizes[:, None]
    return float(((task.points - means[labels]) ** 2).sum())


def shared_error(task: Task, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share out the squared error of each cluster equally among its records."""
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), task.points.shape[1]))
    np.add.at(sums, labels, task.points)
    off = ((task.points - (sums / sizes[:, None])[labels]) ** 2).sum(axis=1)
    shares: NDArray[np.float64] = (np.bincount(labels, off) / sizes)[labels]
    return shares
