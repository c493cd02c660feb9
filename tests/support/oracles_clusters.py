"""Brute force for clusters of records: rules, partitions and attackers, from definitions alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np


def sensitive(values: Sequence[int], rule: tuple) -> bool:
    """Equations 1 and 2 of Torra and Navarro-Arribas (2023), and their kin.

    `rule` is (name, parameters).
    """
    name, *numbers = rule
    c = sorted(values, reverse=True)
    if name == "NK":
        n, k = numbers
        return 100 * sum(c[:n]) > k * sum(c)
    if name == "P":
        (p,) = numbers
        return bool(c) and 100 * sum(c[2:]) < p * c[0]
    if name == "PQ":
        p, q = numbers
        return bool(c) and q * sum(c[2:]) < p * c[0]
    if name == "FREQ":
        (n,) = numbers
        return 0 < len(c) < n
    raise AssertionError(name)


def text(rule: tuple) -> str:
    """Words of a rule."""
    name, *numbers = rule
    return {
        "NK": "NK({},{})", "P": "P({},1)", "PQ": "P({},{},1)", "FREQ": "FREQ({},10)",
    }[name].format(*numbers)  # fmt: skip


def sides(values: Sequence[int], negative: str, lowest: int) -> list[list[int]]:
    """Contributions as a mode for negative values lets the rules see them."""
    if negative == "abs":
        return [[abs(v) for v in values]]
    if negative == "shift":
        return [[v - min(lowest, 0) for v in values]]
    if negative == "split":
        return [[v for v in values if v >= 0], [-v for v in values if v < 0]]
    return [list(values)]


def unsafe_cells(
    units: np.ndarray, labels: Sequence[int], rules: Sequence[tuple], negative: str = "error"
) -> set[tuple[int, int]]:
    """Sensitive cells as pairs (cluster, attribute)."""
    found = set()
    for g in set(labels):
        rows = [i for i, label in enumerate(labels) if label == g]
        for j in range(units.shape[1]):
            parts = sides([int(units[i, j]) for i in rows], negative, int(units[:, j].min()))
            if any(sensitive(part, rule) for part in parts for rule in rules):
                found.add((int(g), j))
    return found


def partitions(items: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions into blocks of at least k."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [i for i in rest if i not in others]
            if 0 < len(left) < k:
                continue
            for more in partitions(left, k):
                yield [[first, *others], *more]


def squared_error(points: np.ndarray, blocks: Sequence[Sequence[int]]) -> Fraction:
    """Exact squared error of float points."""
    total = Fraction(0)
    for block in blocks:
        for column in points[list(block)].T:
            numbers = [Fraction(float(v)) for v in column]
            mean = sum(numbers) / len(numbers)
            total += sum((v - mean) ** 2 for v in numbers)
    return total


def blocks_of(labels: Sequence[int]) -> list[list[int]]:
    """Records of each cluster."""
    return [[i for i, label in enumerate(labels) if label == g] for g in sorted(set(labels))]
