"""What is known of single cells beforehand, as a change of the problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import MAX_VALUE, Number, ceil_fraction, exact, most_text
from csp.formats.apriori import Statement
from csp.problem.problem import Problem
from csp.tables.table import Table

_LETTERS = {"s": "s", "u": "u", "p": "z", "m": "x"}


def apply_apriori(
    problem: Problem,
    statements: Sequence[Statement],
    *,
    margin: Number | None = None,
    width: int = 0,
) -> Problem:
    """Change a problem by what is known of single cells.

    Statuses count first, then costs and protection levels, so that the order of the lines does not
    matter. "s" takes a cell out of the primary ones, "u" puts it among them, "p" makes it public
    (status z), "m" keeps it suppressed (status x) unless it is primary. A level of "pl" stands for
    the lower or upper one that the rules gave, and is rounded up to a unit.

    Parameters
    ----------
    problem : Problem
    statements : sequence of Statement
        From `csp.read_apriori`. The same thing may be said twice of a cell.
    margin : Number, optional
        Levels, in percent of the value, of a cell that only "u" makes sensitive: MAN(margin).
    width : int
        Least width of its interval, in units of the table.

    Returns
    -------
    Problem

    Raises
    ------
    InputError
        For a cell that the table does not have, two statements that contradict each other, "u"
        without any level, "pl" for a cell that is not sensitive, a status for a cell that must be
        published or is known to be empty, and levels beyond the bounds of a cell (lines named).

    References
    ----------
    de Wolf et al. (2014), τ-ARGUS version 4.1 user's manual: a-priori information.

    Examples
    --------
    >>> from csp import Mechanism, Table, apply_apriori
    >>> from csp.formats.apriori import Statement
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> problem = Mechanism("FREQ(8,10)").problem(table)
    >>> known = [Statement(("1", "2"), "u"), Statement(("1", "3"), "p")]
    >>> changed = apply_apriori(problem, known, margin=10)
    >>> [table.labels[i] for i in changed.primary.nonzero()[0]]
    [('1', '1'), ('1', '2')]
    >>> str(changed.status[table.position(("1", "3"))])
    'z'
    """
    table = problem.table
    said = _said(table, statements)
    primary, status = problem.primary.copy(), problem.status.copy()
    lpl, upl, spl = (getattr(problem, name).copy() for name in ("lpl", "upl", "spl"))
    levels = {cell: s for (cell, kind), s in said.items() if kind == "pl"}
    for (cell, kind), statement in said.items():
        if kind != "status":
            continue
        letter = _LETTERS[statement.word]
        if problem.status[cell] == "z" and letter not in ("s", "z"):
            msg = (
                f"{statement.where}: {statement.word} for cell {table.cell(cell)}, which must be "
                "published or is known to be empty; take the line out"
            )
            raise InputError(msg)
        if letter == "u" and not primary[cell]:
            lpl[cell], upl[cell], spl[cell] = _levels(table, cell, margin, width)
            if cell not in levels and not (lpl[cell] or upl[cell] or spl[cell]):
                msg = (
                    f"{statement.where}: cell {table.cell(cell)} is named as sensitive without a "
                    "protection level; add MAN(10) to the rules for 10 percent, a line pl, or "
                    f"{argument('width')}"
                )
                raise InputError(msg)
        if problem.status[cell] != "z" and not (letter == "x" and primary[cell]):
            status[cell], primary[cell] = letter, letter == "u"
    for cell, statement in levels.items():
        if not primary[cell]:
            msg = (
                f"{statement.where}: pl for cell {table.cell(cell)}, which is not sensitive; add "
                "a line u, or take this one out"
            )
            raise InputError(msg)
        units = [ceil_fraction(exact(n) * 10**table.scale) for n in statement.numbers]
        if max(units) > 2 * MAX_VALUE:
            msg = (
                f"{statement.where}: pl for cell {table.cell(cell)} is wider than any cell of such "
                f"a table; give at most {most_text(table.scale)}"
            )
            raise InputError(msg)
        lpl[cell], upl[cell] = units
        if not (lpl[cell] or upl[cell] or spl[cell]):
            spl[cell] = 1  # a sensitive cell is at least not known exactly, as with MAN(0)
    costs = {cell: exact(s.numbers[0]) for (cell, kind), s in said.items() if kind == "c"}
    cost, cost_scale = _costs(problem, costs)
    return replace(
        problem, primary=primary, status=status, lpl=lpl, upl=upl, spl=spl, cost=cost,
        cost_scale=cost_scale,
    )  # fmt: skip


def _cell(table: Table, statement: Statement) -> int:
    """Position of the cell of a statement."""
    if len(statement.codes) != len(table.names):
        msg = (
            f"{statement.where or 'a statement'}: {len(statement.codes)} codes for a table of "
            f"{len(table.names)} dimensions ({', '.join(table.names)})"
        )
        raise InputError(msg)
    label = [code or root for code, root in zip(statement.codes, table.roots, strict=True)]
    try:
        return table.position(label)
    except InputError as error:
        msg = f"{statement.where}: {error}" if statement.where else str(error)
        raise InputError(msg) from error


def _said(table: Table, statements: Sequence[Statement]) -> dict[tuple[int, str], Statement]:
    """Return what is said of each cell, once: of its status, its cost and its levels."""
    found: dict[tuple[int, str], Statement] = {}
    for statement in statements:
        cell = _cell(table, statement)
        kind = "status" if statement.word in _LETTERS else statement.word
        first = found.setdefault((cell, kind), statement)
        if (first.word, first.numbers) != (statement.word, statement.numbers):
            msg = (
                f"{statement.where} contradicts {first.where or 'an earlier statement'} about "
                f"cell {table.cell(cell)}; keep one of them"
            )
            raise InputError(msg)
    return found


def _levels(table: Table, cell: int, margin: Number | None, width: int) -> tuple[int, int, int]:
    if margin is None:
        return 0, 0, width
    size = abs(int(table.values[cell]))
    level = max(1, ceil_fraction(exact(margin) / 100 * size))
    room = int(table.values[cell] - table.lower[cell])  # no level reaches below what is known
    return min(level, room), level, width


def _costs(problem: Problem, given: dict[int, Fraction]) -> tuple[NDArray[Any], int]:
    """Costs with those given, in units that hold both."""
    scale = problem.cost_scale
    while any((cost * 10**scale).denominator > 1 for cost in given.values()):
        scale += 1
    factor = 10 ** (scale - problem.cost_scale)
    if not given:
        return problem.cost, problem.cost_scale
    cost = [int(c) * factor for c in problem.cost.tolist()]
    for cell, one in given.items():
        cost[cell] = int(one * 10**scale)
    return np.array(cost), scale  # of any size: the problem refuses what is too large
