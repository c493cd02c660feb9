"""The attacker's program in kernel form against HiGHS, on relations drawn at random."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from csp.compiled import at_once
from csp.solve.general.kernel_program import KernelProgram


@pytest.mark.parametrize("seed", range(30))
def test_a_push_is_optimal_and_its_multipliers_prove_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(1, 9)), int(rng.integers(2, 16))
    relations = rng.integers(-1, 2, (m, k)).astype(float)
    with at_once():
        program = KernelProgram.of(relations.copy())
        # One program after the other, each from the dictionary that the last one left.
        for _ in range(5):
            up, down = rng.random((2, k)) * rng.integers(0, 3, (2, k))
            aim = rng.integers(-1, 2, k).astype(float)
            z, multipliers = program.push(aim, up, down)
            assert np.abs(relations @ z).max() < 1e-7
            assert ((z <= up + 1e-7) & (z >= -down - 1e-7)).all()
            rest = aim - multipliers @ relations
            bound = np.maximum(rest, 0) @ up + np.maximum(-rest, 0) @ down
            bounds = [*zip((-down).tolist(), up.tolist(), strict=True)]
            known = linprog(-aim, A_eq=relations, b_eq=np.zeros(m), bounds=bounds)
            assert known.status == 0
            assert aim @ z == pytest.approx(aim @ known.x, abs=1e-7)
            assert bound == pytest.approx(aim @ known.x, abs=1e-7)


def test_cells_without_bounds_move_as_far_as_the_others_let_them() -> None:
    # a = b + c and c = d: a moves by 3 with b, and without limit with c and d, to its own bound.
    relations = np.array([[1.0, -1.0, -1.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    program = KernelProgram.of(relations)
    up = np.array([10.0, 3.0, np.inf, np.inf])
    z, _ = program.push(np.array([1.0, 0, 0, 0]), up, np.zeros(4))
    assert z[0] == 10.0
    assert z[2] == z[3] == 10.0 - z[1]
