"""Promises that a pattern does not keep, and when a pair of claims keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from csp.audits.claims import Claim
from csp.exact import Bools, Ints
from csp.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Violation:
    """One promise that a pattern does not keep.

    Attributes
    ----------
    kind : {"published", "suppressed", "lower", "upper", "sliding", "singleton", "union"}
    cells : tuple of int
        The cell concerned; for "union" all cells of the sum, for "singleton" the cell and the
        one whose contributor learns too much.
    need, attained : int, Fraction
        Width or distance required and attained, in units; 0 where it does not apply.
    words : str
        The violation in words. Amounts stay out: a level is a share of a value, and what is
        attained may be the value of a neighbour.
    relation : int or None
        For "union": the relation that publishes the sum.
    """

    kind: str
    cells: tuple[int, ...]
    need: int
    attained: Fraction
    words: str
    relation: int | None = None

    def __repr__(self) -> str:
        # What is needed or attained can be the value of a cell: it stays out of what is printed.
        return f"Violation({self.kind}: {self.words})"


def largest_levels(problem: Problem) -> Ints:
    """Largest level of each cell: reaching it on one side settles every promise about it.

    At least one unit, so that a cell that moves at all is seen to move.
    """
    return np.maximum(np.maximum(np.maximum(problem.lpl, problem.upl), problem.spl), 1)


def misplaced(problem: Problem, pattern: Bools) -> Iterator[Violation]:
    """Yield cells that must be suppressed and are not, and those that must not and are."""
    table = problem.table
    for i in np.flatnonzero(problem.forced & ~pattern).tolist():
        words = f"cell {table.cell(i)} must be suppressed and is published"
        yield Violation("published", (i,), 0, Fraction(0), words)
    for i in np.flatnonzero((problem.status == "z") & pattern).tolist():
        words = f"cell {table.cell(i)} must be published and is suppressed"
        yield Violation("suppressed", (i,), 0, Fraction(0), words)


def short_of_levels(problem: Problem, p: int, low: Claim, high: Claim) -> list[Violation]:
    """Levels of one primary cell that its interval does not reach."""
    found = []
    for kind, level, attained in (
        ("lower", problem.lpl, low.reach),
        ("upper", problem.upl, high.reach),
        ("sliding", problem.spl, low.reach),
    ):
        need = int(level[p])
        if need <= 0 or attained is None:
            continue
        if kind == "sliding":
            # Summed only here: a table may have millions of cells and no sliding level.
            if high.reach is None:
                continue
            attained += high.reach
        if attained < need:
            much = "nothing" if attained == 0 else "too little"
            table = problem.table
            whom = f" from the contributor of cell {table.cell(low.known[0])}" if low.known else ""
            words = f"cell {table.cell(p)} keeps {much} of its {kind} protection level{whom}"
            found.append(
                Violation(
                    "singleton" if low.known else kind, (p, *low.known), need, attained, words
                )
            )
    return found
