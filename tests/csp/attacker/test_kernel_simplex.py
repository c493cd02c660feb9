"""Verdicts in kernel form against audits, which ask HiGHS and check every claim in fractions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import audit
from csp.attacker.kernel_simplex import KEEPS, KERNELS, UNDECIDED, KernelForm
from csp.compiled import at_once
from csp.exact import UNBOUNDED
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


def test_entries_of_a_single_column_that_leave_64_bits_get_no_verdict() -> None:
    # b = 624299479 a and c = 240035 a; a cannot fall by a unit, as b cannot fall by as much.
    relations = csr_array(np.array([[624299479, -1, 0], [240035, 0, -1]], np.int64))
    form = KernelForm.of(relations, np.ones(3, bool))
    values, rise = np.full((1, 3), 2**24), 12248280
    levels = np.zeros((3, 1, 3), np.int64)
    levels[2, 0, 0] = rise + 2
    lower = values[0] - [13442791, 4778837, 15739799]
    upper = np.array([values[0, 0] + rise, UNBOUNDED, UNBOUNDED])
    primary = np.array([[True, False, False]])
    with at_once():
        assert (
            form is None
            or form.judge(values, lower, upper, primary, levels, integer=False)[0] != KEEPS
        )
