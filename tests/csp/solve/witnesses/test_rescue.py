"""What no block serves: settled wherever everything suppressed settles it, in any share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from csp import Problem, Table, Unprotectable, audit
from csp.clock import UNLIMITED
from csp.errors import CertificateError
from csp.solve.exact.heuristics import construction
from csp.solve.exact.heuristics.first_patterns import first_patterns
from csp.solve.exact.state import Run
from csp.solve.witnesses.rescue import rescue
from tests.support.shared import examples
from tests.support.strategies import problems
from tests.support.witnesses import everything, served


@examples(150)
@given(problems(max_primary=4), st.booleans())
def test_rescued_patterns_are_safe_wherever_full_suppression_is(
    problem: Problem, integer: bool
) -> None:
    _, book, failed = served(problem, integer=integer)
    if not audit(problem, everything(problem), only_primary=True, integer=integer).safe:
        with pytest.raises(Unprotectable):
            rescue(book, failed, UNLIMITED)
        return
    rescue(book, failed, UNLIMITED)
    pattern = book.pattern()
    assert not (pattern & ~everything(problem)).any()
    assert audit(problem, pattern, only_primary=True, integer=integer).safe


def uneven() -> Problem:
    """Cell p can rise by 1 and fall by 4, which bounds of relations one by one do not show.

    p + q = T, p + r = U, q + r = s; T and U are published.
    """
    relations = np.array([[1, 1, -1, 0, 0, 0], [1, 0, 0, 1, -1, 0], [0, 1, 0, 1, 0, -1]])
    values = np.array([8, 20, 28, 20, 28, 40])
    table = Table(
        values, csr_array(relations), labels=tuple((name,) for name in "pqTrUs"),
        lower=np.array([0, 0, 0, 0, 0, 38]), upper=np.array([16, 99, 99, 99, 99, 48]),
    )  # fmt: skip
    return Problem.of(table, np.arange(6) == 0, spl=5, publish=np.isin(np.arange(6), [2, 4]))


def test_a_sliding_level_may_be_shared_unevenly() -> None:
    problem = uneven()
    _, book, failed = served(problem)
    assert failed
    rescue(book, failed, UNLIMITED)
    assert audit(problem, book.pattern()).safe
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    first_patterns(run, UNLIMITED)
    assert run.best is not None
    assert run.best.tolist() == [True, True, False, True, False, True]


def test_what_cannot_be_proved_exactly_costs_a_pattern_and_not_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise CertificateError("no exact form")

    monkeypatch.setattr(construction, "rescue", refuse)
    run = Run(uneven(), UNLIMITED, 0.0, False, 0, None)
    first_patterns(run, UNLIMITED)
    assert run.best is None
    assert run.notes == ["a pattern was left aside (CertificateError)"]
