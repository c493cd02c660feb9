"""First patterns that withstand contributors who are alone in cells.

The searches for patterns know the outsider only. What a pattern of theirs lacks is found by asking
the same searches again: with the cells fixed that a contributor knows, the cells that it learns too
much of need further cells to move with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from csp.attacker.view import room
from csp.boxes import Boxes
from csp.clock import UNLIMITED, Clock
from csp.errors import OutOfTime, SolverError, Unprotectable
from csp.problem import Problem
from csp.singletons import Attackers
from csp.solve.run import Run
from csp.violations import Violation

__all__ = ["LARGE", "guard", "with_boxes"]

Search = Callable[[Problem, Clock], NDArray[np.bool_]]

# Each round adds the cells that the audit of the last one asked for. Few are needed: what is added
# only ever helps, and a contributor who is met once seldom learns of another cell.
_ROUNDS = 20

# Rounds in which boxes are added, before programs are asked; the share of the time that is left
# for the audit of one pattern.
_BOX_ROUNDS = 2
_AUDIT_SHARE = 0.4

# Number of cells from which patterns of boxes come first, and the share of the time for them.
LARGE = 400
_EARLY_SHARE = 0.7

# Boxes looked at for one cell.
_BOXES = 1000


def guard(run: Run, search: Search) -> None:
    """Offer a pattern that is safe against the contributors who are alone in cells.

    Parameters
    ----------
    run : Run
        Of a problem with singletons; without an incumbent.
    search : callable
        Gives a safe pattern of a problem without singletons, quickly rather than cheaply.
    """
    problem = run.problem
    try:
        early = None
        if run.net is None and problem.table.n_cells >= LARGE:
            # Boxes come at once, and where a pattern has them its audit is quick.
            early = with_boxes(problem, problem.forced, None, run.clock)
            # If there is no time to audit it, what is left is for the audit of everything.
            run.offer(early, share=_EARLY_SHARE)
        pattern = _outsiders(run, search)
        if early is not None:
            pattern = with_boxes(problem, pattern, None, run.clock)
            if run.best is not None and run.cost_of(pattern) >= run.cost_of(run.best):
                return
        for turn in range(_ROUNDS):
            try:
                result = run.offer(pattern, share=_AUDIT_SHARE)
            except OutOfTime:
                if turn:
                    raise
                pattern = with_boxes(problem, pattern, None, run.clock)
                continue
            if result is None or result.safe:
                return
            hurt = [v for v in result.violations if v.kind == "singleton"]
            if not hurt:
                return
            if turn < _BOX_ROUNDS:
                wider = with_boxes(problem, pattern, {v.cells[0] for v in hurt}, run.clock)
                if (wider != pattern).any():
                    pattern = wider
                    continue
            pattern = pattern.copy()
            for fixed, cells in _asked(hurt):
                try:
                    posed = _against(problem, pattern, fixed, cells)
                    pattern |= search(posed, run.clock.part(1 / 3))
                except Unprotectable:
                    # Together they may know too much, each of them alone need not.
                    for v in hurt:
                        if v.cells[0] in cells:
                            posed = _against(problem, pattern, set(v.cells[1:]), {v.cells[0]})
                            pattern |= search(posed, run.clock.part(1 / 3))
    except (OutOfTime, SolverError, Unprotectable):
        # Full suppression comes next: it is safe if anything is, and names the cell if not.
        return


def _outsiders(run: Run, search: Search) -> NDArray[np.bool_]:
    """Give a pattern that is safe against an outsider, or everything that must be suppressed."""
    problem = replace(run.problem, singletons=None, union_rule=None)
    try:
        return search(problem, run.clock.part(1 / 3))
    except OutOfTime:
        return with_boxes(problem, problem.forced, None, run.clock)


def with_boxes(
    problem: Problem, pattern: NDArray[np.bool_], cells: set[int] | None, clock: Clock = UNLIMITED
) -> NDArray[np.bool_]:
    """Suppress boxes in which cells can move while those stay that their attackers know.

    Parameters
    ----------
    problem : Problem
    pattern : (n,) bool
    cells : set of int or None
        Primary cells; None for all of them.
    clock : Clock

    Returns
    -------
    (n,) bool
        The pattern and the boxes, cheap ones; a cell without one has none.

    Raises
    ------
    OutOfTime
    """
    boxes = Boxes(problem.table)
    attackers = Attackers(problem)
    up, down = room(problem.table)
    allowed = problem.forced | problem.free
    pattern = pattern.copy()
    price = np.where(pattern, 0.0, problem.cost)
    primaries = np.flatnonzero(problem.primary) if cells is None else np.array(sorted(cells))
    order = primaries[np.argsort(-problem.table.values[primaries], kind="stable")]
    for p in order.tolist():
        clock.check("a pattern of boxes was found")
        open_cells = allowed & ~attackers.fixed_for(p)
        fall = int(problem.lpl[p])
        rise = max(int(problem.upl[p]), int(problem.spl[p]) - fall)
        corners = boxes.cheapest(
            p,
            (fall, rise),
            np.where(open_cells, up, 0),
            np.where(open_cells, down, 0),
            price,
            _BOXES,
        )
        if corners is not None:
            pattern[corners] = True
            price[corners] = 0.0
    return pattern


def _asked(violations: list[Violation]) -> Iterator[tuple[set[int], set[int]]]:
    """Cells that stay fixed and cells that have to move, for as many violations at once as fit.

    Fixing what all contributors know asks for more than each of them does, and costs one search.
    """
    left = {(v.cells[0], frozenset(v.cells[1:])) for v in violations}
    while left:
        fixed: set[int] = set()
        cells: set[int] = set()
        for cell, known in sorted(left, key=lambda item: (item[0], sorted(item[1]))):
            if cell not in fixed and not known & cells:
                fixed |= known
                cells.add(cell)
                left.discard((cell, known))
        yield fixed, cells


def _against(
    problem: Problem, pattern: NDArray[np.bool_], fixed: set[int], cells: set[int]
) -> Problem:
    """Problem of letting some cells move while others stay, on top of a pattern."""
    primary = np.zeros(len(pattern), dtype=bool)
    primary[list(cells)] = True
    status = np.where(pattern, "x", problem.status)
    status[list(fixed)] = "z"
    status[primary] = "u"
    return replace(problem, primary=primary, status=status, singletons=None, union_rule=None)
