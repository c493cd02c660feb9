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
from scipy.sparse import csr_array

from csp import UNBOUNDED, Table
from csp.audits import claims as checker
from csp.audits.claims import Certificate, Claim
from csp.audits.intervals import interval_claims
from csp.errors import CertificateError
from tests.support import oracles
from tests.support.oracles_claims import holds
from tests.support.shared import examples
from tests.support.strategies import small_tables

FIELDS = (
    "cell", "sign", "known", "reach", "cells", "steps", "denominator", "rows", "multipliers",
    "divisor", "exact", "integer",
)  # fmt: skip


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
    true = [holds(claim, table, pattern) for claim in mixed]
    wrong = [claim for claim, holds_true in zip(mixed, true, strict=True) if not holds_true]
    with mock.patch.object(checker, "_AT_ONCE", at_once):
        faults = checker._Check(table, pattern, mixed).faults
        assert [not fault for fault in faults] == true
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


# ---- one fault at a time ------------------------------------------------------------------------

# Cells 0 + 1 = 2 (published), 2 * 3 = 4, 5 = 6 without bounds, 7 + 2 * 8 = 9 (published), and
# 10 + 11 + 12 + 13 = 14 (published) with large values.
FAR, BIG = UNBOUNDED, 2**49
KNOT = Table(
    np.array([4, 4, 8, 2, 4, 1, 1, 5, 2, 9, 0, BIG, BIG, BIG, 3 * BIG]),
    csr_array(
        (
            np.array([1, 1, -1, 2, -1, 1, -1, 1, 2, -1, 1, 1, 1, 1, -1]),
            (np.repeat([0, 1, 2, 3, 4], [3, 2, 2, 3, 5]), np.arange(15)),
        )
    ),
    np.array([0, 0, 0, -1, -3, -FAR, -FAR, 1, 1, 0, 0, 0, 0, 0, 0]),
    np.array([10, 10, 9, FAR, 9, FAR, FAR, 5, 5, FAR, FAR, FAR, FAR, FAR, FAR]),
    tuple((f"c{i}",) for i in range(15)),
)
HIDDEN = ~np.isin(np.arange(15), [2, 9, 14])


def array(*given: Any) -> np.ndarray:
    small = all(type(v) is int and -(2**63) <= v < 2**63 for v in given)
    return np.array(given, np.int64 if small else object)


def made(
    cell: int, sign: int, reach: Any, witness: dict[int, Any], proof: dict[int, int] | None = None,
    **more: Any,
) -> Claim:  # fmt: skip
    """A claim with denominators 1 unless `more` says otherwise; exact if it has a proof."""
    end = None if reach is None else Fraction(reach)
    rest = {"known": (), "denominator": 1, "divisor": 1, "exact": proof is not None, **more}
    proof = proof or {}
    return Claim(
        cell=cell, sign=sign, reach=end, cells=array(*witness), steps=array(*witness.values()),
        rows=array(*proof), multipliers=array(*proof.values()), **rest,
    )  # fmt: skip


