"""What claims about one pattern say about another."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp import Problem
from csp.audits.claims import Certificate
from csp.clock import UNLIMITED
from csp.errors import CertificateError
from csp.solve.exact.state import Run
from tests.support.shared import examples
from tests.support.strategies import frequency_3d, hierarchical_tables, linked_tables, problems

TABLES = st.one_of(frequency_3d(), linked_tables(), hierarchical_tables())


def test_claims_that_stand_hold_for_the_other_pattern_and_no_other_claim_does() -> None:
    seen = {"stand": 0, "fall": 0}

    @examples(60)
    @given(problems(TABLES, max_free=9), st.integers(0, 2**20))
    def check(problem: Problem, seed: int) -> None:
        run = Run(problem, UNLIMITED, 0.0, False, 0, None)
        run.try_incumbent(problem.forced | problem.free)
        if run.audit is None:
            return
        assert run.best is not None
        drawn = np.random.default_rng(seed).random(len(run.best)) < 0.7
        pattern = problem.forced | (run.best & drawn)
        pattern.flags.writeable = False
        shown = run.standing(pattern)
        stand = [claim for pairs in shown.values() for pair in pairs for claim in pair]
        Certificate(problem.table, pattern, tuple(stand)).verify()
        assert all(not (claim.known or claim.exact) for claim in stand)
        for cell, pairs in shown.items():
            assert pairs
            assert all((low.cell, low.sign) == (cell, -1) for low, _ in pairs)
            assert all((high.cell, high.sign) == (cell, 1) for _, high in pairs)
        seen["stand"] += len(stand)
        for claim in run.audit.certificate:
            if claim.cell in shown or not pattern[claim.cell]:
                continue
            pair = [c for c in run.audit.certificate if c.cell == claim.cell and not c.known]
            try:
                Certificate(problem.table, pattern, tuple(pair)).verify()
            except CertificateError:
                seen["fall"] += 1

    check()
    assert min(seen.values()) > 0
