"""A protected table as columns, one row per cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from csp.exact import Bools, units_to_numbers
from csp.problem.problem import Problem
from csp.release.release import Release
from csp.tables.cross.frames import dimension_columns


def result_columns(problem: Problem, release: Release, *, reveal: bool = False) -> dict[str, Any]:
    """Columns of a result: dimensions, value, status, published.

    Parameters
    ----------
    problem : Problem
    release : Release
        With a pattern that keeps its levels.
    reveal : bool
        Show suppressed values, and tell primary from secondary cells.

    Raises
    ------
    InputError
        If a dimension has the name of another column.
    """
    table, hidden = problem.table, release.pattern
    names = {"value", "status", "published", "lower", "upper", "inside"}
    columns = dimension_columns(table, beside=names)
    numbers = (
        units_to_numbers(table.values, table.scale)
        if reveal
        else units_to_numbers(release.published, release.scale)
    ).tolist()
    return columns | {
        "value": [
            None if gone and not reveal else v for v, gone in zip(numbers, hidden, strict=True)
        ],
        "status": statuses(problem, hidden, reveal=reveal),
        "published": (~hidden).tolist(),
    }


def statuses(problem: Problem, pattern: Bools, *, reveal: bool) -> list[str]:
    """Letters of cells: x suppressed, z must be published, s published; with `reveal` u primary."""
    # Telling primary from secondary cells tells that a rule holds for them.
    letters = np.where(pattern, "x", np.where(problem.status == "z", "z", "s"))
    if reveal:
        letters = np.where(problem.primary & pattern, "u", letters)
    found: list[str] = letters.tolist()
    return found
