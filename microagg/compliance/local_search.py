"""Better clusters by small steps: those that keep every size and every rule, and those that mend.

A record moves to another cluster, two records change places, or a large cluster falls in two,
wherever the squared error shrinks and no cell becomes sensitive.

Where sizes are capped, joining clusters is not enough to make them safe: two of k records are more
than 2k - 1. So a cluster that fails a rule, lacks different values, or is too large or too small
gives a record to a near one, takes one from it, or exchanges one, whichever lessens most by how
much the two of them fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.compliance.sensitivity import gather, shortfall, take_in, unsafe

__all__ = [
    "exchange",
    "insert",
    "mend",
    "missing",
    "relocate",
    "remove",
    "replaced_fits",
    "split",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GAIN = 1e-9
"""Least relative gain that counts: rounding must not let two states follow one another forever."""

WRONG_SIZE = 1e6
"""What a record too many or too few counts, against shares of a total: sizes come first."""

LESS = 1e-9
"""Least decrease that counts, so that rounding cannot let two states follow one another forever."""


def insert(i: int, g: int, points: Floats, labels: Ints, first: Ints, after: Ints, before: Ints,
           sums: Floats, sizes: Ints) -> None:  # fmt: skip
    """Put a record that is nowhere into a cluster."""
    labels[i] = g
    after[i] = first[g]
    before[i] = -1
    if first[g] >= 0:
        before[first[g]] = i
    first[g] = i
    sizes[g] += 1
    for j in range(points.shape[1]):
        sums[g, j] += points[i, j]


def remove(i: int, points: Floats, labels: Ints, first: Ints, after: Ints, before: Ints,
           sums: Floats, sizes: Ints) -> None:  # fmt: skip
    """Take a record out of its cluster."""
    g = labels[i]
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        first[g] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]
    sizes[g] -= 1
    for j in range(points.shape[1]):
        sums[g, j] -= points[i, j]


def replaced_fits(g: int, gone: int, new: int, first: Ints, after: Ints, shares: Ints,
                  top: Ints, total: Ints, weights: Ints, units: Ints,
                  needs: Ints) -> bool:  # fmt: skip
    """Whether a cluster is safe without one record and with another (-1 for none)."""
    gather(first[g], after, gone, shares, needs, top, total)
    if new >= 0:
        take_in(new, shares, needs, top, total)
    return unsafe(top, total, weights, units, needs) == 0


def relocate(points: Floats, shares: Ints, labels: Ints, first: Ints, after: Ints, before: Ints,
             sums: Floats, sizes: Ints, weights: Ints, units: Ints, needs: Ints, tiny: float,
             near: Ints, k: int, most: int, start: int, stop: int) -> int:  # fmt: skip
    """Move each record of a range to the near cluster where it saves most; return how many moved.

    `near` (n, m) names the clusters that each record is tried with; none may exceed `most`.
    """
    d = points.shape[1]
    top = np.empty((shares.shape[1], weights.shape[1]), np.int64)
    total = np.empty(shares.shape[1], np.int64)
    gains = np.empty(near.shape[1])
    moved = 0
    for i in range(start, stop):
        here = labels[i]
        a = sizes[here]
        if a <= k:
            continue
        saved = 0.0
        for j in range(d):
            gap = points[i, j] - sums[here, j] / a
            saved += gap * gap
        saved *= a / (a - 1.0)
        least = tiny + GAIN * saved
        checked = False
        for place in range(near.shape[1]):
            gains[place] = -1.0
            g = near[i, place]
            b = sizes[g]
            if g == here or b == 0 or b >= most:
                continue
            room = saved * (b + 1.0) / b
            far = 0.0
            for j in range(d):
                gap = points[i, j] - sums[g, j] / b
                far += gap * gap
                if far >= room:
                    break
            if far < room:
                gains[place] = saved - far * b / (b + 1.0)
        while True:
            place = int(np.argmax(gains))
            best = near[i, place]
            if gains[place] <= least:
                break
            if not checked:
                if not replaced_fits(
                    here, i, -1, first, after, shares, top, total, weights, units, needs
                ):
                    break
                checked = True
            if replaced_fits(best, -1, i, first, after, shares, top, total, weights, units, needs):
                remove(i, points, labels, first, after, before, sums, sizes)
                insert(i, best, points, labels, first, after, before, sums, sizes)
                moved += 1
                break
            gains[place] = -1.0
    return moved


def exchange(points: Floats, shares: Ints, labels: Ints, first: Ints, after: Ints, before: Ints,
             sums: Floats, sizes: Ints, weights: Ints, units: Ints, needs: Ints, tiny: float,
             near: Ints, start: int, stop: int) -> int:  # fmt: skip
    """Let each record of a range change places with the one that saves most; return how many.

    `near` (n, m) names the clusters that each record is tried with.
    """
    d = points.shape[1]
    top = np.empty((shares.shape[1], weights.shape[1]), np.int64)
    total = np.empty(shares.shape[1], np.int64)
    swapped = 0
    for i in range(start, stop):
        here = labels[i]
        a = sizes[here]
        own = 0.0
        for j in range(d):
            gap = points[i, j] - sums[here, j] / a
            own += gap * gap
        best, best_saved = -1, tiny + GAIN * own
        for place in range(near.shape[1]):
            g = near[i, place]
            b = sizes[g]
            if g == here or b == 0:
                continue
            other = first[g]
            while other >= 0:
                # The sum of squares stays; what changes is the squared sums of both clusters.
                grown = shrunk = square = 0.0
                for j in range(d):
                    step = points[other, j] - points[i, j]
                    square += step * step
                    grown += sums[here, j] * step
                    shrunk += sums[g, j] * step
                saved = (2.0 * grown + square) / a + (square - 2.0 * shrunk) / b
                if saved > best_saved and replaced_fits(
                    here, i, other, first, after, shares, top, total, weights, units, needs
                ) and replaced_fits(
                    g, other, i, first, after, shares, top, total, weights, units, needs
                ):  # fmt: skip
                    best, best_saved = other, saved
                other = after[other]
        if best >= 0:
            there = labels[best]
            remove(i, points, labels, first, after, before, sums, sizes)
            remove(best, points, labels, first, after, before, sums, sizes)
            insert(i, there, points, labels, first, after, before, sums, sizes)
            insert(best, here, points, labels, first, after, before, sums, sizes)
            swapped += 1
    return swapped


def split(g: int, new: int, points: Floats, shares: Ints, labels: Ints, first: Ints, after: Ints,
          before: Ints, sums: Floats, sizes: Ints, weights: Ints, units: Ints, needs: Ints,
          tiny: float, k: int, most: int) -> bool:  # fmt: skip
    """Cut a cluster between two far records where that saves most; the second part is `new`."""
    size, d, columns = sizes[g], points.shape[1], shares.shape[1]
    if size < 2 * k:
        return False
    members = np.empty(size, np.int64)
    i = first[g]
    for place in range(size):
        members[place] = i
        i = after[i]
    members.sort()
    one = farthest_member(members, points, sums[g] / size)
    two = farthest_member(members, points, points[one])
    side = np.empty(size)
    for place in range(size):
        lean = 0.0
        for j in range(d):
            lean += points[members[place], j] * (points[two, j] - points[one, j])
        side[place] = lean
    order = np.argsort(side, kind="mergesort")
    kept = np.zeros(d)
    gains = np.full(size, -1.0)
    whole = 0.0
    for j in range(d):
        whole += sums[g, j] * sums[g, j]
    for place in range(size - 1):
        left = right = 0.0
        for j in range(d):
            kept[j] += points[members[order[place]], j]
            left += kept[j] * kept[j]
            right += (sums[g, j] - kept[j]) * (sums[g, j] - kept[j])
        count = place + 1
        if k <= count <= size - k and max(count, size - count) <= most:
            gains[place] = left / count + right / (size - count) - whole / size
    top = np.empty((columns, weights.shape[1]), np.int64)
    total = np.empty(columns, np.int64)
    while True:
        cut = int(np.argmax(gains))
        if gains[cut] <= tiny + GAIN * whole / size:
            return False
        gains[cut] = -1.0
        fits = True
        for part in range(2):
            top[:] = 0
            total[:] = 0
            for place in range(0 if part == 0 else cut + 1, cut + 1 if part == 0 else size):
                take_in(members[order[place]], shares, needs, top, total)
            if unsafe(top, total, weights, units, needs) > 0:
                fits = False
                break
        if fits:
            for place in range(cut + 1, size):
                record = members[order[place]]
                remove(record, points, labels, first, after, before, sums, sizes)
                insert(record, new, points, labels, first, after, before, sums, sizes)
            return True


def farthest_member(members: Ints, points: Floats, origin: Floats) -> Any:
    """Find the record farthest from a point; the first of equal ones."""
    best, most = members[0], -1.0
    for record in members:
        distance = 0.0
        for j in range(points.shape[1]):
            gap = points[record, j] - origin[j]
            distance += gap * gap
        if distance > most:
            best, most = record, distance
    return best


def missing(size: int, top: Ints, total: Ints, weights: Ints, units: Ints, needs: Ints,
            k: int, most: int) -> float:  # fmt: skip
    """By how much a cluster fails; 0 exactly if it may stay as it is."""
    wrong = max(0, k - size) + max(0, size - most)
    return WRONG_SIZE * wrong + shortfall(top, total, weights, units, needs)


def mend(g: int, points: Floats, shares: Ints, labels: Ints, first: Ints, after: Ints, before: Ints,
         sums: Floats, sizes: Ints, weights: Ints, units: Ints, needs: Ints, near: Ints,
         k: int, most: int) -> bool:  # fmt: skip
    """Take the step that mends cluster g most; say whether there was one.

    Parameters
    ----------
    g : int
    points, shares : (n, d), (n, c)
    labels, first, after, before, sums, sizes
        Clusters as linked lists of records; changed.
    weights, units, needs : (f, m), (f,), (c,) int64
    near : (b,) int64
        Clusters that g may deal with.
    k, most : int
        Least and largest size.
    """
    columns = shares.shape[1]
    shape = (columns, weights.shape[1])
    top, total = np.empty(shape, np.int64), np.empty(columns, np.int64)
    gather(first[g], after, -1, shares, needs, top, total)
    own = missing(sizes[g], top, total, weights, units, needs, k, most)
    best, given, taken, there = LESS, -1, -1, -1
    for h in near:
        if h == g or sizes[h] == 0:
            continue
        gather(first[h], after, -1, shares, needs, top, total)
        now = own + missing(sizes[h], top, total, weights, units, needs, k, most)
        i = first[g]
        last = False
        while not last:
            last = i < 0  # the last round gives nothing and only takes
            j = first[h]
            only = False
            while not only:
                only = j < 0
                if i >= 0 or j >= 0:
                    more = (j >= 0) * 1 - (i >= 0) * 1
                    gather(first[g], after, i, shares, needs, top, total)
                    if j >= 0:
                        take_in(j, shares, needs, top, total)
                    then = missing(sizes[g] + more, top, total, weights, units, needs, k, most)
                    if now - then > best:
                        gather(first[h], after, j, shares, needs, top, total)
                        if i >= 0:
                            take_in(i, shares, needs, top, total)
                        then += missing(sizes[h] - more, top, total, weights, units, needs, k, most)
                        if now - then > best:
                            best, given, taken, there = now - then, i, j, h
                if j >= 0:
                    j = after[j]
            if i >= 0:
                i = after[i]
    if there < 0:
        return False
    for record in (given, taken):
        if record >= 0:
            remove(record, points, labels, first, after, before, sums, sizes)
    if given >= 0:
        insert(given, there, points, labels, first, after, before, sums, sizes)
    if taken >= 0:
        insert(taken, g, points, labels, first, after, before, sums, sizes)
    return True
