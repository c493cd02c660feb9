"""Requirements that points miss: programs in kernel form against those of HiGHS."""

from __future__ import annotations

import numpy as np
import pytest

from csp.clock import UNLIMITED
from csp.solve.cuts import CutFactory
from csp.solve.general import separate
from csp.solve.general.separate import Separator
from tests.support.witnesses import cube_problem


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("whole", [False, True])
def test_kernel_form_and_highs_find_the_same_misses(
    seed: int, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    problem = cube_problem((4, 3, 3), seed)
    both = []
    for most in (separate._DENSE, -1):
        monkeypatch.setattr(separate, "_DENSE", most)
        both.append(Separator(problem, CutFactory(problem)))
    assert both[0].in_kernel_form
    assert not both[1].in_kernel_form
    for _ in range(5):
        x = rng.random(problem.table.n_cells) * rng.integers(0, 2, problem.table.n_cells)
        x = np.where(problem.forced, 1.0, np.where(problem.free, np.rint(x) if whole else x, 0.0))
        found = [s.misses(x, whole=whole, clock=UNLIMITED) for s in both]
        # All cuts are violated, and as many requirements are missed.
        assert all(cut.slack(x) < 0 for one in found for cuts in one for cut in cuts)
        assert len(found[0]) == len(found[1])
