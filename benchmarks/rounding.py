"""Controlled rounding of large tables, beside τ-ARGUS's: ``python -m benchmarks.rounding``.

Counts by seed to multiples of 5. Each table and program runs in a process of its own, with a minute
of wall time: CPU seconds (compiling and making the table left out), the sum of absolute differences
to the true values, what no table falls below, as this library has proved, whether the result adds
up with each cell next to its value, and whether the program says that none is closer. The peer is
the rounder of pytauargus; without it its rows are left out. What it prints is read from the file
that it writes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from csp import Problem, Table, round_table, write_jj
from csp.errors import OutOfTime
from csp.exact import UNBOUNDED
from instances import synthetic

BASE = 5
_MINUTE = 60.0
_ABOVE = 10**7
"""Upper bound that the peer is told: more than any cell."""

TABLES: dict[str, Any] = {
    "100 x 100": lambda: synthetic.frequency_2d(100, 100, 1),
    "315 x 315": lambda: synthetic.frequency_2d(315, 315, 1),
    "two hierarchies": lambda: synthetic.hierarchical(1, ((17, 5), (17, 5))),
    "three levels each": lambda: synthetic.hierarchical(1, ((5, 4, 4), (5, 4, 4))),
    "6 x 6 x 6": lambda: synthetic.frequency_nd((6, 6, 6), 1),
    "10 x 10 x 10": lambda: synthetic.frequency_nd((10, 10, 10), 1),
    "20 x 20 x 20": lambda: synthetic.frequency_nd((20, 20, 20), 1),
}
"""Tables by name."""


def _facts(
    table: Table, values: NDArray[np.int64], seconds: float, *, proven: bool
) -> dict[str, Any]:
    off = np.abs(values - table.values)
    near = not (values % BASE).any() and bool((off < BASE).all())
    return {
        "cells": table.n_cells, "seconds": seconds, "distance": int(off.sum()), "proven": proven,
        "fits": near and not (table.relations @ values).any(),
    }  # fmt: skip


def ours(name: str) -> dict[str, Any]:
    """Round a table by this library, in this process."""
    round_table(Table.from_array([[1, 2], [3, 4]]), BASE)
    table = TABLES[name]()
    began = time.process_time()
    try:
        found = round_table(table, BASE, time_limit=_MINUTE)
    except OutOfTime:
        return {"cells": table.n_cells, "seconds": time.process_time() - began}
    seconds = time.process_time() - began
    return _facts(table, found.values, seconds, proven=found.proven) | {"bound": found.bound}


def peer(name: str) -> dict[str, Any]:
    """Round a table by the rounder of τ-ARGUS, in this process, which may end it."""
    import pytauargus._tauargus as argus

    table = TABLES[name]()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        jj = Path("table.jj")
        write_jj(Problem.of(table, np.zeros(table.n_cells, dtype=bool)), jj)
        jj.write_text(jj.read_text().replace(str(UNBOUNDED), str(_ABOVE)))
        rounder = argus.RounderCtrl()
        # The registry's defaults, as pytauargus sets them.
        for number, value in ((101, 1e-7), (102, 2.14e13), (103, 1e-4), (104, 0.01)):
            rounder.set_double_constant(number, value)
        began = time.process_time()
        rounder.do_round(
            solver="SCIP", in_file="table.jj", base=float(BASE), upper_bound=[1e40],
            lower_bound=[0.0], solution_file="rounded.txt", statistics_file="facts.txt",
            max_time=round(_MINUTE),
        )  # fmt: skip
        seconds = time.process_time() - began
        if not Path("rounded.txt").exists():
            return {"cells": table.n_cells, "seconds": seconds}
        lines = Path("rounded.txt").read_text().splitlines()
        values = np.zeros(table.n_cells, dtype=np.int64)
        for cell, rounded in (
            (int(at[1]), float(at[2])) for line in lines
            if (at := re.match(r"\s*(\d+)\s+from\s+\S+\s+to\s+(\S+)", line))
        ):  # fmt: skip
            values[cell] = round(rounded)
    return _facts(table, values, seconds, proven=False)


def main() -> None:
    """Print a table in Markdown, or facts of one run as JSON."""
    programs = {"ours": ours, "peer": peer}
    if len(sys.argv) == 3 and sys.argv[1] in programs:
        facts = programs[sys.argv[1]](sys.argv[2])
        typer.echo(f"\n{json.dumps(facts)}")
        return
    typer.echo(
        "| table | cells | program | CPU | distance | no less than | adds up, near "
        "| said to be closest |"
    )
    typer.echo("|" + "---|" * 8)
    there = find_spec("pytauargus") is not None
    for name in TABLES if len(sys.argv) < 2 else sys.argv[1:]:
        for who in ("ours", "peer") if there else ("ours",):
            facts = _run(who, name)
            program = "cellveil" if who == "ours" else "τ-ARGUS"
            if "distance" not in facts:
                ended = facts.get("ended", f"nothing in {facts.get('seconds', 0.0):.0f} s")
                typer.echo(f"| {name} | {facts.get('cells', '')} | {program} | {ended} | | | | |")
                continue
            bound = "" if facts.get("bound") is None else f"{facts['bound']:,}"
            typer.echo(
                f"| {name} | {facts['cells']:,} | {program} | {facts['seconds']:.2f} s "
                f"| {facts['distance']:,} | {bound} | {'yes' if facts['fits'] else 'no'} "
                f"| {'yes' if facts['proven'] else ''} |"
            )


def _run(who: str, name: str) -> dict[str, Any]:
    """Facts of one run in a process of its own, which is ended after three minutes."""
    words = [sys.executable, "-m", "benchmarks.rounding", who, name]
    try:
        done = subprocess.run(
            words, check=False, capture_output=True, text=True, timeout=3 * _MINUTE
        )
    except subprocess.TimeoutExpired:
        return {"ended": "ended after 3 minutes"}
    if done.returncode:
        return {"ended": f"exit code {done.returncode}"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
