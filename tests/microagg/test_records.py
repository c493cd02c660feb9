"""Records read from any data, scales, and partitions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from csp import InputError
from microagg.partitions.partition import Partition
from microagg.records import check_k, read_records
from microagg.scaling import SCALES, scaled

COLUMNS = {"a": [1, 2, 4], "b": [0.5, 0.25, 10.0]}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_any_frame_gives_the_same_exact_records(make):
    records = read_records(make(COLUMNS))
    assert records.names == ("a", "b")
    assert records.scale == 2
    assert records.units.tolist() == [[100, 50], [200, 25], [400, 1000]]
    assert records.values.tolist() == [[1, 0.5], [2, 0.25], [4, 10]]


def test_text_files_keep_their_digits_and_arrays_name_their_attributes(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("name,a\nu,1.10\nv,0.3\n")
    assert read_records(path, ["a"]).units.tolist() == [[11], [3]]
    assert read_records(np.array([[1, 2], [3, 4]])).names == ("a1", "a2")
    assert read_records({"a": [Decimal("0.10"), Decimal(2)]}).units.tolist() == [[1], [20]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"a": [1, None]}, "row 2, column 'a'"),
        ({"a": [1.0, math.nan]}, "row 2, column 'a'"),
        ({"a": [1.0, math.inf]}, "row 2, column 'a'"),
        ({"a": [1, 2], "c": ["x", "y"]}, "row 1, column 'c'.*name the numerical attributes"),
        ({}, "no attributes"),
        ({"a": []}, "no records"),
        (np.zeros(3), "two axes"),
        (np.ma.array([[1.0], [2.0]], mask=[[False], [True]]), "row 2, column 'a1': .* missing"),
        ({"a": [1, -1e300]}, r"row 2, column 'a': the entry is beyond 2\*\*500"),
        ({"a": [1e-320, 2e-320]}, r"column 'a' differ by less than 2\*\*-500"),
        (pl.DataFrame({"a": ["1,5"]}), "row 1, column 'a'"),
    ],
)
def test_what_is_no_number_is_named(data, words):
    with pytest.raises(InputError, match=words):
        read_records(data)


def test_names_occur_once_and_exist(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("a,a\n1,2\n")
    for twice in (pd.DataFrame([[1, 2]], columns=["a", "a"]), path):
        with pytest.raises(InputError, match="a"):
            read_records(twice)
    with pytest.raises(InputError, match="'a' occurs twice"):
        read_records(COLUMNS, ["a", "a"])
    with pytest.raises(InputError, match="no column 'z'"):
        read_records(COLUMNS, ["z"])
    with pytest.raises(InputError, match="no column 'z'; there are a, b"):
        read_records(read_records(COLUMNS), ["z"])


@pytest.mark.parametrize("k", [0, -1, 4, 2.0, True, "3"])
def test_k_is_a_whole_number_from_1_to_n(k):
    with pytest.raises(InputError, match="k "):
        check_k(k, 3)
    assert [check_k(kind(3), 3) for kind in (int, np.int64, np.uint8)] == [3, 3, 3]
    with pytest.raises(InputError, match="a group of 1 publishes its record"):
        check_k(np.int64(1), 3, 2)


def test_scales_do_what_they_say():
    records = read_records({"a": [0, 2, 4], "b": [0, 0, 30]})
    spread = {name: scaled(records, name).std(axis=0) for name in SCALES}
    sd = records.values.std(axis=0)
    assert np.allclose(spread["none"], sd)
    assert np.allclose(spread["standardise"], 1)
    assert np.allclose(spread["variance"], 1 / sd)
    assert np.allclose(np.ptp(scaled(records, "range"), axis=0), 1)
    with pytest.raises(InputError, match="'mad' is not one of"):
        scaled(records, "mad")


def test_constant_attributes_are_refused_or_count_for_nothing():
    records = read_records({"a": [0.1] * 10, "b": list(range(10))})
    with pytest.raises(InputError, match="'a' is constant"):
        scaled(records, "standardise")
    assert (scaled(records, "variance", constant="keep")[:, 0] == 0).all()
    loss = Partition.of(records, np.arange(10) // 5, 5, "by hand").information_loss
    alone = Partition.of(records.only(["b"]), np.arange(10) // 5, 5, "by hand")
    assert loss == pytest.approx(alone.information_loss)


def test_numbers_that_differ_beyond_floats_are_not_called_constant():
    for column in ([10**30 + i for i in range(4)], ["0.10000000000000000001", "0.1"] * 2):
        with pytest.raises(InputError, match="differs only beyond the 16 digits"):
            scaled(read_records({"a": column, "b": [1, 2, 3, 4]}), "standardise")
    with pytest.raises(InputError, match="is constant"):
        scaled(read_records({"a": ["1.0", "1"], "b": [1, 2]}), "standardise")


@given(
    arrays(np.int64, (12, 2), elements=st.integers(-(10**6), 10**6)),
    st.permutations([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2]),
    st.integers(0, 3),
)
def test_centroids_are_the_exact_means_rounded_once(units, labels, scale):
    data = {
        name: [Decimal(int(v)).scaleb(-scale) for v in units[:, j]] for j, name in enumerate("ab")
    }
    found = Partition.of(read_records(data), labels, 3, "by hand")
    for c in range(3):
        rows = [i for i in range(12) if labels[i] == c]
        assert found.sizes[c] == len(rows)
        for j in range(2):
            mean = sum(Fraction(int(units[i, j])) for i in rows) / len(rows) / 10**scale
            assert found.centroids[c, j] == pytest.approx(float(mean), rel=1e-15, abs=1e-300)
    assert np.array_equal(found.masked, found.centroids[labels])


@given(
    arrays(np.float64, (8, 2), elements=st.integers(-50, 50).map(float)),
    st.permutations([0, 0, 0, 0, 1, 1, 1, 1]),
)
def test_information_loss_is_the_share_of_variance_within_clusters(values, labels):
    if (np.ptp(values, axis=0) == 0).any():
        return
    records = read_records(values)
    within = total = Fraction(0)
    for j in range(2):
        column = [Fraction(float(v)) for v in values[:, j]]
        mean = sum(column) / 8
        spread = sum((v - mean) ** 2 for v in column)
        total += 1
        for c in (0, 1):
            part = [v for v, label in zip(column, labels, strict=True) if label == c]
            within += sum((v - sum(part) / 4) ** 2 for v in part) / spread
    found = Partition.of(records, labels, 4, "by hand")
    assert found.information_loss == pytest.approx(float(100 * within / total), rel=1e-9, abs=1e-9)


def test_partitions_must_have_k_records_a_cluster():
    records = read_records(COLUMNS)
    with pytest.raises(InputError, match="cluster 1 has 1 records"):
        Partition.of(records, [0, 0, 1], 2, "by hand")
    with pytest.raises(InputError, match="one whole-number label each"):
        Partition.of(records, [0, 0], 2, "by hand")
    with pytest.raises(InputError, match="cluster 1 has 0 records"):
        Partition.of(records, [0, 0, 2], 1, "by hand")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_masked_files_return_in_the_frame_of_the_caller(frame):
    data = frame(COLUMNS)
    found = Partition.of(read_records(data), [0, 0, 0], 3, "by hand").to_frame()
    assert type(found) is type(data)
    assert np.array_equal(np.asarray(found["a"]), [7 / 3] * 3)


def test_floats_are_rounded_where_that_is_asked_for() -> None:
    import numpy as np

    import microagg

    rng = np.random.default_rng(1)
    data = {"a": rng.normal(50, 9, 40), "b": rng.random(40) * 100}
    partition = microagg.mdav(data, 5)
    with pytest.raises(InputError, match=r"read_records\(data, decimals=2, round=True\)"):
        microagg.disclosure(data, partition, "P(30)")
    records = microagg.read_records(data, decimals=2, round=True)
    for name, column in zip(records.names, records.columns, strict=True):
        assert (np.abs(np.asarray(column) * 100 - np.rint(data[name] * 100)) < 1e-9).all()
    found = microagg.disclosure(records, microagg.mdav(records, 5), "P(30)")
    cents = {n: np.rint(c * 100).astype(int) for n, c in data.items()}
    exact = {n: c / 100 for n, c in cents.items()}
    again = microagg.disclosure(
        microagg.read_records(exact, decimals=2), microagg.mdav(records, 5), "P(30)"
    )
    assert found.count == again.count
    with pytest.raises(InputError, match="round=True needs the decimals"):
        microagg.read_records(data, round=True)
    gaps = {"a": [1.005, None, 2.675, 3.0], "b": [1, 2, 3, 4.123]}
    rounded = microagg.read_records(gaps, decimals=2, round=True, missing="own")
    assert [float(rounded.columns[0][i]) for i in (0, 2, 3)] == [1.0, 2.68, 3.0]
    assert rounded.gaps[:, 0].tolist() == [False, True, False, False]
