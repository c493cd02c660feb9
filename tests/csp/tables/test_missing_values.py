"""Records without a value are left out where that is asked for, and values rounded likewise."""

from __future__ import annotations

from collections import defaultdict
from decimal import ROUND_HALF_EVEN, Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Columns, InputError, Table, inspect, protect
from csp.tables.units import is_gap, to_units

RECORDS = [
    ("a", "x", "1", 5), ("a", "y", "1", None), ("b", "x", "2", 7), ("b", "x", "3", 2),
    ("a", "x", "4", 9), ("c", "y", "5", None), ("b", "y", "6", 4),
]  # fmt: skip
FRAME = pd.DataFrame(RECORDS, columns=["r", "s", "who", "v"])


def cells(table):
    return {label: int(v) for label, v in zip(table.labels, table.values, strict=True)}


def sums(records):
    """Cells of records with a value, added up one by one; all codes are there."""
    found = defaultdict(int)
    codes = [[*{record[d]: 0 for record in records}, "Total"] for d in (0, 1)]
    for r in codes[0]:
        for s in codes[1]:
            found[r, s] = 0
    for r, s, _, v in records:
        if v is not None:
            for one in (r, "Total"):
                for two in (s, "Total"):
                    found[one, two] += v
    return dict(found)


def doors(frame, folder):
    """The same records through every door."""
    frame.to_csv(folder / "d.csv", index=False)
    frame.to_parquet(folder / "d.parquet")
    yield frame, None
    yield pl.from_pandas(frame), None
    yield {name: frame[name].tolist() for name in frame}, None
    yield folder / "d.csv", None
    yield folder / "d.parquet", None
    yield folder / "d.csv", "4GB"
    yield folder / "d.parquet", "4GB"
    yield duckdb.from_df(frame), None


def test_every_door_leaves_out_the_same_records(tmp_path):
    for data, memory in doors(FRAME, tmp_path):
        with pytest.raises(InputError, match="row 2, column 'v': the number is missing"):
            Table.from_microdata(data, ["r", "s"], "v", contributor="who", memory=memory)
        table = Table.from_microdata(
            data, ["r", "s"], "v", contributor="who", memory=memory, missing_values="drop"
        )
        assert cells(table) == sums(RECORDS)
        assert table.contributors.count[table.position(("a", "Total"))] == 2
        assert table.structural[table.position(("c", "y"))]
        assert sum("records without 'v' are left out" in note for note in table.notes) == 1
        assert not any("2" in note for note in table.notes)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("123"),
            st.none() | st.integers(0, 9),
        ),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_cells_are_those_of_the_records_with_a_value(records):
    columns = {n: [record[i] for record in records] for i, n in enumerate(["r", "s", "who", "v"])}
    if all(v is None for v in columns["v"]):
        with pytest.raises(InputError, match="no record has a number in column 'v'"):
            Table.from_microdata(columns, ["r", "s"], "v", missing_values="drop")
        return
    table = Table.from_microdata(
        columns, ["r", "s"], "v", contributor="who", missing_values="drop", total="Total"
    )
    assert cells(table) == sums(records)


def test_infinite_values_are_not_missing():
    frame = FRAME.assign(v=[1.0, np.inf, 2, 3, 4, 5, 6])
    with pytest.raises(InputError, match="row 2"):
        Table.from_microdata(frame, ["r"], "v", missing_values="drop")


@pytest.mark.parametrize(
    ("column", "gaps"),
    [
        (np.array([1.0, np.nan, np.inf]), [False, True, False]),
        (np.array([1, 0]), [False, False]),
        (np.array([None, "", " NA ", "0", "x", pd.NA, "inf"], object),
         [True, True, True, False, False, True, False]),
    ],
)  # fmt: skip
def test_gaps(column, gaps):
    assert is_gap(column).tolist() == gaps


