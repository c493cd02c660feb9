"""All methods and brute force over patterns agree, whatever the structure of the table.

``pytest --hypothesis-profile=thousands tests/csp/solve/test_agree.py`` runs a hundred times as many
problems.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from csp import UNBOUNDED, InputError, Problem, Table, Unprotectable
from csp.solve import suppress
from csp.solve.small.one import SmallSearch
from tests.csp.solve.test_suppress import integer_safe
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import (
    coefficient_tables,
    frequency_2d,
    frequency_3d,
    hierarchical_tables,
    linked_tables,
    magnitude_tables,
    negative_tables,
    problems,
    relation_tables,
    sparse_tables,
)

STRUCTURES = {
    "counts": frequency_2d(),
    "sparse": sparse_tables(),
    "negative": negative_tables(),
    "contributors": magnitude_tables(),
    "hierarchy": hierarchical_tables(),
    "three-way": frequency_3d(),
    "linked": linked_tables(),
    "coefficients": coefficient_tables(),
    "relations": relation_tables(),
}


def fits_search(problem: Problem) -> bool:
    """Whether method "small" takes the problem."""
    try:
        SmallSearch(problem)
    except InputError:
        return False
    return True


def check(
    problem: Problem, best: tuple[bool, ...] | None, methods: list[str], *, integer: bool = False
) -> None:
    """Every method finds the cheapest pattern, or none where there is none."""
    for method in methods:
        if best is None:
            with pytest.raises(Unprotectable):
                suppress(problem, method=method, integer=integer)
            continue
        found = suppress(problem, method=method, integer=integer)
        assert found.cost == found.bound == oracles.pattern_cost(problem, best), method
        assert found.proven, method
        assert found.canonical, method
        assert found.stopped == "done", method
        assert found.pattern.tolist() == list(best), method


@pytest.mark.parametrize("structure", STRUCTURES)
def test_methods_equal_brute_force(structure: str) -> None:
    @examples(8)
    @given(problems(STRUCTURES[structure], max_free=8, max_primary=4))
    def agree(problem: Problem) -> None:
        methods = ["auto", "cuts", "branch", "ilp"]
        if fits_search(problem):
            methods.append("small")
        check(problem, oracles.best_pattern(problem), methods)

    agree()


@pytest.mark.parametrize("structure", ["three-way", "linked", "relations"])
def test_methods_equal_brute_force_where_insiders_know_cells(structure: str) -> None:
    @examples(5)
    @given(problems(STRUCTURES[structure], max_free=7, singletons=True))
    def agree(problem: Problem) -> None:
        check(problem, oracles.best_pattern(problem), ["cuts", "branch", "ilp"])

    agree()


@pytest.mark.parametrize("structure", ["three-way", "linked", "coefficients"])
def test_methods_equal_brute_force_on_whole_numbers(structure: str) -> None:
    table = frequency_3d(high=4) if structure == "three-way" else STRUCTURES[structure]

    @examples(5)
    @given(problems(table, max_free=6, margins=False, extras=False))
    def agree(problem: Problem) -> None:
        best = oracles.best_pattern(problem, also=integer_safe(problem))
        check(problem, best, ["auto", "branch", "ilp"], integer=True)

    agree()


def test_linear_programs_that_the_primal_simplex_gives_up_are_solved_in_another_way() -> None:
    relations = csr_array(np.array([[2, 3, -1, 0, 0], [0, 1, 0, 1, -2]]))
    values, far = np.array([0, 0, 0, 6, 3]), np.full(5, UNBOUNDED)
    table = Table(values, relations, np.zeros(5), far, tuple((c,) for c in "abcde"))
    primary = np.array([False, False, True, False, True])
    problem = Problem.of(table, primary, lpl=[0, 0, 0, 1, 1], upl=1)
    check(problem, oracles.best_pattern(problem), ["auto", "cuts", "branch", "ilp"])
