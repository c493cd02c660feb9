"""Intruders by enumeration, from the definitions alone; nothing is shared with the package.

Everything is counted in fractions over all permutations of very small files. An intruder holds a
prior that favours no arrangement, and knows the published file, the mechanism with all its
parameters, and whatever else is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import factorial, prod
from typing import Any

from tests.support import oracles_microagg

__all__ = [
    "arrangements", "best_link", "deranged", "informed_best", "published_files", "uniform",
]  # fmt: skip

Mechanism = Callable[[tuple[int, ...]], Fraction]
"""Probability of giving record i the entry of record ``source[i]``, for every i."""


def groups_of(labels: Sequence[int]) -> list[list[int]]:
    return [[i for i, one in enumerate(labels) if one == g] for g in sorted(set(labels))]


def arrangements(labels: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All permutations within groups."""
    groups = groups_of(labels)
    for choice in product(*(permutations(g) for g in groups)):
        source = [0] * len(labels)
        for group, order in zip(groups, choice, strict=True):
            for i, s in zip(group, order, strict=True):
                source[i] = s
        yield tuple(source)


def uniform(labels: Sequence[int]) -> Mechanism:
    total = prod(factorial(len(g)) for g in groups_of(labels))

    def chance(source: tuple[int, ...]) -> Fraction:
        inside = all(labels[i] == labels[s] for i, s in enumerate(source))
        return Fraction(1, total) if inside else Fraction(0)

    return chance


def deranged(labels: Sequence[int]) -> Mechanism:
    """As `uniform`, but no record keeps its own entry."""
    allowed = [a for a in arrangements(labels) if all(i != s for i, s in enumerate(a))]

    def chance(source: tuple[int, ...]) -> Fraction:
        return Fraction(1, len(allowed)) if source in allowed else Fraction(0)

    return chance


def best_link(n: int, released: Sequence[int], mechanism: Mechanism) -> Fraction:
    """Examples 4 to 6 of the paper: the most probable identity of any released record.

    The sum over all correspondences of the released records with identities in which one of them
    is fixed, over the sum of all. A correspondence is as likely as the mechanism makes it, summed
    over what became of the records that were not released.
    """
    linked: Counter[tuple[int, int]] = Counter()
    total = Fraction(0)
    for source in permutations(range(n)):
        chance = mechanism(source)
        total += chance
        for i in released:
            linked[i, source[i]] += chance
    return max(linked.values()) / total


# ---- informed intruders ---------------------------------------------------------------------


def mechanism_groups(
    now: list[list[Any]], before: list[list[Any]], quasi: int, place: int, order: str, k: int
) -> list[int]:
    """Groups of one attribute; columns, quasi-identifiers first."""
    j = quasi + place
    if order in ("rank", "shuffled"):
        return oracles_microagg.mdav([[v] for v in now[j]], k)
    table = before if order == "simultaneous" else now
    others = range(j) if order == "forward" else [i for i in range(len(now)) if i != j]
    if not others:
        return oracles_microagg.mdav([[v] for v in now[j]], k)
    return oracles_microagg.mdav(list(zip(*(table[i] for i in others), strict=True)), k)


def published_files(
    columns: list[list[Any]], quasi: int, order: str, k: int
) -> Iterator[tuple[list[list[Any]], Fraction]]:
    """Everything that the mechanism may publish, with its probability."""

    def go(now: list[list[Any]], place: int, chance: Fraction) -> Any:
        if quasi + place == len(columns):
            yield now, chance
            return
        labels = mechanism_groups(now, columns, quasi, place, order, k)
        ways = list(arrangements(labels))
        for source in ways:
            new = list(now)
            new[quasi + place] = [now[quasi + place][s] for s in source]
            yield from go(new, place + 1, chance / len(ways))

    yield from go([list(c) for c in columns], 0, Fraction(1))


def chance_of(
    columns: list[list[Any]], published: list[list[Any]], quasi: int, order: str, k: int
) -> Fraction:
    """Probability that the mechanism makes one file of another."""
    now = [list(c) for c in columns]
    chance = Fraction(1)
    for place in range(len(columns) - quasi):
        j = quasi + place
        if order == "shuffled" or (order == "forward" and not j):
            chance *= shuffled_chance(now[j], published[j], k)
        else:
            labels = mechanism_groups(now, columns, quasi, place, order, k)
            chance *= step_chance(now[j], published[j], labels)
        if not chance:
            return chance
        now[j] = list(published[j])
    return chance


def step_chance(one: Sequence[Any], two: Sequence[Any], labels: Sequence[int]) -> Fraction:
    """Probability that a uniform permutation within groups makes one column of another."""
    ways = Fraction(1)
    for group in groups_of(labels):
        have, want = Counter(one[i] for i in group), Counter(two[i] for i in group)
        if have != want:
            return Fraction(0)
        ways *= Fraction(prod(map(factorial, have.values())), factorial(len(group)))
    return ways


def shuffled_chance(one: Sequence[Any], two: Sequence[Any], k: int) -> Fraction:
    """The same for individual ranking of the records in any order, all equally likely."""
    total = Fraction(0)
    for drawn in permutations(range(len(one))):
        labels = oracles_microagg.mdav([[one[i]] for i in drawn], k)
        total += step_chance([one[i] for i in drawn], [two[i] for i in drawn], labels)
    return total / factorial(len(one))


def informed_best(
    columns: list[list[Any]], published: list[list[Any]], quasi: int, place: int, order: str, k: int
) -> Fraction:
    """Most probable owner of any value that occurs once of an attribute.

    The intruder knows all attributes but this one, and the published file.
    """
    j = quasi + place
    total = Fraction(0)
    owner: Counter[tuple[Any, int]] = Counter()
    values = published[j]
    single = [v for v, times in Counter(values).items() if times == 1]
    for candidate in set(permutations(values)):
        assumed = [*columns[:j], list(candidate), *columns[j + 1 :]]
        chance = chance_of(assumed, published, quasi, order, k)
        total += chance
        for v in single:
            owner[v, candidate.index(v)] += chance
    return max(owner.values(), default=Fraction(0)) / total
