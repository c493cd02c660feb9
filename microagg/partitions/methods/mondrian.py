"""Mondrian: clusters by cutting the file in two, again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.exact import Floats

CUTS = ("median", "nearest", "relaxed")
"""Ways to cut: at the median; at the allowable cut nearest to it; into halves."""

KERNELS = Kernels(__name__, "spread", "below", "relaxed_cut", "strict_cut", "mondrian")

_SMALL = 100_000
"""Values up to which plain Python takes about a second."""

_SECONDS = 1e-5
"""That it takes for each."""


def mondrian_labels(
    points: Floats, k: int, *, cut: str = "nearest", relative: bool = True
) -> NDArray[Any]:
    """Cluster of each point by recursive cuts across one attribute, the lower side numbered first.

    A part is cut across the attribute in which it is widest, as a share of the whole file's width
    or as it is; among equally wide ones across the first. The cuts differ in what they do with
    ties:

    * ``"median"``: values up to the lower median against values above it. If one side has fewer
      than k records, the next widest attribute is tried; the part stays whole if none is left.
      Values that many records share stop it early.
    * ``"nearest"``: of all cuts between two distinct values that leave k records on either side,
      the one nearest to the middle (the lower one, if two are equally near). Without such a cut
      the next widest attribute is tried.
    * ``"relaxed"``: records with the median value may go to either side, the first rows to the
      lower one: the halves differ by at most one record, and a part of 2k records is always
      cut. Sizes are from k to 2k - 1.

    Notes
    -----
    K. LeFevre, D. J. DeWitt, R. Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006:
    strict and relaxed partitioning. The balanced halves that V. Torra and G. Navarro-Arribas
    describe for attribute disclosure in k-anonymity are the relaxed cut, with absolute widths of
    attributes divided by their variance.
    """
    labels: NDArray[Any] = KERNELS.run(
        "mondrian", np.ascontiguousarray(points), k, CUTS.index(cut), relative,
        small=points.size <= _SMALL, seconds=_SECONDS * points.size,
    )  # fmt: skip
    return labels


def spread(points: Any, rows: Any, lows: Any, highs: Any) -> None:
    """Smallest and largest value of every attribute among some rows."""
    for a in range(points.shape[1]):
        lows[a] = highs[a] = points[rows[0], a]
    for row in rows:
        for a in range(points.shape[1]):
            x = points[row, a]
            lows[a] = min(lows[a], x)
            highs[a] = max(highs[a], x)


def below(points: Any, rows: Any, a: int, value: float, ties: int, scratch: Any) -> int:
    """Move rows with less than a value, and the first ties with it, to the front, in order."""
    front = behind = 0
    for row in rows:
        x = points[row, a]
        lower = x < value
        if x == value and ties > 0:
            ties -= 1
            lower = True
        if lower:
            rows[front] = row
            front += 1
        else:
            scratch[behind] = row
            behind += 1
    for i in range(behind):
        rows[front + i] = scratch[i]
    return front


def relaxed_cut(points: Any, rows: Any, a: int, values: Any, scratch: Any) -> int:
    """Halve rows across an attribute; size of the lower half."""
    size = len(rows)
    half = size // 2
    for i in range(size):
        values[i] = points[rows[i], a]
    value = np.partition(values[:size], half - 1)[half - 1]
    fewer = 0
    for i in range(size):
        if values[i] < value:
            fewer += 1
    return below(points, rows, a, value, half - fewer, scratch)


def strict_cut(points: Any, rows: Any, a: int, k: int, cut: int, values: Any, scratch: Any) -> int:
    """Cut rows between two values of an attribute; size of the lower part, 0 without a cut."""
    size = len(rows)
    for i in range(size):
        values[i] = points[rows[i], a]
    value = np.partition(values[:size], (size - 1) // 2)[(size - 1) // 2]
    fewer = same = 0
    for i in range(size):
        if values[i] < value:
            fewer += 1
        elif values[i] == value:
            same += 1
    upto = fewer + same
    if cut == 0:
        if upto < k or size - upto < k:
            return 0
        return below(points, rows, a, value, same, scratch)
    # Cuts further out than these two are further from the middle and leave less on one side.
    if fewer >= k and (size - upto < k or size - 2 * fewer <= 2 * upto - size):
        return below(points, rows, a, value, 0, scratch)
    if size - upto >= k:
        return below(points, rows, a, value, same, scratch)
    return 0


def mondrian(points: Any, k: int, cut: int, relative: Any) -> Any:
    """Labels of Mondrian; `cut` counts in `CUTS`."""
    n, d = points.shape
    order = np.arange(n)
    labels = np.empty(n, np.int64)
    scratch = np.empty(n, np.int64)
    values = np.empty(n)
    lows, highs = np.empty(d), np.empty(d)
    spread(points, order, lows, highs)
    whole = highs - lows
    width = np.empty(d)
    starts, ends = [0], [n]
    clusters = 0
    while len(starts) > 0:
        start, end = starts.pop(), ends.pop()
        rows = order[start:end]
        left = 0
        if end - start >= 2 * k:
            spread(points, rows, lows, highs)
            for a in range(d):
                width[a] = highs[a] - lows[a]
                if relative and whole[a] > 0:
                    width[a] /= whole[a]
            while left == 0:
                a = 0
                for b in range(1, d):
                    if width[b] > width[a]:
                        a = b
                if width[a] <= 0 and cut != 2:
                    break
                width[a] = -1.0
                if cut == 2:
                    left = relaxed_cut(points, rows, a, values, scratch)
                else:
                    left = strict_cut(points, rows, a, k, cut, values, scratch)
        if left > 0:
            starts.append(start + left)
            ends.append(end)
            starts.append(start)
            ends.append(start + left)
        else:
            for row in rows:
                labels[row] = clusters
            clusters += 1
    return labels
