"""Methods of one's own and patterns to begin with: audited as they stand, and never made worse."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from csp import (
    Decoys,
    InputError,
    Key,
    Mechanism,
    Problem,
    Table,
    audit,
    protect,
    protect_many,
)
from csp.errors import CertificateError
from csp.solve import suppress
from instances import synthetic
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import problems, small_tables

METHODS = ("auto", "cuts", "branch", "small", "large", "ilp")


def small_problem() -> Problem:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    return Problem.of(table, table.values < 10, spl=10, publish=table.margins)


def all_but_public(problem: Problem) -> NDArray[np.bool_]:
    return np.asarray(problem.status != "z")


# ---- start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_start_is_never_made_worse_and_the_optimum_stays_the_optimum(method: str) -> None:
    @examples(12)
    @given(problems(small_tables(), max_free=8, max_primary=4), st.data())
    def check(problem: Problem, data: st.DataObject) -> None:
        n = problem.table.n_cells
        given = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
        given &= problem.status != "z"
        start: NDArray[np.bool_] = given | problem.forced
        try:
            found = suppress(problem, method=method, start=given)
        except InputError as error:
            if "start is not safe" in str(error):
                assert not oracles.is_safe(problem, start.tolist())
            else:
                assert method in ("small", "large")
            return
        assert oracles.is_safe(problem, start.tolist())
        best = oracles.best_pattern(problem)
        assert best is not None
        optimum = oracles.pattern_cost(problem, best)
        assert oracles.is_safe(problem, found.pattern.tolist())
        assert found.cost == oracles.pattern_cost(problem, found.pattern.tolist())
        assert found.bound <= optimum <= found.cost <= oracles.pattern_cost(problem, start.tolist())
        if found.proven:
            assert found.cost == optimum
        if method != "large":
            assert found.proven
            assert found.pattern.tolist() == list(best)

    check()


@pytest.mark.parametrize("method", ["auto", "branch", "small", "ilp"])
def test_without_time_the_start_comes_back(method: str) -> None:
    problem = small_problem()
    start = all_but_public(problem)
    start[10] = False  # safe without (3,3)
    cost = oracles.pattern_cost(problem, start.tolist())

    def end(_: Any) -> None:
        raise KeyboardInterrupt

    found = suppress(problem, method=method, start=start, progress=end)
    assert found.cost <= cost
    assert oracles.is_safe(problem, found.pattern.tolist())
    assert found.stopped in ("interrupt", "done")


@pytest.mark.parametrize("shape", [(12, 12), (5, 5, 5), (11, 11, 11)])
def test_a_start_that_is_the_best_known_is_kept_at_a_time_limit(shape: tuple[int, ...]) -> None:
    table = synthetic.frequency_nd(shape, 3)
    primary = (table.values < 3) & (table.values > 0) & ~table.margins
    problem = Problem.of(table, primary, spl=3, publish=table.margins)
    first = suppress(problem, time_limit=4)
    again = suppress(problem, start=first.pattern, time_limit=0.6)
    assert again.cost <= first.cost
    assert audit(problem, again.pattern, only_primary=True).safe


def test_the_large_engine_begins_with_the_start() -> None:
    table = synthetic.frequency_nd((5, 5, 5), 5)
    primary = (table.values < 3) & (table.values > 0) & ~table.margins
    problem = Problem.of(table, primary, spl=3)
    best = suppress(problem, method="large")
    for pattern in (best.pattern, all_but_public(problem)):
        found = suppress(problem, method="large", start=pattern)
        assert found.cost <= oracles.pattern_cost(problem, pattern.tolist())
        assert audit(problem, found.pattern, only_primary=True).safe


def test_a_start_is_completed_and_its_labels_count() -> None:
    problem = small_problem()
    best = suppress(problem)
    only_secondary = best.pattern & ~problem.primary
    index = pd.MultiIndex.from_tuples(problem.table.labels)
    labelled = pd.Series(only_secondary, index=index).iloc[::-1]
    assert suppress(problem, start=labelled).pattern.tolist() == best.pattern.tolist()


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (np.zeros(4, bool), r"start: the pattern has shape \(4,\); 16 cells"),
        (np.ones(16, bool), r"start suppresses cell .*Total.* \(and 6 more\).*published"),
        (
            np.zeros(16, bool),
            r"start is not safe: cell \(d1=1, d2=1\).*problem.keeping",
        ),
        (np.zeros(16, int), "start: .*holds a number"),
    ],
)
def test_a_start_that_will_not_do_is_refused(start: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        suppress(small_problem(), start=start)


def test_what_the_refusal_advises_repairs_the_start() -> None:
    problem = small_problem()
    start = np.zeros(16, bool)
    start[0] = start[1] = True
    with pytest.raises(InputError, match="not safe"):
        suppress(problem, start=start)
    found = suppress(problem.keeping(start))
    assert oracles.is_safe(problem, found.pattern.tolist())
    assert found.pattern[start].all()


# ---- methods -------------------------------------------------------------------------------------


@examples(60)
@given(problems(small_tables(), max_free=8, max_primary=4), st.data())
def test_a_function_is_judged_like_by_brute_force(problem: Problem, data: st.DataObject) -> None:
    n = problem.table.n_cells
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    free = np.array(data.draw(flags), bool) & (problem.status != "z")
    pattern: NDArray[np.bool_] = free | problem.forced

    def mine(_: Problem) -> NDArray[np.bool_]:
        return pattern

    if not oracles.is_safe(problem, pattern.tolist()):
        with pytest.raises(CertificateError, match=r"method 'mine' fails its audit.*cell"):
            suppress(problem, method=mine)
        return
    found = suppress(problem, method=mine)
    assert found.method == "mine"
    assert found.pattern.tolist() == pattern.tolist()
    assert found.cost == oracles.pattern_cost(problem, pattern.tolist())
    # Nothing is known but what every pattern costs.
    assert found.bound == oracles.pattern_cost(problem, problem.forced.tolist())
    assert found.quality == "optimality not stated"
    assert not found.canonical


def test_a_function_protects_a_table_and_its_name_is_shown() -> None:
    mechanism = Mechanism("FREQ(10)", width=10, margins="publish")
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    ours = mechanism.protect(table)
    theirs = mechanism.protect(table, method=all_but_public)
    assert theirs.suppression.method == theirs.summary()["method"] == "all_but_public"
    assert theirs.summary()["proven"] is None
    assert theirs.pattern.sum() == 9 > ours.pattern.sum()
    assert theirs.audit.safe
    one = protect(table, "FREQ(10)", width=10, margins="publish", method=partial(all_but_public))
    assert one.suppression.method == "all_but_public"
    many = protect_many([table, table], mechanism, method=all_but_public)
    assert [out.pattern.sum() for out in many] == [9, 9]  # type: ignore[union-attr]


def test_with_decoys_every_cell_of_a_function_is_wide() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    decoys = Decoys("0.2", Key(bytes(range(40))))
    mechanism = Mechanism("FREQ(10)", width=10, defence=decoys)
    found = mechanism.protect(table, method=all_but_public)
    for cell in np.flatnonzero(found.pattern).tolist():
        low, high = oracles.rational_interval(table, found.pattern.tolist(), cell)
        assert high is None or (low is not None and high - low >= 10)
    with pytest.raises(CertificateError, match="'primary_only' fails its audit"):
        mechanism.protect(table, method=primary_only)


def test_a_heuristic_and_then_our_search() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    mechanism = Mechanism("FREQ(10)", width=10, margins="publish")

    def polished(problem: Problem) -> NDArray[np.bool_]:
        return suppress(problem, start=all_but_public(problem)).pattern

    found = mechanism.protect(table, method=polished)
    assert found.pattern.tolist() == mechanism.protect(table).pattern.tolist()


def test_a_labelled_answer_is_put_in_order() -> None:
    problem = small_problem()
    best = suppress(problem).pattern
    index = pd.MultiIndex.from_tuples(problem.table.labels)

    def mine(_: Problem) -> pd.Series:
        return pd.Series(best, index=index).iloc[::-1]

    assert suppress(problem, method=mine).pattern.tolist() == best.tolist()


def primary_only(problem: Problem) -> NDArray[np.bool_]:
    return problem.primary


def test_an_unsafe_function_is_refused_with_its_violations() -> None:
    with pytest.raises(CertificateError, match=r"'primary_only'.*cell \(d1=1, d2=1\) keeps"):
        suppress(small_problem(), method=primary_only)
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    with pytest.raises(CertificateError, match=r"'primary_only'.*cell \(d1=1, d2=1\)"):
        protect(table, "FREQ(10)", width=10, method=primary_only)


def test_cells_published_or_hidden_against_the_problem_are_named() -> None:
    problem = small_problem()
    with pytest.raises(CertificateError, match=r"cell \(d1=1, d2=1\) must be suppressed"):
        suppress(problem, method=lambda p: ~p.primary & (p.status != "z"))
    with pytest.raises(CertificateError, match=r"must be published .* and 4 more"):
        suppress(problem, method=lambda p: np.ones(p.table.n_cells, bool))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "'<lambda>' returned None; it has to return the pattern"),
        (
            np.zeros((4, 4), bool),
            r"what method '<lambda>' returned: .* shape \(4, 4\)",
        ),
        (pd.DataFrame({"a": [True]}), "returned: the pattern is a frame"),
    ],
)
def test_what_is_not_a_pattern_is_refused(answer: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        suppress(small_problem(), method=lambda _: answer)


def test_an_exception_of_the_function_is_its_own() -> None:
    def broken(_: Problem) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        suppress(small_problem(), method=broken)


@pytest.mark.parametrize("options", [{"gap": 0.1}, {"seed": 3}, {"start": np.ones(16, bool)}])
def test_a_function_has_no_use_for_options_of_searches(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"a function \('all_but_public'\) has no use for "):
        suppress(small_problem(), method=all_but_public, **options)


def test_a_second_opinion_on_a_function() -> None:
    assert suppress(small_problem(), method=all_but_public, check="ilp").cost == 8


@pytest.mark.parametrize("method", ["mine", 3, None])
def test_what_is_neither_a_word_nor_a_function_is_refused(method: Any) -> None:
    with pytest.raises(InputError, match="or a function of a problem that returns its pattern"):
        suppress(small_problem(), method=method)
