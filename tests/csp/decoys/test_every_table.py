"""Decoys over every kind of table, problem and method: safe, and every suppressed cell wide.

Widths are computed again: by an exact simplex on small tables, by `csp.intervals` on others.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import (
    Decoys,
    InputError,
    Key,
    Mechanism,
    MinFrequency,
    PPercent,
    Problem,
    Table,
    Unprotectable,
    audit,
    defend,
    intervals,
    read_jj,
    write_jj,
)
from csp.errors import OutOfTime
from csp.release.release import Release
from csp.tables.contributors import Contributors
from csp.tables.link import link
from tests.csp.decoys.test_published_examples import forced
from tests.support.oracles import is_safe, rational_interval
from tests.support.shared import examples
from tests.support.strategies import REGIONS, cube, magnitude_tables, problems, small_tables

METHODS = ("auto", "cuts", "branch", "ilp", "small")


def key_of(number: int) -> Key:
    return Key(hashlib.sha256(b"tables %d" % number).digest())


def wide_by_simplex(table: Table, pattern: Any, width: int, share: Fraction | None = None) -> bool:
    for cell in np.flatnonzero(pattern).tolist():
        low, high = rational_interval(table, pattern, cell)
        if low is None or high is None:
            continue
        if high - low < max(width, (share or 0) * high):
            return False
    return True


# ---- any problem ----------------------------------------------------------------------------


@examples(40)
@given(
    problems(singletons=None),
    st.integers(1, 5),
    st.integers(0, 999),
    st.sampled_from([Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)]),
    st.sampled_from(["auto", "branch", "cuts"]),
)
def test_any_problem_gets_a_safe_pattern_of_wide_cells(problem, width, number, rate, method):
    decoys = Decoys(rate, key_of(number))
    try:
        found = defend(problem, decoys, width=width, method=method)
    except Unprotectable:
        return
    pattern = found.pattern
    assert found.audit.safe
    assert wide_by_simplex(problem.table, pattern, width)
    # Singletons and all: every cell of the pattern held to what is asked of it.
    assert is_safe(problem, pattern)
    spl = np.maximum(np.where(problem.primary, problem.spl, 0), width)
    assert is_safe(replace(found.problem, primary=pattern, spl=spl,
                           status=np.where(pattern, "u", problem.status)), pattern)  # fmt: skip
    # The theorem's step: with coins that show the pattern it is published as it stands.
    again = defend(problem, forced(pattern), width=width, method=method)
    assert np.array_equal(again.pattern, pattern)
    assert again.suppression.method == "none"


@examples(20)
@given(
    problems(small_tables().filter(lambda t: (t.lower >= 0).all())),
    st.sampled_from([Fraction(1, 100), Fraction(1, 5), Fraction(1, 2), Fraction(1)]),
    st.integers(0, 999),
)
def test_a_share_of_the_upper_end_is_kept(problem, share, number):
    decoys = Decoys(Fraction(1, 4), key_of(number), share=share)
    try:
        found = defend(problem, decoys)
    except Unprotectable:
        return
    assert wide_by_simplex(problem.table, found.pattern, 1, share)
    assert is_safe(problem, found.pattern)
    again = defend(problem, forced(found.pattern, share=share))
    assert np.array_equal(again.pattern, found.pattern)


@examples(15)
@given(magnitude_tables(), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 999))
def test_magnitude_tables_with_singletons_and_unions(table, alone, unions, published, number):
    mechanism = Mechanism(
        PPercent(10),
        cost="value",
        margins="publish" if published else "suppress",
        singletons=alone,
        unions=unions,
        defence=Decoys(Fraction(1, 5), key_of(number), width=3),
    )
    try:
        plain = mechanism.problem(table)
        found = mechanism.protect(table)
    except Unprotectable:
        return
    assert not found.guarantee.complete
    assert wide_by_simplex(table, found.pattern, 3)
    assert is_safe(replace(plain, union_rule=None), found.pattern)
    assert audit(plain, found.pattern).safe
    if published:
        assert not (found.pattern & table.margins).any()
    again = replace(mechanism, defence=forced(found.pattern, width=3)).protect(table)
    assert np.array_equal(again.pattern, found.pattern)


# ---- each method ----------------------------------------------------------------------------


def counts(*shape: int, seed: int = 0, high: int = 25) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, high, shape)


def linked_table() -> Table:
    units = counts(4, 3, 3, high=12)
    one = Table.from_array(units.sum(axis=2), names=["region", "sex"])
    return link(one, Table.from_array(units.sum(axis=1), names=["region", "age"]))


def cubic_table() -> Table:
    inner = 6 + counts(2, 2, 3)
    inner[0, 0, 0] = 2
    return Table.from_array(inner)


KINDS = {
    "two-way": lambda: Table.from_array(counts(4, 4)),
    "three-way": cubic_table,
    "tree": lambda: cube(counts(3, 2), [REGIONS, REGIONS.flat(list("mf"))]),
    "linked": linked_table,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_over_every_kind_of_table(method, kind):
    table = KINDS[kind]()
    margins = "suppress" if kind == "tree" else "publish"
    mechanism = Mechanism(
        MinFrequency(3), width=4, margins=margins, defence=Decoys(0.15, key_of(1))
    )
    if method == "small" and kind in ("three-way", "tree"):
        with pytest.raises(InputError):
            mechanism.protect(table, method=method)
        return
    found = mechanism.protect(table, method=method)
    low, high = intervals(table, found.pattern, integer=True)
    assert (high - low)[found.pattern].min() >= 4
    assert audit(found.problem, found.pattern, integer=True).safe
    assert found.pattern.sum() > found.problem.primary.sum() > 0
    assert found.guarantee.complete
    exact = mechanism.protect(table)
    if exact.suppression.canonical and found.suppression.canonical:
        assert np.array_equal(exact.pattern, found.pattern)


def test_heuristics_and_limits_keep_the_promise():
    table = Table.from_array(counts(14, 14))
    mechanism = Mechanism(
        MinFrequency(3), width=4, margins="publish", defence=Decoys(0.1, key_of(2))
    )
    for options in ({"gap": 0.5}, {"time_limit": 0.3}, {"gap": 0.9, "method": "branch"}):
        found = mechanism.protect(table, **options)
        low, high = intervals(table, found.pattern, integer=True)
        assert (high - low)[found.pattern].min() >= 4
        again = replace(mechanism, defence=forced(found.pattern)).protect(table)
        assert np.array_equal(again.pattern, found.pattern)


def test_no_time_means_no_pattern():
    table = Table.from_array(counts(14, 14))
    mechanism = Mechanism(
        MinFrequency(3), width=4, margins="publish", defence=Decoys(0.1, key_of(2))
    )
    with pytest.raises(OutOfTime):
        mechanism.protect(table, time_limit=1e-9)


def test_jj_problems(tmp_path):
    table = Table.from_array(counts(5, 5))
    primary = (table.values < 4) & ~table.margins
    problem = Problem.of(table, primary, spl=5, cost=1 + table.values, publish=table.margins)
    write_jj(problem, tmp_path / "one.jj")
    again = read_jj(tmp_path / "one.jj")
    found = defend(again, Decoys(0.2, key_of(3)), width=5)
    assert not found.guarantee.complete
    low, high = intervals(table, found.pattern)
    assert (high - low)[found.pattern].min() >= 5
    assert (found.pattern >= primary).all()
    assert found.pattern.sum() > 4


# ---- what cannot be -------------------------------------------------------------------------


def test_decoys_that_can_never_be_wide_drop_out():
    """A row of total 2 cannot hold an interval of width 5, whatever its coins say."""
    table = Table.from_array([[1, 0, 1], [9, 20, 8], [12, 9, 11]])
    mechanism = Mechanism(
        MinFrequency(9), width=9, margins="publish", defence=Decoys(0.99, key_of(4))
    )
    problem = mechanism.problem(table)
    first = np.array([label[0] == "1" for label in table.labels])
    rest = Problem.of(table, problem.primary & ~first, spl=9, publish=table.margins | first & False)
    decoys = Decoys(Fraction(99, 100), key_of(4), lean=0)
    found = defend(rest, decoys, width=9, integer=True)
    assert decoys.coins(table)[first].any()
    assert not found.pattern[first].any()
    assert found.pattern[~first & ~table.margins].all()
    with pytest.raises(Unprotectable) as caught:
        mechanism.protect(table)
    assert caught.value.cell[0] == "1"


def test_cells_suppressed_beforehand_must_be_wide_too():
    """Status x and w: hidden cells like others, so the theorem asks the same of them."""
    table = Table.from_array([[1, 0, 1], [9, 20, 8], [12, 9, 11]])
    for letter in "xw":
        status = np.where(table.margins, "z", "s")
        status[0] = letter
        problem = Problem(
            table, np.zeros(16, bool), np.zeros(16, int), np.zeros(16, int), np.zeros(16, int),
            np.ones(16, int), status,
        )  # fmt: skip
        wide = defend(problem, Decoys(0.01, key_of(5)), width=2)
        low, high = intervals(table, wide.pattern)
        assert wide.pattern[0]
        assert (high - low)[wide.pattern].min() >= 2
        with pytest.raises(Unprotectable):
            defend(problem, Decoys(0.01, key_of(5)), width=3)


def test_nothing_sensitive_may_still_be_suppressed():
    """Tables without primary cells get decoys like others, so that none gives itself away."""
    table = Table.from_array(np.full((5, 5), 9))
    mechanism = Mechanism(MinFrequency(3), width=4, margins="publish")
    assert not mechanism.protect(table).pattern.any()
    found = [
        replace(mechanism, defence=Decoys(0.1, key_of(i))).protect(table).pattern.any()
        for i in range(12)
    ]
    assert any(found)


def test_empty_cells_known_to_all_are_never_decoys():
    table = Table.from_array([[0, 9, 8], [7, 2, 9], [9, 8, 9]])
    known = np.zeros(16, bool)
    known[0] = True
    table = table.replace(structural=known, upper=np.where(known, 0, table.upper))
    mechanism = Mechanism(
        MinFrequency(3), width=4, margins="publish", defence=Decoys(0.9, key_of(6))
    )
    found = mechanism.protect(table)
    assert not found.pattern[0]
    assert found.guarantee.suppressible == 8


def test_who_cannot_be_protected_need_not_be_named():
    """Integer programs and sums of cells name no cell; the answer is the same error."""
    table = Table.from_array([[1, 3, 0], [4, 2, 1]])
    mechanism = Mechanism(
        MinFrequency(3), width=9, margins="publish", defence=Decoys(0.5, key_of(7))
    )
    with pytest.raises(Unprotectable):
        mechanism.protect(table, method="ilp")
    wide = Table.from_array([[1, 9, 8], [7, 3, 9], [2, 8, 9]])
    with pytest.raises(Unprotectable, match="sensitive sum"):
        Mechanism(
            MinFrequency(60, width=3), margins="publish", unions=True,
            defence=Decoys(0.5, key_of(7)),
        ).protect(wide)  # fmt: skip


# ---- promises, widths and ends at the edge ---------------------------------------------------


def test_the_promise_for_kept_cells_does_not_count_primary_ones():
    """Two tables of one release, with another number of primary cells among the kept ones."""
    told = []
    for inner in (
        [[7, 11, 60], [10, 60, 11], [60, 12, 60]],
        [[11, 7, 60], [6, 64, 11], [60, 12, 60]],
    ):
        table = Table.from_array(inner)
        kept = np.zeros((4, 4), bool)
        kept[:2, :2] = True
        mechanism = Mechanism(
            MinFrequency(10), width=10, margins="publish", defence=Decoys("0.001", key_of(1))
        )
        found = mechanism.protect(table, keep=Release.of(table, kept.ravel()))
        assert (found.pattern == kept.ravel()).all()
        told.append((found.summary(), repr(found), found.guarantee))
    assert told[0] == told[1]


def test_widths_are_judged_in_fractions():
    """From 25/3 to 55/3 is 10 wide, though floats say a little less."""
    from scipy.sparse import csr_array

    from csp.decoys.width import Wide

    relations = csr_array(np.array([[3, 1, 0, -1, 0], [0, 1, 1, 0, -1]]))
    x, y, w = 9, 28, 2
    values = np.array([x, y, w, 3 * x + y, y + w])
    table = Table(
        values, relations, np.zeros(5, int), np.array([100, 30, 30, 200, 200]),
        tuple((c,) for c in "xywts"),
    )  # fmt: skip
    hidden = np.array([True, True, True, False, False])
    problem = Problem.of(table, np.zeros(5, bool), publish=~hidden)
    low, high = intervals(table, hidden)
    assert (float(low[0]), float(high[0])) == (25 / 3, 55 / 3)
    assert Wide(10, None).holds(problem, hidden, hidden, integer=False)[0]
    assert not Wide(11, None).holds(problem, hidden, hidden, integer=False)[0]


def test_whole_ends_where_other_cells_have_none():
    """With all margins of a 3-D table hidden, only the cell in question is bounded."""
    table = Table.from_array([[[5, 8, 3], [7, 6, 7]], [[9, 2, 13], [10, 10, 12]]])
    mechanism = Mechanism(
        MinFrequency(4), width=7, margins="suppress", integer=True,
        defence=Decoys("0.2", bytes(range(32))),
    )  # fmt: skip
    found = mechanism.protect(table)
    low, high = intervals(table, found.pattern, integer=True)
    assert (high - low)[found.pattern].min() >= 7


def test_rules_that_leave_levels_open_promise_less():
    """A hidden cell with few contributors would have no level at all."""
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    people = Contributors(np.full(16, 5), table.values, np.zeros((16, 1), int))
    table = table.replace(contributors=people)
    open_levels = Mechanism(
        MinFrequency(3), margins="publish", defence=Decoys("0.3", key_of(2), width=10)
    )
    assert not open_levels.protect(table).guarantee.complete
    one_width = replace(open_levels, width=10)
    assert not one_width.protect(table).guarantee.complete  # who is alone in a cell counts
    assert replace(one_width, singletons=False).protect(table).guarantee.complete