def test_a_shadow_has_to_be_answered_too():
    frame = FRAME.assign(v=[1, 2, None, 4, 5, 6, 7], w=[10, None, 30, 40, 50, 60, 70])
    table = Table.from_microdata(frame, ["r"], "v", shadow="w", missing_values="drop")
    assert cells(table) == {("a",): 6, ("b",): 11, ("c",): 6, ("Total",): 23}
    assert table.contributors.total.tolist() == [60, 110, 60, 230]


def test_the_release_is_read_again_in_the_same_sense():
    table = Table.from_microdata(FRAME, ["r", "s"], "v", contributor="who", missing_values="drop")
    protected = protect(table, "FREQ(2,10)")
    columns = Columns((("r", "s"),), "v", "who", missing_values="drop")
    assert protected.reread(FRAME, columns).safe
    with pytest.raises(InputError, match="missing, or not a number"):
        protected.reread(FRAME, Columns((("r", "s"),), "v", "who"))


def test_inspection_names_the_choice():
    found = inspect(FRAME, ["r"], "v", contributor="who")
    assert any("missing_values='drop'" in words for words in found.problems)
    found = inspect(FRAME, ["r"], "v", contributor="who", missing_values="drop")
    assert not any("records have no 'v'" in words for words in found.problems)
    with pytest.raises(InputError, match="row 2"):
        inspect(FRAME, ["r"], "v", contributor="who", missing_values="error")


# ---- rounding ------------------------------------------------------------------------------------


@given(
    st.lists(st.floats(-1e9, 1e9) | st.decimals(-1000, 1000, places=4).map(float), min_size=1),
    st.integers(0, 5),
)
def test_rounding_is_that_of_decimal_texts(numbers, places):
    unit = Decimal(1).scaleb(-places)
    wanted = [int(Decimal(repr(x)).quantize(unit, ROUND_HALF_EVEN).scaleb(places)) for x in numbers]
    for column in (np.array(numbers), np.array([repr(x) for x in numbers], object)):
        found, scale = to_units(column, places, rounded=True)
        off = [i for i, (a, b) in enumerate(zip(found.tolist(), wanted, strict=True)) if a != b]
        # A float a few units in the last place off a tie is that tie, as without rounding.
        for i in off:
            tie = Decimal(repr(numbers[i])).scaleb(places)
            assert abs(tie - found[i]) <= Decimal("0.5000001")
        assert scale == places


def test_ties_go_to_even():
    numbers = np.array([0.125, 0.375, 2.5e-1, 0.5, 1.5])
    assert to_units(numbers, 2, rounded=True)[0].tolist() == [12, 38, 25, 50, 150]
    assert to_units(numbers, 0, rounded=True)[0].tolist() == [0, 0, 0, 0, 2]


def test_floats_have_one_way(tmp_path):
    frame = pd.DataFrame({"r": [*"aabb"], "v": [1 / 3, 2 / 3, 1e-9 / 7, 5 / 7]})
    with pytest.raises(InputError, match=r"decimals=2.*round=True"):
        Table.from_microdata(frame, ["r"], "v")
    with pytest.raises(InputError, match="round=True rounds numbers to that many"):
        Table.from_microdata(frame, ["r"], "v", decimals=2)
    with pytest.raises(InputError, match="round=True needs the decimals"):
        Table.from_microdata(frame, ["r"], "v", round=True)
    for data, memory in doors(frame, tmp_path):
        table = Table.from_microdata(data, ["r"], "v", decimals=2, round=True, memory=memory)
        assert cells(table) == {("a",): 100, ("b",): 71, ("Total",): 171}
        assert table.notes[-1] == "values are rounded to 2 decimals"


def test_rounded_cells_of_a_frame():
    frame = pd.DataFrame({"r": ["a", "b", "Total"], "v": [1 / 3, 2 / 3, 1.0]})
    assert cells(Table.from_frame(frame, ["r"], "v", decimals=2, round=True)) == {
        ("a",): 33, ("b",): 67, ("Total",): 100,
    }  # fmt: skip
