"""Subtables of a hierarchical table, protected one after the other (after de Wolf 2002, HiTaS).

A baseline for comparisons, not τ-ARGUS's own program: like that one it is quick, may suppress more
than is needed, and does not look at what relations of different subtables disclose together, so
that its pattern need not be safe.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, Unprotectable
from csp.exact import Bools, Ints
from csp.problem.problem import Problem
from csp.solve import suppress
from csp.sparse import rows_of
from csp.tables.codes import Labels
from csp.tables.table import Table


def modular(problem: Problem, *, integer: bool = False, clock: Clock = UNLIMITED) -> Bools:
    """Protect subtables from the top down, until none changes.

    A subtable has one code and the codes below it in each dimension. What another subtable
    suppressed is suppressed here, and must not be known exactly; a cell that another one publishes
    is suppressed only where nothing else helps, and then that one is protected again.

    Parameters
    ----------
    problem : Problem
    integer : bool
        As for `csp.suppress`.
    clock : Clock

    Returns
    -------
    (n,) bool

    Raises
    ------
    InputError
        If the table is not a full cross of one hierarchy in each dimension.
    OutOfTime
    """
    parts = list(_subtables(problem.table))
    pattern = problem.forced
    owner = np.full(len(pattern), -1)  # subtable that suppressed a cell
    seen: dict[int, Bools] = {}
    settled = np.zeros(len(pattern), bool)
    changed = True
    while changed:
        changed = False
        for k, (cells, rows) in enumerate(parts):
            before = pattern[cells]
            if k in seen and np.array_equal(seen[k], before):
                continue
            given = before & ~problem.primary[cells] & (owner[cells] != k)
            posed = _part(problem, cells, rows, before, given, settled[cells])
            found = before
            if posed.primary.any():
                try:
                    found = suppress(posed, integer=integer, time_limit=clock.seconds).pattern
                except Unprotectable:
                    found = posed.forced | posed.free
            owner[cells[found & ~before]] = k
            changed |= bool((found & ~before).any())
            pattern[cells] |= found
            settled[cells] = True
            seen[k] = pattern[cells]
    return pattern


def trees_of(table: Table) -> list[dict[str, str]]:
    """Parent of every code but the root, for each dimension, as the relations tell it.

    Raises
    ------
    InputError
        If the table is not a full cross of one tree in each dimension.
    """
    msg = "the table is not a full cross of hierarchies"
    labels = table.labels
    parents: list[dict[str, str]] = [{} for _ in table.roots]
    if not table.roots or any(len(label) != len(parents) for label in labels):
        raise InputError(msg)
    for cells, signs in rows_of(table.relations):
        totals, parts = cells[signs == -1].tolist(), cells[signs == 1].tolist()
        if len(totals) != 1 or len(totals) + len(parts) != len(cells):
            raise InputError(msg)
        total = labels[totals[0]]
        for part in parts:
            differ = [d for d, code in enumerate(labels[part]) if code != total[d]]
            if len(differ) != 1:
                raise InputError(msg)
            d = differ[0]
            if parents[d].setdefault(labels[part][d], total[d]) != total[d]:
                raise InputError(msg)
    whole = math.prod(len(p) + 1 for p in parents)
    rooted = all(
        set(p.values()) <= {*p, root} for p, root in zip(parents, table.roots, strict=True)
    )
    if whole != table.n_cells or not rooted:
        raise InputError(msg)
    return parents


def _subtables(table: Table) -> Iterator[tuple[Ints, Ints]]:
    """Cells and relations of each subtable, from the top down; the first cell is its total."""
    families = []
    for parents, root in zip(trees_of(table), table.roots, strict=True):
        below: dict[str, list[str]] = {}
        for code, parent in parents.items():
            below.setdefault(parent, []).append(code)
        depth = {root: 0}
        queue = [root]
        for code in queue:  # grows: children follow all codes of the level above
            for child in below.get(code, ()):
                depth[child] = depth[code] + 1
                queue.append(child)
        families.append([(depth[code], [code, *below[code]]) for code in queue if code in below])
    places = {label: i for i, label in enumerate(table.labels)}
    chosen = sorted(itertools.product(*families), key=lambda one: sum(level for level, _ in one))
    relations = table.relations
    for family in chosen:
        cells = np.array(
            [places[one] for one in itertools.product(*(codes for _, codes in family))]
        )
        inside = np.zeros(table.n_cells, np.int64)
        inside[cells] = 1
        there = abs(relations) @ inside
        rows = np.flatnonzero(there == np.diff(relations.indptr))
        yield cells, rows


def _part(
    problem: Problem, cells: Ints, rows: Ints, before: Bools, given: Bools, settled: Bools,
) -> Problem:  # fmt: skip
    """Problem of a subtable.

    Parameters
    ----------
    cells, rows
        Of the table.
    before : (k,) bool
        Cells of the subtable that are suppressed.
    given : (k,) bool
        Those of them that another subtable has suppressed as secondary ones.
    settled : (k,) bool
        Cells that another subtable has looked at.
    """
    table, people, empty = problem.table, problem.table.contributors, problem.table.structural
    labels = Labels.of(table.labels).take(cells)
    part = table.replace(
        values=table.values[cells], lower=table.lower[cells], upper=table.upper[cells],
        relations=csr_array(table.relations[rows][:, cells]), labels=labels,
        roots=labels[0], contributors=None if people is None else people.take(cells),
        structural=None if empty is None else empty[cells],
    )  # fmt: skip
    moves = given & (part.upper > part.lower)
    status = np.where(before & (problem.status[cells] == "s"), "x", problem.status[cells])
    cost = problem.cost[cells]
    last = settled & ~before
    return replace(
        problem,
        table=part,
        primary=problem.primary[cells] | moves,
        status=np.where(moves, "u", status),
        lpl=np.where(moves, 0, problem.lpl[cells]),
        upl=np.where(moves, 0, problem.upl[cells]),
        spl=np.where(moves, 1, problem.spl[cells]),
        cost=np.where(last, cost + 1 + int(cost.sum()), cost),
        singletons=None if problem.singletons is None else problem.singletons[cells],
    )
