"""Claims of Minami and Abe (2019) that are recomputed in seconds."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from attacks import Fibre
    from csp import Table


def _square(side: int, rows: list[int], columns: list[int]) -> NDArray[np.bool_]:
    """Pattern of a table with margins that suppresses some rows by some columns."""
    pattern = np.zeros((side, side), dtype=bool)
    pattern[np.ix_(rows, columns)] = True
    return pattern.ravel()


def figure_2() -> str:
    import csp
    import instances
    from csp import Problem

    found = csp.suppress(cast("Problem", instances.load("figure2")))
    return (
        f"{int(found.pattern.sum())} suppressed cells, {'proven' if found.proven else 'not'} least"
    )


def example_1() -> str:
    import csp
    import instances
    from csp import Problem

    problem = cast("Problem", instances.load("figure2"))
    lower, upper = csp.intervals(problem.table, _square(4, [0, 1], [0, 1]))
    cell = int(np.flatnonzero(problem.primary)[0])
    return f"[{lower[cell]:.0f}, {upper[cell]:.0f}]"


def published_threshold() -> str:
    """Give a release with a published count that equals the threshold."""
    from csp import Mechanism, MinFrequency, Table

    threshold = 5
    mechanism = Mechanism(MinFrequency(threshold), width=5, margins="publish")
    table = Table.from_array([[3, 6, 40], [7, 6, 40], [40, 40, 5]])
    release = mechanism.protect(table).release
    least = int(release.published[~release.pattern].min())
    return f"threshold {threshold}; the least published count is {least}"


def secondary_interval() -> str:
    """Give a safe release with a suppressed cell whose interval is narrower than the width."""
    import csp
    from csp import Mechanism, MinFrequency, Table

    width = 8
    mechanism = Mechanism(MinFrequency(3), width=width, margins="publish")
    table = Table.from_array([[4, 7, 3], [0, 9, 5], [6, 6, 1]])
    pattern = mechanism.protect(table).release.pattern
    lower, upper = csp.intervals(table, pattern, integer=True)
    narrowest = int((upper - lower)[pattern].min())
    return f"asked {width}; the narrowest interval of a suppressed cell is {narrowest} wide"


def _example_2() -> Fibre:
    import instances
    from attacks import Fibre
    from csp.release.release import Release

    table = cast("Table", instances.load("table1"))
    return Fibre(Release.of(table, _square(5, [1, 3], [1, 3])))


def example_2_kernel() -> str:

    columns = _example_2().kernel.T.tolist()
    return ", ".join(f"({', '.join(map(str, column))})" for column in columns)


def example_2_tables() -> str:

    return str(sum(1 for _ in _example_2()))


def table_4_sums() -> str:
    from studies.matching.tables import PAPER

    sums = [sum(PAPER["widths"][cells]) for cells in PAPER["ratios"]]
    unsafe = [count for count, _ in PAPER["ratios"].values()]
    shares = [f"{count / primary:.2f}" for count, primary in PAPER["ratios"].values()]
    both = "both" if sums == unsafe else "Table 4 only"
    return f"{', '.join(map(str, sums))} in {both}; shares {', '.join(shares)}"


def table_3_order() -> str:
    """Say where Table 3 itself has a higher share in the higher of two dimensions."""
    from studies.matching.tables import PAPER

    found = []
    for cells, shares in PAPER["by_dimension"].items():
        found += [
            f"{high} above {low} at {cells} cells"
            for low, high in pairwise(sorted(shares))
            if shares[high] > shares[low]
        ]
    return f"Table 3 itself has dimension {', '.join(found)}"


def table_3_totals() -> str:
    """Check a witness: whole numbers that give Table 2 and every share of Table 3."""
    from studies.matching.tables import PAPER

    right = True
    for cells, (unsafe, primary) in PAPER["ratios"].items():
        parts = _SPLIT[cells]
        right &= sum(u for u, _ in parts.values()) == unsafe
        right &= sum(n for _, n in parts.values()) == primary
        right &= parts.keys() == PAPER["by_dimension"][cells].keys()
        right &= all(_rounds(*parts[d], share) for d, share in PAPER["by_dimension"][cells].items())
    for dimension, share in _TOTALS.items():
        counts = [parts[dimension] for parts in _SPLIT.values() if dimension in parts]
        right &= _rounds(sum(u for u, _ in counts), sum(n for _, n in counts), share)
    return "whole numbers of cells fit both tables" if right else "the witness does not fit"


def _rounds(part: int, whole: int, share: float) -> bool:
    return abs(200 * part - 2 * round(100 * share) * whole) <= whole


_TOTALS = {1: 0.88, 2: 0.73, 3: 0.75, 4: 0.77}
"""Last row of Table 3."""

_SPLIT = {
    16: {1: (20, 24), 2: (24, 57), 3: (4, 23)},
    25: {1: (7, 7), 2: (24, 34), 3: (47, 82), 4: (39, 47)},
    36: {1: (1, 1), 2: (104, 120), 3: (76, 98), 4: (9, 11)},
    49: {2: (13, 16), 3: (152, 171), 4: (61, 84)},
}
"""Unsafe and primary cells by size and dimension, found by an integer program; one of many."""


def latency_growth() -> str:
    """Give the factors of Table 5 from size to size."""
    from studies.matching.tables import PAPER

    steps = [
        f"{PAPER['latency'][b] / PAPER['latency'][a]:.2g} times from {a} to {b} cells"
        for a, b in pairwise(PAPER["latency"])
    ]
    return ", ".join(steps)


def width_equal_to_threshold() -> str:
    """Protect Figure 2 with the width of its interval as the threshold."""
    from csp import Mechanism, MinFrequency

    printed, found = _square(4, [0, 1], [0, 1]), []
    for strict in (False, True):
        mechanism = Mechanism(MinFrequency(10), width=17, strict=strict, margins="publish")
        same = np.array_equal(mechanism.protect(_figure_2_table()).pattern, printed)
        found.append("the pattern" if same else "another one")
    return (
        f"Figure 2, whose interval is 17 wide, is {found[0]} for a threshold of 17 by "
        f"Definition 4, {found[1]} by Definition 3 (strict=True)"
    )


def _figure_2_table() -> Table:
    import instances
    from csp import Problem

    return cast("Problem", instances.load("figure2")).table


def closest_to_the_origin() -> str:
    """Compare the distances of the ten tables of Example 2."""
    tables = [tuple(x.tolist()) for x in _example_2()]
    printed = (14, 9, 9, 0)
    squares = {x: sum(v * v for v in x) for x in tables}
    least = min(tables, key=squares.__getitem__)
    tie = "all ten are" if len({sum(x) for x in tables}) == 1 and len(tables) == 10 else "some are"
    return (
        f"by squares of values {least}: {squares[least]} for {squares[printed]}; by sums of "
        f"values {tie} equally close. Which solution is fixed makes no difference"
    )


def levels_by_value() -> str:
    """Attack Figure 2 where the levels of a cell are a share of its value."""
    import attacks
    from csp import Mechanism, MinFrequency

    mechanism = Mechanism(MinFrequency(10, margin=25), margins="publish")
    release = mechanism.protect(_figure_2_table()).release
    found = attacks.matching(release, mechanism, method="all")
    assert found.fibre_size is not None
    unsafe = int((found.verdict == "proved unsafe").sum())
    return (
        f"with levels of 25 % of each value, {found.fibre_size - found.matched} of "
        f"{found.fibre_size} tables of Figure 2 are ruled out, and {unsafe} of "
        f"{len(found.cells)} cells proved unsafe"
    )


def deterministic_but_safe() -> str:
    """Judge the optimal algorithm with a threshold above every count."""
    import attacks
    from csp import Mechanism, MinFrequency, Table

    mechanism = Mechanism(MinFrequency(100, zero_sensitive=True, width=1), margins="publish")
    release = mechanism.protect(Table.from_array([[1, 2], [3, 1]])).release
    tables = sum(1 for _ in attacks.Fibre(release))
    verdict = attacks.algorithm_safety(release, mechanism).verdict
    return (
        f"{verdict} where the threshold is above every count, so that all inner cells are always "
        f"suppressed: none of {tables} tables ruled out (what the paper shows is that tables with "
        "other parameters are vulnerable, most of them)"
    )


def algorithm_changes_beliefs() -> str:
    import attacks
    from csp import Mechanism, MinFrequency, Table

    mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    release = mechanism.protect(Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])).release
    found = attacks.algorithm_safety(release, mechanism)
    return f"{found.verdict}: by up to {max(found.change)}; m = {found.m}"


RECOMPUTATIONS = {
    f.__name__: f
    for f in (
        algorithm_changes_beliefs, closest_to_the_origin, deterministic_but_safe, example_1,
        example_2_kernel, example_2_tables, figure_2, latency_growth, levels_by_value,
        published_threshold, secondary_interval, table_3_order, table_3_totals, table_4_sums,
        width_equal_to_threshold,
    )
}  # fmt: skip
"""By the name that a claim gives."""
