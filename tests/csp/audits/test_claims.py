"""The check of claims against the definition, put in one claim at a time with plain fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from csp import UNBOUNDED, Table
from csp.audits import claims as checker
from csp.audits.claims import Certificate, Claim
from csp.audits.intervals import interval_claims
from csp.errors import CertificateError
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import small_tables

FIELDS = (
    "cell", "sign", "known", "reach", "cells", "steps", "denominator", "rows", "multipliers",
    "divisor", "exact", "integer",
)  # fmt: skip


# ---- the definition -----------------------------------------------------------------------------


def whole(*numbers: object) -> bool:
    return all(type(v) is int for v in numbers)


def vector(places: np.ndarray, numbers: np.ndarray, length: int) -> dict[int, int] | None:
    """A sparse vector as a dict; None if it is not one."""
    where, given = places.tolist(), numbers.tolist()
    if places.dtype != np.int64 or not whole(*given) or len(where) != len(given):
        return None
    if len(set(where)) != len(where):
        return None
    return dict(zip(where, given, strict=True)) if all(0 <= i < length for i in where) else None


def holds(claim: Claim, table: Table, pattern: np.ndarray) -> bool:
    """Whether a claim is in order, its witness a possible deviation, and its proof a proof."""
    n, matrix = table.n_cells, table.relations.toarray().tolist()
    numbers = (claim.cell, claim.sign, claim.denominator, claim.divisor, *claim.known)
    if not whole(*numbers) or abs(claim.sign) != 1 or min(claim.denominator, claim.divisor) < 1:
        return False
    if not all(0 <= i < n for i in (claim.cell, *claim.known)):
        return False
    free = [bool(pattern[i]) and i not in claim.known for i in range(n)]
    if not free[claim.cell] or (claim.integer and claim.denominator != 1):
        return False
    if claim.reach is not None and not (isinstance(claim.reach, Fraction) and claim.reach >= 0):
        return False
    # The witness.
    steps = vector(claim.cells, claim.steps, n)
    if steps is None or not all(free[i] for i in steps):
        return False
    z = [Fraction(steps.get(i, 0), claim.denominator) for i in range(n)]
    if any(sum(a * b for a, b in zip(row, z, strict=True)) for row in matrix):
        return False
    far = claim.sign * z[claim.cell]
    if not (far > 0 if claim.reach is None else far >= claim.reach):
        return False
    up = [None if u >= UNBOUNDED else u - v for u, v in zip(*lists(table, "upper"), strict=True)]
    down = [None if b <= -UNBOUNDED else v - b for b, v in zip(*lists(table, "lower"), strict=True)]
    for i in range(n):
        limit = up[i] if z[i] > 0 else down[i]
        if z[i] and limit is not None and (claim.reach is None or abs(z[i]) > limit):
            return False
    if not claim.exact:
        return True
    # The proof.
    y = vector(claim.rows, claim.multipliers, len(matrix))
    if y is None or claim.reach is None:
        return False
    bound = Fraction(0)
    for i in range(n):
        own = claim.sign if i == claim.cell else 0
        weight = own - sum(
            Fraction(y.get(r, 0), claim.divisor) * row[i] for r, row in enumerate(matrix)
        )
        limit = up[i] if weight > 0 else down[i]
        if free[i] and weight:
            if limit is None:
                return False
            bound += abs(weight) * limit
    return (bound // 1 if claim.integer else bound) <= claim.reach


def lists(table: Table, bound: str) -> tuple[list[int], list[int]]:
    return getattr(table, bound).tolist(), table.values.tolist()


# ---- true and false claims ----------------------------------------------------------------------


@st.composite
def changed_numbers(draw: st.DrawFn, numbers: np.ndarray) -> np.ndarray:
    if not len(numbers):
        return np.array([draw(st.integers(-2, 9))], dtype=np.int64)
    out = np.array(numbers)
    i = draw(st.integers(0, len(out) - 1))
    how = draw(
        st.sampled_from(
            ["add", "negate", "drop", "repeat", "swap", "double", "wide", "wider", "float", "no"]
        )
    )
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
        out[i] = draw(st.sampled_from([2**31, -(2**31), 2**62, -(2**62), -(2**63)]))
    elif how == "wider":
        out = out.astype(object)
        out[i] += draw(st.sampled_from([0, 2**64, -(2**90)]))
    elif how == "float":
        out = out.astype(draw(st.sampled_from([np.float64, bool])))
    return out


@st.composite
def changed(draw: st.DrawFn, claim: Claim, table: Table) -> Claim:
    """The claim with one or two fields changed; it may still be true."""
    changes: dict[str, Any] = {}
    for field in draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=2, unique=True)):
        if field in ("cells", "steps", "rows", "multipliers"):
            changes[field] = draw(changed_numbers(getattr(claim, field)))
        elif field == "reach":
            base = Fraction(claim.reach or 0)
            by = draw(st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(9)]))
            changes[field] = draw(st.sampled_from([base + by, base * 2, None, float(base)]))
        elif field in ("denominator", "divisor"):
            numbers = [0, -1, 1, 2, 3, 255, 2**20, 2**62, 2**70, 1.0]
            changes[field] = draw(st.sampled_from(numbers))
        elif field == "cell":
            changes[field] = draw(st.integers(-1, table.n_cells))
        elif field == "sign":
            changes[field] = draw(st.sampled_from([-claim.sign, 0, 2, float(claim.sign)]))
        elif field == "known":
            known = draw(st.lists(st.integers(-1, table.n_cells), max_size=2, unique=True))
            changes[field] = tuple(known)
        else:
            changes[field] = not getattr(claim, field)
    return replace(claim, **changes)


@st.composite
def rescaled(draw: st.DrawFn, claim: Claim) -> Claim:
    """The same claim with other numerators and denominators, perhaps beyond 64 bits."""
    by, over = (draw(st.sampled_from([1, 6, 2**31, 2**60, 2**70])) for _ in range(2))
    by = 1 if claim.integer or claim.reach is None else by
    return replace(
        claim,
        steps=claim.steps.astype(object) * by,
        denominator=claim.denominator * by,
        multipliers=claim.multipliers.astype(object) * over,
        divisor=claim.divisor * over,
    )


@st.composite
def honest_claims(draw: st.DrawFn) -> tuple[Table, np.ndarray, list[Claim]]:
    """A small table of small or large values, any pattern, and what an audit claims about it."""
    table = draw(small_tables())
    factor = draw(st.sampled_from([1, 1, 3, 2**40]))
    bounds = {
        name: np.where(abs(array) < UNBOUNDED, array * factor, array)
        for name, array in (("lower", table.lower), ("upper", table.upper))
    }
    table = table.replace(values=table.values * factor, **bounds)
    pattern = np.array(
        draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells))
    )
    hidden = np.flatnonzero(pattern).tolist()
    known = tuple(draw(st.lists(st.sampled_from(hidden), max_size=1))) if hidden else ()
    asked = draw(st.lists(st.sampled_from(hidden), max_size=4)) if hidden else []
    ends = interval_claims(table, pattern, asked, known=known)
    return table, pattern, [claim for pair in ends.values() for claim in pair]


@examples(80)
@given(honest_claims(), st.data(), st.sampled_from([1, 3, 4000]))
def test_the_check_refuses_exactly_the_claims_that_do_not_hold(
    honest: tuple[Table, np.ndarray, list[Claim]], data: st.DataObject, at_once: int
) -> None:
    table, pattern, claims = honest
    assume(claims)
    some = st.sampled_from(claims)
    same = [data.draw(rescaled(data.draw(some))) for _ in range(2)]
    assert all(holds(claim, table, pattern) for claim in (*claims, *same))
    others = [
        data.draw(changed(data.draw(some), table)) for _ in range(data.draw(st.integers(0, 4)))
    ]
    mixed = data.draw(st.permutations([*claims, *same, *others]))
    wrong = [claim for claim in mixed if not holds(claim, table, pattern)]
    with mock.patch.object(checker, "_AT_ONCE", at_once):
        if not wrong:
            Certificate(table, pattern, tuple(mixed)).verify()
            return
        with pytest.raises(CertificateError) as caught:
            Certificate(table, pattern, tuple(mixed)).verify()
    first = wrong[0]
    name = table.cell(first.cell) if 0 <= first.cell < table.n_cells else first.cell
    side = "upper" if first.sign == 1 else "lower"
    assert str(caught.value).startswith(f"claim about the {side} end of cell {name}: ")


def test_claims_that_would_hold_in_rounded_or_overflowing_arithmetic_are_refused() -> None:
    line = Table.from_array(np.arange(1, 9))
    pattern, none = ~line.margins, np.empty(0, np.int64)
    eight, up = np.arange(8), np.ones(8, np.int64)
    there = np.array([1, -1])

    def claim(cell: int, reach: Any, cells: Any, steps: Any, denominator: int = 1) -> Claim:
        sign = 1 if steps[0] > 0 else -1
        return Claim(cell, sign, (), reach, cells, steps, denominator, none, none, 1, exact=False)

    good = claim(1, Fraction(2), np.array([1, 0]), -2 * there)
    Certificate(line, pattern, (good,)).verify()
    for lie in (
        # Half a unit below zero; sums that are 0 modulo 2**64; a ray towards zero; a cell twice.
        claim(1, Fraction(5, 2), np.array([1, 0]), -5 * there, 2),
        claim(0, Fraction(2**61), eight, up * 2**61),
        claim(0, Fraction(2**61), eight, (up * 2**61).astype(object)),
        claim(0, None, np.array([0, 1]), there),
        claim(1, Fraction(3), np.array([1, 0, 1, 0]), np.array([-2, 2, -1, 1])),
    ):
        assert not holds(lie, line, pattern)
        with pytest.raises(CertificateError):
            Certificate(line, pattern, (lie,)).verify()


@examples(40)
@given(honest_claims(), st.data())
def test_changed_claims_that_pass_are_true(
    honest: tuple[Table, np.ndarray, list[Claim]], data: st.DataObject
) -> None:
    """Whatever survives the check must agree with the oracle about the interval."""
    table, pattern, claims = honest
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
