"""Caps on sizes and different values in every cluster, against all partitions of small files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import microagg
from csp import InputError, Unprotectable
from csp.compiled import at_once
from csp.errors import OutOfTime, SolverError
from csp.formats.delimited import TextFile
from microagg.compliance import column_generation, search, set_partition
from microagg.scaling import scaled
from microagg.tables.forms import forms_of
from tests.support.oracles_clusters import (
    blocks_of,
    partitions,
    sensitive,
    squared_error,
    text,
    unsafe_cells,
)
from tests.support.shared import examples, uncompiled

RULE = st.one_of(
    st.tuples(st.just("NK"), st.integers(1, 2), st.integers(70, 95)),
    st.tuples(st.just("P"), st.integers(5, 90)),
)
LETTERS = st.sampled_from(["a", "a", "b", "c", ""])


@st.composite
def files(draw, most=9):
    n = draw(st.integers(5, most))
    units = draw(arrays(np.int64, (n, 1), elements=st.sampled_from([0, 1, 2, 3, 5, 9, 30, 31])))
    letters = draw(st.lists(LETTERS, min_size=n, max_size=n))
    k = draw(st.integers(2, 3))
    cap = draw(st.one_of(st.none(), st.integers(k, 2 * k)))
    values = draw(st.sampled_from([0, 2, 3]))
    return units, letters, k, cap, values


def asked(file):
    units, letters, _, cap, values = file
    data = {"pay": units[:, 0].tolist(), "branch": letters}
    diverse = {"branch": values} if values else None
    return data, {"most": cap, "diverse": diverse, "attributes": ["pay"], "constant": "keep"}


def meets(block, file):
    """Whether a cluster has a size and values that were asked for."""
    _, letters, k, cap, values = file
    different = {letters[i] for i in block} - {""}
    return k <= len(block) <= (cap or len(letters)) and len(different) >= values


def can_be_read(file):
    """Whether the numbers asked for make sense by themselves."""
    units, letters, k, cap, values = file
    sizes = cap is None or len(units) <= len(units) // k * cap
    return sizes and (not values or (cap or 99) >= values) and len(set(letters) - {""}) >= values


@examples(100)
@given(files(), RULE, st.sampled_from(["merge", "grow", "optimise"]))
def test_clusters_meet_all_demands_or_nothing_does(file, rule, method):
    units, _, k, _, _ = file
    assume(can_be_read(file) and forms_of(text(rule)).least <= k)
    fitting = [
        blocks
        for blocks in partitions(range(len(units)), k)
        if all(
            meets(b, file) and not sensitive([int(units[i, 0]) for i in b], rule) for b in blocks
        )
    ]
    data, options = asked(file)
    try:
        found = microagg.comply(data, k, text(rule), method=method, **options)
    except Unprotectable:
        assert not fitting
        return
    blocks = blocks_of(found.partition.labels.tolist())
    assert all(meets(block, file) for block in blocks)
    assert not unsafe_cells(units, found.partition.labels.tolist(), [rule])
    if method == "optimise":
        points = scaled(microagg.read_records(units), "standardise", constant="keep")
        best = float(min(squared_error(points, blocks) for blocks in fitting))
        assert float(squared_error(points, blocks)) == pytest.approx(best, rel=1e-9, abs=1e-9)
        total = float((points**2).sum())
        assert found.bound <= (100 * best / total if total else 0) * (1 + 1e-9) + 1e-12


@examples(60)
@given(files(14), RULE, st.sampled_from(["drop", "suppress"]))
def test_what_drop_and_suppress_keep_meets_all_demands(file, rule, method):
    units, letters, k, _, values = file
    assume(can_be_read(file) and forms_of(text(rule)).least <= k)
    data, options = asked(file)
    try:
        found = microagg.comply(data, k, text(rule), method=method, **options)
    except (Unprotectable, SolverError):
        return
    blocks = blocks_of(found.partition.labels.tolist())
    assert all(meets([int(found.rows[i]) for i in block], file) for block in blocks)
    if method == "drop":
        assert not unsafe_cells(units[found.rows], found.partition.labels.tolist(), [rule])
    if values:
        different = [{letters[int(found.rows[i])] for i in block} - {""} for block in blocks]
        assert found.diverse == (("branch", values, min(map(len, different))),)


@examples(20)
@given(files(12), RULE, st.sampled_from(["merge", "grow", "drop", "suppress", "optimise"]))
def test_compiled_searches_do_what_the_plain_functions_do(file, rule, method):
    k = file[2]
    assume(can_be_read(file) and forms_of(text(rule)).least <= k)
    data, options = asked(file)

    def labels():
        try:
            found = microagg.comply(data, k, text(rule), method=method, **options)
        except (Unprotectable, SolverError) as error:
            return str(error)
        return found.partition.labels.tolist(), found.rows.tolist(), found.bound

    with at_once():
        compiled = labels()
    with uncompiled(search.KERNELS, column_generation.KERNELS):
        assert labels() == compiled


def test_clusters_as_small_as_without_a_rule():
    random = np.random.default_rng(3)
    pay = random.lognormal(3, 0.8, 400).astype(int) + 1
    firms = random.integers(0, 90, 400)
    data = {"pay": pay, "age": random.integers(18, 70, 400), "firm": firms}
    for method in ("merge", "grow"):
        found = microagg.comply(data, 5, "P(30)", method=method, most=9, diverse={"firm": 4})
        assert found.partition.names == ("pay", "age")
        assert found.partition.sizes.max() <= 9
        assert microagg.disclosure(data, found.partition, "P(30)").count == 0
        for block in blocks_of(found.partition.labels.tolist()):
            assert len({int(firms[i]) for i in block}) >= 4
    assert found.summary()["most"] == 9
    assert found.summary()["diverse"] == {"firm": 4}


def test_too_many_groups_to_decide(monkeypatch):
    data = {"pay": [0, 0, 1, 1, 1, 1, 1]}  # five of a kind cannot stand by three in two clusters
    with pytest.raises(Unprotectable, match="no choice covers"):
        microagg.comply(data, 3, "P(5)", method="merge", most=5)
    monkeypatch.setattr(set_partition, "LISTED", 2)
    with pytest.raises(SolverError, match="too many groups"):
        microagg.comply(data, 3, "P(5)", method="merge", most=5)
    with pytest.raises(OutOfTime):
        microagg.comply(data, 3, "P(5)", method="merge", most=5, time_limit=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"most": 2}, "at least k = 3"),
        ({"most": True}, "most must be a whole number or None, got True"),
        ({"most": "5", "diverse": {"branch": 2}}, "most must be a whole number or None, got '5'"),
        ({"most": 4, "n": 11}, None),
        ({"most": 3, "n": 11}, "most=4"),
        ({"diverse": {"town": 2}}, "no column 'town'; there are pay, branch"),
        ({"diverse": {"branch": 1}}, "at least 2, not 1"),
        ({"diverse": "branch"}, "how many different values of each column are asked for"),
        ({"diverse": {"branch": 4}, "most": 3}, "at most 3 records cannot have 4"),
        ({"partition": 6, "most": 5}, "cluster of 6 records, more than"),
        ({"partition": 3, "diverse": {"branch": 3}, "method": "suppress"}, "fewer than 3"),
    ],
)
def test_bad_input_is_refused(options, words):
    options = dict(options)
    n = options.pop("n", 12)
    size = options.pop("partition", None)
    data = {"pay": list(range(50, 50 + n)), "branch": ["a", "b"] * (n // 2) + ["c"] * (n % 2)}
    data["branch"][0] = "c"
    if size:
        labels = np.arange(n) // size
        options["partition"] = microagg.Partition.of(
            microagg.read_records(data, ["pay"]), labels, 3, "runs"
        )
    options = {"method": "merge", "attributes": ["pay"]} | options
    if words is None:
        found = microagg.comply(data, 3, "P(10)", **options)
        assert found.partition.sizes.max() <= 4
        return
    with pytest.raises(InputError, match=words):
        microagg.comply(data, 3, "P(10)", **options)


def test_a_file_without_enough_values_is_refused():
    with pytest.raises(Unprotectable, match="has 1 values of 'branch'"):
        microagg.comply(
            {"pay": [1, 2, 3], "branch": ["a", "", "a"]}, 3, "P(1)", diverse={"branch": 2}
        )


def test_declared_missing_values_of_a_file_count_for_none(tmp_path):
    path = tmp_path / "pay.csv"
    rows = zip([10, 11, 12, 40, 41, 42], ["a", "NA", "NA", "b", "a", "a"], strict=True)
    path.write_text("pay,branch\n" + "".join(f"{pay},{branch}\n" for pay, branch in rows))
    file = TextFile(path, missing=("NA",))
    found = microagg.comply(file, 3, "P(1)", method="merge", diverse={"branch": 2})
    assert found.partition.sizes.tolist() == [6]


def test_records_carry_what_must_differ():
    data = {"pay": [10, 11, 12, 40, 41, 42], "branch": ["a", "b", "a", "b", "a", "b"]}
    options = {"method": "merge", "diverse": {"branch": 2}}
    records = microagg.read_records(data, diverse=["branch"])
    assert records.names == ("pay",)
    found = microagg.comply(records, 3, "P(1)", **options)
    again = microagg.comply(data, 3, "P(1)", **options)
    assert found.partition.labels.tolist() == again.partition.labels.tolist()
    assert found.diverse == again.diverse
