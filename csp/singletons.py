"""Contributors who are alone in a cell: they know its value and attack the other cells."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from csp.problem import Problem
from csp.table import Table

__all__ = ["insiders"]


def insiders(problem: Problem) -> dict[int, tuple[int, ...]]:
    """Singleton cells whose contributor must not learn too much about each primary cell.

    A contributor to the primary cell itself is left out: what the others in that cell can infer
    is what the sensitivity rule has measured already. The contributor of singleton s takes part
    in cell p if some cell that is not empty belongs to both, directly or through totals.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    dict of int to tuple of int
        For each primary cell the singleton cells, ascending.
    """
    table = problem.table
    primaries = np.flatnonzero(problem.primary).tolist()
    found: dict[int, list[int]] = {p: [] for p in primaries}
    singles = np.flatnonzero(problem.singletons).tolist()
    if not singles:
        return dict.fromkeys(primaries, ())
    people = table.contributors
    filled = table.values != 0 if people is None else people.count > 0
    below, above = _steps(table)
    for s in singles:
        inside = [c for c in _closure([s], below) if filled[c]]
        own = _closure([s, *inside], above)
        for p in primaries:
            if p not in own:
                found[p].append(s)
    return {p: tuple(cells) for p, cells in found.items()}


def _steps(table: Table) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Parts of each total, and totals of each part, one relation at a time."""
    below: dict[int, list[int]] = {}
    above: dict[int, list[int]] = {}
    relations = table.relations
    for row in range(relations.shape[0]):
        span = slice(relations.indptr[row], relations.indptr[row + 1])
        cells = relations.indices[span]
        signs = relations.data[span]
        parts = cells[signs > 0].tolist()
        for total in cells[signs < 0].tolist():
            below.setdefault(total, []).extend(parts)
            for part in parts:
                above.setdefault(part, []).append(total)
    return below, above


def _closure(start: Iterable[int], steps: dict[int, list[int]]) -> set[int]:
    seen = set(start)
    stack = list(seen)
    while stack:
        for other in steps.get(stack.pop(), ()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen
