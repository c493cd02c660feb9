"""Cells that move together are one row: against null spaces, and against the plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space

from csp.compiled import at_once
from csp.solve.general.classes import KERNELS, Cells, Classes
from tests.support.shared import examples, uncompiled

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
    while True:
        rest = direct(matrix, published)
        # Classes are the sets of parallel rows, and the heaviest that may go is chosen.
        together = [{j for j in range(CELLS) if parallel(rest[i], rest[j])} for i in range(CELLS)]
        for i, group in enumerate(together):
            assert (classes.moving()[i]) == bool(group)
            assert all(classes.member[i] == classes.member[j] for j in group)
        before = blocked.copy()
        done = classes.copy().publish(weight, blocked.copy(), most=1)
        assert classes.publish(weight, blocked, most=1) == done
        refused = np.flatnonzero(blocked & ~before)
        for cell in refused:
            after = direct(matrix, [*published, cell])
            assert whole or (keep & rest.any(axis=1) & ~after.any(axis=1)).any()
        heaviest = max(
            (weight[list(g)].sum() for g in together if g and not blocked[list(g)].any()),
            default=0.0,
        )
        assert (done == 0) == (heaviest == 0)
        if not done:
            break
        published.append(classes.exchanges[-1][0])
        assert np.isclose(weight[list(together[published[-1]])].sum(), heaviest)
    span, rest = classes.span(), direct(matrix, published)
    assert span.shape[1] == len(classes.columns)
    assert np.array_equal(span.any(axis=1), rest.any(axis=1))
    rank = np.linalg.matrix_rank(rest, 1e-7) if rest.size else 0
    assert np.linalg.matrix_rank(np.column_stack([span, rest]), 1e-7) == rank
    assert [cell for cell, _ in classes.exchanges] == published
    assert len({column for _, column in classes.exchanges}) == len(published)
    assert not whole or np.array_equal(span, np.rint(span))


@examples(40)
@given(st.integers(0, 2**20), st.integers(0, 2), st.booleans())
def test_the_compiled_loop_equals_its_plain_twin(seed: int, most: int, whole: bool) -> None:
    matrix, keep, rng = space(seed)
    weight, lines = rng.uniform(1, 9, size=CELLS), rng.normal(size=(4, 2))
    # The products of one row are in the proportion of another's by chance: entries tell them apart.
    matrix[0], matrix[1], lines[:2, 0], lines[:2, 1] = (1, 0, 0, 0), (0, 1, 0, 0), 3.0, 1.0
    ends = []
    for run in (KERNELS.plain["publish_most"], KERNELS.compiled["publish_most"]):
        state = [matrix.copy(), np.arange(CELLS), np.ones(CELLS)]
        rest = [keep.copy(), np.zeros(CELLS, bool), np.zeros(4, bool), np.zeros((4, 2), int)]
        keeps, moves, closed, path = rest
        blocked = keep.copy()
        cells = Cells(*state[1:], weight, blocked)
        done = run(
            state[0], cells, np.arange(CELLS), keeps, lines, moves, closed, path, most, whole
        )
        ends.append((done, *state, *rest, blocked))
        after, member, factor = state
        assert done or member[0] != member[1]
        # What is left is part of the subspace, and cells that must move do.
        now = np.append(after, np.zeros((1, 4)), axis=0)[member] * factor[:, None]
        assert not now[path[:done, 0]].any()
        assert not now[:, closed].any()
        assert now[keep & matrix.any(axis=1)].any(axis=1).all()
        rank = np.linalg.matrix_rank(matrix, 1e-7)
        assert np.linalg.matrix_rank(np.column_stack([now, matrix]), 1e-7) == rank
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))


@examples(20)
@given(st.integers(0, 2**20))
def test_plain_and_compiled_classes_publish_the_same_cells(seed: int) -> None:
    matrix, keep, rng = space(seed)
    weight, ends = rng.uniform(1, 9, size=CELLS), []
    for around in (uncompiled(KERNELS), at_once()):
        with around:
            classes = Classes(matrix.copy(), keep, np.random.default_rng(seed))
            classes.publish(weight, keep.copy())
        ends.append((classes.exchanges, classes.span()))
    assert ends[0][0] == ends[1][0]
    assert np.array_equal(ends[0][1], ends[1][1])
