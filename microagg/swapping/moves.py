"""Permutations within groups: which record's value each record is given.

A run has one seed. Every permutation of it has a generator of its own, made of the seed and of the
place of the attribute among the confidential ones, so no permutation tells anything about another
one, and none depends on how many processes or threads there are. The generators are numpy's PCG64,
which is not a cipher: an intruder with the means to reconstruct its state is not provided for.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from csp.errors import InputError
from csp.exact import Floats, Ints
from csp.names.calls import check_choice
from microagg.partitions.univariate import ranking_labels
from microagg.swapping.grouping import Grouping

ORDERS = {
    "sequential": "groups of all other attributes, those swapped before it as they now are",
    "simultaneous": "groups of all other attributes as they were in the original file",
    "forward": "groups of the quasi-identifiers and of the attributes swapped before it",
}
"""What the groups of a confidential attribute are made of."""


@dataclass(frozen=True, eq=False, repr=False)
class Move:
    """One permutation: `source` is the record whose value each record is given, of its own group.

    `by` are the attributes, columns of the points, that the groups were made of, and `unswapped`
    those of them, besides, whose values in the original file were used. Groups may have been joined
    because of the values that are permuted within them.
    """

    labels: Ints
    source: Ints
    by: tuple[int, ...]
    unswapped: tuple[int, ...] = ()
    joined: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Original:
    """The original file, and the groups made of it, kept for further runs.

    Points are all attributes, scaled: scaling and swapping commute, as neither means nor spreads
    move. `quasi` and `confidential` are columns of them; confidential attributes are swapped in the
    order given. `known` holds labels by the attributes that they were made of.
    """

    points: Floats
    names: tuple[str, ...]
    quasi: Sequence[int]
    confidential: Sequence[int]
    grouping: Grouping
    known: dict[tuple[int, ...], Ints] = field(default_factory=dict)

    def labels(self, by: tuple[int, ...], random: np.random.Generator) -> Ints:
        """Return the groups that are made of some attributes, or by chance."""
        if self.grouping.groups == "random":
            return self.grouping.labels(self.points, random)
        if by not in self.known:
            self.known[by] = self.grouping.labels(self.points[:, list(by)], random)
        return self.known[by]

    def widened(self, points: Floats, labels: Ints, by: Sequence[int], swap: Sequence[int]) -> Ints:
        """Join groups until what is swapped in them is as diverse as was asked for."""
        values = {self.names[j]: points[:, j] for j in swap}
        return self.grouping.widened(labels, points[:, list(by)], values)


def checked_seed(seed: int | None) -> int:
    """Check a seed, a whole number from 0 on; without one, take 128 bits of the system."""
    if seed is None:
        return secrets.randbits(128)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        msg = f"the seed must be a whole number of at least 0, or None, got a {type(seed).__name__}"
        raise InputError(msg)
    return int(seed)


def stream(seed: int, place: int) -> np.random.Generator:
    """Return the generator of the permutation of one place among the confidential attributes."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(place,))))


def permuted(labels: Ints, generator: np.random.Generator) -> Ints:
    """Draw a permutation of each group, uniform over all of them and independent of the others.

    Each record is given the value of the record that is named in its place. The members of a group
    come in a uniform order in a uniform order of all records, whatever the order of the others.
    Fixed points are left in: without them the value that a record shows would be known not to be
    its own, and the others would be likelier than 1 in k.
    """
    drawn = generator.permutation(len(labels))
    source = np.empty(len(labels), np.int64)
    source[np.argsort(labels, kind="stable")] = drawn[np.argsort(labels[drawn], kind="stable")]
    return source


def joint_move(original: Original, seed: int) -> Move:
    """One permutation for all confidential attributes, within groups of the quasi-identifiers."""
    random = stream(seed, 0)
    by = tuple(original.quasi)
    found = original.labels(by, random)
    labels = original.widened(original.points, found, by, original.confidential)
    unswapped = () if original.grouping.groups == "random" else by
    return Move(labels, permuted(labels, random), by, unswapped, labels is not found)


def informed_moves(original: Original, order: str, seed: int) -> list[Move]:
    """One permutation for each confidential attribute, against those who know all the others.

    The order is one of `ORDERS`. A first attribute that has nothing to be grouped by has the groups
    of its individual ranking.
    """
    check_choice("order", order, ORDERS)
    quasi, confidential = original.quasi, original.confidential
    if len(quasi) + len(confidential) < 2:
        msg = "groups are made of the other attributes, and there are none; give one, or ir_swap"
        raise InputError(msg)
    now = original.points.copy() if order != "simultaneous" else original.points
    by_chance = original.grouping.groups == "random"
    moves: list[Move] = []
    for place, j in enumerate(confidential):
        random = stream(seed, place)
        before = confidential[:place] if order == "forward" else confidential
        others = tuple(sorted({*quasi, *before} - {j}))
        by = others or (j,)
        if not (others or by_chance):
            found = shuffled_ranking(now[:, j], original.grouping.k, "mdav", random)
        elif by_chance or order == "simultaneous" or place == 0:
            found = original.labels(by, random)
        else:
            found = original.grouping.labels(now[:, list(by)], random)
        labels = original.widened(now, found, by, (j,))
        swapped = () if order == "simultaneous" else (j, *confidential[:place])
        unswapped = () if by_chance else tuple(sorted({*by} - {j, *swapped}))
        moves.append(Move(labels, permuted(labels, random), by, unswapped, labels is not found))
        if order != "simultaneous":
            now[:, j] = now[moves[-1].source, j]
    return moves


def ranking_moves(
    points: Floats, confidential: Sequence[int], k: int, groups: str, seed: int
) -> list[Move]:
    """One permutation for each confidential attribute, within groups of its individual ranking."""
    moves = []
    for place, j in enumerate(confidential):
        random = stream(seed, place)
        labels = shuffled_ranking(points[:, j], k, groups, random)
        moves.append(Move(labels, permuted(labels, random), (j,)))
    return moves


def shuffled_ranking(column: Floats, k: int, groups: str, generator: np.random.Generator) -> Ints:
    """Group records by one attribute, equal values in random order.

    If rows decided between equal values, the row in which a value is found could tell where it
    comes from: with 1, 1, 1, 2 in pairs the 2 has the first 1 for a partner, wherever it is, so
    that a 2 that is published in the last row has always been there.
    """
    drawn = generator.permutation(len(column))
    labels = np.empty(len(column), np.int64)
    labels[drawn] = ranking_labels(column[drawn], k, method=groups)
    return labels