UP = made(0, 1, 4, {0: 4, 1: -4}, {0: 1})
HALVES = made(0, 1, 4, {0: 8, 1: -8}, {0: 1}, denominator=2)
FRACTION = made(3, 1, "5/2", {3: 5, 4: 10}, {1: 1}, denominator=2, divisor=2)
RAY = made(5, 1, None, {5: 1, 6: 1})
NOWHERE = made(0, 1, 0, {})
TRUE = [
    UP,
    HALVES,
    FRACTION,
    RAY,
    NOWHERE,
    replace(UP, known=(5,)),  # shares its witness
    made(0, -1, 4, {0: -4, 1: 4}, {}),
    made(0, 1, 0, {}, {0: 1}, known=(1,)),
    made(3, 1, 2, {3: 2, 4: 4}, {1: 1}, divisor=2, integer=True),
    made(5, 1, 0, {}, {2: 1}, known=(6,)),  # the known cell has no bounds
    made(7, -1, 4, {7: -4, 8: 2}, {}),
    made(10, 1, 3 * BIG, {10: 3 * BIG, 11: -BIG, 12: -BIG, 13: -BIG}, {4: 1}),
]
NOT_WHOLE, SIGN, NO_CELL = "numbers are not whole", "sign or a denominator", "cells that do not ex"
KNOWS, NOT_INTEGERS, MATCH = "value the attacker knows", "entries are not whole", "do not match"
RELATION, BOUND, REACH = "breaks a relation", "breaks a bound", "does not reach"
VECTOR, PROOF_VECTOR = "not a vector over cells", "not a vector over relations"
ENDLESS, BEYOND = "a cell without a bound", "leaves room"
FALSE = {
    # Numbers that mean nothing.
    NOT_WHOLE: [
        *(replace(UP, **{name: 1.0}) for name in ("sign", "denominator", "divisor")),
        replace(UP, cell=0.0),
        replace(NOWHERE, known=(1.0,)),
    ],
    SIGN: [
        *(replace(NOWHERE, sign=sign) for sign in (0, 2, -2)),
        *(replace(NOWHERE, **{name: 0}) for name in ("denominator", "divisor")),
        replace(UP, steps=-UP.steps, denominator=-1),
        replace(UP, multipliers=-UP.multipliers, divisor=-1),
    ],
    NO_CELL: [
        *(replace(NOWHERE, cell=cell) for cell in (-1, 15)),
        *(replace(NOWHERE, known=(cell,)) for cell in (-1, 15)),
    ],
    KNOWS: [replace(NOWHERE, cell=2), replace(NOWHERE, known=(0,)), replace(UP, known=(1,))],
    "not a distance": [replace(NOWHERE, reach=Fraction(-1)), replace(NOWHERE, reach=0.0)],
    "no exact end": [replace(RAY, exact=True)],
    "not a table of whole units": [replace(HALVES, integer=True)],
    NOT_INTEGERS: [
        *(replace(UP, **{name: getattr(UP, name) * 1.0}) for name in ("cells", "rows", "steps")),
        replace(UP, multipliers=np.array([True])),
        replace(UP, cells=UP.cells.astype(object)),
    ],
    MATCH: [
        replace(UP, steps=UP.steps[:1]),
        replace(UP, multipliers=array()),
        replace(UP, cells=UP.cells[None], steps=UP.steps[None]),
    ],
    # Witnesses: in integers of both kinds, and arrays shared with a claim that is true.
    RELATION: [
        replace(made(0, sign, 1, {cell: sign}), steps=array(sign).astype(kind), cell=cell)
        for sign in (1, -1)
        for cell in (0, 3)
        for kind in (np.int64, object)
    ],
    "moves a published cell": [made(0, 1, 1, {0: 1, 2: 1}), made(0, -1, 1, {0: -1, 2: -1})],
    BOUND: [
        made(0, 1, 5, {0: 5, 1: -5}),
        made(0, 1, "9/2", {0: 9, 1: -9}, denominator=2),
        made(3, 1, 3, {3: 3, 4: 6}),
        made(3, -1, "7/2", {3: -7, 4: -14}, denominator=2),
        replace(UP, steps=array(5, -5)),
        replace(HALVES, denominator=1),
        replace(UP, reach=None, exact=False),
        made(3, 1, None, {3: 1, 4: 2}),
    ],
    REACH: [
        made(0, 1, 5, {0: 4, 1: -4}),
        made(0, 1, "1/3", {}),
        made(0, 1, 2, {0: 2, 1: -2}, denominator=2),
        made(0, -1, 4, {0: 4, 1: -4}),
        made(7, 1, None, {5: 1, 6: 1}),
        replace(RAY, sign=-1),
        replace(UP, cells=array(), steps=array()),
        replace(UP, cells=array(1, 0)),
    ],
    VECTOR: [
        # A second entry that takes a cell beyond its bound, beside the first and apart from it.
        *(
            replace(UP, cells=array(*cells), steps=array(*steps))
            for cells, steps in (((0, 0, 1, 1), (4, 3, -4, -3)), ((0, 1, 0, 1), (4, -4, 3, -3)))
        ),
        # An entry that does not count, in a vector without an entry at 0.
        *(made(5, 1, None, {5: 1, 6: 1, cell: one}) for cell in (-1, 15) for one in (1, 2**70)),
        *(
            replace(RAY, cells=array(5, 6, 3), steps=array(1, 1, odd))
            for odd in (True, 1.0, Fraction(1, 2), np.int64(1))
        ),
    ],
    # Proofs.
    PROOF_VECTOR: [
        replace(UP, rows=array(0, 0), multipliers=array(1, 1), divisor=2),
        replace(UP, rows=array(0, 1, 0), multipliers=array(1, 0, 0)),
        *(
            replace(FRACTION, rows=array(1, row), multipliers=array(1, one))
            for row, one in ((-1, 1), (5, 1), (5, 2**70), (2, True), (2, 0.5), (2, Fraction(1, 2)))
        ),
    ],
    ENDLESS: [
        made(3, 1, 0, {}, {}),
        made(5, -1, 0, {}, {}),
        made(5, 1, 0, {}, {2: 1}),
        made(5, -1, 0, {}, {2: -1}),
    ],
    BEYOND: [
        made(0, 1, 3, {0: 3, 1: -3}, {0: 1}),
        made(0, 1, 0, {}, {0: 1}),
        made(0, 1, "7/2", {0: 7, 1: -7}, {0: 1}, denominator=2),
        made(3, 1, 2, {3: 2, 4: 4}, {1: 1}, divisor=2),
        made(3, 1, 1, {3: 1, 4: 2}, {1: 1}, divisor=2, integer=True),
        # Bounds and weights that are negative or 0 modulo 2**64: of sums, of a product below and
        # above the range, of the least integer, of the divisor.
        made(10, 1, 0, {}, {4: 2**13 - 1}),
        made(7, -1, 0, {}, {3: -(2**62)}, divisor=2**62),
        made(7, -1, 0, {}, {3: -(2**62)}),
        made(7, -1, 0, {}, {3: -(2**63)}),
        made(7, -1, 1, {7: -2, 8: 1}, {3: 2**59}, divisor=2**63 - 1),
    ],
}


def test_the_true_claims_hold_one_by_one_and_together() -> None:
    assert all(holds(one, KNOT, HIDDEN) for one in TRUE)
    for some in (*([one] for one in TRUE), TRUE, TRUE[::-1]):
        Certificate(KNOT, HIDDEN, tuple(some)).verify()


@pytest.mark.parametrize(
    ("reason", "false"), [(reason, one) for reason, some in FALSE.items() for one in some]
)
def test_one_fault_is_found_and_lays_no_blame_on_true_claims(reason: str, false: Claim) -> None:
    assert not holds(false, KNOT, HIDDEN)
    for some in ([false], [*TRUE, false], [false, *TRUE]):
        faults = checker._Check(KNOT, HIDDEN, some).faults
        assert [one for one, fault in zip(some, faults, strict=True) if fault] == [false]
        with pytest.raises(CertificateError, match=reason):
            Certificate(KNOT, HIDDEN, tuple(some)).verify()
