"""Floats of half the width and truth values: the same cells through every door."""

from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from csp import Table
from csp.audits.second_reading.files import rows_of

# What Stata and others store by default: code 1 is "1" and 0.1 is one tenth, as when printed.
CODES, GONE = [1.0, 2.0, 1.0, 2.5], [True, False, True, True]
VALUES = ["0.1", "0.2", "0.7", "16777.1"]
ARROW = pa.table(
    {
        "code": pa.array(CODES, pa.float32()),
        "gone": GONE,
        "v": pa.array(np.array(VALUES, np.float32)),
    }
)
EXPECTED = {(code, str(gone)): Fraction(0) for code in ("1", "2", "2.5") for gone in (False, True)}
for at, (code, gone) in enumerate(zip(("1", "2", "1", "2.5"), GONE, strict=True)):
    EXPECTED[code, str(gone)] += Fraction(VALUES[at])

DOORS = {
    "pandas": lambda path: ARROW.to_pandas(),
    "pandas with gaps": lambda path: ARROW.to_pandas().astype({"v": "Float32", "code": "Float32"}),
    "polars": lambda path: pl.from_arrow(ARROW),
    "arrow": lambda path: ARROW,
    "arrays": lambda path: {n: ARROW[n].to_numpy() for n in ARROW.column_names},
    "series": lambda path: dict(ARROW.to_pandas().items()),
    "scalars": lambda path: {n: list(ARROW[n].to_numpy()) for n in ARROW.column_names},
    "masked": lambda path: {
        "code": np.ma.masked_array(np.float32(CODES), mask=[0, 0, 0, 0]),
        "gone": GONE,
        "v": np.float32(VALUES),
    },
    "parquet": lambda path: path,
    "relation": lambda path: duckdb.connect().read_parquet(str(path)),
}


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "narrow.parquet"
    pa.parquet.write_table(ARROW, path)
    return path


def inner(table):
    return {
        label: Fraction(int(value), 10**table.scale)
        for label, value in zip(table.labels, table.values, strict=True)
        if "Total" not in label
    }


@pytest.mark.parametrize("door", DOORS)
def test_narrow_floats_and_truth_values_are_read_as_printed(door, parquet):
    table = Table.from_microdata(DOORS[door](parquet), ["code", "gone"], "v")
    assert inner(table) == EXPECTED


def test_so_are_files_within_memory_and_by_the_second_reading(parquet):
    assert inner(Table.from_microdata(parquet, ["code", "gone"], "v", memory="4GB")) == EXPECTED
    again = rows_of(parquet)
    assert list(map(str, again["v"])) == VALUES
    assert again["code"] == CODES


@pytest.mark.parametrize("door", ["pandas", "polars", "arrow", "parquet"])
def test_a_gap_among_narrow_floats_changes_no_other_number(door, tmp_path):
    gaps = pa.table({"a": ["x", "y", "x"], "v": pa.array([0.1, None, 0.3], pa.float32())})
    pa.parquet.write_table(gaps, tmp_path / "gaps.parquet")
    data = {
        "pandas": gaps.to_pandas(),
        "polars": pl.from_arrow(gaps),
        "arrow": gaps,
        "parquet": tmp_path / "gaps.parquet",
    }[door]
    table = Table.from_microdata(data, ["a"], "v", missing_values="drop")
    assert (table.values.tolist(), table.scale) == ([4, 0, 4], 1)
