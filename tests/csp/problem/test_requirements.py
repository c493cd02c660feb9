"""What is asked of every pattern: levels of the two sides of a cell, and of both together."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Problem, Table
from csp.exact import UNBOUNDED
from csp.problem.requirements import implied_levels, room, shared_levels
from tests.support.shared import examples
from tests.support.strategies import problems


@examples(50)
@given(problems())
def test_shared_levels_keep_every_promise(problem: Problem) -> None:
    fall, rise = shared_levels(problem, *room(problem.table))
    assert (fall >= problem.lpl).all()
    assert (rise >= problem.upl).all()
    assert (fall + rise >= problem.spl).all()


@given(*[st.integers(0, 6)] * 5, st.booleans())
def test_implied_levels_are_met_by_the_same_intervals(
    value: int, above: int, lpl: int, upl: int, spl: int, endless: bool
) -> None:
    """Of all intervals within the bounds of a cell, by listing them."""
    upper = np.array([UNBOUNDED if endless else value + above, 9])
    table = Table(
        np.array([value, 9]),
        csr_array((0, 2), dtype=np.int64),
        np.zeros(2, int),
        upper,
        (("a",), ("b",)),
    )
    # Levels beyond the bounds are refused.
    above = 20 if endless else above
    lpl, upl, spl = min(lpl, value), min(upl, above), min(spl, value + above)
    problem = Problem.of(table, [True, False], lpl=lpl, upl=upl, spl=spl)
    rise, fall, slide = implied_levels(problem)[:, 0].tolist()
    met = []
    for up, down in product(range(above + 1), range(value + 1)):
        asked = up >= upl and down >= lpl and up + down >= spl
        assert asked == (up >= rise and down >= fall and up + down >= slide)
        met += [(up, down)] * asked
    # One side is asked for as much as every interval has.
    assert (rise, fall) == tuple(map(min, zip(*met, strict=True)))
