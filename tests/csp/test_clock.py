"""No public call overruns its time limit, and a run with a safe pattern does not lose it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from csp import (
    Decoys,
    Key,
    Mechanism,
    MinFrequency,
    Problem,
    Release,
    Table,
    Unprotectable,
    audit,
    audit_rounding,
    intervals,
    round_table,
    suppress,
)
from csp.compiled import at_once
from csp.decoys.suppress import defend
from csp.errors import OutOfTime
from csp.release.completion import complete
from tests.support.shared import kept_limit

KEY = Key(bytes(range(32)))


@cache
def counts(*shape: int) -> Table:
    return Table.from_array(np.random.default_rng(5).poisson(6, size=shape))


@cache
def problem(*shape: int) -> Problem:
    table = counts(*shape)
    primary = (table.values < 3) & (table.values > 0) & ~table.margins
    return Problem.of(table, primary, lpl=1, upl=3, spl=3, publish=table.margins)


def hidden(*shape: int) -> np.ndarray[Any, Any]:
    table = counts(*shape)
    return np.asarray(~table.margins)


def mechanism(**options: Any) -> Mechanism:
    return Mechanism(MinFrequency(3), width=3, margins="publish", **options)


CALLS: dict[str, Callable[[float], Any]] = {
    **{
        f"suppress {method} {shape}": lambda t, m=method, s=shape: suppress(
            problem(*s), method=m, time_limit=t
        )
        for method in ("auto", "cuts", "branch")
        for shape in ((60, 60), (9, 9, 9), (22, 22, 20))
    },
    "suppress small": lambda t: suppress(problem(8, 8), method="small", time_limit=t),
    "suppress ilp": lambda t: suppress(problem(7, 7), method="ilp", time_limit=t),
    "protect": lambda t: mechanism().protect(counts(12, 12, 12), time_limit=t),
    "protect two-way": lambda t: mechanism().protect(counts(70, 70), time_limit=t),
    "protect decoys": lambda t: mechanism(defence=Decoys(0.1, KEY)).protect(
        counts(10, 10, 10), time_limit=t
    ),
    "defend": lambda t: defend(problem(9, 9, 9), Decoys(0.1, KEY), width=3, time_limit=t),
    "defend share": lambda t: defend(
        problem(9, 9, 9), Decoys(0.1, KEY, share=0.1), width=3, time_limit=t
    ),
    "audit": lambda t: audit(problem(12, 12, 12), hidden(12, 12, 12), time_limit=t),
    "audit integer": lambda t: audit(
        problem(10, 10, 10), hidden(10, 10, 10), integer=True, time_limit=t
    ),
    "intervals": lambda t: intervals(counts(12, 12, 12), hidden(12, 12, 12), time_limit=t),
    "intervals integer": lambda t: intervals(
        counts(10, 10, 10), hidden(10, 10, 10), integer=True, time_limit=t
    ),
    "round": lambda t: round_table(counts(12, 12, 12), 5, time_limit=t),
    "audit rounding": lambda t: audit_rounding(
        round_table(counts(40, 40), 5), mechanism(), time_limit=t
    ),
    "complete": lambda t: complete(Release.of(counts(9, 9, 9), hidden(9, 9, 9)), time_limit=t),
}


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Compile what numba compiles, and import what is imported late."""
    with at_once():
        for shape in ((4, 4), (3, 3, 3)):
            for method in ("auto", "branch", "ilp"):
                suppress(problem(*shape), method=method)
        suppress(problem(4, 4), method="small")
        mechanism(defence=Decoys(0.1, KEY)).protect(counts(4, 4))
        with contextlib.suppress(OutOfTime):
            CALLS["protect"](5)


@pytest.mark.parametrize("limit", [0.3, 1.0])
@pytest.mark.parametrize("name", CALLS)
def test_a_limit_is_kept(name: str, limit: float) -> None:
    with kept_limit(limit), contextlib.suppress(OutOfTime, Unprotectable):
        CALLS[name](limit)
