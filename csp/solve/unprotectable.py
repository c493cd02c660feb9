"""Whether any pattern may be safe, and why none is, in words."""

from __future__ import annotations

from csp.audits.audit import Audit, judge
from csp.clock import UNLIMITED, Clock
from csp.errors import Unprotectable, argument
from csp.problem.problem import Problem


def fully_suppressed(problem: Problem, *, integer: bool = False, clock: Clock = UNLIMITED) -> Audit:
    """Judge the pattern of all cells that may be suppressed.

    Safety grows with the pattern, but for sums of suppressed cells, which may be sensitive here.

    Raises
    ------
    Unprotectable
        If not even that keeps the levels.
    OutOfTime
    """
    everything = problem.forced | problem.free
    everything.flags.writeable = False
    result = judge(problem, everything, integer=integer, clock=clock)
    if any(v.kind != "union" for v in result.violations):
        raise unprotectable(problem, result)
    return result


def unprotectable(problem: Problem, result: Audit) -> Unprotectable:
    """Explain the first requirement that even full suppression misses.

    `result` is the audit of that pattern; it found a violation other than a sum.
    """
    table = problem.table
    violation = next(v for v in result.violations if v.kind != "union")
    cell = violation.cells[0]
    known = violation.cells[1:] if violation.kind == "singleton" else ()
    claims = [c for c in result.certificate if c.cell == cell and c.known == tuple(known)]
    own = set(table.relations.tocsc()[:, [cell]].indices.tolist())
    # A reader looks at the cell's own relations first.
    rows = sorted({int(r) for c in claims for r in c.rows}, key=lambda r: (r not in own, r))
    relations = tuple(table.relation(r) for r in rows)
    more = f" and {len(relations) - 3} more" if len(relations) > 3 else ""
    blocked = "; ".join(relations[:3]) + more
    msg = (
        f"cell {table.cell(cell)} cannot be protected: with everything suppressed that may be, "
        f"{violation.words}. "
        + (f"Blocked by {blocked}. " if blocked else "Blocked by its own bounds. ")
        + "Let more cells be suppressed (margins, forced-published cells), lower the level, "
        "or merge categories"
    )
    ends = {c.sign: c.reach for c in claims}
    value = int(table.values[cell])
    low, high = ends.get(-1), ends.get(1)
    interval = (None if low is None else value - low, None if high is None else value + high)
    return Unprotectable(
        msg,
        cell=table.labels[cell],
        index=cell,
        interval=interval,
        need=violation.need,
        attained=violation.attained,
        relations=relations,
    )


def no_union_safe_pattern(problem: Problem) -> Unprotectable:
    """Say that sums of suppressed cells stay sensitive whatever is suppressed."""
    msg = (
        "every pattern publishes a sensitive sum of suppressed cells; let margins be suppressed, "
        f"merge categories, or drop {argument('unions', value=True)}"
    )
    return Unprotectable(msg)
