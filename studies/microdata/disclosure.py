"""Sensitive cells of microaggregated files: Torra and Navarro-Arribas, Table 2, Figures 1 to 5."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.microdata.files import FILES, load

if TYPE_CHECKING:
    from microagg.partitions.partition import Partition
    from microagg.records import Records

GRID = (*range(1, 16), *range(20, 26), 30, 40, 50, 75, 100, 125)
"""Values of k in the paper."""

RULES = (
    "NK(1,60)", "NK(1,70)", "NK(1,80)", "NK(2,60)", "NK(2,70)", "NK(2,80)",
    "P(60,1)", "P(66,1)", "P(66.6,1)", "P(70,1)",
)  # fmt: skip
"""Rules of the paper."""

SETS = ("concrete", "abalone", "1080", "iris", "ionosphere", "adult")

PRINTED = {
    "iris": ((750, 375, 250, 10, 4, 1, 1, 0, 0), (0, 375, 13, 0, 1, 0, 1, 0, 0)),
    "abalone": (
        (37591, 18791, 12519, 473, 44, 6, 5, 5, 5),
        (0, 18782, 909, 10, 6, 5, 5, 4, 4),
    ),
}
"""Table 2 of Torra and Navarro-Arribas (2023), k = 1 .. 9: dominance rule, p% rule.

The two heads of the table are swapped in the paper.
"""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Count:
    """Sensitive cells of one file, algorithm, k and rule."""

    data: str
    attributes: int
    algorithm: str
    k: int
    rule: str
    negative: str
    sensitive: int
    cells: int

    def row(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"share": self.sensitive / self.cells}


def partition_of(records: Records, k: int, algorithm: str) -> Partition:
    """Clusters as in the paper: attributes divided by their variance."""
    import microagg
    from microagg.partitions.partition import Partition

    if k == 1:  # the paper's raw data: each record a group of its own
        return Partition.of(records, np.arange(records.n), 1, algorithm)
    make: Any = microagg.mdav if algorithm == "MDAV" else microagg.mondrian
    options = {} if algorithm == "MDAV" else {"cut": "paper"}
    found: Partition = make(records, k, scale="variance", constant="keep", **options)
    return found


def counts(
    folder: Path,
    *,
    sets: tuple[str, ...] = SETS,
    ks: tuple[int, ...] = GRID,
    progress: Progress | None = None,
) -> Iterator[Count]:
    """Count sensitive cells over files, algorithms, k and rules (Figures 2, 3 and 5)."""
    done, wanted = 0, len(sets) * len(ks) * 2
    for name in sets:
        records = load(name, folder)
        for algorithm in ("MDAV", "Mondrian"):
            for k in ks:
                yield from _judged(name, records, k, algorithm, RULES)
                done += 1
                if progress is not None:
                    progress(done, wanted)


def prefixes(
    folder: Path,
    *,
    sets: tuple[str, ...] = ("1080", "concrete"),
    ks: tuple[int, ...] = GRID,
    progress: Progress | None = None,
) -> Iterator[Count]:
    """Count them for the first attributes of a file (Figure 4)."""
    done = 0
    for name in sets:
        records = load(name, folder)
        for width in range(1, len(records.names) + 1):
            part = records.only(records.names[:width])
            for k in ks:
                yield from _judged(name, part, k, "MDAV", ("NK(1,60)", "P(66,1)"))
            done += 1
            if progress is not None:
                progress(done, 22)


def _judged(
    name: str, records: Records, k: int, algorithm: str, rules: tuple[str, ...]
) -> Iterator[Count]:
    from microagg.tables.risk import judged

    partition = partition_of(records, k, algorithm)
    # "raw" are the formulas as printed, whatever the signs; it only differs with negative values.
    modes = {FILES[name].negative, "raw"} if FILES[name].negative != "error" else {"error"}
    for negative in sorted(modes):
        for found in judged(records, partition, rules, negative=negative):
            yield Count(
                name, len(records.names), algorithm, k, found.rule, negative, found.count,
                found.cells,
            )  # fmt: skip


def table_2(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of Table 2: printed, exact, and by floats, with the true (1, 0.6)-dominance beside."""
    import microagg

    for name, (dominance, p_percent) in PRINTED.items():
        records = load(name, folder)
        for k in range(1, 10):
            partition = partition_of(records, k, "MDAV")
            exact = [
                microagg.disclosure(records, partition, rule)
                for rule in ("NK(2,60)", "P(60)", "NK(1,60)")
            ]
            by_float = float_counts(records, partition)
            yield {
                "data": name,
                "k": k,
                "cells": exact[0].cells,
                "dominance_printed": dominance[k - 1],
                "dominance_exact": exact[0].count,
                "dominance_float": by_float[0],
                "p_printed": p_percent[k - 1],
                "p_exact": exact[1].count,
                "p_float": by_float[1],
                "dominance_1": exact[2].count,
            }


def float_counts(records: Records, partition: Partition) -> tuple[int, int]:
    """Sensitive cells by (2, 0.6)-dominance and by p% = 60 %, as floats decide them.

    ``(x1 + x2) / T > 0.6`` and ``(T - x1 - x2) / x1 < 0.6``, the total summed from the largest
    contribution downwards: an order of evaluation that gives every count of Table 2.
    """
    strong = weak = 0
    for members in partition.members():
        for column in records.values[members].T:
            ordered = sorted(column.tolist(), reverse=True)
            total, first = sum(ordered), ordered[0]
            second = ordered[1] if len(ordered) > 1 else 0.0
            strong += total > 0 and (first + second) / total > 0.6
            weak += first > 0 and (total - first - second) / first < 0.6
    return strong, weak
