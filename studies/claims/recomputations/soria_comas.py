"""Claims of Soria-Comas and Domingo-Ferrer (2012) that are recomputed in seconds."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import microagg

_WEIGHTS: Any = [[Fraction(5, 10), Fraction(2, 10)], [Fraction(1, 10), Fraction(4, 10)]]
"""How likely a mechanism makes records 1 and 2 of persons 1 and 2."""


def example_4() -> str:
    found = microagg.intruders.linkage_posterior([row[:1] for row in _WEIGHTS]).probability[0, 0]
    (a, _), (c, _) = _WEIGHTS
    return f"{found} = a / (a + c)" if found == a / (a + c) else str(found)


def example_5() -> str:
    found = microagg.intruders.linkage_posterior(_WEIGHTS).probability[0, 0]
    (a, b), (c, d) = _WEIGHTS
    return f"{found} = ad / (ad + bc)" if found == a * d / (a * d + b * c) else str(found)


def example_6() -> str:
    """Compare the posterior of two records of three persons with its definition."""
    weights = [[5, 2], [1, 4], [3, 3]]
    found = microagg.intruders.linkage_posterior(weights).probability[0, 0]
    pairs = list(permutations(range(3), 2))
    total = sum(weights[i][0] * weights[j][1] for i, j in pairs)
    mine = sum(weights[i][0] * weights[j][1] for i, j in pairs if i == 0)
    return f"{found}, as the sum over all pairs" if found == Fraction(mine, total) else str(found)


def sampled_release() -> str:
    """Compare the best link of a whole release and of a sample."""
    weights: Any = [[Fraction(45, 100)] * 2, [Fraction(5, 100)] * 2]
    whole = microagg.intruders.linkage_posterior(weights).worst
    part = microagg.intruders.linkage_posterior([row[:1] for row in weights]).worst
    return f"{whole} where both records are published, {part} where one is"


def random_groups() -> str:
    """Give the best link where pairs of four records are drawn by chance and swapped."""
    weight: dict[tuple[int, ...], int] = {}
    for first in combinations(range(4), 2):
        second = [i for i in range(4) if i not in first]
        for one in permutations(first):
            for two in permutations(second):
                moved = {
                    **dict(zip(first, one, strict=True)),
                    **dict(zip(second, two, strict=True)),
                }
                key = tuple(moved[i] for i in range(4))
                weight[key] = weight.get(key, 0) + 1
    found = microagg.intruders.linkage_posterior(lambda persons: weight.get(persons, 0), (4, 4))
    return f"{found.worst} with pairs of 4 records: a record keeps its own values"


def swap_hides_among_k() -> str:
    found = microagg.intruders.linkage_posterior(
        [[int(i // 3 == j // 3) for j in range(9)] for i in range(9)]
    )
    return f"{found.worst} in groups of 3"


def table_x_order() -> str:
    return _worse("X", "MDAV-SWAP", "MDAV-ID")


def table_xi_order() -> str:
    return _worse("XI", "MDAV-SWAP", "MDAV-ID")


def _worse(table: str, one: str, other: str) -> str:
    """Say at which k a printed table has one method above another."""
    from studies.swapping.printed import loss

    means = {cell: float(texts[0]) for cell, texts in loss(table).items()}
    above = [str(k) for way, k in means if way == one and means[one, k] > means[other, k]]
    return f"Table {table} itself has {one} above {other} at k = {' and '.join(above)}"


def printed_closeness() -> str:
    """Give the mean difference of the printed Tables VII to IX from Table VI."""
    from studies.swapping.printed import MISPRINTS, entries

    def table(name: str) -> dict[tuple[int, int], Fraction]:
        return {(i, j): Fraction(MISPRINTS.get((name, i, j), text)) for i, j, text in entries(name)}

    original = table("VI")
    found = []
    for name, way in (("VII", "MDAV-ID"), ("VIII", "MDAV-SWAP"), ("IX", "IR-SWAP")):
        masked = table(name)
        mean = sum(abs(masked[c] - original[c]) for c in original) / len(original)
        found.append(f"{way} {float(mean):.2g}")
    return f"mean differences in print, misprints corrected: {', '.join(found)}"


def k_anonymous_in_order() -> str:
    """Link two records made equal that are published in the order of the original."""
    found = microagg.intruders.linkage_posterior([[1, 0], [0, 1]]).worst
    return f"{found} for two records made equal that keep their order (mechanism known)"


RECOMPUTATIONS = {
    f.__name__: f
    for f in (
        example_4, example_5, example_6, k_anonymous_in_order, printed_closeness, random_groups,
        sampled_release, swap_hides_among_k, table_x_order, table_xi_order,
    )
}  # fmt: skip
"""By the name that a claim gives."""
