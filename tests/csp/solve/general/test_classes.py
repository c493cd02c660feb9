"""Cells that move together are one row: against null spaces, and against the plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space

from csp.solve.general.classes import KERNELS, Classes, join_parallel
from tests.support.shared import examples

CELLS = 12


def space(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Rows of which some are multiples of others or zero, and cells that must go on moving."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 2, size=(CELLS, 4)).astype(float)
    matrix[CELLS // 2 :] = rng.choice([1.0, -1.0, 2.0], size=(6, 1)) * matrix[: CELLS // 2]
    matrix[rng.integers(CELLS)] = 0.0
    return matrix, np.arange(CELLS) < rng.integers(3), rng


def direct(matrix: np.ndarray, published: list[int]) -> np.ndarray:
    """What is left of a subspace when some of its cells no longer move."""
    rest = matrix @ null_space(matrix[published]) if published else matrix.copy()
    rest[np.abs(rest) < 1e-9] = 0.0
    return rest


def parallel(one: np.ndarray, two: np.ndarray) -> bool:
    return one.any() and two.any() and np.linalg.matrix_rank(np.stack([one, two]), 1e-7) == 1


@examples(80)
@given(st.integers(0, 2**20), st.booleans())
def test_a_subspace_on_its_way_down_is_a_null_space(seed: int, whole: bool) -> None:
    matrix, keep, rng = space(seed)
    weight, blocked = rng.uniform(1, 9, size=CELLS), keep.copy()
    classes, published = Classes(matrix.copy(), keep, rng, whole=whole), []
    for turn in range(20):
        rest = direct(matrix, published)
        # Classes are the sets of parallel rows, and the heaviest that may go is chosen.
        together = [{j for j in range(CELLS) if parallel(rest[i], rest[j])} for i in range(CELLS)]
        for i, group in enumerate(together):
            assert (classes.moving()[i]) == bool(group)
            assert all(classes.member[i] == classes.member[j] for j in group)
        heaviest = max(
            (weight[list(g)].sum() for g in together if g and not blocked[list(g)].any()),
            default=0.0,
        )
        cell = classes.choose(weight, blocked)
        assert (cell < 0) == (heaviest == 0)
        if cell < 0:
            break
        assert np.isclose(weight[list(together[cell])].sum(), heaviest)
        if turn % 3 == 2:
            classes = classes.copy()
        if classes.publish(cell):
            published.append(cell)
        else:
            after = direct(matrix, [*published, cell])
            assert whole or (keep & rest.any(axis=1) & ~after.any(axis=1)).any()
            blocked[cell] = True
    span, rest = classes.span(), direct(matrix, published)
    assert span.shape[1] == len(classes.columns) == classes.dimensions
    assert np.array_equal(span.any(axis=1), rest.any(axis=1))
    rank = np.linalg.matrix_rank(rest, 1e-7) if rest.size else 0
    assert np.linalg.matrix_rank(np.column_stack([span, rest]), 1e-7) == rank
    assert [cell for cell, _ in classes.exchanges] == published
    assert len({column for _, column in classes.exchanges}) == len(published)
    assert not whole or np.array_equal(span, np.rint(span))


@examples(40)
@given(st.integers(0, 2**20))
def test_the_compiled_loop_equals_its_plain_twin(seed: int) -> None:
    matrix, keep, rng = space(seed)
    sides = rng.normal(size=(2, 4)) @ matrix.T
    # One slope is that of another row by chance: their entries tell them apart.
    sides[:, 0] = 2 * sides[:, 1]
    rows = np.flatnonzero(np.abs(sides).sum(axis=0) > 1e-6)
    slope = sides[0][rows] / np.where(sides[1][rows] == 0, 1e-30, sides[1][rows])
    order = np.argsort(slope)
    ends = []
    for small in (True, False):
        state = [matrix.copy(), sides.copy(), np.arange(CELLS), np.ones(CELLS), keep.copy()]
        run = join_parallel if small else KERNELS.choose(small=False)["join_parallel"]
        left = run(*state, rows[order], slope[order], 1e-8)
        ends.append((left, *state))
        # No cell moves otherwise than before.
        after, _, member, factor, keeps = state
        assert np.allclose(after[member] * factor[:, None], matrix)
        assert keeps[member][keep].all()
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))
