"""Prices of missed levels against oracles in fractions, which know nothing of kernel forms."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp.attacker.kernel_prices import KERNELS
from csp.attacker.kernel_simplex import KernelForm
from csp.attacker.view import room
from csp.compiled import at_once
from csp.exact import UNBOUNDED
from csp.problem.problem import Problem
from tests.support import oracles
from tests.support.shared import examples, uncompiled
from tests.support.strategies import problems


def missed(problem: Problem, share: np.ndarray) -> list[tuple[int, int, int, list[int], list[int]]]:
    """Cell, kind, unit and prices of each primary cell that misses a level at a point."""
    form = KernelForm.of(problem.table.relations, problem.status != "z")
    assert form is not None
    cells, m = form.cells, len(form.cells)
    up, down = (
        np.where(side >= UNBOUNDED, 1e18, side)[cells] * share[cells]
        for side in room(problem.table)
    )
    levels = np.stack([problem.lpl, problem.upl, problem.spl], axis=1)[cells]
    found, matrix, columns, divisor = [], form.matrix, form.columns, form.divisor
    z, plus, minus = np.zeros(m), np.zeros(m, np.int64), np.zeros(m, np.int64)
    for row in np.flatnonzero(problem.primary[cells]).tolist():
        divisor, kind, common = KERNELS.run(
            "miss", matrix, columns, divisor, z, up, down, row, levels[row], plus, minus,
            small=True,
        )  # fmt: skip
        assert divisor > 0
        if kind >= 0:
            found.append((int(cells[row]), kind, common, plus.tolist(), minus.tolist()))
    return found


@examples(120)
@given(data=st.data())
def test_a_pattern_misses_a_level_exactly_if_it_is_unsafe(data: st.DataObject) -> None:
    """And prices are inequalities that unsafe patterns violate, and every safe one keeps."""
    problem = data.draw(problems(max_free=6))
    free = np.flatnonzero(problem.free)
    share = problem.forced.astype(float)
    share[free] = data.draw(
        st.lists(st.sampled_from([0.0, 1.0]), min_size=len(free), max_size=len(free))
    )
    with at_once():
        found = missed(problem, share)
    with uncompiled(KERNELS):
        assert missed(problem, share) == found
    assert bool(found) != oracles.is_safe(problem, share > 0.5)
    form = KernelForm.of(problem.table.relations, problem.status != "z")
    assert form is not None
    up, down = (side[form.cells].astype(object) for side in room(problem.table))
    levels = problem.upl, problem.lpl, problem.spl
    for cell, kind, common, plus, minus in found:
        weights = np.array(plus) * up + np.array(minus) * down
        need = int(levels[kind][cell]) * common
        assert (weights * (share > 0.5)[form.cells]).sum() < need
        for bits in product([False, True], repeat=len(free)):
            pattern = problem.forced.copy()
            pattern[free] = bits
            if (weights * pattern[form.cells]).sum() < need:
                assert not oracles.is_safe(problem, pattern)
