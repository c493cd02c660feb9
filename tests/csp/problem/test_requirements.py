"""What is asked of every pattern: levels shared between the two sides of a cell."""

from __future__ import annotations

from hypothesis import given

from csp import Problem
from csp.attacker.view import room
from csp.problem.requirements import shared_levels
from tests.support.shared import examples
from tests.support.strategies import problems


@examples(50)
@given(problems())
def test_shared_levels_keep_every_promise(problem: Problem) -> None:
    fall, rise = shared_levels(problem, *room(problem.table))
    assert (fall >= problem.lpl).all()
    assert (rise >= problem.upl).all()
    assert (fall + rise >= problem.spl).all()
