"""Masking by swapping: what moves where, what is left alone, and what it does to correlations."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp import TextFile
from csp.errors import InputError
from microagg.swapping.moves import permuted, stream
from tests.support import oracles_microagg, oracles_swapping

ORDERS = ("sequential", "simultaneous", "forward")


@st.composite
def files(draw, quasi=1, confidential=2, largest=14):
    """Names and columns with many ties or few; and k."""
    n = draw(st.integers(2, largest))
    high = draw(st.sampled_from([2, 1000]))
    names = [f"q{i}" for i in range(quasi)] + [f"c{i}" for i in range(confidential)]
    whole = st.lists(st.integers(-high, high), min_size=n, max_size=n)
    columns = {name: draw(whole.filter(lambda c: len(set(c)) > 1)) for name in names}
    return columns, draw(st.integers(2, n))


def clusters(labels):
    """Groups without their numbers."""
    return {frozenset(np.flatnonzero(np.asarray(labels) == g).tolist()) for g in set(labels)}


# ---- permutations -----------------------------------------------------------------------------


class Fixed:
    """A generator that draws a permutation it is told."""

    def __init__(self, drawn):
        self.drawn = np.array(drawn)

    def permutation(self, n):
        assert n == len(self.drawn)
        return self.drawn


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 0, 1, 1], [2, 0, 1, 0, 2, 2], [0, 1, 2]])
def test_all_permutations_within_groups_are_equally_likely(labels):
    array = np.array(labels)
    found = Counter(
        tuple(permuted(array, Fixed(drawn)).tolist()) for drawn in permutations(range(len(labels)))
    )
    assert set(found) == set(oracles_swapping.arrangements(labels))
    assert len(set(found.values())) == 1


def test_generators_are_uniform_and_independent():
    labels = np.zeros(3, np.int64)
    runs = 3600
    both = Counter(
        tuple(tuple(permuted(labels, stream(seed, place)).tolist()) for place in (0, 1))
        for seed in range(runs)
    )
    assert len(both) == 36
    expected = runs / 36
    chi = sum((times - expected) ** 2 / expected for times in both.values())
    assert chi < 35 + 5 * 70**0.5  # five standard deviations above the mean


# ---- what the methods do ----------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@given(files(), st.integers(0, 99))
def test_groups_are_mdavs_of_the_other_attributes(order, file, seed):
    data, k = file
    masked = microagg.mdav_swap(
        data, k, confidential=["c1", "c0"], order=order, scale="none", seed=seed
    )
    now = {name: list(column) for name, column in data.items()}
    for name in ("c1", "c0"):
        by = [other for other in data if other != name]
        if order == "forward":
            by = ["q0"] if name == "c1" else ["q0", "c1"]
        table = data if order == "simultaneous" else now
        points = list(zip(*(table[one] for one in by), strict=True))
        labels = masked.partitions[name].labels.tolist()
        assert clusters(labels) == clusters(oracles_microagg.mdav(points, k))
        now[name] = masked.column(name).tolist()
        for group in clusters(labels):
            assert Counter(data[name][i] for i in group) == Counter(now[name][i] for i in group)
        assert now[name] == [data[name][i] for i in masked.sources[name]]
    assert masked.column("q0").tolist() == data["q0"]


@given(files(2, 2), st.integers(0, 99))
def test_the_uninformed_see_confidential_records_move_whole(file, seed):
    data, k = file
    masked = microagg.mdav_swap(
        data, k, confidential=["c0", "c1"], intruders="uninformed", scale="none", seed=seed
    )
    points = list(zip(data["q0"], data["q1"], strict=True))
    labels = masked.partitions["c0"].labels.tolist()
    assert clusters(labels) == clusters(oracles_microagg.mdav(points, k))
    assert masked.partitions["c1"] is masked.partitions["c0"]
    before = list(zip(data["c0"], data["c1"], strict=True))
    after = list(zip(masked.column("c0").tolist(), masked.column("c1").tolist(), strict=True))
    for group in clusters(labels):
        assert Counter(before[i] for i in group) == Counter(after[i] for i in group)


@pytest.mark.parametrize("groups", ["mdav", "optimal"])
@given(files(1, 2), st.integers(0, 99))
def test_ranking_swaps_neighbouring_values(groups, file, seed):
    data, k = file
    masked = microagg.ir_swap(data, k, confidential=["c0", "c1"], groups=groups, seed=seed)
    for name in ("c0", "c1"):
        column = data[name]
        sets = clusters(masked.partitions[name].labels.tolist())
        after = masked.column(name).tolist()
        for group in sets:
            assert len(group) >= k
            assert Counter(column[i] for i in group) == Counter(after[i] for i in group)
        ranges = sorted((min(column[i] for i in g), max(column[i] for i in g)) for g in sets)
        assert all(a[1] <= b[0] for a, b in pairwise(ranges))
    alone = microagg.ir_swap({"c0": data["c0"]}, k, groups=groups, seed=seed)
    assert alone.column("c0").tolist() == masked.column("c0").tolist()


@given(files(2, 1))
def test_means_make_classes_of_k(file):
    data, k = file
    masked = microagg.mdav_id(data, k, confidential=["c0"], scale="none")
    wanted = microagg.mdav(data, k, attributes=["q0", "q1"], scale="none")
    assert np.array_equal(
        np.column_stack([masked.column("q0"), masked.column("q1")]), wanted.masked
    )
    assert masked.column("c0").tolist() == data["c0"]
    rows = Counter(zip(masked.column("q0"), masked.column("q1"), strict=True))
    assert min(rows.values()) >= k
    assert masked.seed is None


@given(files(1, 2), st.integers(0, 99))
def test_what_stays_is_counted(file, seed):
    data, k = file
    for masked in (
        microagg.mdav_swap(data, k, confidential=["c0", "c1"], scale="none", seed=seed),
        microagg.ir_swap(data, k, confidential=["c0", "c1"], seed=seed),
        microagg.mdav_id(data, k, scale="none"),
    ):
        assert masked.masked == (("q0", "c0", "c1") if masked.method == "MDAV-ID" else ("c0", "c1"))
        for name in masked.masked:
            after = masked.column(name).tolist()
            same = [a == b for a, b in zip(data[name], after, strict=True)]
            assert masked.unchanged[name] == pytest.approx(sum(same) / len(same))
            sets = clusters(masked.partitions[name].labels.tolist())
            alike = [len({data[name][i] for i in group}) == 1 for group in sets]
            assert masked.homogeneous[name] == sum(alike)


# ---- the caller's data --------------------------------------------------------------------------

FILE = {
    "who": ["a", "b", None, "d", "e", "f"],
    "age": [20, 21, 22, 60, 61, 62],
    "pay": [2**62 + 1, 2**62 + 3, 5, 7, 11, 13],
    "tax": ["1.10", "2.20", "3.3", "4.40", "5.5", "6.60"],
}
KINDS = {"quasi_identifiers": ["age"], "confidential": ["pay", "tax"]}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_back_whole(library):
    masked = microagg.mdav_swap(library(FILE), 3, **KINDS, seed=4)
    frame = masked.to_frame()
    assert type(frame) is type(library(FILE))
    table = frame.to_pydict() if library is pa.table else {c: list(frame[c]) for c in FILE}
    assert list(table) == list(FILE)
    assert table["age"] == FILE["age"]
    assert [None if pd.isna(w) else w for w in table["who"]] == FILE["who"]
    for name in ("pay", "tax"):  # not a digit is lost
        assert sorted(table[name]) == sorted(FILE[name])
        assert table[name] == [FILE[name][i] for i in masked.sources[name]]


def test_text_decimals_files_and_arrays(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("who,age,pay\na,20,1.50\nb,21,2.50\nc,60,3.5\nd,61,4.25\n")
    masked = microagg.mdav_swap(path, 2, quasi_identifiers=["age"], confidential=["pay"], seed=1)
    assert sorted(masked.column("pay").tolist()) == ["1.50", "2.50", "3.5", "4.25"]
    assert masked.column("who").tolist() == list("abcd")
    exact = [Decimal("0.1"), Decimal("0.20"), Decimal(3), Decimal(4)]
    swapped = microagg.ir_swap({"x": exact}, 2, seed=1).column("x").tolist()
    assert {str(x) for x in swapped} == {str(x) for x in exact}
    array = np.arange(12).reshape(6, 2) ** 2
    swapped = microagg.mdav_swap(array, 2, confidential=["a2"], seed=0)
    assert swapped.column("a1").tolist() == array[:, 0].tolist()
    assert swapped.column("a2").dtype == array.dtype
    assert microagg.read_records(array).n == 6


def test_seeds():
    def pay(seed):
        return microagg.mdav_swap(FILE, 3, **KINDS, seed=seed)

    assert pay(5).column("pay").tolist() == pay(5).column("pay").tolist()
    assert len({tuple(pay(s).column("pay").tolist()) for s in range(20)}) > 5
    one, two = pay(None), pay(None)
    assert one.seed != two.seed
    again = pay(one.seed)
    assert again.column("tax").tolist() == one.column("tax").tolist()
    assert again.column("pay").tolist() == one.column("pay").tolist()


def test_nothing_secret_is_shown():
    masked = microagg.mdav_swap(FILE, 3, **KINDS, seed=987654321)
    text = json.dumps(masked.summary()) + repr(masked) + repr(microagg.linkage_probability(masked))
    assert "987654321" not in text
    assert str(2**62 + 1) not in text
    assert masked.summary(reveal=True)["seed"] == 987654321
    assert masked.summary()["left_alone"] == ["who", "age"]
    with pytest.raises(KeyError):
        masked.column("nowhere")
    with pytest.raises(ValueError, match="read-only"):
        masked.column("pay")[0] = 0


GOOD = {"a": [1, 2, 3, 4], "b": [4, 3, 2, 1], "c": [1, 1, 2, 2], "one": [5, 5, 5, 5]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be a whole number"),
        ({"k": 5}, "more than the 4 records"),
        ({"k": 2.0}, "k must be a whole number"),
        ({"confidential": ["d"]}, "no column 'd'"),
        ({"confidential": ["b", "b"]}, "'b' occurs twice"),
        ({"confidential": ["a", "b"]}, "'a' is both"),
        ({"confidential": "b"}, "not the text 'b'"),
        ({"confidential": []}, "no confidential attribute"),
        ({"confidential": None, "quasi_identifiers": None}, "both are missing"),
        ({"confidential": ["one"]}, "'one' is constant"),
        ({"confidential": ["b"], "quasi_identifiers": []}, "there are none; give one, or ir_swap"),
        ({"intruders": "all"}, "intruders 'all' is not one of"),
        ({"intruders": "uninformed", "quasi_identifiers": []}, "and there are none"),
        ({"order": "random"}, "order 'random' is not one of"),
        ({"scale": "log"}, "scale 'log' is not one of"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"X": {"a": [1, 2], "b": [1, float("nan")]}}, "row 2, column 'b'"),
        ({"X": {"a": [1, 2], "b": [1, "x"]}}, "row 2, column 'b'"),
        ({"X": {"a": [], "b": []}}, "no records"),
        ({"X": np.zeros(3)}, "two axes"),
    ],
)
def test_bad_input_of_swapping(change, message):
    given = {"X": GOOD, "k": 2, "quasi_identifiers": ["a"], "confidential": ["b"], "seed": 0}
    with pytest.raises(InputError, match=message):
        microagg.mdav_swap(**given | change)


def test_bad_input_of_the_others():
    with pytest.raises(InputError, match="groups 'new' is not one of"):
        microagg.ir_swap(GOOD, 2, confidential=["a"], groups="new")
    with pytest.raises(InputError, match="'one' is constant"):
        microagg.ir_swap(GOOD, 2, confidential=["a", "one"])
    assert microagg.ir_swap(GOOD, 2, confidential=["one"], constant="keep").unchanged["one"] == 1
    with pytest.raises(InputError, match="constant 'no' is not one of"):
        microagg.ir_swap(GOOD, 2, confidential=["a"], constant="no")
    with pytest.raises(InputError, match="no quasi-identifier"):
        microagg.mdav_id(GOOD, 2, quasi_identifiers=[], confidential=["a"])
    with pytest.raises(InputError, match="'one' is constant"):
        microagg.mdav_id(GOOD, 2)
    assert microagg.mdav_id(GOOD, 2, constant="keep").column("one").tolist() == [5.0] * 4


# ---- correlations -------------------------------------------------------------------------------


@given(files(2, 2, 10), st.randoms())
def test_correlation_loss_is_that_of_numpy(file, source):
    data = file[0]
    other = {name: source.sample(column, len(column)) for name, column in data.items()}
    names = list(data)
    one, two = (np.corrcoef([t[name] for name in names]) for t in (data, other))
    listed = [
        abs(one[i, j] - two[i, j]) for i in range(4) for j in range(i, 4) if j > 1
    ]  # the confidential ones come last
    found = microagg.correlation_loss(data, other, ["c0", "c1"])
    assert found.entries == len(listed) == 7
    assert found.mean == pytest.approx(np.mean(listed), abs=1e-12)
    assert found.std == pytest.approx(np.std(listed), abs=1e-12)
    assert found.differences[0, 1] == pytest.approx(abs(one[0, 3] - two[0, 3]), abs=1e-12)
    assert microagg.correlation_loss(data, data, ["c0"]).mean == 0


def test_correlation_loss_of_bad_input():
    swapped = microagg.ir_swap(GOOD, 2, confidential=["a", "b"], seed=0)
    assert microagg.correlation_loss(GOOD, swapped, ["a", "b"]).names == ("a", "b")
    assert microagg.correlation_loss(GOOD, swapped, ["a"], attributes=["c"]).names == ("c", "a")
    with pytest.raises(InputError, match="'one' is constant in the original file"):
        microagg.correlation_loss(GOOD, swapped, ["one"])
    short = {name: column[:3] for name, column in GOOD.items()}
    with pytest.raises(InputError, match="has 4 records, the masked file 3"):
        microagg.correlation_loss(GOOD, short, ["a"], attributes=["b"])
    flat = GOOD | {"a": [1] * 4}
    with pytest.raises(InputError, match="'a' is constant in the masked file"):
        microagg.correlation_loss(GOOD, flat, ["a"], attributes=["b"])
    with pytest.raises(InputError, match="in a list"):
        microagg.correlation_loss(GOOD, GOOD, "a")


@pytest.mark.parametrize(
    ("entries", "declared", "found"),
    [
        (["1,5", "12,25", "3"], {}, ["1.5", "12.25", "3"]),
        (["1.500", "12.250", "3"], {}, "may be a decimal mark or separate thousands"),
        (["1.500", "12.250", "3"], {"decimal": "."}, ["1.500", "12.250", "3"]),
        (["1.500", "12.250", "3"], {"decimal": ","}, "the number has a point"),
        (["2", "-9", "3"], {"missing": ("-9",)}, "row 2, column 'pay': the entry is missing"),
    ],
)
def test_what_is_declared_of_a_text_file_counts(tmp_path, entries, declared, found):
    lines = [f"{i};{pay};NA" for i, pay in enumerate(entries * 2)]
    (tmp_path / "d.csv").write_text("\n".join(["key;pay;note", *lines]) + "\n")
    file = TextFile(tmp_path / "d.csv", **declared)
    for swap in (microagg.ir_swap, microagg.mdav_swap):
        roles = {"confidential": ["pay"], "quasi_identifiers": ["key"], "seed": 1}
        if isinstance(found, str):
            with pytest.raises(InputError, match=found):
                swap(file, 2, **roles)
            continue
        swapped = swap(file, 2, **roles)
        assert Counter(swapped.column("pay")) == Counter(found * 2)
        assert list(swapped.column("note")) == ["NA"] * 6  # without a part: as it stands
