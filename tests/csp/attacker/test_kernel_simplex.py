"""Verdicts in kernel form against audits, which ask HiGHS and check every claim in fractions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp import audit
from csp.attacker.kernel_simplex import KEEPS, KERNELS, UNDECIDED, KernelForm
from csp.compiled import at_once
from tests.support.shared import examples, uncompiled
from tests.support.strategies import problems


@examples(200)
@given(data=st.data(), integer=st.booleans())
def test_verdicts_are_those_of_an_audit(data: st.DataObject, integer: bool) -> None:
    problem = data.draw(problems(max_free=9))
    free = np.flatnonzero(problem.free)
    pattern = problem.forced.copy()
    pattern[free] = data.draw(st.lists(st.booleans(), min_size=len(free), max_size=len(free)))
    table = problem.table
    form = KernelForm.of(table.relations, pattern)
    assert form is not None
    given_ = (
        table.values[None], table.lower, table.upper, problem.primary[None],
        np.stack([problem.lpl, problem.upl, problem.spl])[:, None],
    )  # fmt: skip
    with at_once():
        found = int(form.judge(*given_, integer=integer)[0])
    with uncompiled(KERNELS):
        assert int(form.judge(*given_, integer=integer)[0]) == found
    if not integer:
        assert found != UNDECIDED
    if found != UNDECIDED:
        safe = audit(problem, pattern, integer=integer, only_primary=True).safe
        assert (found == KEEPS) == safe, (
            table.relations.toarray(),
            form.matrix,
            form.columns,
            form.divisor,
        )
