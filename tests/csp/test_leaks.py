"""No suppressed value shows in what a run prints, reports or raises, whatever the method."""

from __future__ import annotations

import logging
import re
import traceback
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from csp import Problem, Progress, Table, Unprotectable, audit, suppress
from csp.errors import OutOfTime, SolverError
from csp.solve.small.one import SmallSearch
from tests.support.small import solve_small
from tests.support.strategies import cube

PRIMES = (1000003, 1000033, 1000037, 1000039, 1000081, 1000099, 1000117, 1000121, 1000133,
          1000151, 1000159, 1000171, 1000183, 1000187, 1000193, 1000199)  # fmt: skip


def problem_of(shape: tuple[int, ...], **options: Any) -> Problem:
    """Inner cells are primes, so that no value occurs by chance; margins may be suppressed."""
    table = cube(np.array(PRIMES[: int(np.prod(shape))]).reshape(shape))
    primary = np.isin(table.values, PRIMES[:2]) & ~table.margins
    level = np.where(primary, 70001, 0)
    return Problem.of(table, primary, lpl=level, upl=2 * level, cost=table.values, **options)


def secrets(problem: Problem) -> set[str]:
    """Digits of every value that could be suppressed."""
    hidden = problem.free | problem.forced
    return {str(v) for v in problem.table.values[hidden].tolist()}


def assert_clean(text: str, secret: set[str]) -> None:
    # Grouped or decimal digits count as well.
    plain = re.sub(r"(?<=\d)[,_' .](?=\d)", "", text)
    assert not {s for s in secret if s in text or s in plain}


def words_of(error: BaseException) -> str:
    chain = "".join(traceback.format_exception(error))
    return f"{error} {error!r} {error.args} {chain}"


METHODS = ("auto", "cuts", "branch", "small", "ilp")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(4, 4), (2, 2, 3)])
def test_a_run_shows_no_suppressed_value(
    method: str, shape: tuple[int, ...], capfd: Any, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    problem = problem_of(shape)
    secret = secrets(problem)
    said: list[str] = []

    def listen(state: Progress) -> None:
        said.append(f"{state} {state!r} {state.phase} {state.suppressed}")

    try:
        found = suppress(problem, method=method, progress=listen)
    except ValueError as error:
        assert method == "small"
        assert len(shape) == 3
        assert_clean(words_of(error), secret)
        return
    assert said or method == "ilp"
    report = audit(problem, found.pattern)
    printed = capfd.readouterr()
    for text in (
        *said, f"{found} {found!r}", str(dict(found.stats)),
        f"{found.method} {found.stopped} {found.gap}",
        f"{problem} {problem!r} {problem.table} {problem.table!r}",
        f"{report} {report!r} {report.violations} {report.certificate!r}",
        str(list(report.certificate)), printed.out, printed.err, caplog.text,
    ):  # fmt: skip
        assert_clean(text, secret)
    assert printed.out == printed.err == ""


def test_the_small_search_shows_no_suppressed_value() -> None:
    problem = problem_of((4, 4))
    search = SmallSearch(problem)
    answers = [search.answer(), solve_small(problem)]
    while not search.step(1):
        answers.append(search.answer())
    assert_clean(f"{search!r} {answers!r} {answers[-1]}", secrets(problem))


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_unprotectable_cells_show_no_suppressed_value(method: str) -> None:
    problem = problem_of((3, 3))
    # Room for half a level only: outsiders know the primary cells too well.
    near = np.where(problem.primary, 70001, 2**40)
    table = problem.table.replace(upper=problem.table.values + near)
    asked = replace(
        problem, table=table, lpl=np.where(problem.primary, 70001, 0),
        upl=np.where(problem.primary, 70001, 0), spl=np.where(problem.primary, 10**7, 0),
        status=np.where(table.margins, "z", problem.status),
    )  # fmt: skip
    with pytest.raises(Unprotectable) as caught:
        suppress(asked, method=method)
    secret = secrets(asked) | {"10000000", "70001", "35000"}
    assert_clean(words_of(caught.value), secret)
    assert_clean(" ".join(caught.value.relations), secret)


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_late_runs_show_no_suppressed_value(method: str, monkeypatch: Any) -> None:
    from csp.solve.small import slices

    monkeypatch.setattr(slices, "SLICE", 1)
    problem = problem_of((4, 4))
    try:
        found = suppress(problem, method=method, time_limit=1e-9)
    except (OutOfTime, SolverError) as error:
        assert_clean(words_of(error), secrets(problem))
    else:
        assert_clean(f"{found} {found!r} {found.stats}", secrets(problem))


def test_refused_problems_show_no_suppressed_value() -> None:
    table = Table.from_array(np.array(PRIMES[:4]).reshape(2, 2))
    secret = {str(v) for v in table.values.tolist()}
    changes: tuple[dict[str, Any], ...] = (
        {"lpl": 2 * table.values}, {"upl": table.values, "publish": table.values == PRIMES[0]},
        {"cost": -table.values}, {"spl": table.values * 2**44}, {"lpl": table.values[:3]},
        {"cost": table.values / 2},
    )  # fmt: skip
    for change in changes:
        with pytest.raises(ValueError, match=r".") as caught:
            Problem.of(table, table.values == PRIMES[0], **change)
        text = f"{caught.value} {caught.value!r} {caught.value.args}"
        assert_clean(text, secret)
    for bad in (
        {"values": table.values + 1}, {"upper": table.values - 1}, {"lower": table.values + 1},
        {"values": table.values + 0.5},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".") as refused:
            table.replace(**bad)
        assert_clean(f"{refused.value} {refused.value!r}", secret)
