"""What is determined in a published table: ``python -m benchmarks.published``.

Employment of drawn County Business Patterns in three sizes. Each size runs in a process of its own:
seconds to read the list, to judge it, and the most memory that the process ever held. Beside it a
plain linear program per cell: one model of all relations, of which cell after cell is made least
and largest, for a minute; all cells would take proportionally long. ``programs SIZE SECONDS`` gives
it any time, and ``judge SIZE`` is one of the runs.

``python -m benchmarks.published whole`` draws counts of three dimensions, one nested, of which
narrow ranges are published: there whole numbers disclose more than fractions do. The cells that
windows find stand beside those of a program for each cell, where that is affordable.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
import typer

from attacks.large_releases.engine import determined_cells
from attacks.large_releases.parallel_cells import parallel_cells
from attacks.large_releases.widths import judged_widths
from attacks.release_alone.disclosed_cells import disclosed
from csp import Release
from csp.clock import Clock
from csp.highs import Model, Status
from instances.business_patterns import BusinessPatterns, business_patterns
from instances.synthetic import hierarchical

SIZES: dict[str, dict[str, int]] = {
    "small": {"industries": 100, "states": 6, "counties": 130},
    "middle": {"industries": 220, "states": 20, "counties": 550},
    "large": {"industries": 1100, "states": 51, "counties": 3100},
}
"""Arguments of `instances.business_patterns`."""

_MINUTE = 60.0

_PERCENT = 10

_DECIDED = 120.0
"""Seconds of programs for widths, as in an audit."""


def read(drawn: BusinessPatterns) -> Release:
    """Read employment, as anybody would."""
    return Release.from_frame(
        drawn.columns, ["naics", "area"], "emp", status="empflag", marks="census",
        hierarchies={"naics": "prefix", "area": "prefix"},
        total={"naics": "------", "area": "US"}, absent="zero",
    )  # fmt: skip


def measured(size: str) -> dict[str, Any]:
    """Facts of one run, in this process."""
    began = time.perf_counter()
    drawn = business_patterns(**SIZES[size])
    made = time.perf_counter()
    release = read(drawn)
    have = time.perf_counter()
    found = determined_cells(release)
    judged = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    widths = judged_widths(found, _PERCENT, Clock.of(_DECIDED))
    wide = time.perf_counter()
    parallel = sum(len(group) for group in parallel_cells(found).groups())
    true = drawn.employment[found.cells]
    known = np.zeros(len(release.pattern), bool)
    known[found.cells[found.whole]] = True
    planted = np.unique(np.concatenate([*drawn.planted.values()]))
    only_whole = found.cells[found.whole & ~found.exact]
    return {
        "cells": len(release.pattern),
        "withheld": len(found.cells),
        "relations": release.relations.shape[0],
        "make": made - began,
        "read": have - made,
        "judge": judged - have,
        "widths": wide - judged,
        "memory": memory,
        "linear": int(found.linear.sum()),
        "bounds": int((found.exact & ~found.linear).sum()),
        "whole": int((found.whole & ~found.exact).sum()),
        "looked_at": int(found.looked_at.sum()),
        "narrow": int(widths.narrow.sum()),
        "between": int(widths.between.sum()),
        "planted": len(planted),
        "planted_found": int(known[planted].sum()),
        "planted_whole": int(np.isin(drawn.planted["whole"], only_whole).sum()),
        "wrong": int(((widths.lower > true) | (widths.upper < true)).sum()),
        "parallel": parallel,
        "settled": found.settled,
    }


def programs(size: str, seconds: float = _MINUTE) -> dict[str, Any]:
    """Count the cells whose interval linear programs give in some time, in an order by chance."""
    from scipy.sparse import csr_array

    release = read(business_patterns(**SIZES[size]))
    cells = np.flatnonzero(release.pattern)
    matrix = csr_array(release.relations[:, cells])
    right = -(release.relations @ np.where(release.pattern, 0, release.published))
    rows = np.flatnonzero(np.diff(matrix.indptr))
    ends = right[rows].astype(np.float64)
    high = release.upper[cells].astype(np.float64)
    clock = Clock.of(seconds)
    model = Model().load(
        cost=np.zeros(len(cells)), lower=release.lower[cells].astype(np.float64),
        upper=np.where(high >= 2.0**62, np.inf, high), rows=csr_array(matrix[rows]),
        row_lower=ends, row_upper=ends,
    )  # fmt: skip
    done = 0
    for cell in np.random.default_rng(0).permutation(len(cells)).tolist():
        for sign in (1.0, -1.0):
            model.set_objective(np.array([cell], np.int32), np.array([sign]))
            if model.solve(clock, interruptible=True) != Status.OPTIMAL:
                return {"withheld": len(cells), "done": done}
        done += 1
    return {"withheld": len(cells), "done": done}


def whole_numbers() -> None:
    """Print what only whole numbers disclose, by windows and by programs for each cell."""
    typer.echo("| cells | withheld | known | by whole numbers alone | CPU | by programs | CPU |")
    typer.echo("|" + "---|" * 7)
    for groups in (60, 180):
        table = hierarchical(0, ((groups, 3), (3,), (3,)), mean=3, sd=2)
        rng = np.random.default_rng(0)
        pattern = rng.random(table.n_cells) < 0.8
        width = rng.integers(0, 3, (2, table.n_cells))
        lower = np.maximum(0, table.values - width[0])
        release = Release.of(table.replace(lower=lower, upper=table.values + width[1]), pattern)
        began = time.process_time()
        found = determined_cells(release)
        took = time.process_time() - began
        began = time.process_time()
        each = disclosed(release)
        programs = time.process_time() - began
        same = (each.whole == found.whole).all() and (each.exact == found.exact).all()
        typer.echo(
            f"| {table.n_cells:,} | {len(found.cells):,} | {int(found.whole.sum()):,} "
            f"| {int((found.whole & ~found.exact).sum()):,} | {took:.1f} s "
            f"| {'the same' if same else 'others'} | {programs:.1f} s |"
        )


def main() -> None:
    """Print a table in Markdown, or facts of one run as JSON."""
    if sys.argv[1:] == ["whole"]:
        whole_numbers()
        return
    if len(sys.argv) > 2 and sys.argv[1] == "programs":
        typer.echo(json.dumps(programs(sys.argv[2], *map(float, sys.argv[3:]))))
        return
    if len(sys.argv) > 2 and sys.argv[1] == "judge":
        typer.echo(json.dumps(measured(sys.argv[2])))
        return
    typer.echo(
        "| cells | withheld | relations | made | read | judged | memory | by relations | by bounds "
        "| as whole numbers, looked at | planted, found, as whole numbers | narrow | between "
        "| widths | parallel | programs: cells in a minute | all |"
    )
    typer.echo("|" + "---|" * 17)
    for size in SIZES if len(sys.argv) < 2 else sys.argv[1:]:
        facts, plain = (
            json.loads(
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.published", what, size],
                    check=True, capture_output=True, text=True,
                ).stdout
            )
            for what in ("judge", "programs")
        )  # fmt: skip
        hours = f"{plain['withheld'] / plain['done'] / 60:,.1f} h" if plain["done"] else ""
        typer.echo(
            f"| {facts['cells']:,} | {facts['withheld']:,} | {facts['relations']:,} "
            f"| {facts['make']:.1f} s | {facts['read']:.1f} s | {facts['judge']:.1f} s "
            f"| {facts['memory']:.1f} GiB | {facts['linear']:,} | {facts['bounds']:,} "
            f"| {facts['whole']:,}, {facts['looked_at']:,} "
            f"| {facts['planted']:,}, {facts['planted_found']:,}, {facts['planted_whole']:,} "
            f"| {facts['narrow']:,} "
            f"| {facts['between']:,} | {facts['widths']:.1f} s | {facts['parallel']:,} "
            f"| {plain['done']:,} | {hours} |"
        )


if __name__ == "__main__":
    main()
