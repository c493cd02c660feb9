"""What pandas makes of records becomes a table as it is: the table of the records themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csp import InputError, Table, protect
from csp.errors import NotAdditive

G = ["r", "s"]
RECORDS = st.lists(
    st.tuples(st.sampled_from("ba"), st.sampled_from("zyx"), st.booleans(), st.integers(1, 50)),
    min_size=1,
    max_size=25,
)


def frame(records):
    found = pd.DataFrame(records, columns=[*G, "e", "v"])
    found["s"] = found.s.astype(pd.CategoricalDtype([*"zyx"], ordered=True))
    return found


def cells(table):
    """Cells that are not empty, with the total called T."""
    return {
        tuple("T" if c == root else c for c, root in zip(label, table.roots, strict=True)): int(v)
        for label, v in zip(table.labels, table.values, strict=True)
        if v
    }


def wanted(data, by, value=None):
    return cells(Table.from_microdata(data, by, value, total="T"))


@settings(max_examples=30)
@given(RECORDS, st.booleans())
def test_cross_tables_are_the_tables_of_their_records(records, margins):
    data = frame(records)
    crossed = pd.crosstab(data.r, data.s, margins=margins)
    assert cells(Table.from_frame(crossed, count="value")) == wanted(data, G)
    deep = pd.crosstab([data.r, data.e], data.s, margins=margins)
    assert cells(Table.from_frame(deep, count="value")) == wanted(data, ["r", "e", "s"])
    wide = pd.crosstab(data.r, [data.s, data.e], margins=margins)
    assert cells(Table.from_frame(wide)) == wanted(data, ["r", "s", "e"])


@settings(max_examples=30)
@given(RECORDS, st.booleans())
def test_pivot_tables(records, margins):
    data = frame(records)
    crossed = data.pivot_table(
        index="r", columns="s", values="v", aggfunc="sum", margins=margins, observed=False
    )
    assert cells(Table.from_frame(crossed)) == wanted(data, G, "v")
    data["w"] = data.v * 2
    both = data.pivot_table(index="r", columns="s", values=["v", "w"], aggfunc="sum", observed=True)
    assert cells(Table.from_frame(both, value="w")) == wanted(data, G, "w")
    with pytest.raises(InputError, match="holds several values, 'v', 'w'; say which"):
        Table.from_frame(both)
    with pytest.raises(InputError, match="has no value 'u'"):
        Table.from_frame(both, value="u")


@settings(max_examples=30)
@given(RECORDS)
def test_groupby(records):
    data = frame(records)
    groups = data.groupby(G, observed=True)
    assert cells(Table.from_frame(groups.v.sum())) == wanted(data, G, "v")
    assert cells(Table.from_frame(data[G].value_counts())) == wanted(data, G)
    assert cells(Table.from_frame(groups.size())) == wanted(data, G)
    parts = groups.v.agg(["sum", "count", "max"])
    with pytest.raises(InputError, match="disjoint=True if no contributor is in two inner cells"):
        Table.from_frame(parts)
    table = Table.from_frame(parts, disjoint=True, total="T")
    same = Table.from_microdata(data, G, "v", total="T", top=1)
    at = [same.position(label) for label in table.labels]
    assert (table.values == same.values[at]).all()
    for name in ("count", "total", "top"):
        mine, its = getattr(table.contributors, name), getattr(same.contributors, name)
        assert (mine == its[at]).all()
    assert (table.structural == same.structural[at]).all()


def test_the_order_of_the_frame_is_kept():
    data = frame([("b", "z", True, 1), ("a", "y", True, 2), ("a", "x", False, 3)])
    table = Table.from_frame(pd.crosstab(data.r, data.s))
    assert [label[1] for label in table.labels[:4]] == ["z", "y", "x", "Total"]
    assert table.names == ("r", "s")


def test_margins_that_are_not_sums_are_refused():
    data = frame([("b", "z", True, 1), ("a", "y", True, 2), ("a", "x", False, 3)])
    crossed = pd.crosstab(data.r, data.s, margins=True)
    crossed.loc["All", "z"] = 7
    with pytest.raises(NotAdditive, match="All"):
        Table.from_frame(crossed)
    deep = pd.crosstab([data.r, data.e], data.s, margins=True)
    deep.loc[("All", ""), "z"] = 7
    with pytest.raises(InputError, match=r"margin \(r=All, s=z\) is not the sum"):
        Table.from_frame(deep)


@pytest.mark.parametrize("other", ["mean", "median", "std", "min", "max"])
def test_an_aggregate_beside_counts_is_not_dropped(other):
    parts = frame([("b", "z", True, 1), ("a", "y", True, 2)]).groupby("r").v.agg([other, "count"])
    with pytest.raises(InputError, match=f"which of the columns '{other}', 'count' holds"):
        Table.from_frame(parts)
    told = Table.from_frame(parts, value="count")
    assert told.counts
    assert told.values.tolist() == [1, 1, 2]
    with pytest.raises(InputError, match=f"no value 'v'; there are '{other}', 'count'"):
        Table.from_frame(parts, value="v")


def test_codes_across_are_there_and_occur_once():
    data = frame([("b", "z", True, 1), ("a", "y", True, 2)]).astype({"s": str})
    crossed = pd.crosstab(data.r, data.s)
    doubled = pd.concat([crossed, crossed], axis=1).rename_axis(columns="s")
    with pytest.raises(InputError, match="two columns of the frame have the code 'y'"):
        Table.from_frame(doubled)
    data.loc[0, "s"] = None
    with pytest.raises(InputError, match="column 2: the code of 's' is missing"):
        Table.from_frame(pd.crosstab(data.r, data.s, dropna=False))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pl.DataFrame({"a": [1]}), "by= names the columns.*got a DataFrame"),
        ({"a": [1]}, "got a dict"),
        (pd.DataFrame({"a": [1]}), "has no index of codes"),
        (pd.DataFrame({"mean": [1.5], "min": [1]}, index=pd.Index(["x"], name="r")),
         "which of the columns 'mean', 'min' holds the cells is open"),
        (pd.Series([1, 2], pd.MultiIndex.from_tuples([("a", "b"), ("c", "d")], names=["r", "r"])),
         "have one name"),
    ],
)  # fmt: skip
def test_frames_that_leave_it_open(data, words):
    with pytest.raises(InputError, match=words):
        Table.from_frame(data)


def test_a_value_column_has_to_be_named_with_dimensions():
    with pytest.raises(InputError, match="value= names the column of the cells"):
        Table.from_frame(pd.DataFrame({"a": ["x"], "v": [1]}), ["a"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_categories_keep_their_order(kind):
    data = frame([("b", "z", True, 1), ("a", "y", True, 2), ("a", "x", False, 3)])
    if kind == "polars":
        data = pl.from_pandas(data.astype({"s": str})).with_columns(
            pl.col("s").cast(pl.Enum([*"zyx"]))
        )
    if kind == "pyarrow":
        import pyarrow as pa

        data = pa.Table.from_pandas(data)
    table = Table.from_microdata(data, G)
    assert [label[1] for label in table.labels[:4]] == ["z", "y", "x", "Total"]
    assert [label[0] for label in table.labels[::4]] == ["a", "b", "Total"]
    back = protect(table, "FREQ(2,10)").to_frame()
    assert list(np.asarray(back["s"])[:4]) == ["z", "y", "x", "Total"]
