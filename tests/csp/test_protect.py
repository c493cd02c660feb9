"""Mechanism, protect and release: what they ask, promise and hide."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
import instances
from csp import (
    Dominance,
    InputError,
    Mechanism,
    MinFrequency,
    PPercent,
    Table,
    Unprotectable,
    protect,
)
from csp.audits.audit import follow, judge
from csp.clock import Clock
from csp.errors import CertificateError
from instances import synthetic
from tests.support import oracles
from tests.support.strategies import frequency_2d, magnitude_tables

# Figure 2 of Minami and Abe (2019).
FIGURE_2 = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])


# ---- the problem a mechanism poses -------------------------------------------------------------


def test_published_margins_are_neither_tested_nor_suppressed() -> None:
    table = Table.from_array([[1, 2], [3, 30]])
    problem = Mechanism(MinFrequency(4), margins="publish").problem(table)
    assert not problem.primary[table.margins].any()
    assert (problem.status[table.margins] == "z").all()
    tested = Mechanism(MinFrequency(4), margins="suppress").problem(table)
    assert tested.primary[2]  # the total of the first row is 3
    assert (tested.status != "z").all()


def test_width_is_a_floor_in_numbers_of_the_measure() -> None:
    table = Table.from_array([[0.25, 8.0], [9.5, 7.75]], decimals=2)
    people = csp.Contributors(
        np.array([1, 9, 10, 9, 9, 18, 10, 18, 28]), table.values.copy(), np.zeros((9, 2), np.int64)
    )
    table = table.replace(contributors=people)
    rule = MinFrequency(3, width="0.1")
    assert Mechanism(rule).problem(table).spl[0] == 10
    assert Mechanism(rule, width=2).problem(table).spl[0] == 200
    assert Mechanism(rule, width=2, strict=True).problem(table).spl[0] == 201
    assert Mechanism(rule, width="0.015").problem(table).spl[0] == 10


def test_strict_is_one_unit_wider() -> None:
    # The interval of Figure 2 is 17 wide: enough for 17, not for wider than 17.
    publish = {"margins": "publish"}
    wide = protect(FIGURE_2, MinFrequency(10), width=17, **publish)
    assert wide.pattern.sum() == 4
    strict = protect(FIGURE_2, MinFrequency(10), width=17, strict=True, **publish)
    assert strict.audit.upper[0] - strict.audit.lower[0] > 17


def test_costs() -> None:
    table = Table.from_array([[0, 8], [9, 7]])
    assert (Mechanism(MinFrequency(3)).problem(table).cost == 1).all()
    value = Mechanism(MinFrequency(3), cost="value").problem(table)
    assert value.cost.tolist() == [1, 8, 8, 9, 7, 16, 9, 15, 24]
    own = Mechanism(MinFrequency(3), cost=lambda t: np.arange(t.n_cells)).problem(table)
    assert own.cost.tolist() == list(range(9))
    with pytest.raises(InputError, match="9 cells need one each"):
        Mechanism(MinFrequency(3), cost=lambda _: [1, 2]).problem(table)


def test_a_sensitive_cell_without_level_is_an_error_that_names_the_ways_out() -> None:
    table = Table.from_array([[5, 8], [9, 7]])
    with pytest.raises(InputError, match=r"d1=1, d2=1.*width=.*margin"):
        Mechanism(lambda t: np.arange(t.n_cells) == 0).problem(table)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"width": -1}, "width"),
        ({"strict": True}, "width"),
        ({"margins": "keep"}, "margins"),
        ({"cost": "euro"}, "cost"),
        ({"defence": object()}, "defence"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        Mechanism(MinFrequency(3), **options)


def test_counts_have_an_integer_attacker_by_default_and_sums_do_not() -> None:
    assert Mechanism(MinFrequency(3)).attacker_is_integer(FIGURE_2)
    demo = instances.load("demo")
    assert isinstance(demo, Table)
    assert not Mechanism(PPercent(10)).attacker_is_integer(demo)
    assert Mechanism(PPercent(10), integer=True).attacker_is_integer(demo)


# ---- what comes out ------------------------------------------------------------------------------


@given(frequency_2d(max_side=4, high=15), st.integers(2, 6), st.integers(1, 9))
def test_protected_counts_keep_every_width(table: Table, n: int, width: int) -> None:
    try:
        found = protect(table, MinFrequency(n, width=width), margins="publish")
    except Unprotectable:
        return
    for p in np.flatnonzero((table.values > 0) & (table.values < n) & ~table.margins).tolist():
        assert found.pattern[p]
        low, high = oracles.integer_interval(table, found.pattern, p)
        assert low is not None
        assert high is not None
        assert high - low >= width
        assert (found.audit.lower[p], found.audit.upper[p]) == (low, high)


@given(magnitude_tables(), st.integers(1, 60))
def test_protected_sums_keep_the_estimate_of_the_largest_apart(table: Table, p: int) -> None:
    try:
        found = protect(table, PPercent(p), cost="value")
    except Unprotectable:
        return
    people = table.contributors
    assert people is not None
    for i in range(table.n_cells):
        first, second = (int(v) for v in people.top[i][:2])
        rest = int(people.total[i]) - first - second
        if Fraction(rest) < Fraction(p, 100) * first:
            assert found.pattern[i]
            _, high = oracles.rational_interval(table, found.pattern, i)
            assert high is None or high - table.values[i] >= Fraction(p, 100) * first - rest


def test_the_relations_of_a_cell_come_first_where_it_cannot_be_protected() -> None:
    table = synthetic.frequency_nd((4, 4, 4), 3)
    cell = int(np.flatnonzero(~table.margins & (table.values > 0))[30])
    own = {table.relation(int(r)) for r in table.relations.tocsc()[:, [cell]].indices}
    primary = np.arange(table.n_cells) == cell
    for seed in (0, 2, 3, 8):
        public = np.random.default_rng(seed).random(table.n_cells) < 0.4
        public[cell] = False
        problem = csp.Problem.of(table, primary, spl=10**6, publish=public)
        with pytest.raises(Unprotectable) as caught:
            csp.suppress(problem)
        named = [relation in own for relation in caught.value.relations]
        assert named[0]
        assert named == sorted(named, reverse=True)
        rest = len(named) - 3
        assert (f" and {rest} more. Let" in str(caught.value)) == (rest > 0)


def test_an_unsafe_pattern_never_leaves(monkeypatch: Any) -> None:
    from dataclasses import replace

    from csp import mechanism as module

    true = module.suppress

    def careless(*args: Any, **options: Any) -> Any:
        found = true(*args, **options)
        return replace(found, pattern=args[0].primary)

    monkeypatch.setattr(module, "suppress", careless)
    with pytest.raises(CertificateError, match="nothing is released"):
        protect(FIGURE_2, MinFrequency(10), width=10)


def test_the_release_holds_no_suppressed_value() -> None:
    release = protect(FIGURE_2, MinFrequency(10), width=10).release
    assert (release.published[release.pattern] == 0).all()
    assert (release.published[~release.pattern] == FIGURE_2.values[~release.pattern]).all()
    assert not hasattr(release, "contributors")
    with pytest.raises(ValueError, match="read-only"):
        release.published[0] = 3


SECRETS = (7654321, 7654329)


def secret_table() -> Table:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = [
        {"a": a, "b": b, "v": int(v)}
        for a in "pqr"
        for b in "xyz"
        for v in rng.integers(10**6, 2 * 10**6, 12)
    ]
    rows = [r for r in rows if (r["a"], r["b"]) != ("p", "x")] + [
        {"a": "p", "b": "x", "v": SECRETS[0]},
        {"a": "p", "b": "x", "v": SECRETS[1] - SECRETS[0]},
    ]
    return Table.from_microdata(pandas.DataFrame(rows), ["a", "b"], "v")


def test_no_suppressed_value_in_any_output(tmp_path: Path) -> None:
    table = secret_table()
    found = protect(table, "P(10,1)|NK(2,90)", cost="value", singletons=True, unions=True)
    assert found.pattern[0]
    hidden = {str(v) for v in table.values[found.pattern].tolist()} | {str(s) for s in SECRETS}
    summary = json.dumps(found.summary())
    texts = [
        repr(found), str(found), repr(found.suppression), repr(found.audit), repr(found.release),
        repr(found.problem), repr(table), repr(table.contributors), repr(found.audit.certificate),
        repr(list(found.audit.certificate)[:3]), repr(found.mechanism), summary,
        *(found.to_frame(lib).__repr__() for lib in ("pandas", "polars")),
        found.to_frame("pandas").to_csv(), str(found.to_frame("pyarrow").to_pydict()),
        repr(csp.audit(found.problem, found.problem.primary).violations),
    ]  # fmt: skip
    for text in texts:
        assert not [v for v in hidden if v in text]
    assert "cost" not in summary
    with pytest.raises(InputError, match="reveal=True"):
        found.to_jj(tmp_path / "t.jj")
    assert not list(tmp_path.iterdir())


def test_revealed_frames_show_values_and_marks() -> None:
    found = protect(secret_table(), "P(10,1)", cost="value")
    closed = found.to_frame()
    assert set(closed["status"]) == {"s", "x"}
    assert closed["value"].isna().sum() == found.pattern.sum()
    opened = found.to_frame(reveal=True, intervals=True)
    assert (opened["status"] == "u").sum() == found.problem.primary.sum()
    assert opened["value"].tolist() == found.table.values.tolist()
    assert (opened["lower"] <= opened["value"]).all()
    assert (opened["upper"] >= opened["value"]).all()
    assert found.summary(reveal=True)["cost"] == found.suppression.cost


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_results_come_back_in_the_callers_frame(library: str) -> None:
    module = pytest.importorskip(library)
    columns = {"a": list("xxyyxy"), "b": list("uvuvuv")}
    data = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    found = protect(Table.from_microdata(data, ["a", "b"]), MinFrequency(2, width=1))
    assert type(found.to_frame()) is type(data)


def test_a_protected_jj_file_reads_back_with_its_pattern(tmp_path: Path) -> None:
    found = protect(FIGURE_2, MinFrequency(10), width=10)
    found.to_jj(tmp_path / "t.jj", reveal=True)
    again = csp.read_jj(tmp_path / "t.jj")
    assert (again.forced == found.pattern).all()
    assert (again.primary == found.problem.primary).all()
    assert csp.audit(again, again.forced).safe


def test_any_combination_of_rules_and_text() -> None:
    demo = instances.load("demo")
    assert isinstance(demo, Table)
    text = protect(demo, "P(10,1)|NK(2,85)", cost="value")
    objects = protect(demo, PPercent(10) | Dominance(2, 85), cost="value")
    assert (text.pattern == objects.pattern).all()


def test_linked_tables_are_protected_as_one() -> None:
    records = synthetic.microdata(
        250, 3, {"region": tuple("ABC"), "size": ("small", "large"), "sector": tuple("XYZ")}
    )
    one = Table.from_microdata(records, ["region", "size"])
    two = Table.from_microdata(records, ["region", "sector"])
    joined = csp.link(one, two)
    found = protect(joined, MinFrequency(12), width=12)
    assert found.audit.safe
    # The totals by region belong to both tables: one cell, one decision.
    assert joined.n_cells == one.n_cells + two.n_cells - 4


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("end", ["interrupt", "time"])
def test_intervals_that_were_cut_short_do_not_mark_sensitive_cells(end: str, *, integer) -> None:
    """The audit follows sensitive cells first; what is published must not show which they are."""
    rng = np.random.default_rng(1)
    mechanism = Mechanism("FREQ(4)", width=4, integer=integer)

    def interrupt(progress: Any) -> None:
        if progress.phase == "audit":
            raise KeyboardInterrupt

    tried = 0
    for _ in range(12):
        table = Table.from_array(rng.integers(1, 30, (5, 3)))
        if end == "interrupt":
            found = mechanism.protect(table, publish="intervals", progress=interrupt)
        else:
            found = mechanism.protect(table)
            late = follow(
                found.problem,
                judge(found.problem, found.pattern, integer=integer),
                clock=Clock.of(1e-9),
            )
            assert late.cut_short == "time"
            found = replace(found, audit=late, ranges=None)
        hidden = found.pattern
        low, high = found.proved_ends
        assert np.isnan(low[hidden]).all()
        assert np.isnan(high[hidden]).all()
        assert (low[~hidden] == table.values[~hidden]).all()
        if found.ranges is not None and not integer:
            assert (found.ranges.lower[hidden] == found.release.lower[hidden]).all()
            assert (found.ranges.upper[hidden] == found.release.upper[hidden]).all()
        tried += bool(hidden.any())
    assert tried > 8
