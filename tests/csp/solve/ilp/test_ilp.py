"""Integer programs in PuLP: intervals and patterns against brute force, and other solvers."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
from csp import InputError, Problem, Table, ilp, suppress
from csp.errors import SolverError
from csp.solve.ilp.inequalities import Price, inequality
from csp.solve.ilp.solvers import solver_named
from instances import synthetic
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import problems, small_tables

FIGURE_2 = [[7, 11, 60], [10, 60, 11], [60, 12, 60]]  # Minami and Abe 2019, Figure 2

INSTALLED = ilp.solvers()
CBC = pytest.mark.skipif(
    not {"PULP_CBC_CMD", "COIN_CMD"} & set(INSTALLED), reason="PuLP finds no CBC here"
)


def figure_2() -> Problem:
    table = Table.from_array(FIGURE_2)
    return Problem.of(table, table.values < 10, spl=10, publish=table.margins)


def counts(side: int) -> Problem:
    table = synthetic.frequency_2d(side, side, 1)
    small = (table.values < 5) & ~table.margins
    return Problem.of(table, small, spl=8, publish=table.margins)


@examples(40)
@given(st.data())
def test_intervals_equal_the_exact_oracles(data: st.DataObject) -> None:
    table = data.draw(small_tables())
    flags = st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)
    pattern = np.array(data.draw(flags))
    lower, upper = ilp.intervals(table, pattern, integer=False)
    assert (lower[~pattern] == table.values[~pattern]).all()
    for i in np.flatnonzero(pattern).tolist():
        low, high = oracles.rational_interval(table, pattern, i)
        assert lower[i] == (-np.inf if low is None else pytest.approx(float(low)))
        assert upper[i] == (np.inf if high is None else pytest.approx(float(high)))


@examples(60)
@given(st.data())
def test_every_safe_pattern_keeps_an_inequality_from_any_prices(data: st.DataObject) -> None:
    problem = data.draw(problems(max_free=6))
    rows = problem.table.relations.shape[0]
    numbers = st.lists(st.integers(-3, 3), min_size=rows, max_size=rows)
    prices = [
        Price(0.0, sign, np.array(data.draw(numbers)), data.draw(st.integers(1, 3)))
        for sign in (1, -1)
    ]
    p = int(np.flatnonzero(problem.primary)[0])
    free = np.flatnonzero(problem.free)
    for need, used in (
        (problem.upl[p], prices[:1]), (problem.lpl[p], prices[1:]), (problem.spl[p], prices),
    ):  # fmt: skip
        cut = inequality(problem, p, int(need), used, ())
        if cut is None:
            continue
        for code in range(2 ** len(free)):
            pattern = problem.forced.copy()
            pattern[free] = [code >> k & 1 for k in range(len(free))]
            if cut.slack(pattern.astype(float)) < -1e-9:
                assert not oracles.is_safe(problem, pattern)


@pytest.mark.parametrize("solver", [None, "HiGHS", pytest.param("CBC", marks=CBC)])
def test_solvers_find_the_same_canonical_pattern(solver: str | None) -> None:
    problem = counts(6)
    known, found = suppress(problem), ilp.suppress(problem, solver=solver)
    assert found.proven
    assert found.canonical
    assert (found.pattern == known.pattern).all()
    assert found.cost == known.cost


@CBC
def test_a_solver_object_keeps_its_own_options() -> None:
    import pulp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        solver = pulp.getSolver(solver_named("CBC"), msg=False, threads=1)
    assert ilp.suppress(figure_2(), solver=solver).cost == 3
    lower, upper = ilp.intervals(figure_2().table, figure_2().primary, solver=solver)
    assert (lower[0], upper[0]) == (7, 7)


@CBC
def test_another_solver_says_that_an_interval_has_no_end() -> None:
    table = figure_2().table
    everything = np.ones(table.n_cells, dtype=bool)
    for solver in (None, "CBC"):
        lower, upper = ilp.intervals(table, everything, cells=[0], solver=solver)
        assert (lower[0], upper[0]) == (0, np.inf)


@pytest.mark.parametrize(
    ("said", "found", "name"),
    [
        ("cbc", ["PULP_CBC_CMD", "HiGHS"], "PULP_CBC_CMD"),
        ("CBC", ["COIN_CMD", "HiGHS"], "COIN_CMD"),
        ("Gurobi", ["GUROBI_CMD", "GUROBI"], "GUROBI"),
        ("gurobi", ["GUROBI_CMD"], "GUROBI_CMD"),
        ("CPLEX", ["CPLEX_CMD", "CPLEX_PY"], "CPLEX_PY"),
        ("scip", ["SCIP_CMD", "SCIP_PY", "FSCIP_CMD"], "SCIP_PY"),
        ("highs", ["HiGHS", "HiGHS_CMD"], "HiGHS"),
        ("HiGHS_CMD", ["HiGHS", "HiGHS_CMD"], "HiGHS_CMD"),
    ],
)
def test_solvers_are_found_by_the_name_people_use(
    said: str, found: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csp.solve.ilp.solvers.solvers", lambda: found)
    assert solver_named(said) == name


@pytest.mark.parametrize("cells", [[16], [-1], [True] * 16])
def test_cells_are_positions(cells: Any) -> None:
    problem = figure_2()
    for intervals in (ilp.intervals, csp.intervals):
        with pytest.raises(InputError, match="positions"):
            intervals(problem.table, problem.primary, cells=cells)


@pytest.mark.parametrize("name", ["", "CMD_", "no such", "C"])
def test_an_unknown_solver_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(InputError, match=r"it finds .*HiGHS"):
        ilp.suppress(figure_2(), solver=name)
    with pytest.raises(InputError, match=r"it finds .*HiGHS|is not one of"):
        suppress(figure_2(), method=f"ilp:{name}")


@pytest.mark.parametrize("method", ["cuts:CBC", "auto:", "compact", 3])
def test_only_integer_programs_take_a_solver(method: Any) -> None:
    with pytest.raises(InputError, match="is not one of"):
        suppress(figure_2(), method=method)


def test_a_second_opinion_agrees() -> None:
    for problem in (figure_2(), counts(5)):
        found = suppress(problem, check="ilp")
        assert found.proven
        assert not found.notes


@pytest.mark.parametrize("lie", [{"cost": 4}, {"bound": 99, "cost": 99}, {"pattern": 15}])
def test_a_second_opinion_finds_a_wrong_answer(
    lie: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    true = csp.solve._solve

    def wrong(problem: Problem, *, method: str, **options: Any) -> Any:
        found = true(problem, method=method, **options)
        if method == "ilp":
            return found
        if "pattern" in lie:
            other = found.pattern.copy()
            other[lie["pattern"]] = not other[lie["pattern"]]
            return replace(found, pattern=other)
        told = {"bound": found.cost + 1, **lie}
        return replace(found, **told)

    monkeypatch.setattr(csp.solve, "_solve", wrong)
    with pytest.raises(SolverError, match="contradict each other"):
        suppress(figure_2(), check="ilp")


def test_a_second_opinion_is_for_small_tables_and_by_integer_programs() -> None:
    with pytest.raises(InputError, match="up to 1000 cells; this one has 1089"):
        suppress(counts(32), check="ilp")
    with pytest.raises(InputError, match="is not 'ilp'"):
        suppress(figure_2(), check="cuts")


def test_no_time_for_a_second_opinion_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    true = csp.solve._solve

    def slow(problem: Problem, *, method: str, **options: Any) -> Any:
        found = true(problem, method=method, **options)
        return replace(found, stopped="time") if method == "ilp" else found

    monkeypatch.setattr(csp.solve, "_solve", slow)
    assert "no time to compare" in suppress(figure_2(), check="ilp").notes[-1]


def test_a_solver_that_fails_in_the_proof_leaves_the_safe_pattern(monkeypatch: Any) -> None:
    def failing(_: Any) -> None:
        msg = "the solver gave up"
        raise SolverError(msg)

    monkeypatch.setattr("csp.solve.ilp.suppression._Search.prove", failing)
    found = suppress(figure_2(), method="ilp")
    assert csp.audit(figure_2(), found.pattern).safe
    assert found.stopped == "precision"
    assert "the solver gave up" in found.notes
