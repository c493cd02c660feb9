"""An audit that shares no code with the library: scipy's linear programs over suppressed cells.

Run it over patterns of large tables, which take too long for the suite::

    python -m tests.support.independent_audit office/values-53172 --time-limit 120

Where such programs would take hours, the claims of the certificate are put in instead, one by one::

    python -m tests.support.independent_audit office/sparse --time-limit 600 --claims

Against an attacker who knows that cells are whole units, claims are the only way::

    python -m tests.support.independent_audit office/household-4941 --time-limit 30 --integer
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

__all__ = ["unmet", "unproved"]

# Bounds from here on stand for none.
_ENDLESS = 1e15

# A program for many cells is worth another as long as it settles such a share of what is open.
_SHARE = 0.05


def unmet(problem: Any, pattern: np.ndarray[Any, Any], seed: int = 0) -> list[int]:
    """Find the primary cells whose feasibility interval is too narrow for an outsider.

    Programs move all open cells at once, each one way or the other as drawn, as far as it needs;
    those that are still open in the end are followed one by one.

    Parameters
    ----------
    problem : csp.Problem
    pattern : (n,) bool
    seed : int
    """
    table, rng = problem.table, np.random.default_rng(seed)
    cells = np.flatnonzero(pattern)
    part = csr_array(table.relations[:, cells]).astype(float)
    part = part[np.flatnonzero(np.diff(part.indptr))]
    value = table.values[cells].astype(float)
    low = np.where(table.lower[cells] > -_ENDLESS, table.lower[cells] - value, -np.inf)
    high = np.where(table.upper[cells] < _ENDLESS, table.upper[cells] - value, np.inf)
    primary = problem.primary[cells]
    lpl, upl, spl = (
        level[cells].astype(float) for level in (problem.lpl, problem.upl, problem.spl)
    )
    rise, fall = np.zeros(len(cells)), np.zeros(len(cells))
    up, down = np.maximum(upl, spl), np.maximum(lpl, spl)
    slack = 1e-6 * np.maximum(1.0, np.maximum(up, down))

    def is_open() -> np.ndarray[Any, Any]:
        short = (rise < upl - slack) | (fall < lpl - slack) | (rise + fall < spl - slack)
        return np.flatnonzero(primary & short)

    def move(cost: np.ndarray[Any, Any], bounds: np.ndarray[Any, Any]) -> None:
        found = linprog(
            -cost, A_eq=part, b_eq=np.zeros(part.shape[0]), bounds=bounds, method="highs"
        )
        assert found.status == 0, found.message
        z = np.asarray(found.x)
        with np.errstate(divide="ignore", invalid="ignore"):
            # What goes one way may go the other as well, as far as bounds allow.
            share = np.where(z > 0, -low / z, np.where(z < 0, -high / z, np.inf)).min()
        for step in (z, -min(share, 1.0) * z):
            np.maximum(rise, step, out=rise)
            np.maximum(fall, -step, out=fall)

    left = is_open()
    while len(left):
        sign = np.where(rng.random(len(left)) < 0.5, 1.0, -1.0)
        sign[rise[left] >= up[left] - slack[left]] = -1.0
        sign[fall[left] >= down[left] - slack[left]] = 1.0
        bounds = np.stack([low, high], axis=1)
        bounds[left, 0] = np.maximum(low[left], -down[left])
        bounds[left, 1] = np.minimum(high[left], up[left])
        cost = np.zeros(len(cells))
        cost[left] = sign / np.maximum(np.where(sign > 0, up[left], down[left]), 1.0)
        before, reached = len(left), float((rise + fall)[left].sum())
        move(cost, bounds)
        gained = float((rise + fall)[left].sum()) - reached
        left = is_open()
        if before - len(left) < _SHARE * before and gained <= _SHARE * reached:
            break
    for i in left.tolist():
        bounds = np.stack([low, high], axis=1)
        bounds[i] = max(low[i], -down[i]), min(high[i], up[i])
        for sign in (1.0, -1.0):
            cost = np.zeros(len(cells))
            cost[i] = sign
            move(cost, bounds)
    return cells[is_open()].tolist()


def unproved(
    problem: Any, pattern: np.ndarray[Any, Any], claims: Any, *, integer: bool = False
) -> list[int]:
    """Find the primary cells whose levels no claim shows to be kept, each claim put in by hand.

    A claim holds if the table that it describes agrees with every relation and every published
    cell, lies within the bounds, and moves its cell as far as it says. In whole numbers.

    Parameters
    ----------
    problem : csp.Problem
    pattern : (n,) bool
    claims : iterable of csp.audits.claims.Claim
    integer : bool
        Whether the tables that claims describe must have cells in whole units.
    """
    table = problem.table
    columns = csr_array(table.relations.T)
    holds: dict[tuple[int, int, int], bool] = {}
    furthest: dict[tuple[int, int], Fraction] = {}
    for claim in claims:
        cells, steps, scale = claim.cells, claim.steps, int(claim.denominator)
        key = id(cells), id(steps), scale
        if key not in holds:
            change = np.asarray(steps, dtype=object)
            moved = table.values[cells].astype(object) * scale + change
            inside = (
                (moved >= table.lower[cells].astype(object) * scale)
                & (moved <= table.upper[cells].astype(object) * scale)
            ).all()
            part = columns[cells]
            width = np.diff(part.indptr)
            rows, at = np.unique(part.indices, return_inverse=True)
            sums = np.zeros(len(rows), dtype=object)
            np.add.at(sums, at, part.data.astype(object) * np.repeat(change, width))
            once = len(np.unique(cells)) == len(cells)
            whole = not integer or not (change % scale).any()
            agrees = pattern[cells].all() and not sums.any()
            holds[key] = bool(inside and once and whole and agrees)
        where = np.flatnonzero(cells == claim.cell)
        if not holds[key] or claim.known or not len(where):
            continue
        reach = Fraction(claim.sign * int(steps[where[0]]), scale)
        end = claim.cell, claim.sign
        furthest[end] = max(furthest.get(end, Fraction(0)), reach)
    nothing = Fraction(0)
    unsafe = []
    for p in np.flatnonzero(problem.primary).tolist():
        fall, rise = furthest.get((p, -1), nothing), furthest.get((p, 1), nothing)
        kept = fall >= int(problem.lpl[p]) and rise >= int(problem.upl[p])
        if not (pattern[p] and kept and fall + rise >= int(problem.spl[p])):
            unsafe.append(p)
    return unsafe


def main() -> int:
    """Protect problems of the benchmark and audit what comes out; 1 if a cell is unsafe."""
    from benchmarks.specs import specs
    from csp import suppress

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="+", help="group/name of a frozen problem")
    parser.add_argument("--claims", action="store_true", help="put in claims, solve nothing")
    parser.add_argument("--integer", action="store_true", help="cells are known to be whole units")
    parser.add_argument("--time-limit", type=float, default=60, help="seconds for each pattern")
    given = parser.parse_args()
    known = {spec.path: spec for spec in specs()}
    unsafe = 0
    for name in given.names:
        problem = known[name].build()
        found = suppress(problem, time_limit=given.time_limit, integer=given.integer)
        began = time.process_time()
        if given.claims or given.integer:
            assert found.audit is not None
            claims = found.audit.certificate
            cells = unproved(problem, found.pattern, claims, integer=given.integer)
        else:
            cells = unmet(problem, found.pattern)
        unsafe += len(cells)
        print(
            f"{name}: {len(cells)} of {int(problem.primary.sum())} primary cells unsafe "
            f"(cost {found.cost}, bound {found.bound}, {found.seconds:.0f} s, "
            f"audit {time.process_time() - began:.1f} s CPU)",
            flush=True,
        )
    return int(unsafe > 0)


if __name__ == "__main__":
    sys.exit(main())
