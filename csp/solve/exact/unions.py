"""Cuts for sums of suppressed cells that a relation publishes and the rules call sensitive."""

from __future__ import annotations

import numpy as np

from csp.audits.violations import Violation
from csp.exact import Bools, Ints
from csp.problem.problem import Problem
from csp.rules import every_union_sensitive
from csp.solve.cuts import Cut, needy, no_good


def union_cuts_beforehand(problem: Problem) -> list[Cut]:
    """Cut for each relation whose primary cells need more company than any other company.

    Returns
    -------
    list of Cut
        Empty if the problem has no rule for sums.
    """
    if problem.union_rule is None:
        return []
    moving = needy(problem)
    relations = problem.table.relations
    cuts = []
    for row in range(relations.shape[0]):
        cells = relations.indices[relations.indptr[row] : relations.indptr[row + 1]]
        base = cells[moving[cells]]
        if len(base):
            cut = _company(problem, row, base.astype(np.int64))
            if cut is not None:
                cuts.append(cut)
    return cuts


def union_cut(problem: Problem, pattern: Bools, violation: Violation) -> Cut:
    """Cut off a pattern in which a relation publishes a sensitive sum.

    Where the rule settles every smaller and slightly larger sum as well, some cell beyond those
    must be suppressed. Otherwise only this sum is excluded: either a cell of it is published, or
    a further cell is suppressed that may join it. Both hold for inclusion-minimal patterns,
    whose secondary cells all move, so that publishing a cell outside the sum cannot fix one
    inside; a cell suppressed beforehand may be fixed so, and then any cell of the pattern may be
    published instead.
    """
    members = np.zeros(len(pattern), dtype=bool)
    members[list(violation.cells)] = True
    moving = needy(problem)
    base = np.flatnonzero(members & moving)
    if len(base) and violation.relation is not None:
        cut = _company(problem, violation.relation, base, np.flatnonzero(members))
        # Company that cannot move does not help, but such a cut counts it.
        if cut is not None and cut.slack(pattern.astype(np.float64)) < 0:
            return cut
    if (members & problem.forced & ~moving).any():
        members = pattern
    return no_good(problem, pattern, members)


def _company(problem: Problem, row: int, base: Ints, start: Ints | None = None) -> Cut | None:
    """Demand a cell outside the largest set in which every sum with `base` is sensitive.

    Returns
    -------
    Cut or None
        None if `base` has cells on both sides of the relation (then no sum is published), or
        the rule does not settle all sums in question.
    """
    table, rule = problem.table, problem.union_rule
    assert rule is not None
    span = slice(table.relations.indptr[row], table.relations.indptr[row + 1])
    cells = table.relations.indices[span].astype(np.int64)
    coefficients = table.relations.data[span]
    side = coefficients[np.isin(cells, base)]
    if np.any(side != side[0]):
        return None
    alike = cells[coefficients == side[0]]
    # Cells suppressed beforehand may be in the sum or not, so they must be settled from the start.
    fixed = np.intersect1d(cells, np.flatnonzero(problem.forced))
    if not np.isin(fixed, alike).all():
        return None
    settled = np.union1d(np.union1d(base, fixed), base if start is None else start)
    all_sensitive = every_union_sensitive(rule, table, base, row)
    if not all_sensitive(settled):
        return None
    small_first = alike[np.argsort(np.abs(table.values[alike]), kind="stable")]
    for cell in small_first[problem.free[small_first] & ~np.isin(small_first, settled)]:
        wider = np.append(settled, cell)
        if all_sensitive(wider):
            settled = wider
    beyond = np.sort(cells[problem.free[cells] & ~np.isin(cells, settled)])
    return Cut(beyond, np.ones(len(beyond)), 1.0, "union")
