"""Which side of a gap is poor: ``python -m benchmarks.attribution [INSTANCE ...]``.

Parts of some hundred cells of large hierarchical instances, small enough for a proof: what bound
the relaxation comes to, what patterns cost before branching, and the optimum between the two. The
shares of the whole gap may be others, but a side that is poor in every part is poor in the whole.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import typer

from benchmarks.posed import data_folder, instance
from csp import suppress
from csp.problem.problem import Problem
from csp.solve.incumbent import left_out
from csp.tables.table import Table

INSTANCES = ("hier13", "hier13x13x7d", "two5in6")
SIZES = (200, 400, 700)
TIME_LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of one part: costs and bounds of its secondary cells."""

    cells: int
    primary: int
    bound: int
    pattern: int
    optimum: int
    proven: bool
    seconds: float


def part_of(problem: Problem, size: int, seed: int) -> Problem:
    """Restrict a problem to the relations around one primary cell, and to their cells.

    Parameters
    ----------
    size : int
        Cells at least, if there are as many.
    seed : int
        Of the primary cell.
    """
    relations = problem.table.relations
    held = abs(relations).sign()
    primary = np.flatnonzero(problem.primary)
    cells = np.zeros(relations.shape[1], bool)
    cells[primary[np.random.default_rng(seed).integers(len(primary))]] = True
    while cells.sum() < size:
        # Relation by relation, those with most cells inside first: parts are round, not long.
        touching = np.flatnonzero(held @ cells.astype(np.int64))
        inside = held[touching] @ cells.astype(np.int64)
        whole = np.diff(held[touching].indptr)
        open_ones = touching[inside < whole]
        if not len(open_ones):
            break
        share = (inside / whole)[inside < whole]
        cells[held[[open_ones[int(np.argmax(share))]]].indices] = True
    return restricted(problem, cells)


def restricted(problem: Problem, cells: np.ndarray) -> Problem:
    """Leave out all other cells, and the relations that hold one of them."""
    table, kept = problem.table, np.flatnonzero(cells)
    outside = abs(table.relations) @ (~cells).astype(np.int64)
    rows = table.relations[np.flatnonzero(outside == 0)][:, kept]
    small = Table(
        table.values[kept], rows, table.lower[kept], table.upper[kept],
        tuple(table.labels[i] for i in kept.tolist()), table.scale, names=table.names,
        roots=table.roots,
    )  # fmt: skip
    names = ("primary", "lpl", "upl", "spl", "cost", "status")
    arrays = {name: getattr(problem, name)[kept] for name in names}
    return replace(problem, table=small, singletons=None, **arrays)


def parts_of(problem: Problem, sizes: tuple[int, ...] = SIZES, each: int = 3) -> Iterator[Problem]:
    """Yield parts of each size."""
    for size in sizes:
        for seed in range(each):
            yield part_of(problem, size, seed)


def measured(problem: Problem) -> Part:
    """Solve a part without branching, and to its end."""
    with left_out(frozenset({"tree", "programs"})):
        before = suppress(problem, method="branch", time_limit=TIME_LIMIT)
    began = time.process_time()
    found = suppress(problem, method="branch", time_limit=TIME_LIMIT)
    return Part(
        problem.table.n_cells, int(problem.primary.sum()), int(before.bound), int(before.cost),
        int(found.cost), found.proven, time.process_time() - began,
    )  # fmt: skip


def main() -> None:
    """Print a table in Markdown."""
    typer.echo("| part of | cells | primary | bound | optimum | pattern | seconds |")
    typer.echo("|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or INSTANCES:
        for problem in parts_of(instance(name, data_folder())):
            part = measured(problem)
            best = max(part.optimum, 1)
            typer.echo(
                f"| {name} | {part.cells:,} | {part.primary} | {part.bound / best - 1:+.1%} | "
                f"{part.optimum:,}{'' if part.proven else ' (not proved)'} | "
                f"{part.pattern / best - 1:+.1%} | {part.seconds:.1f} |"
            )


if __name__ == "__main__":
    main()
