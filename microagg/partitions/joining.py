"""Which pieces that are too small join which: the nearest in what is published of them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from csp.clock import Clock
from csp.compiled import Kernels
from csp.exact import Bools, Floats, Ints
from microagg.partitions.means import in_clusters, labels_joined
from microagg.records import Records
from microagg.scaling import scaled_with_gaps

KERNELS = Kernels(__name__, "nearest")

_SMALL = 100_000
"""Entries of pieces in which a plain search of the nearest takes some hundredths of a second."""

_SECONDS = 1e-7
"""That it takes for each."""


def joined(
    records: Records, labels: Ints, codes: Ints, keys: int, *, k: int, scale: str, clock: Clock
) -> Ints:
    """Join pieces until each has k contributors.

    The piece with the fewest contributors, the first of equal ones, joins the one that differs from
    it in the fewest columns of what is published; of these, one that agrees with it in the columns
    named first; of these, the one with the nearest mean.

    Parameters
    ----------
    records : Records
    labels : (n,) int64
        Piece of each record: 0, 1, ... without gaps.
    codes : (n, m) int64
        Alike in all records of a piece: codes of keys, then whether values are missing.
    keys : int
        How many columns of `codes` are keys.
    k : int
    scale : str
        What distances are between; see `microagg.mdav`.
    clock : Clock

    Returns
    -------
    (n,) int64

    Raises
    ------
    OutOfTime
        If the time was over before.
    """
    order, starts = in_clusters(labels)
    owners = np.arange(records.n) if records.contributor is None else records.contributor
    people = [set(part.tolist()) for part in np.split(owners[order], starts[1:])]
    waiting = [(len(there), piece) for piece, there in enumerate(people) if len(there) < k]
    if not waiting:
        return labels
    heapify(waiting)
    sums = np.add.reduceat(scaled_with_gaps(records, scale)[order], starts, axis=0)
    weights = np.bincount(labels).astype(np.float64)
    means = sums / weights[:, None]
    shown = _Shown(codes[order[starts]], keys)
    work = shown.numbers.size + means.size
    into = np.arange(len(starts))
    left = np.ones(len(starts), bool)
    while waiting:
        count, few = heappop(waiting)
        if not left[few] or count < len(people[few]):
            continue  # it has joined another, or another it, since
        clock.check("every cluster had k contributors")
        left[few] = False
        to = KERNELS.run(
            "nearest", few, left, shown.numbers, means, small=work <= _SMALL,
            seconds=_SECONDS * work * len(waiting),
        )  # fmt: skip
        shown.join(few, to)
        people[to] |= people[few]
        sums[to] += sums[few]
        weights[to] += weights[few]
        means[to] = sums[to] / weights[to]
        if len(people[to]) < k:
            heappush(waiting, (len(people[to]), to))
        into[few] = to
    return labels_joined(labels, into)


class _Shown:
    """What is published of pieces in each column: a set of codes, or whether a value is missing.

    `numbers`, (p, m), are equal where that is equal.
    """

    def __init__(self, codes: Ints, keys: int) -> None:
        self.keys = keys
        self.sets = [[frozenset([code]) for code in row] for row in codes.tolist()]
        self.known: list[dict[frozenset[int], int]] = [{} for _ in codes.T]
        self.numbers = np.empty(codes.shape, np.int64)
        for piece in range(len(codes)):
            self._number(piece)

    def _number(self, piece: int) -> None:
        for j, codes in enumerate(self.sets[piece]):
            self.numbers[piece, j] = self.known[j].setdefault(codes, len(self.known[j]))

    def join(self, few: int, to: int) -> None:
        """Let one piece join another: sets of keys unite, and what one lacks all lack."""
        both = [a | b for a, b in zip(self.sets[few], self.sets[to], strict=True)]
        self.sets[to] = [
            codes if j < self.keys else frozenset([max(codes)]) for j, codes in enumerate(both)
        ]
        self._number(to)


def nearest(few: int, left: Bools, numbers: Ints, means: Floats) -> int:
    """Piece that is nearest to one, the first of equal ones.

    Parameters
    ----------
    few : int
    left : (p,) bool
        Pieces that are asked about.
    numbers : (p, m) int64
        What is published of pieces.
    means : (p, d) float64
        NaN where no record has a value.
    """
    pieces, columns = numbers.shape
    best, fewest, least = -1, columns + 1, 0.0
    for piece in range(pieces):
        if not left[piece]:
            continue
        differ, sooner = 0, 0
        for j in range(columns):
            same = numbers[piece, j] == numbers[few, j]
            if not same:
                differ += 1
                if differ > fewest:
                    break
            if best >= 0 and sooner == 0 and same != (numbers[best, j] == numbers[few, j]):
                sooner = 1 if same else -1  # agrees in the first column where one of both does
        if differ > fewest or (differ == fewest and sooner < 0):
            continue
        far, both = 0.0, 0
        for j in range(means.shape[1]):
            gap = means[piece, j] - means[few, j]
            if gap == gap:
                far += gap * gap
                both += 1
        far = far / both if both else np.inf
        if differ < fewest or sooner > 0 or far < least:
            best, fewest, least = piece, differ, far
    return best
