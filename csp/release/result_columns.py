"""A protected table as columns, one row per cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import units_to_numbers
from csp.problem.problem import Problem
from csp.release.release import Release
from csp.tables.codes import Labels


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
    taken = {"value", "status", "published", "lower", "upper", "inside"} & set(table.names)
    if taken:
        msg = f"dimension {min(taken)!r} has the name of a result column; rename it"
        raise InputError(msg)
    columns: dict[str, Any] = {
        name: Labels.of(table.labels).column(d) for d, name in enumerate(table.names)
    }
    numbers = (
        units_to_numbers(table.values, table.scale)
        if reveal
        else units_to_numbers(release.published, release.scale)
    ).tolist()
    status = np.where(hidden, "x", np.where(problem.status == "z", "z", "s"))
    if reveal:
        status = np.where(problem.primary, "u", status)
    return columns | {
        "value": [
            None if gone and not reveal else v for v, gone in zip(numbers, hidden, strict=True)
        ],
        "status": status.tolist(),
        "published": (~hidden).tolist(),
    }
