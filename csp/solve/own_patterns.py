"""Patterns of the caller's own: one to begin a search with, and those of a method of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csp.audits.audit import Audit, judge
from csp.audits.violations import Violation
from csp.clock import Clock, now
from csp.errors import CertificateError, InputError, OutOfTime
from csp.exact import Bools
from csp.problem.problem import Problem
from csp.solve.incumbent import Incumbent
from csp.solve.result import Suppression
from csp.tables.patterns import as_pattern

OwnMethod = Callable[[Problem], Any]
"""A function that gives the pattern of a problem, in any form that `csp.audit` takes."""

_NAMED = 3
"""Violations that a message names."""


def completed(problem: Problem, start: ArrayLike) -> Bools:
    """Pattern to begin with: what is given, and all that has to be suppressed anyway.

    Raises
    ------
    InputError
        If it has another shape or other marks than a pattern, or suppresses a cell that must be
        published.
    """
    try:
        given = as_pattern(problem.table, start)
    except InputError as error:
        msg = f"start: {error.template}"
        raise InputError(msg) from error
    wrong = np.flatnonzero(given & (problem.status == "z"))
    if len(wrong):
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        msg = (
            f"start suppresses cell {problem.table.cell(int(wrong[0]))}{more}, which must be "
            "published; begin with start & (problem.status != 'z')"
        )
        raise InputError(msg)
    return given | problem.forced


def safe_start(problem: Problem, pattern: Bools, *, integer: bool, clock: Clock) -> Audit:
    """Audit of a completed pattern to begin with.

    Raises
    ------
    InputError
        If it is not safe; what it violates is named.
    OutOfTime
        If the time ran out before the verdict.
    """
    pattern = pattern.copy()
    pattern.flags.writeable = False
    try:
        found = judge(problem, pattern, integer=integer, clock=clock)
    except OutOfTime as error:
        msg = "the time ran out before start was audited; allow more time, or begin without it"
        raise OutOfTime(msg) from error
    if not found.safe:
        msg = (
            f"start is not safe: {some_of(found.violations)}; "
            "suppress(problem.keeping(start)) finds the cheapest safe pattern that contains it"
        )
        raise InputError(msg)
    return found


def pattern_of(problem: Problem, method: OwnMethod) -> Bools:
    """Ask a function for the pattern of a problem.

    Raises
    ------
    InputError
        If what it returns is not a pattern. Its own exceptions are left as they are.
    """
    given = method(problem)
    try:
        return as_pattern(problem.table, given)
    except InputError as error:
        if given is None:
            msg = f"method {name_of(method)!r} returned None; it has to return the pattern"
        else:
            msg = f"what method {name_of(method)!r} returned: {error.template}"
        raise InputError(msg) from error


def solve_by_function(
    problem: Problem, method: OwnMethod, *, clock: Clock, integer: bool
) -> Suppression:
    """Take the pattern of a function, if it is safe.

    Nothing is known of how near it is to the optimum: the bound is the cost of what has to be
    suppressed anyway.

    Raises
    ------
    InputError
        See `pattern_of`.
    CertificateError
        If the pattern is not safe; what it violates is named.
    OutOfTime
        If the time ran out before the verdict.
    """
    began = now()
    found = pattern_of(problem, method)
    result = judge(problem, found, integer=integer, clock=clock)
    name = name_of(method)
    if not result.safe:
        msg = (
            f"the pattern of method {name!r} fails its audit, nothing is released: "
            f"{some_of(result.violations)}; csp.audit(problem, pattern) names all"
        )
        raise CertificateError(msg)
    one = Incumbent(problem, clock, 0.0, integer, 0, None, began, audits=1)
    one.take(result)
    return one.result(name, "done", {})


def name_of(method: OwnMethod) -> str:
    """Name of a function, as results show it."""
    while isinstance(method, partial):
        method = method.func
    return str(getattr(method, "__name__", type(method).__name__))


def some_of(violations: Iterable[Violation]) -> str:
    """First few violations in words, and how many more there are."""
    words = list(dict.fromkeys(violation.words for violation in violations))
    more = len(words) - _NAMED
    return "; ".join(words[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
