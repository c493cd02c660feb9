"""MDAV of one attribute: farthest values lie at the ends, nearest ones side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.partitions import mdav, sums
from microagg.partitions.nearest import offer
from microagg.partitions.sums import add, means

__all__ = ["mdav_on_a_line"]


def mdav_on_a_line(
    points: NDArray[np.float64], order: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Labels of `microagg.partitions.mdav.mdav_labels` for one attribute.

    Parameters
    ----------
    points : (n, 1) float64
        As `microagg.partitions.mdav.checked_points` gives them.
    order : (n,) int64
        Rows by value, equal values by row.
    k : int
        Least size of a group, 1 to n.

    Returns
    -------
    (n,) int64
    """
    run = compiled()
    base, digits = sums.digits_for(points)
    bits = points.view(np.int64)
    run["add_all"](digits, base, bits)
    sorted_values = points[order, 0]
    first = np.flatnonzero(np.diff(sorted_values, prepend=-np.inf))
    # Values are numbered from 1, so that 0 and one more than the last stand for none.
    values = np.concatenate([[0.0], sorted_values[first], [0.0]])
    begin = np.concatenate([[0], first, [len(order)]])
    end = np.concatenate([[0], first[1:], [len(order)] * 2])
    value_of = np.empty(len(order), np.int64)
    value_of[order] = np.repeat(np.arange(1, len(first) + 1), np.diff([*first, len(order)]))
    labels = np.full(len(order), -1, np.int64)
    run["inwards"](values, begin, end, order, value_of, bits, digits, base, k, labels)
    return labels


def inwards(
    values: Any, begin: Any, end: Any, order: Any, value_of: Any, bits: Any, digits: Any,
    base: Any, k: int, labels: Any,
) -> None:  # fmt: skip
    """Form all groups.

    Parameters
    ----------
    values : (v + 2,) float64
        The different values, ascending, from place 1 to v.
    begin, end : (v + 2,) int64
        Where the rows of each value that have no group lie in `order`; brought up to date.
    order : (n,) int64
        Rows by value, equal values by row.
    value_of : (n,) int64
        Place of each row's value.
    bits : (n, 1) int64
    digits, base
        Exact sums over the records.
    k : int
    labels : (n,) int64
        Filled; -1 is no group.
    """
    # Links over values that are used up: to the next one below that is not, and above.
    below = np.arange(len(values))
    above = np.arange(len(values))
    near, rows = np.empty(k), np.empty(k, np.int64)
    mean = np.empty(1)
    spare = np.empty(digits.shape[1], np.int64)
    left = len(order)
    label = 0
    while left >= 2 * k:
        means(digits, base, left, spare, mean)
        one = far_value(values, begin, order, below, above, mean[0])
        other = far_value(values, begin, order, below, above, values[one])
        for turn in range(2 if left >= 3 * k else 1):
            place = one if turn == 0 else other
            near_values(values, begin, end, order, below, above, place, k, near, rows)
            for row in rows:
                labels[row] = label
                add(digits, base, bits[row], -1)
                used = value_of[row]
                begin[used] += 1
                if begin[used] == end[used]:
                    below[used] = used - 1
                    above[used] = used + 1
            left -= k
            label += 1
    for i in range(len(labels)):
        if labels[i] < 0:
            labels[i] = label


def follow(links: Any, place: int) -> int:
    """Next place that is not used up, this one if it is not."""
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


def apart(one: float, two: float) -> float:
    """Squared distance of two numbers."""
    return (one - two) * (one - two)


def far_value(values: Any, begin: Any, order: Any, below: Any, above: Any, point: float) -> int:
    """Value of the farthest record, the lowest row among equals.

    Distances do not grow from an end inwards as far as the point, but rounded ones may tie.
    """
    low, high = follow(above, 1), follow(below, len(values) - 2)
    most = max(apart(values[low], point), apart(values[high], point))
    best = -1
    while low < len(values) - 1 and apart(values[low], point) == most:
        if best < 0 or order[begin[low]] < order[begin[best]]:
            best = low
        low = follow(above, low + 1)
    while high > 0 and apart(values[high], point) == most:
        if best < 0 or order[begin[high]] < order[begin[best]]:
            best = high
        high = follow(below, high - 1)
    return best


def near_values(
    values: Any, begin: Any, end: Any, order: Any, below: Any, above: Any, place: int, k: int,
    near: Any, rows: Any,
) -> None:  # fmt: skip
    """Rows of the k records nearest to a value, the lowest rows among equals."""
    point = values[place]
    low, high = follow(below, place), follow(above, place + 1)
    size = 0
    while low > 0 or high < len(values) - 1:
        down = apart(values[low], point) if low > 0 else np.inf
        up = apart(values[high], point) if high < len(values) - 1 else np.inf
        distance = min(down, up)
        if size == k and distance > near[0]:
            break
        at = low if down <= up else high
        for i in range(begin[at], end[at]):
            if size == k and (distance > near[0] or (distance == near[0] and order[i] > rows[0])):
                break
            size = offer(near, rows, size, k, distance, order[i])
        if down <= up:
            low = follow(below, low - 1)
        else:
            high = follow(above, high + 1)


_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled twins of the functions of this module and of those it calls, by name."""
    if not _compiled:
        import sys

        from csp.compiled import compile_together

        names = ("follow", "apart", "far_value", "near_values", "inwards")
        given = mdav.compiled()
        modules = (*mdav.modules(), sys.modules[__name__])
        _compiled.update(given | compile_together(modules, names, given))
    return _compiled
