"""Groups of one attribute: individual ranking.

Two ways: the groups that MDAV makes of one attribute, and those with the least sum of squared
errors. Either way a group is a run of the sorted values, but for ties at its ends. MDAV works from
both ends inwards, so that the group with more than k records lies in the middle.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from microagg.partitions import line, mdav, optimal
from microagg.records import check_k

__all__ = ["METHODS", "ranking_labels"]

METHODS = ("mdav", "optimal")


def ranking_labels(column: NDArray[Any], k: int, *, method: str) -> NDArray[np.int64]:
    """Group of each record by one attribute.

    Parameters
    ----------
    column : (n,) float64
    k : int
        Least size of a group, 1 to n.
    method : {"mdav", "optimal"}
        "mdav" gives the labels of `microagg.partitions.mdav.mdav_labels` for this attribute
        alone, in time O(n log n) unless floating-point distances of many unequal values tie.
        "optimal" gives the groups of k to 2k - 1 records with the least sum of squared errors
        (Hansen and Mukherjee, 2003, A polynomial algorithm for optimal univariate
        microaggregation), numbered from the smallest values to the largest. Equal values are in
        order of their rows. Of several optima it takes the one whose last group is the smallest,
        then the group before it, and so on.

    Returns
    -------
    (n,) int64

    Raises
    ------
    InputError
        If the method is unknown, k is no whole number from 1 to n, or a number is not finite or
        beyond 2**500.
    """
    if method not in METHODS:
        msg = f"method {method!r} is not one of {', '.join(METHODS)}"
        raise InputError(msg)
    points = mdav.checked_points(np.asarray(column, np.float64)[:, None])
    k = check_k(k, len(points))
    order = np.argsort(points[:, 0], kind="stable")
    if method == "mdav":
        return line.mdav_on_a_line(points, order, k)
    labels = np.full(len(points), -1, np.int64)
    ends = optimal.cut(points[order, 0], k)
    for label, (begin, end) in enumerate(pairwise([0, *ends])):
        labels[order[begin:end]] = label
    return labels
