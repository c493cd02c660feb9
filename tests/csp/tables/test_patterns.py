"""Patterns are booleans or status letters, or an error: nothing else is taken for "suppressed"."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import (
    InputError,
    Mechanism,
    MinFrequency,
    Problem,
    Release,
    Table,
    audit,
    intervals,
    protect,
)
from csp.tables.cells import as_flags
from csp.tables.patterns import SUPPRESSED, as_pattern

TABLE = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
SAFE = np.zeros((4, 4), dtype=bool)
SAFE[:2, :2] = True
SAFE = SAFE.ravel()
PROBLEM = Problem.of(TABLE, np.arange(16) == 0, spl=10)
ALONE = np.arange(16) == 0

letters = st.sampled_from("uxwszeUXWSZE1 ")
items = st.one_of(
    st.booleans(), letters, st.text(max_size=3), st.integers(-1, 2), st.floats(), st.none()
)


def every_way_to_read(pattern):
    """Each public way to a pattern, as whether it was taken."""
    calls = (
        lambda: audit(PROBLEM, pattern),
        lambda: intervals(TABLE, pattern),
        lambda: Release.of(TABLE, pattern),
        lambda: PROBLEM.keeping(pattern),
    )
    taken = []
    for call in calls:
        try:
            call()
        except InputError:
            taken.append(False)
        else:
            taken.append(True)
    return taken


def test_status_letters_mean_what_they_say():
    """A frame of one suppressed cell was audited as if everything were suppressed."""
    status = np.where(ALONE, "x", "s")
    assert not audit(PROBLEM, status).safe
    assert audit(PROBLEM, np.where(SAFE, "x", "s")).safe
    assert (Release.of(TABLE, status).pattern == ALONE).all()
    assert not audit(PROBLEM, pd.Series(status)).safe
    assert not audit(PROBLEM, pl.Series(status)).safe


@pytest.mark.parametrize(
    "wrong",
    [
        np.where(ALONE, 1.0, np.nan),
        np.where(ALONE, 1, 0),
        np.where(ALONE, "suppressed", "published"),
        np.where(ALONE, "X", "s"),
        np.where(ALONE, "", "s"),
        pd.Series(ALONE, dtype="boolean").where(~ALONE),
        [True] + [None] * 15,
        [True] + ["s"] * 15,
        ALONE.reshape(4, 4),
        [True],
        "x" * 16,
        TABLE.labels,
        np.ma.array(np.ones(16, dtype=bool), mask=~ALONE),
        np.ma.array(np.full(16, "x"), mask=~ALONE),
        pd.Series(SAFE)[::-1],
    ],
)
def test_anything_else_is_refused_everywhere(wrong):
    assert every_way_to_read(wrong) == [False] * 4


@given(st.lists(items, min_size=16, max_size=16))
def test_a_pattern_is_read_as_written_or_refused(given_items):
    """Booleans or letters with a meaning, not both; the oracle is this test's own sentence."""
    plain = all(isinstance(v, bool) for v in given_items)
    lettered = all(isinstance(v, str) and v in set("uxwsze") for v in given_items)
    if not (plain or lettered):
        with pytest.raises(InputError):
            as_pattern(TABLE, given_items)
        return
    wanted = [v if isinstance(v, bool) else v in SUPPRESSED for v in given_items]
    assert as_pattern(TABLE, given_items).tolist() == wanted


@pytest.mark.parametrize("marks", [["u"] * 16, np.ones(16), np.full(16, np.nan), [1] * 16])
def test_masks_of_problems_are_booleans(marks):
    with pytest.raises(InputError, match="booleans"):
        Problem.of(TABLE, marks, spl=10)
    with pytest.raises(InputError, match="booleans"):
        Problem.of(TABLE, ALONE, spl=10, publish=marks)
    with pytest.raises(InputError, match="booleans"):
        Problem.of(TABLE, ALONE, spl=10, singletons=marks)
    with pytest.raises(InputError, match="booleans"):
        TABLE.replace(structural=marks)
    assert as_flags([True] * 3, 3, "marks").all()


def test_messages_name_the_cell_and_never_a_number():
    with pytest.raises(InputError, match=r"\(d1=1, d2=1\).*'q' is not a status letter"):
        audit(PROBLEM, ["q"] + ["s"] * 15)
    with pytest.raises(InputError) as refused:
        audit(PROBLEM, TABLE.values)
    assert "(d1=1, d2=1)" in str(refused.value)
    assert "7" not in str(refused.value)


def test_an_earlier_release_is_matched_by_labels_not_by_position():
    """One category renamed and one added: the same number of cells is not the same cells."""
    names, sectors = ["region", "sector"], ["A", "B", "C"]
    inner = [[2, 30, 40], [30, 40, 50], [40, 50, 60]]
    first = Table.from_array(inner, names=names, codes=[["N", "O", "S"], sectors])
    mechanism = Mechanism(MinFrequency(5))
    earlier = mechanism.protect(first)
    later = Table.from_array(
        [inner[1], inner[2], [9, 30, 40]], names=names, codes=[["O", "S", "N"], sectors]
    )
    kept = mechanism.protect(later, keep=earlier.release)
    gone = {first.labels[i] for i in np.flatnonzero(earlier.pattern)}
    assert {later.labels[i] for i in np.flatnonzero(kept.pattern)} >= gone
    assert {r: first.labels[i] for r, i in enumerate(np.flatnonzero(earlier.pattern))} != {
        r: later.labels[i] for r, i in enumerate(np.flatnonzero(earlier.pattern))
    }
    turned = Table.from_array(
        np.array(inner).T, names=names[::-1], codes=[sectors, ["N", "O", "S"]]
    )
    marks = earlier.release.suppressed_in(turned)
    assert {tuple(reversed(turned.labels[i])) for i in np.flatnonzero(marks)} == gone
    lacking = Table.from_array(inner, names=names, codes=[["O", "S", "W"], sectors])
    with pytest.raises(InputError, match=r"suppressed in the earlier release.*no such cell"):
        mechanism.protect(lacking, keep=earlier.release)
    other = Table.from_array(inner, names=["area", "sector"])
    with pytest.raises(InputError, match="region, sector, the table by area, sector"):
        mechanism.protect(other, keep=earlier.release)
    with pytest.raises(InputError, match="matched by label"):
        mechanism.protect(later, keep=earlier.pattern)
    assert protect(later, "FREQ(5)").audit.safe
