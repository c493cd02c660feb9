"""Better clusters by small steps: those that keep every size and every rule, and those that mend.

A record moves to another cluster, two records change places, or a large cluster falls in two,
wherever the squared error shrinks and no cell becomes sensitive.

Where sizes are capped, joining clusters is not enough to make them safe: two of k records are more
than 2k - 1. So a cluster that fails a rule, lacks different values, or is too large or too small
gives a record to a near one, takes one from it, or exchanges one, whichever lessens most by how
much the two of them fail.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from csp.exact import Floats, Ints
from microagg.compliance.kernels.sensitivity import (
    Demand,
    collect,
    empty_group,
    gather,
    shortfall,
    take_in,
    unsafe,
)

GAIN = 1e-9
"""Least relative gain that counts: rounding must not let two states follow one another forever."""

WRONG_SIZE = 1e6
"""What a record too many or too few counts, against shares of a total: sizes come first."""

LESS = 1e-9
"""Least decrease that counts, so that rounding cannot let two states follow one another forever."""


class Clusters(NamedTuple):
    """Clusters as linked lists of records, with their sums.

    Labels, (n,), are the cluster of each record; `first`, (g,), the first record of each cluster,
    -1 if it has none; `after` and `before`, (n,), the neighbours of each record in its list, -1 at
    its ends; sums (g, d) and sizes (g,) those of the clusters.
    """

    points: Floats
    labels: Ints
    first: Ints
    after: Ints
    before: Ints
    sums: Floats
    sizes: Ints


def insert(i: int, g: int, clusters: Clusters) -> None:
    """Put a record that is nowhere into a cluster."""
    points, labels, first, after, before, sums, sizes = clusters
    labels[i] = g
    after[i] = first[g]
    before[i] = -1
    if first[g] >= 0:
        before[first[g]] = i
    first[g] = i
    sizes[g] += 1
    for j in range(points.shape[1]):
        sums[g, j] += points[i, j]


def remove(i: int, clusters: Clusters) -> None:
    """Take a record out of its cluster."""
    points, labels, first, after, before, sums, sizes = clusters
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


def replaced_fits(
    g: int, gone: int, new: int, clusters: Clusters, demand: Demand, top: Ints, total: Ints
) -> bool:
    """Whether a cluster is safe without one record and with another (-1 for none)."""
    gather(clusters.first[g], clusters.after, gone, demand, top, total)
    if new >= 0:
        take_in(new, demand, top, total)
    return unsafe(top, total, demand) == 0


def relocate(
    clusters: Clusters, demand: Demand, tiny: float, near: Ints, start: int, stop: int
) -> int:
    """Move each record of a range to the near cluster where it saves most; return how many moved.

    `near` (n, m) names the clusters that each record is tried with.
    """
    points, labels, _, _, _, sums, sizes = clusters
    d = points.shape[1]
    top, total = empty_group(demand)
    gains = np.empty(near.shape[1])
    moved = 0
    for i in range(start, stop):
        here = labels[i]
        a = sizes[here]
        if a <= demand.k:
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
            if g == here or b == 0 or b >= demand.most:
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
                if not replaced_fits(here, i, -1, clusters, demand, top, total):
                    break
                checked = True
            if replaced_fits(best, -1, i, clusters, demand, top, total):
                remove(i, clusters)
                insert(i, best, clusters)
                moved += 1
                break
            gains[place] = -1.0
    return moved


def exchange(
    clusters: Clusters, demand: Demand, tiny: float, near: Ints, start: int, stop: int
) -> int:
    """Let each record of a range change places with the one that saves most; return how many.

    `near` (n, m) names the clusters that each record is tried with.
    """
    points, labels, first, after, _, sums, sizes = clusters
    d = points.shape[1]
    top, total = empty_group(demand)
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
                if (
                    saved > best_saved
                    and replaced_fits(here, i, other, clusters, demand, top, total)
                    and replaced_fits(g, other, i, clusters, demand, top, total)
                ):
                    best, best_saved = other, saved
                other = after[other]
        if best >= 0:
            there = labels[best]
            remove(i, clusters)
            remove(best, clusters)
            insert(i, there, clusters)
            insert(best, here, clusters)
            swapped += 1
    return swapped


def members_of(g: int, clusters: Clusters) -> Ints:
    """List the records of a cluster, as they are linked."""
    found = np.empty(clusters.sizes[g], np.int64)
    i = clusters.first[g]
    for place in range(len(found)):
        found[place] = i
        i = clusters.after[i]
    return found


def split(g: int, new: int, clusters: Clusters, demand: Demand, tiny: float) -> bool:
    """Cut a cluster between two far records where that saves most; the second part is `new`."""
    points, sums, k = clusters.points, clusters.sums, demand.k
    size, d = clusters.sizes[g], points.shape[1]
    if size < 2 * k:
        return False
    members = np.sort(members_of(g, clusters))
    one = farthest_member(members, points, sums[g] / size)
    two = farthest_member(members, points, points[one])
    side = np.empty(size)
    for place in range(size):
        lean = 0.0
        for j in range(d):
            lean += points[members[place], j] * (points[two, j] - points[one, j])
        side[place] = lean
    members = members[np.argsort(side, kind="mergesort")]
    kept = np.zeros(d)
    gains = np.full(size, -1.0)  # of cuts before each record
    whole = 0.0
    for j in range(d):
        whole += sums[g, j] * sums[g, j]
    for count in range(1, size):
        left = right = 0.0
        for j in range(d):
            kept[j] += points[members[count - 1], j]
            left += kept[j] * kept[j]
            right += (sums[g, j] - kept[j]) * (sums[g, j] - kept[j])
        if k <= count <= size - k and max(count, size - count) <= demand.most:
            gains[count] = left / count + right / (size - count) - whole / size
    top, total = empty_group(demand)
    while True:
        cut = int(np.argmax(gains))
        if gains[cut] <= tiny + GAIN * whole / size:
            return False
        gains[cut] = -1.0
        collect(members[:cut], demand, top, total)
        fits = unsafe(top, total, demand) == 0
        if fits:
            collect(members[cut:], demand, top, total)
            fits = unsafe(top, total, demand) == 0
        if fits:
            for record in members[cut:]:
                remove(record, clusters)
                insert(record, new, clusters)
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


def missing(size: int, top: Ints, total: Ints, demand: Demand) -> float:
    """By how much a cluster fails; 0 exactly if it may stay as it is."""
    wrong = max(0, demand.k - size) + max(0, size - demand.most)
    return WRONG_SIZE * wrong + shortfall(top, total, demand)


def mend(g: int, clusters: Clusters, demand: Demand, near: Ints) -> bool:
    """Take the step that mends cluster g most, with a near one; say whether there was one."""
    first, after, sizes = clusters.first, clusters.after, clusters.sizes
    top, total = empty_group(demand)
    gather(first[g], after, -1, demand, top, total)
    own = missing(sizes[g], top, total, demand)
    best, given, taken, there = LESS, -1, -1, -1
    gives = np.append(members_of(g, clusters), -1)  # -1 gives or takes nothing
    for h in near:
        if h == g or sizes[h] == 0:
            continue
        gather(first[h], after, -1, demand, top, total)
        now = own + missing(sizes[h], top, total, demand)
        takes = np.append(members_of(h, clusters), -1)
        for i in gives:
            for j in takes:
                if i < 0 and j < 0:
                    continue
                more = (j >= 0) * 1 - (i >= 0) * 1
                gather(first[g], after, i, demand, top, total)
                if j >= 0:
                    take_in(j, demand, top, total)
                then = missing(sizes[g] + more, top, total, demand)
                if now - then > best:
                    gather(first[h], after, j, demand, top, total)
                    if i >= 0:
                        take_in(i, demand, top, total)
                    then += missing(sizes[h] - more, top, total, demand)
                    if now - then > best:
                        best, given, taken, there = now - then, i, j, h
    if there < 0:
        return False
    for record in (given, taken):
        if record >= 0:
            remove(record, clusters)
    if given >= 0:
        insert(given, there, clusters)
    if taken >= 0:
        insert(taken, g, clusters)
    return True
