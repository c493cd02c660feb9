"""Witnesses in whole numbers along vectors of subspaces, against fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Problem, Table
from csp.clock import UNLIMITED, Clock, now
from csp.exact import UNBOUNDED
from csp.solve.general import whole_vectors
from csp.solve.general.neighbourhood import Neighbourhood
from csp.solve.general.tableau import Tableau, null_basis
from csp.solve.general.whole_vectors import Subspace, witnesses_along
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.field import Field
from instances import synthetic
from tests.support.shared import examples
from tests.support.strategies import problems
from tests.support.witnesses import ends, is_witness

Vector = np.ndarray[Any, Any]


def subspace_of(field: Field, rng: np.random.Generator) -> Subspace | None:
    """Some columns of a tableau after some exchanges; None if nothing moves."""
    basis, cells = null_basis(field)
    if not basis.size:
        return None
    tableau = Tableau(basis, cells)
    for _ in range(4):
        column = int(rng.integers(basis.shape[1]))
        able = np.flatnonzero(np.abs(tableau.matrix[:, column]) > 1e-6)
        tableau.exchange(int(rng.choice(able)), column)
    columns = rng.permutation(basis.shape[1])[: int(rng.integers(1, basis.shape[1] + 1))]
    rows = np.flatnonzero(tableau.matrix[:, columns].any(axis=1))
    pivots = np.searchsorted(rows, tableau.cells[columns])
    return Subspace(field, rows, tableau.matrix[np.ix_(rows, columns)], pivots)


def serves(subspace: Subspace, z: Vector) -> set[int]:
    """Requirements that a vector serves by a wide margin within the rooms, in floats."""
    field, met = subspace.field, set()
    steps = dict(zip(subspace.cells.tolist(), z.tolist(), strict=True))
    times = [
        min(
            (field.up[c] if sign * a > 0 else field.down[c]) / abs(a)
            for c, a in steps.items() if a
        )
        for sign in (1, -1)
    ]  # fmt: skip
    for r, (p, kind) in enumerate(zip(field.cell.tolist(), field.kind.tolist(), strict=True)):
        step = steps.get(p, 0.0) * (-1 if kind else 1)
        if max(step * times[0], -step * times[1]) > field.need[r] * 1.01:
            met.add(r)
    return met


@examples(150)
@given(problems(max_primary=4), st.integers(0, 2**20), st.booleans())
def test_witnesses_serve_what_vectors_of_a_subspace_serve(
    problem: Problem, seed: int, whole: bool
) -> None:
    rng = np.random.default_rng(seed)
    field = Field(problem, together=True)
    subspace = subspace_of(field, rng)
    if subspace is None:
        return
    k = len(subspace.pivots)
    shares = rng.integers(-4, 5, (3, k)) if whole else rng.normal(size=(3, k))
    vectors = [subspace.span @ y for y in shares]
    for z in vectors:
        z[np.abs(z) < 1e-9] = 0.0
    vectors = [z for z in vectors if z.any()]
    together = witnesses_along(subspace, vectors)
    alone = [witnesses_along(subspace, [z]) for z in vectors]
    assert [w.steps.tolist() for some in alone for w in some] == [
        w.steps.tolist() for w in together
    ]
    for z, found in zip(vectors, alone, strict=True):
        served = set()
        for witness in found:
            assert is_witness(problem, witness)
            assert set(witness.cells) <= set(subspace.cells)
            served |= set(field.served(witness).tolist())
        assert served >= serves(subspace, z)


PRIMES = (101, 103, 109, 107, 113, 127, 137, 131, 139, 149, 157, 151, 163, 167, 179, 173)


def chain(steps: int) -> tuple[Problem, Subspace, list[Fraction]]:
    """Cells of which each determines the next, by ratios of primes that stay near one."""
    pairs = [PRIMES[2 * (i % 8) : 2 * (i % 8) + 2] for i in range(steps)]
    exact = [Fraction(1)]
    matrix = np.zeros((steps, steps + 1), np.int64)
    for i, (a, b) in enumerate(pairs):
        matrix[i, [i, i + 1]] = a, -b
        exact.append(exact[-1] * a / b)
    n = steps + 1
    none, far = np.zeros(n, np.int64), np.full(n, UNBOUNDED)
    table = Table(none, csr_array(matrix), -far, far, tuple((f"c{i}",) for i in range(n)))
    problem = Problem.of(table, np.arange(n) == 0, lpl=3, upl=3)
    span = np.array([[float(x)] for x in exact])
    field = Field(problem, together=True)
    return problem, Subspace(field, np.arange(n), span, np.array([0])), exact


@pytest.mark.parametrize("steps", [1, 2, 8, 25])
def test_denominators_of_any_size_are_exact(steps: int) -> None:
    problem, subspace, exact = chain(steps)
    (found,) = witnesses_along(subspace, [subspace.span[:, 0] * 0.37])
    assert [Fraction(int(a), int(found.steps[0])) for a in found.steps] == exact
    assert (found.steps.dtype == object) == (steps == 25)
    assert is_witness(problem, found)
    assert subspace.field.served(found).tolist() == [0, 1]
    assert all(abs(end[0]) >= 3 for end in ends(found))


def test_past_the_deadline_no_elimination_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    _, subspace, _ = chain(25)
    late = Clock(now() - 1)
    assert witnesses_along(subspace, [subspace.span[:, 0]], late) == []
    asked, true = [], whole_vectors.determined

    def watched(*args: Any) -> Any:
        asked.append(args[-1])
        return true(*args)

    monkeypatch.setattr(whole_vectors, "determined", watched)
    assert witnesses_along(subspace, [subspace.span[:, 0]], late) == []
    assert asked == [late]
    # What takes no elimination is found all the same.
    _, simple, _ = chain(1)
    assert len(witnesses_along(simple, [simple.span[:, 0]], late)) == 1
    assert asked == [late]


def pivots_of(relations: Vector) -> list[int]:
    """Cells that are independent of those before: they raise the rank with the relations."""
    stack, pivots = relations, []
    for place in range(relations.shape[1]):
        wider = np.concatenate([stack, np.eye(relations.shape[1])[[place]]])
        if np.linalg.matrix_rank(wider) > np.linalg.matrix_rank(stack):
            stack = wider
            pivots.append(place)
    return pivots


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("quick", [True, False])
def test_witnesses_of_searches_are_found_again_from_floats(
    monkeypatch: pytest.MonkeyPatch, seed: int, quick: bool
) -> None:
    table = synthetic.hierarchical(seed, ((3, 3), (2, 3)))
    primary = (table.values < 5) & ~table.margins
    level = np.minimum(table.values, 1)
    problem = Problem.of(table, primary, lpl=level, upl=1, cost=np.maximum(table.values, 1))
    field = Field(problem, together=True)
    search = Neighbourhood(field, Builder(field, None, both=False))
    *_, book = search.run(clock=UNLIMITED, patience=30)
    cells = np.flatnonzero(book.pattern())
    part = table.relations[:, cells].toarray().astype(float)
    pivots = pivots_of(part)
    # Every deviation of the cells, by what the pivots alone determine.
    unit = np.eye(len(cells))[pivots]
    span = np.linalg.lstsq(
        np.concatenate([part, unit]), np.eye(len(part) + len(pivots))[:, len(part) :], rcond=None
    )[0]
    span[np.abs(span) < 1e-9] = 0.0
    subspace = Subspace(field, cells, span, np.array(pivots))
    if not quick:
        monkeypatch.setattr(whole_vectors, "_quickly", lambda *_: iter(()))
    for old in book.witnesses.values():
        z = np.zeros(len(cells))
        top, bottom = old.forward if old.forward[0] else old.back
        z[np.searchsorted(cells, old.cells)] = (old.steps * top / bottom).astype(float)
        (new,) = witnesses_along(subspace, [z])
        assert is_witness(problem, new)
        assert set(field.served(new)) >= set(field.served(old))
        assert set(new.cells) <= set(cells)
