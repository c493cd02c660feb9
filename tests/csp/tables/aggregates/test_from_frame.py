"""Aggregated frames in, frames of columns out."""

from __future__ import annotations

import itertools
from dataclasses import fields
from difflib import SequenceMatcher
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import UNBOUNDED, Hierarchy, InputError, Table
from csp.errors import NotAdditive
from csp.tables.cross.frames import columns_to_frame

BELOW = {"1": "1", "2": "2", "N": "12", "3": "3", "S": "3", "Total": "123"}
REGION = Hierarchy.from_dict({"N": ["1", "2"], "S": ["3"]})


@st.composite
def cubes(draw):
    """Inner cells (some without a row) and every cell by brute force."""
    keys = list(itertools.product("123", "fm"))
    inner = {
        key: Fraction(draw(st.integers(0, 999)), 10) for key in keys if draw(st.booleans())
    } or {("1", "f"): Fraction(1)}
    sexes = {sex: sex for _, sex in inner} | {"Total": "fm"}
    full = {
        (r, s): sum(
            (v for (a, b), v in inner.items() if a in BELOW[r] and b in sexes[s]), Fraction(0)
        )
        for r, s in itertools.product(BELOW, sexes)
    }
    return inner, full


def frame_of(cells, shuffler, library=dict):
    rows = list(cells.items())
    shuffler.shuffle(rows)
    return library(
        {
            "r": [r for (r, _), _ in rows],
            "s": [s for (_, s), _ in rows],
            "v": [float(v) for _, v in rows],
        }
    )


@given(
    cubes(),
    st.randoms(use_true_random=False),
    st.sampled_from([dict, pd.DataFrame, pl.DataFrame, pa.table]),
)
def test_margins_are_computed_or_checked(cube, shuffler, library):
    inner, full = cube
    options = {"hierarchies": {"r": REGION}, "decimals": 1}
    computed = Table.from_frame(
        frame_of(inner, shuffler, library), ["r", "s"], "v", absent="zero", **options
    )
    checked = Table.from_frame(frame_of(full, shuffler, library), ["r", "s"], "v", **options)
    for table in (computed, checked):
        got = dict(zip(table.labels, table.values.tolist(), strict=True))
        assert {label: Fraction(v, 10) for label, v in got.items()} == full
        assert table.roots == ("Total", "Total")
        assert set(table.lower.tolist()) == {0}
        assert table.contributors is None
    assert computed.labels == checked.labels


@given(cubes(), st.randoms(use_true_random=False), st.data())
def test_a_wrong_cell_is_not_additive_and_a_lost_margin_is_named(cube, shuffler, data):
    _, full = cube
    label = data.draw(st.sampled_from(sorted(full)))
    options = {"hierarchies": {"r": REGION}}
    wrong = full | {label: full[label] + Fraction(1, 10)}
    with pytest.raises(NotAdditive):
        Table.from_frame(frame_of(wrong, shuffler), ["r", "s"], "v", **options)
    label = data.draw(st.sampled_from([k for k in full if "Total" in k or k[0] in "NS"]))
    lost = {key: value for key, value in full.items() if key != label}
    with pytest.raises(InputError, match=rf"not cell \(r={label[0]}, s={label[1]}\)"):
        Table.from_frame(frame_of(lost, shuffler), ["r", "s"], "v", **options)


FULL = {
    "g": ["a", "b", "Total"],
    "v": [12.5, 7.5, 20],
    "n": [3, 1, 4],
    "x1": [10, 7.5, 10],
    "x2": [1.25, 0, 7.5],
    "lo": [0, 5, None],
    "hi": [None, 50, float("inf")],
}


def test_contributors_and_bounds():
    table = Table.from_frame(
        pd.DataFrame(FULL), ["g"], "v", count="n", top=["x1", "x2"], lower="lo", upper="hi"
    )
    assert table.scale == 2
    assert table.frame == "pandas"
    assert table.values.tolist() == [1250, 750, 2000]
    who = table.contributors
    assert who is not None
    assert who.count.tolist() == [3, 1, 4]
    assert who.top.tolist() == [[1000, 125], [750, 0], [1000, 750]]
    assert who.total.tolist() == [1250, 750, 2000]
    assert table.lower.tolist() == [0, 500, -UNBOUNDED]
    assert table.upper.tolist() == [UNBOUNDED, 5000, UNBOUNDED]
    assert table.structural is not None
    assert not table.structural.any()


def test_cells_without_a_row_are_structural_where_contributors_are_known():
    tree = {"g": Hierarchy.flat(["a", "b", "c"])}
    table = Table.from_frame(FULL, ["g"], "v", top="x1", hierarchies=tree)
    assert table.structural is not None
    assert table.structural.tolist() == [False, False, True, False]
    assert table.contributors is not None
    assert table.contributors.count.tolist() == [1, 1, 0, 1]


def test_cells_are_negative_only_where_that_is_said():
    data = {"g": ["a", "b"], "v": [5, -7]}
    table = Table.from_frame(data, ["g"], "v", negative="allow")
    assert table.values.tolist() == [5, -7, -2]
    assert set(table.lower.tolist()) == {-UNBOUNDED}
    with pytest.raises(InputError, match=r"cell \(g=b\) is negative"):
        Table.from_frame(data, ["g"], "v")


