"""Claims changed in any field: what the joint check settles, the check of one claim passes too."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csc_array

from csp import Table
from csp.attacker.view import room
from csp.audits.certificate import (
    Certificate,
    Claim,
    _fault_of_form,
    _fault_of_proof,
    _fault_of_reach,
    _fault_of_witness,
)
from csp.audits.intervals import interval_claims
from csp.audits.ledger import doubtful
from csp.errors import CertificateError
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import small_tables


def fault(claim: Claim, table: Table, pattern: np.ndarray) -> str | None:
    """What is wrong with one claim, by the check that looks at it alone."""
    up, down = room(table)
    found = _fault_of_form(claim, pattern, table.relations.shape[0])
    found = found or _fault_of_witness(claim, csc_array(table.relations), pattern, up, down)
    found = found or _fault_of_reach(claim)
    return found or (_fault_of_proof(claim, table, pattern, up, down) if claim.exact else None)


def changed_numbers(draw: st.DrawFn, numbers: np.ndarray) -> np.ndarray:
    if not len(numbers):
        return np.array([draw(st.integers(-2, 9))], dtype=np.int64)
    out = np.array(numbers)
    i = draw(st.integers(0, len(out) - 1))
    how = draw(st.sampled_from(["add", "negate", "drop", "repeat", "swap", "double", "wide", "no"]))
    if how == "add":
        out[i] += draw(st.sampled_from([-1, 1, 2, -7, 50]))
    elif how == "negate":
        out[i] = -out[i]
    elif how == "drop":
        out = np.delete(out, i)
    elif how == "repeat":
        out = np.append(out, out[i])
    elif how == "swap":
        out = np.roll(out, 1)
    elif how == "double":
        out *= 2
    elif how == "wide":
        out[i] = draw(st.sampled_from([2**31, -(2**31), 2**62, -(2**62)]))
    return out


@st.composite
def changed(draw: st.DrawFn, claim: Claim, table: Table) -> Claim:
    """The claim with one or two fields changed; it may still be true."""
    changes: dict[str, Any] = {}
    fields = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=2, unique=True))
    for field in fields:
        if field in ("cells", "steps", "rows", "multipliers"):
            changes[field] = changed_numbers(draw, getattr(claim, field))
        elif field == "reach":
            base = Fraction(claim.reach or 0)
            by = draw(st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(9)]))
            changes[field] = draw(st.sampled_from([base + by, base * 2, None]))
        elif field in ("denominator", "divisor"):
            changes[field] = draw(st.sampled_from([0, -1, 1, 2, 3, 255, 256, 2**20]))
        elif field == "cell":
            changes[field] = draw(st.integers(-1, table.n_cells))
        elif field == "sign":
            changes[field] = draw(st.sampled_from([-claim.sign, 0, 2]))
        elif field == "known":
            known = draw(st.lists(st.integers(0, table.n_cells - 1), max_size=2, unique=True))
            changes[field] = tuple(known)
        else:
            changes[field] = not getattr(claim, field)
    return replace(claim, **changes)


def drawn_claims(data: st.DataObject) -> tuple[Table, np.ndarray, list[Claim]]:
    """A small table, any pattern, and what an honest audit claims about it."""
    table = data.draw(small_tables())
    flags = st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells)
    pattern = np.array(data.draw(flags))
    ends = interval_claims(table, pattern, np.flatnonzero(pattern))
    return table, pattern, [claim for pair in ends.values() for claim in pair]


FIELDS = (
    "cell", "sign", "known", "reach", "cells", "steps", "denominator", "rows", "multipliers",
    "divisor", "exact", "integer",
)  # fmt: skip


@examples(50)
@given(st.data())
def test_changed_claims_are_settled_only_if_they_hold(data: st.DataObject) -> None:
    table, pattern, claims = drawn_claims(data)
    assume(claims)
    up, down = room(table)
    assert all(fault(claim, table, pattern) is None for claim in claims)
    lies = [
        data.draw(changed(data.draw(st.sampled_from(claims)), table))
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    mixed = data.draw(st.permutations([*claims, *lies]))
    open_ = set(doubtful(mixed, table, pattern, up, down))
    wrong = {i for i, claim in enumerate(mixed) if fault(claim, table, pattern)}
    assert wrong <= open_
    if wrong:
        with pytest.raises(CertificateError):
            Certificate(table, pattern, tuple(mixed)).verify()
    else:
        Certificate(table, pattern, tuple(mixed)).verify()


@examples(40)
@given(st.data())
def test_changed_claims_that_pass_are_true(data: st.DataObject) -> None:
    """Whatever survives the check must agree with the oracle about the interval."""
    table, pattern, claims = drawn_claims(data)
    assume(claims)
    for _ in range(4):
        claim = data.draw(changed(data.draw(st.sampled_from(claims)), table))
        try:
            Certificate(table, pattern, (claim,)).verify()
        except CertificateError:
            continue
        low, high = oracles.rational_interval(table, pattern, claim.cell, claim.known)
        end = low if claim.sign < 0 else high
        value = int(table.values[claim.cell])
        far = None if end is None else abs(end - value)
        if claim.reach is None:
            assert far is None
        elif not claim.integer:
            assert far is None or claim.reach <= far
            assert not claim.exact or claim.reach == far
