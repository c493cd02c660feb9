"""Committed instances say what their sources print; generators repeat themselves by seed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import instances
from csp.errors import InputError
from csp.problem.problem import Problem
from csp.rules import Dominance, MinFrequency, PPercent, union_sensitive
from csp.tables.table import Table
from instances import synthetic
from tests.support import oracles

LEAKING = ("linked", "ones", "three_singletons", "zeros_and_ones")
"""Users' cases whose reported pattern is unsafe for the levels alone."""


def problem_of(name: str) -> Problem:
    found = instances.load(name)
    assert isinstance(found, Problem)
    return found


def interval(name: str, *label: str, known: tuple[tuple[str, ...], ...] = ()):
    table = problem_of(name).table
    return oracles.rational_interval(
        table,
        instances.naive_pattern(name),
        table.position(label),
        known=[table.position(other) for other in known],
    )


@pytest.mark.parametrize("name", instances.names())
def test_every_instance_loads_and_names_its_source(name) -> None:
    found = instances.load(name)
    table = found.table if isinstance(found, Problem) else found
    assert isinstance(table, Table)
    assert not np.any(table.relations @ table.values)
    assert len(instances.source(name)) > 20


def test_names_are_documented() -> None:
    assert instances.load.__doc__ is not None
    for name in instances.names():
        assert f'``"{name}"``' in instances.load.__doc__


def test_figure_2_is_as_printed() -> None:
    problem = problem_of("figure2")
    cells = problem.table.values.reshape(4, 4)
    assert cells[:3, 3].tolist() == [78, 81, 132]
    assert cells[3, :3].tolist() == [77, 83, 131]
    printed = {(0, 0): 7, (0, 2): 60, (1, 2): 11, (2, 0): 60, (2, 1): 12, (2, 2): 60}
    assert all(cells[place] == value for place, value in printed.items())
    assert interval("figure2", "M1", "P1") == (0, 17)
    assert oracles.is_safe(problem, instances.naive_pattern("figure2"))
    assert oracles.best_pattern(problem) == tuple(instances.naive_pattern("figure2"))


def test_table_1_is_as_printed() -> None:
    table = instances.load("table1")
    assert isinstance(table, Table)
    cells = table.values.reshape(5, 5)
    assert cells[:, 4].tolist() == [52, 55, 41, 44, 192]
    assert cells[4].tolist() == [51, 46, 62, 33, 192]
    pattern = instances.naive_pattern("table1")
    assert table.values[pattern].tolist() == [14, 9, 9, 0]
    # Example 2: the solutions are (14, 9, 9, 0) + k (1, -1, -1, 1) for k = 0 .. 9
    found = [np.array(t)[pattern] for t in oracles.integer_tables(table, pattern)]
    assert sorted(map(tuple, found)) == [(14 + k, 9 - k, 9 - k, k) for k in range(10)]


@pytest.mark.parametrize("name", LEAKING)
def test_reported_pattern_leaks_and_a_safe_one_exists(name) -> None:
    problem = problem_of(name)
    assert not oracles.is_safe(problem, instances.naive_pattern(name))
    assert oracles.is_safe(problem, problem.forced | problem.free)


def test_zeros_and_ones_are_recoverable() -> None:
    assert interval("zeros_and_ones", "1", "3") == (0, 0)
    assert interval("zeros_and_ones", "2", "3") == (1, 1)
    assert interval("ones", "1", "3") == (1, 1)


def test_a_singleton_knows_another() -> None:
    assert interval("three_singletons", "2", "1") == (0, 2)
    assert interval("three_singletons", "2", "1", known=(("1", "1"),)) == (1, 1)


def test_linked_tables_by_turns_are_safe_apart_and_unsafe_together() -> None:
    problem = problem_of("linked")
    table, pattern = problem.table, instances.naive_pattern("linked")
    primary = int(np.argmax(problem.primary))
    assert oracles.rational_interval(table, pattern, primary) == (1, 4)
    for dimension, width in ((1, 10), (2, 1)):
        kept = [i for i, label in enumerate(table.labels) if label[dimension] == "Total"]
        inside = np.zeros(table.n_cells, dtype=bool)
        inside[kept] = True
        rows = abs(table.relations).sum(axis=1) == abs(table.relations[:, kept]).sum(axis=1)
        alone = table.replace(relations=table.relations[np.flatnonzero(rows)])
        for cell in np.flatnonzero(inside & pattern):
            low, high = oracles.rational_interval(alone, inside & pattern, int(cell))
            assert low is not None
            assert high is not None
            if dimension == 2 or cell == primary:
                assert high - low >= width


def test_union_of_suppressed_cells_is_sensitive() -> None:
    problem = problem_of("union")
    rule = problem.union_rule
    assert rule is not None
    assert union_sensitive(rule, problem.table, [1, 2])
    assert not union_sensitive(rule, problem.table, [0, 1, 2])
    assert interval("union", "B") == (0, 8)


def test_demo_has_sensitive_cells() -> None:
    table = instances.load("demo")
    assert isinstance(table, Table)
    assert 60 <= table.n_cells <= 120
    for rule in (PPercent(10), Dominance(2, 85), MinFrequency(3, margin=10)):
        sensitive = rule(table).primary
        assert 2 <= (sensitive & ~table.margins).sum() <= 20
        assert not sensitive[-1]
    assert table.structural is not None
    assert table.structural.any()


