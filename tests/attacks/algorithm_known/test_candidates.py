"""Candidates of the matching attack: all come from the integer kernel, and none is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import ZZ, Matrix
from sympy.matrices.normalforms import smith_normal_form

from attacks import matching
from attacks.algorithm_known import match_tests
from attacks.algorithm_known.match_tests import SolverTest
from csp import Manual, Mechanism, MinFrequency, Table
from csp.release.release import Release
from tests.support import oracles

# Minami and Abe 2019, Example 2
EXAMPLE_2 = [[15, 15, 12, 10], [19, 14, 13, 9], [8, 8, 11, 14], [9, 9, 26, 0]]
RNG = np.random.default_rng(4)


def released(values: Any, mechanism: Mechanism) -> tuple[Table, Release]:
    table = Table.from_array(values)
    return table, mechanism.protect(table).release


def is_whole_kernel(release: Release, cells: np.ndarray, kernel: np.ndarray) -> bool:
    """By normal forms of sympy: right dimension, in the kernel, and of index 1."""
    relations = release.relations.toarray()[:, cells]
    rank = Matrix(relations.tolist()).rank()
    form = smith_normal_form(Matrix(kernel.tolist()), domain=ZZ)
    return bool(
        not (relations @ kernel).any()
        and kernel.shape[1] == len(cells) - rank
        and all(abs(form[i, i]) == 1 for i in range(kernel.shape[1]))
    )


def coefficients(found: Any, tables: np.ndarray) -> np.ndarray:
    """Of each table over the kernel; raises unless they are whole."""
    steps = (tables - found.origin).T.astype(float)
    solution = np.linalg.lstsq(found.kernel.astype(float), steps, rcond=None)[0]
    whole = np.round(solution).astype(np.int64)
    assert (found.kernel @ whole == steps).all()
    return whole


@pytest.mark.parametrize(
    ("values", "mechanism", "method"),
    [
        (EXAMPLE_2, Mechanism(MinFrequency(9), width=9, margins="publish"), "reference"),
        (
            np.abs(np.rint(RNG.normal(6, 4, (3, 3, 3)))).astype(int),
            Mechanism(MinFrequency(3), width=3, margins="publish"),
            "all",
        ),
    ],
)
def test_every_candidate_is_a_step_along_the_kernel(
    values: Any, mechanism: Mechanism, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, release = released(values, mechanism)
    tested: list[tuple[int, ...]] = []

    def noted(inner: Any) -> Any:
        def test(first: Any, x: np.ndarray, *rest: Any, **options: Any) -> bool:
            tested.append(tuple(x.tolist()))
            return bool(inner(first, x, *rest, **options))

        return test

    monkeypatch.setattr(match_tests, "published_as", noted(match_tests.published_as))
    monkeypatch.setattr(SolverTest, "matches", noted(SolverTest.matches))
    found = matching(release, mechanism, method=method)
    assert found.complete
    assert is_whole_kernel(release, found.cells, found.kernel)
    assert len(set(tested)) == len(tested) == found.tested
    steps = coefficients(found, np.array(tested))
    assert np.unique(steps, axis=1).shape[1] == len(tested)
    truth = {
        tuple(np.array(t)[release.pattern].tolist())
        for t in oracles.integer_tables(table, release.pattern)
    }
    assert set(tested) == truth
    assert tuple(table.values[found.cells].tolist()) in truth


def test_a_network_attack_shows_the_same_kernel() -> None:
    mechanism = Mechanism(MinFrequency(9), width=9, margins="publish")
    _, release = released(EXAMPLE_2, mechanism)
    found = matching(release, mechanism)
    assert is_whole_kernel(release, found.cells, found.kernel)
    assert found.kernel.shape == (len(found.cells), found.fibre.dimension)


def dearer_by_label(table: Table) -> np.ndarray:
    """Cells of the third column cost 30 more than their value."""
    return table.values + 30 * np.array([label[1] == "3" for label in table.labels])


dearer_by_label.cellwise = True  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("rules", "cost"),
    [
        (Manual([("1", "2")], width=4), "value"),
        (Manual([False] * 5 + [True] + [False] * 10, margin=60), "value"),
        (Manual([("2", "3")], width=4) | MinFrequency(3), "unit"),
        (MinFrequency(5), dearer_by_label),
    ],
)
def test_rules_and_costs_that_look_at_labels_are_asked_about_the_cells_themselves(
    rules: Any, cost: Any
) -> None:
    mechanism = Mechanism(rules, cost=cost)
    _, release = released([[5, 3, 7], [6, 4, 2], [8, 9, 6]], mechanism)
    ways = [matching(release, mechanism, method=m) for m in ("auto", "reference")]
    for found in ways:
        assert found.complete
    one, other = ways
    assert one.lower.tolist() == other.lower.tolist()
    assert one.upper.tolist() == other.upper.tolist()
    assert one.verdict.tolist() == other.verdict.tolist()
