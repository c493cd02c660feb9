"""Claims of Gkountouna, Lepenioti and Terrovitis (2013) that are recomputed in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import microagg

TAX = {"salary": [10, 15, 30, 40], "gains": [20, 15, 40, 30], "other": [100, 105, 200, 210]}
"""Table I."""


def table_2() -> str:
    return f"NCP {microagg.aggregate_anonymise(TAX, 2, method='mondrian').ncp:g}"


def table_3() -> str:
    return f"NCP {microagg.aggregate_anonymise(TAX, 2, method='aggranon').ncp:g}"


def table_3_choice() -> str:
    """Give the differences of the sum in class {3, 4} without each attribute."""
    found = []
    for left in TAX:
        one, two = (sum(v[i] for name, v in TAX.items() if name != left) for i in (2, 3))
        found.append(f"{abs(one - two)} without {left}")
    return ", ".join(found)


def attackers_of_table_3() -> str:
    """Count values of salary that follow from the sum and what Table III leaves exact."""
    # Classes {1, 2} and {3, 4} show ranges of salary and of other income; the rest is exact.
    shown = {0: {1: 20, 2: 100}, 1: {1: 15, 2: 105}, 2: {0: 30, 1: 40}, 3: {0: 40, 1: 30}}
    columns = list(TAX.values())
    known = 0
    for i, exact in shown.items():
        missing = next(j for j in range(3) if j not in exact)
        known += sum(c[i] for c in columns) - sum(exact.values()) == columns[missing][i]
    found = microagg.aggregate_anonymise(TAX, 2, method="aggranon")
    fewest = microagg.intruders.aggregate_attack(TAX, found).k
    return f"{fewest} candidates at least; but {known} of 4 hidden values follow from the sum"


def always_anonymous() -> str:
    """Count files that aggrAnon leaves with too few candidates, among all small ones."""
    verdicts = [_is_safe(data, "sum") for data in _small_files()]
    return f"{verdicts.count(False)} of {len(verdicts)} files of four records are not"


def several_aggregates() -> str:
    """Count the same files where the attacker knows the sum and one attribute."""
    verdicts = [_is_safe(data, ["sum", {"a": 1}]) for data in _small_files()]
    return f"{verdicts.count(False)} of {len(verdicts)} files of four records are not"


def _small_files() -> Iterator[dict[str, list[int]]]:
    rows = list(product((0, 1, 3), repeat=2))
    for four in combinations(rows, 4):
        yield {"a": [r[0] for r in four], "b": [r[1] for r in four]}


def _is_safe(data: dict[str, list[int]], f: Any) -> bool:
    found = microagg.aggregate_anonymise(data, 2, f, method="aggranon")
    return bool(microagg.is_aggregate_anonymous(data, found, 2, f))


RECOMPUTATIONS = {
    f.__name__: f
    for f in (
        always_anonymous, attackers_of_table_3, several_aggregates, table_2, table_3,
        table_3_choice,
    )
}  # fmt: skip
"""By the name that a claim gives."""