def test_real_tables_have_the_totals_that_are_known() -> None:
    """Totals as the sources print them, not from the cells."""
    for name, label, value in (
        ("berkeley", ("Total", "men", "Total"), 2691),
        ("berkeley", ("Total", "men", "admitted"), 1198),
        ("berkeley", ("Total", "women", "Total"), 1835),
        ("berkeley", ("Total", "women", "admitted"), 557),
        ("hair_and_eyes", ("Total", "Total"), 592), ("hair_and_eyes", ("blond", "Total"), 127),
        ("occupations", ("Total", "Total"), 3498), ("smokers", ("men", "Total", "Total"), 1298),
        ("smokers", ("Total", "lung cancer", "Total"), 709),
        # By cigarettes a day: Table V, as it is Smoking_DollHill1950 in the R package HSAUR3.
        ("smokers", ("men", "lung cancer", "smokers"), 33 + 250 + 196 + 136 + 32),
        ("smokers", ("men", "lung cancer", "non-smokers"), 2),
        ("smokers", ("men", "other", "non-smokers"), 27),
        ("titanic", ("Total", "Total", "Total"), 2201),
        ("titanic", ("Total", "Total", "saved"), 711),
        ("titanic", ("crew", "Total", "Total"), 885), ("titanic", ("Total", "woman", "Total"), 425),
    ):  # fmt: skip
        table = instances.load(name)
        assert isinstance(table, Table)
        assert table.values[table.position(label)] == value


def test_smokers_are_those_of_another_transcription() -> None:
    """As doll_hill_1950 of the R package contingencytables: smoking by illness, for each sex."""
    table = instances.load("smokers")
    assert isinstance(table, Table)
    for sex, cells in (("men", [[647, 622], [2, 27]]), ("women", [[41, 28], [19, 32]])):
        for smoking, row in zip(("smokers", "non-smokers"), cells, strict=True):
            for patients, count in zip(("lung cancer", "other"), row, strict=True):
                assert table.values[table.position((sex, patients, smoking))] == count


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="figure2"):
        instances.load("figure3")
    with pytest.raises(InputError, match="figure2"):
        instances.source("../pyproject")
    with pytest.raises(InputError, match="without a pattern"):
        instances.naive_pattern("demo")
    with pytest.raises(InputError, match=r"demo\.csv"):
        instances.path("nothing.csv")


def test_data_files_are_plain_json() -> None:
    for name in instances.names():
        if name != "demo":
            assert json.loads(instances.path(f"{name}.json").read_text(encoding="utf-8"))["source"]


# ---- generators ------------------------------------------------------------------------------

GENERATORS = {
    "frequency_2d": lambda seed: synthetic.frequency_2d(4, 5, seed),
    "frequency_nd": lambda seed: synthetic.frequency_nd((3, 2, 4), seed),
    "hierarchical": lambda seed: synthetic.hierarchical(seed),
    "linked": lambda seed: synthetic.linked(seed),
    "magnitude": lambda seed: synthetic.magnitude((3, 4), seed),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_repeat_by_seed(name) -> None:
    make = GENERATORS[name]
    first, again, other = make(1), make(1), make(2)
    assert np.array_equal(first.values, again.values)
    assert first.labels == again.labels
    assert not np.array_equal(first.values, other.values)
    assert not np.any(first.relations @ first.values)


def test_shapes() -> None:
    assert synthetic.frequency_2d(4, 5, 1).n_cells == 30
    assert synthetic.frequency_nd((3, 2, 4), 1).n_cells == 60
    # (3 * 3 + 3 + 1) codes by (2 * 4 + 2 + 1)
    assert synthetic.hierarchical(1).n_cells == 13 * 11
    # 5 regions with total, each by 3 sizes, by 3 sectors, and in all
    assert synthetic.linked(1).n_cells == 5 * 7


def test_frequencies_have_the_mean_asked_for() -> None:
    inner = synthetic.frequency_2d(60, 60, 3).values.reshape(61, 61)[:-1, :-1]
    assert inner.min() >= 0
    assert 14.5 < inner.mean() < 16.5  # |N(15, 10)| has mean 15.6


def test_magnitudes_carry_their_contributors() -> None:
    table = synthetic.magnitude((3, 4), 5)
    assert table.contributors is not None
    assert PPercent(10)(table).primary.any()
    assert np.array_equal(table.contributors.total, table.values)


def test_microdata_columns() -> None:
    data = synthetic.microdata(50, 1, {"a": ["x", "y"]})
    assert list(data) == ["a", "contributor", "value"]
    assert {len(column) for column in data.values()} == {50}
    assert data["value"].min() >= 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: synthetic.frequency_2d(0, 3, 1),
        lambda: synthetic.frequency_nd((), 1),
        lambda: synthetic.magnitude((), 1),
        lambda: synthetic.tree(()),
        lambda: synthetic.tree((2, 0)),
        lambda: synthetic.microdata(0, 1, {"a": ["x"]}),
        lambda: synthetic.microdata(5, 1, {"a": []}),
    ],
)
def test_generators_refuse_nothing(make) -> None:
    with pytest.raises(InputError, match="at least one"):
        make()
