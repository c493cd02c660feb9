"""Kernel form: classes are the cells that determine one another, judged by ranks of sympy."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from sympy import ZZ
from sympy.polys.matrices import DomainMatrix

from csp import Problem, Table
from csp.solve.cuts import needy
from csp.solve.kernel import KernelForm
from tests.support.shared import examples
from tests.support.strategies import problems


def rank(matrix: np.ndarray) -> int:
    if not matrix.size:
        return 0
    return int(DomainMatrix(matrix.tolist(), matrix.shape, ZZ).to_field().rank())


def moving_cells(problem: Problem) -> list[int]:
    table = problem.table
    able = (table.upper > table.values) | (table.lower < table.values)
    return np.flatnonzero((problem.status != "z") & able).tolist()


def determines(problem: Problem, known: list[int], cell: int) -> bool:
    """Whether known cells and the relations leave a cell no way to move, bounds apart."""
    hidden = [i for i in moving_cells(problem) if i not in known]
    if cell not in hidden:
        return True
    columns = problem.table.relations.toarray()[:, hidden]
    unit = np.array([[int(i == cell) for i in hidden]])
    return rank(np.vstack([columns, unit])) == rank(columns)


@examples(60)
@given(problems(max_free=9, max_primary=4))
def test_classes_are_the_cells_that_determine_one_another(problem: Problem) -> None:
    form = KernelForm.of(problem)
    assert form is not None
    cells = moving_cells(problem)
    for i in range(problem.table.n_cells):
        # Class -1: published cells alone leave it no way to move.
        assert (form.member[i] >= 0) == (not determines(problem, [], i))
        assert (form.factor[i] != 0) == (form.member[i] >= 0)
    moving = [i for i in cells if form.member[i] >= 0]
    for i, j in itertools.combinations(moving, 2):
        same = form.member[i] == form.member[j]
        assert determines(problem, [i], j) == determines(problem, [j], i) == same


@examples(40)
@given(problems(max_free=9, max_primary=4))
def test_every_deviation_is_one_of_the_form_and_conversely(problem: Problem) -> None:
    form = KernelForm.of(problem)
    assert form is not None
    whole = np.vstack([form.rows.toarray(), np.zeros((1, form.rows.shape[1]), np.int64)])
    basis = whole[form.member] * form.factor[:, None]
    relations = problem.table.relations.toarray()
    assert not (relations.astype(object) @ basis.astype(object)).any()
    cells = moving_cells(problem)
    assert not np.delete(basis, cells, axis=0).any()
    d = basis.shape[1]
    assert rank(basis) == d == len(cells) - rank(relations[:, cells])
    if d:
        axes = form.rows.toarray()[form.axes]
        assert (axes == np.eye(d)).all()


@examples(40)
@given(problems(max_free=9, max_primary=4))
def test_what_is_said_of_classes(problem: Problem) -> None:
    form = KernelForm.of(problem)
    assert form is not None
    x = np.linspace(0, 1, problem.table.n_cells)
    least, largest = form.least(x), form.largest(x)
    for c in range(form.n_classes):
        cells = np.flatnonzero(form.member == c)
        free = cells[problem.free[cells]]
        assert form.cost[c] == problem.cost[free].sum()
        assert form.needy[c] == needy(problem)[cells].any()
        assert form.choosable[c] == (len(free) > 0 and not form.needy[c])
        assert least[c] == (free[0] if len(free) else -1)
        assert largest[c] == (free[-1] if len(free) else -1)


def test_published_cells_leave_the_form() -> None:
    table = Table.from_array([[5, 7], [9, 11]])
    primary = table.values == 5
    form = KernelForm.of(Problem.of(table, primary, upl=1, publish=table.margins))
    assert form is not None
    assert form.rows.shape == (1, 1)
    assert sorted(form.factor[form.member == 0].tolist()) == [-1, -1, 1, 1]
    alive = ~table.margins
    alive[np.argmax(table.values == 11)] = False
    problem = Problem.of(table, primary, upl=1)
    assert KernelForm.of(problem, alive).rows.shape == (0, 0)  # type: ignore[union-attr]
    assert KernelForm.of(problem).rows.shape[1] == 4  # type: ignore[union-attr]
