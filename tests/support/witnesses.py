"""Witnesses of small problems, and what they show by Python's integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from csp.problem.problem import Problem
from csp.problem.singletons import Attackers
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.field import Field, Witness
from instances import synthetic
from tests.support import oracles

__all__ = ["cost", "cube_problem", "ends", "everything", "is_witness", "served", "unserved"]


def everything(problem: Problem) -> np.ndarray[Any, Any]:
    return problem.forced | problem.free


def cost(problem: Problem, pattern: Any) -> int:
    """Of the free cells of a pattern."""
    flags = zip(problem.cost.tolist(), problem.free.tolist(), pattern, strict=True)
    return sum(price for price, free, hidden in flags if free and hidden)


def cube_problem(shape: tuple[int, ...] = (6, 5, 4), seed: int = 1) -> Problem:
    table = synthetic.frequency_nd(shape, seed)
    primary = (table.values < 5) & ~table.margins
    level = np.minimum(table.values, 2)
    return Problem.of(table, primary, lpl=level, upl=2, cost=np.maximum(table.values, 1))


def served(
    problem: Problem, *, integer: bool = False, attackers: Attackers | None = None,
    order: Any = None, price: Any = None,
) -> tuple[Builder, Book, list[int]]:  # fmt: skip
    """A book of the cheapest witness of one requirement after the other, and what is left over."""
    field = Field(problem, integer=integer, together=True)
    book, builder = Book(field, attackers), Builder(field, None, both=False)
    rows = builder.order(np.arange(len(field.need))) if order is None else order
    price = field.price if price is None else price
    return builder, book, builder.serve(book, rows, price.copy())


def ends(witness: Witness) -> list[dict[int, Fraction]]:
    """How far each cell moves where a witness is followed to its end, forward and back."""
    return [
        {
            int(cell): Fraction(sign * int(step) * int(top), int(bottom))
            for cell, step in zip(witness.cells, witness.steps, strict=True)
        }
        for sign, (top, bottom) in ((1, witness.forward), (-1, witness.back))
    ]


def is_witness(problem: Problem, witness: Witness) -> bool:
    """Whether both ends keep all relations, all bounds, and all cells that must be published."""
    table, movable = problem.table, everything(problem)
    for end in ends(witness):
        if any(sum(c * end.get(i, 0) for i, c in row.items()) for row in oracles.rows_of(table)):
            return False
        for cell, step in end.items():
            low, high = oracles.bounds_of(table, cell)
            value = int(table.values[cell]) + step
            if step and not movable[cell]:
                return False
            if (low is not None and value < low) or (high is not None and value > high):
                return False
    return True


def unserved(problem: Problem, cell: int, ways: list[dict[int, Fraction]]) -> set[str]:
    """Levels of a primary cell that it does not reach by any of these deviations."""
    rise = max([Fraction(0), *(end.get(cell, Fraction(0)) for end in ways)])
    fall = max([Fraction(0), *(-end.get(cell, Fraction(0)) for end in ways)])
    reached = {"upl": rise, "lpl": fall, "spl": rise + fall}
    return {name for name, far in reached.items() if far < int(getattr(problem, name)[cell])}
