"""Boxes: the simplest deviations."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp.attacker.boxes import Boxes
from csp.problem.requirements import room
from tests.support.shared import examples
from tests.support.strategies import problems


@examples(60)
@given(problems(singletons=None), st.data())
def test_a_box_is_a_deviation_within_the_rooms(problem, data) -> None:
    table = problem.table
    up, down = room(table)
    pattern = np.array([data.draw(st.booleans()) for _ in range(table.n_cells)])
    up, down = np.where(pattern, up, 0), np.where(pattern, down, 0)
    boxes = Boxes(table)
    for p in range(table.n_cells):
        for sign, box in zip((-1, 1), boxes.through(p, 5, up, down), strict=True):
            if box is None:
                continue
            z = np.zeros(table.n_cells, np.int64)
            z[box[0]] = box[1]
            assert 0 < sign * z[p] <= 5
            assert not (table.relations @ z).any()
            assert (z <= up).all()
            assert (-z <= down).all()
