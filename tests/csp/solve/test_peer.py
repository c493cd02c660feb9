"""Optima and intervals against τ-ARGUS's branch and cut, as packaged in pytauargus.

The peer keeps process-wide state, so every run is a process of its own. It ignores sliding
levels and needs finite bounds and positive values.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from csp import Problem, Table, audit, suppress, write_jj
from instances.synthetic import frequency_2d, frequency_nd, hierarchical

pytestmark = pytest.mark.skipif(find_spec("pytauargus") is None, reason="pytauargus is missing")

OPTIMUM = """
import sys, pytauargus._tauargus as peer
jj, out = sys.argv[1:]
sys.exit(peer.HiTaSCtrl().full_jj(in_file_jj=jj, out_file=out, max_time=1))
"""
INTERVALS = """
import json, sys, pytauargus._tauargus as peer
print(json.dumps(peer.audit_jj(sys.argv[1])))
"""


def run(code: str, *paths: Path) -> str:
    command = [sys.executable, "-c", code, *map(str, paths)]
    # The peer writes logs into its working directory.
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=90, cwd=paths[0].parent
    )
    return done.stdout


def magnitude() -> Table:
    draws = np.random.default_rng(5).lognormal(3, 1.2, size=(7, 6))
    return Table.from_array(np.round(draws).astype(np.int64) + 1)


def posed(table: Table, *, share: float, by_value: bool, margins: bool) -> Problem:
    """Pose the smallest inner cells as primary, to be protected by 15 % on either side."""
    values = table.values
    table = table.replace(upper=np.full(table.n_cells, 3 * int(values.max())))
    inner = ~table.margins & (values > 0)
    primary = inner & (values <= np.quantile(values[inner], share))
    level = np.where(primary, np.maximum(1, values * 15 // 100), 0)
    return Problem.of(
        table,
        primary,
        lpl=level,
        upl=2 * level,
        cost=np.maximum(values, 1) if by_value else 1,
        publish=np.zeros(table.n_cells, bool) if margins else table.margins,
    )


CASES: dict[str, tuple[Callable[[], Table], dict[str, Any]]] = {
    "counts, unit cost": (
        lambda: frequency_2d(8, 9, 1),
        {"share": 0.1, "by_value": False, "margins": True},
    ),
    "counts, margins published": (
        lambda: frequency_2d(7, 8, 2),
        {"share": 0.1, "by_value": True, "margins": False},
    ),
    "magnitudes": (magnitude, {"share": 0.12, "by_value": True, "margins": True}),
    "hierarchy": (
        lambda: hierarchical(3, ((2, 2), (3, 2))),
        {"share": 0.1, "by_value": True, "margins": True},
    ),
    "three dimensions": (
        lambda: frequency_nd((3, 3, 4), 4, mean=20),
        {"share": 0.06, "by_value": True, "margins": True},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_optimum_and_intervals_are_those_of_the_peer(name: str, tmp_path: Path) -> None:
    build, how = CASES[name]
    problem = posed(build(), **how)
    jj, out = tmp_path / "problem.jj", tmp_path / "secondary.txt"
    write_jj(problem, jj)
    run(OPTIMUM, jj, out)
    theirs = problem.forced.copy()
    theirs[[int(word) for word in out.read_text().split()]] = True

    ours = suppress(problem)

    assert ours.proven
    assert audit(problem, theirs).safe
    assert int(problem.cost[theirs & problem.free].sum()) == ours.cost
    # The peer's audit reads suppressed cells as primary ones; levels of 0 judge nothing more.
    asked = replace(
        problem,
        primary=ours.pattern,
        status=np.where(ours.pattern, "u", np.where(problem.status == "z", "z", "s")),
    )
    write_jj(asked, jj)
    rows = json.loads(run(INTERVALS, jj))
    found = audit(problem, ours.pattern)
    assert [row["cell"] for row in rows] == np.flatnonzero(ours.pattern).tolist()
    assert not any(row["unsafe"] for row in rows)
    assert [row["min"] for row in rows] == pytest.approx(found.lower[ours.pattern], abs=1e-4)
    assert [row["max"] for row in rows] == pytest.approx(found.upper[ours.pattern], abs=1e-4)
