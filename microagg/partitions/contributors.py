"""Clusters of k different contributors, from clusters of k records.

A panel has several records of one person or firm, and k of them may be those of one. Clusters that
have fewer than k different contributors are joined with others, which takes none away from either:
so it ends, at the latest with the whole file as one cluster.
"""

from __future__ import annotations

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.exact import Floats, Ints
from microagg.partitions.means import in_clusters, labels_joined
from microagg.records import count_different


def joined_to_k(
    points: Floats, labels: Ints, contributor: Ints | None, k: int, clock: Clock = UNLIMITED
) -> Ints:
    """Join clusters until each has k different contributors.

    The cluster with the fewest contributors, the first of equal ones, joins the one with the
    nearest mean, the first of equally near ones.

    Parameters
    ----------
    points : (n, d) float64
        Records between which distances are taken.
    labels : (n,) int64
        Clusters 0, 1, ... without gaps.
    contributor : (n,) int64 or None
        None if every record is its own contributor: then nothing is joined.
    k : int
        At most the number of contributors.
    clock : Clock

    Returns
    -------
    (n,) int64
        Clusters, in their old order without those that have joined another.

    Raises
    ------
    OutOfTime
        If the time was over before each had k.
    """
    if contributor is None:
        return labels
    counts = count_different(labels, contributor)
    if counts.min() >= k:
        return labels
    (order, starts), sizes = in_clusters(labels), np.bincount(labels)
    people = [set(part.tolist()) for part in np.split(contributor[order], starts[1:])]
    sums = np.add.reduceat(points[order], starts, axis=0)
    into = np.arange(len(sizes))
    means = np.ascontiguousarray((sums / sizes[:, None]).T)  # one row for each attribute
    far = np.empty(len(sizes))
    while counts.min() < k:
        clock.check("every cluster had k contributors")
        few = int(np.argmin(counts))
        far[:] = 0.0
        for row in means:
            gap = row - row[few]
            gap *= gap
            far += gap
        far[few] = np.inf
        near = int(np.argmin(far))  # those that have joined another are nowhere
        people[near] |= people[few]
        sums[near] += sums[few]
        sizes[near] += sizes[few]
        means[:, near] = sums[near] / sizes[near]
        means[:, few], counts[few] = np.inf, len(contributor) + 1
        counts[near] = len(people[near])
        into[few] = near
    return labels_joined(labels, into)
