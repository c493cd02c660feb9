"""Claims of Minami and Abe (2019) that are recomputed in seconds."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["RECOMPUTATIONS"]


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


def _example_2() -> object:
    import instances
    from attacks import Fibre
    from csp import Table
    from csp.release.release import Release

    table = cast("Table", instances.load("table1"))
    return Fibre(Release.of(table, _square(5, [1, 3], [1, 3])))


def example_2_kernel() -> str:
    from attacks import Fibre

    columns = cast("Fibre", _example_2()).kernel.T.tolist()
    return ", ".join(f"({', '.join(map(str, column))})" for column in columns)


def example_2_tables() -> str:
    from attacks import Fibre

    return str(sum(1 for _ in cast("Fibre", _example_2())))


def table_4_sums() -> str:
    from studies.matching.tables import PAPER

    sums = [sum(PAPER["widths"][cells]) for cells in PAPER["ratios"]]
    unsafe = [count for count, _ in PAPER["ratios"].values()]
    shares = [f"{count / primary:.2f}" for count, primary in PAPER["ratios"].values()]
    both = "both" if sums == unsafe else "Table 4 only"
    return f"{', '.join(map(str, sums))} in {both}; shares {', '.join(shares)}"


RECOMPUTATIONS = {
    f.__name__: f
    for f in (
        example_1, example_2_kernel, example_2_tables, figure_2, published_threshold,
        secondary_interval, table_4_sums,
    )
}  # fmt: skip
"""By the name that a claim gives."""