def full(**changes):
    return FULL | changes


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ({"g": [], "v": []}, {}, ["no rows"]),
        (full(g=["a", "a", "Total"]), {}, ["rows 1 and 2", "(g=a)"]),
        (full(g=["a", None, "Total"]), {}, ["row 2", "'g'", "missing"]),
        (full(v=[77, None, 77]), {}, ["row 2", "'v'", "missing"]),
        (full(v=[77, float("nan"), 77]), {}, ["row 2", "'v'", "missing"]),
        (full(v=[77, float("inf"), 77]), {}, ["row 2", "'v'"]),
        (full(n=[1, None, 3]), {"count": "n"}, ["row 2", "'n'", "missing"]),
        (full(n=[1, -1, 3]), {"count": "n"}, ["row 2", "'n'", "negative"]),
        (full(n=[1, 1.5, 3]), {"count": "n"}, ["row 2", "'n'", "whole number"]),
        (full(x1=[1, -1, 3]), {"top": ["x1"]}, ["row 2", "'x1'", "negative"]),
        (full(), {"top": ["x2", "x1"]}, ["row 1", "'x1'", "'x2'", "largest first"]),
        (full(), {"count": "m"}, ["'m'"]),
        (full(), {"decimals": 0}, ["row 1", "'v'", "0 decimal"]),
        (full(), {"hierarchies": {"g": Hierarchy.flat(["a"])}}, ["row 2", "'b'", "'g'"]),
        (full(), {"hierarchies": {"x": Hierarchy.flat(["a"])}}, ["'x'"]),
        (full(lo=[13, 0, 0]), {"lower": "lo"}, ["(g=a)", "lower"]),
        (full(lo=["x", 0, 0]), {"lower": "lo"}, ["row 1", "'lo'"]),
        (
            {"g": ["a", "b"], "v": [1, 2], "n": [1, 1]},
            {"count": "n"},
            ["'n'", "inner cells only", "from_microdata"],
        ),
        (
            {"g": ["a", "Total"], "v": [-77, -77], "n": [1, 1]},
            {"count": "n"},
            ["row 1", "negative"],
        ),
        ({"g": ["a", "b"], "v": [2**53, 2**53]}, {}, ["2**53"]),
        ({"g": ["Total"], "v": [1]}, {}, ["'g'", "only the total"]),
    ],
)
def test_refusals_name_row_and_column_but_no_value(data, options, words):
    with pytest.raises(InputError) as caught:
        Table.from_frame(data, ["g"], "v", **options)
    for word in words:
        assert word in str(caught.value)
    assert "77" not in str(caught.value)


@pytest.mark.parametrize("by", [[], ["g", "g"]])
def test_dimensions_are_checked(by):
    with pytest.raises(InputError):
        Table.from_frame(FULL, by, "v")


def test_columns_become_frames_of_each_library():
    columns = {"g": ["a", "b"], "v": np.array([1, 2]), "s": [True, False]}
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table, "": pd.DataFrame}
    for library, kind in kinds.items():
        frame = columns_to_frame(columns, library)
        assert isinstance(frame, kind)
        table = Table.from_frame(frame, ["g"], "v")
        assert table.values.tolist() == [1, 2, 3]


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setattr("csp.tables.cross.frames.find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install polars"):
        columns_to_frame({"a": [1]}, "polars")
    with pytest.raises(InputError, match="pandas or polars or pyarrow; pip install pandas"):
        columns_to_frame({"a": [1]})
    with pytest.raises(InputError, match="'excel' is not one of"):
        columns_to_frame({"a": [1]}, "excel")


def test_near_codes_are_looked_for_once(monkeypatch) -> None:
    looked_at = []
    kept = SequenceMatcher.real_quick_ratio
    monkeypatch.setattr(
        SequenceMatcher, "real_quick_ratio", lambda self: looked_at.append(1) or kept(self)
    )
    tree = Hierarchy.flat([f"A{i:03}" for i in range(50)])
    data = {"g": [f"B{i:03}" for i in range(50)], "n": [1] * 50}
    for tabulate in (Table.from_microdata, Table.from_frame):
        looked_at.clear()
        with pytest.raises(InputError, match=r"row 1: code 'B000' .* \(did you mean 'A000'"):
            tabulate(data, ["g"], "n", hierarchies={"g": tree})
        assert len(looked_at) == len(tree.codes)


@pytest.mark.parametrize(
    ("call", "reader"),
    [
        (Table.from_frame, "csp.tables.aggregates.from_frame.table_from_frame"),
        (Table.from_microdata, "csp.tables.microdata.from_microdata.tabulate"),
    ],
)
def test_every_argument_arrives_under_its_own_name(
    call: Any, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"bool": True, "int": 7, "int | None": 8}  # the kinds of these are checked before
    given = {n: plain.get(p.annotation, object()) for n, p in signature(call).parameters.items()}
    monkeypatch.setattr(reader, lambda _, asked: asked)
    asked = call(**given)
    assert {part.name for part in fields(asked)} == set(given)
    assert all(getattr(asked, name) is value for name, value in given.items())
