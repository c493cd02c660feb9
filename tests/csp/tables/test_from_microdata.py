"""Microdata to tables, against sums over the records in plain fractions."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import UNBOUNDED, Hierarchy, InputError, Mechanism, Table
from tests.support.shared import examples

TREE = {"N": ["1", "2"], "S": {"3": None, "W": ["4", "5"]}}
BELOW = {  # written out by hand, not derived from our code
    "1": "1", "2": "2", "N": "12", "3": "3", "4": "4", "5": "5", "W": "45", "S": "345",
    "Total": "12345",
}  # fmt: skip


@dataclass
class Case:
    region: list
    sex: list
    value: list  # decimal text
    firm: list
    weight: list  # decimal text, one for each firm


@st.composite
def cases(draw, *, signed=True):
    n = draw(st.integers(1, 14))
    low = -300 if signed else 0
    cents = draw(st.lists(st.integers(low, 300), min_size=n, max_size=n))
    per_firm = draw(st.lists(st.integers(1, 45), min_size=4, max_size=4))
    firm = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    pick = draw(st.sampled_from([1, 10, 100]))
    return Case(
        draw(st.lists(st.sampled_from("12345"), min_size=n, max_size=n)),
        draw(st.lists(st.sampled_from("fm"), min_size=n, max_size=n)),
        [str(Decimal(c) / pick) for c in cents],
        [f"e{i}" for i in firm],
        [f"{per_firm[i] / 10:.1f}" for i in firm],
    )


def half_up(x):
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)


def expected(case, *, value, contributor, weight, negative, k):
    """Label -> (value, records, count, total, top, opposite side) by brute force."""
    sexes = {s: s for s in case.sex} | {"Total": "fm"}
    n = len(case.region)
    x = [Fraction(v) if value else Fraction(1) for v in case.value]
    w = [Fraction(v) if weight else Fraction(1) for v in case.weight]
    parts = {}
    for region, sex in itertools.product(BELOW, sexes):
        inside = [
            i for i in range(n) if case.region[i] in BELOW[region] and case.sex[i] in sexes[sex]
        ]
        if contributor:
            firms = sorted({case.firm[i] for i in inside})
            mine = [[i for i in inside if case.firm[i] == f] for f in firms]
            units = [(sum((x[i] for i in group), Fraction(0)), w[group[0]]) for group in mine]
        else:
            units = [(x[i], w[i]) for i in inside]
        parts[region, sex] = (sum((x[i] * w[i] for i in inside), Fraction(0)), len(inside), units)
    low = min([u for _, _, units in parts.values() for u, _ in units] + [Fraction(0)])

    def side(units):
        weighted = sum((w for _, w in units), Fraction(0))
        top = [u for u, w in units for _ in range(max(1, half_up(w)))]
        top = (sorted(top, reverse=True) + [Fraction(0)] * k)[:k]
        return len(units), weighted, sum((u * w for u, w in units), Fraction(0)), top

    result = {}
    for label, (total, records, units) in parts.items():
        opposite = None
        if negative == "abs":
            units = [(abs(u), w) for u, w in units]
        elif negative == "shift":
            units = [(u - low, w) for u, w in units]
        elif negative == "split":
            opposite = side([(-u, w) for u, w in units if u < 0])
            units = [(u, w) for u, w in units if u >= 0]
        result[label] = (total, records, side(units), opposite)
    return result


def frame_of(case, how):
    columns = {
        "region": case.region,
        "sex": case.sex,
        "value": case.value,
        "firm": case.firm,
        "weight": case.weight,
    }
    if how == "text":
        return columns
    numbers = columns | {c: [float(v) for v in columns[c]] for c in ("value", "weight")}
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[how](numbers)


def same(one, two, *, named=False):
    """Equal tables; who is not named is told apart by the order of the records."""
    assert one.labels == two.labels
    assert one.scale == two.scale
    for name in ("values", "lower", "upper", "structural"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    a, b = one.contributors, two.contributors
    while a is not None and b is not None:
        for name in ("count", "total", "top", *(["ids"] if named else [])):
            assert np.array_equal(getattr(a, name), getattr(b, name))
        a, b = a.opposite, b.opposite
    assert a is None
    assert b is None


@given(
    cases(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["abs", "shift", "split"]),
    st.integers(1, 6),
    st.sampled_from(["text", "pandas", "polars", "pyarrow"]),
    st.randoms(use_true_random=False),
)
def test_every_option_against_fractions(
    case, value, contributor, weight, negative, k, how, shuffler
):
    options = {
        "contributor": "firm" if contributor else None,
        "weight": "weight" if weight else None,
        "hierarchies": {"region": Hierarchy.from_dict(TREE)},
        "negative": negative,
        "top": k,
    }
    name = "value" if value else None
    options["total"] = dict.fromkeys(
        ["region", "sex"], "Total"
    )  # a category may happen to be the sum of the others
    table = Table.from_microdata(frame_of(case, how), ["region", "sex"], name, **options)
    wanted = expected(
        case, value=value, contributor=contributor, weight=weight, negative=negative, k=k
    )
    assert set(table.labels) == set(wanted)
    assert table.frame == ("" if how == "text" else how)
    plain = not weight or all(Fraction(w) == 1 for w in case.weight)
    assert (table.contributors is None) == (not value and not contributor and plain)
    unit = 10**table.scale
    for i, label in enumerate(table.labels):
        total, records, given, opposite = wanted[label]
        assert Fraction(int(table.values[i]), unit) == total
        if value:
            assert table.structural is not None
            assert table.structural[i] == (records == 0)
        else:
            assert table.structural is None
        sides = [(table.contributors, given)]
        if table.contributors is not None and negative == "split":
            sides.append((table.contributors.opposite, opposite))
        for who, (count_, weighted_, sums_, top_) in sides:
            if who is None:
                continue
            assert who.count[i] == count_
            assert plain == (who.weighted is None)
            assert plain or Fraction(int(who.weighted[i]), 10**who.weight_scale) == weighted_
            assert Fraction(int(who.total[i]), unit) == sums_
            assert [Fraction(t, unit) for t in who.top[i].tolist()] == top_
            assert who.ids is not None  # records have numbers where contributors have no names
    assert set(table.lower.tolist()) == ({-UNBOUNDED} if value else {0})

    order = list(range(len(case.region)))
    shuffler.shuffle(order)
    mixed = Case(*([column[i] for i in order] for column in vars(case).values()))
    again = Table.from_microdata(frame_of(mixed, how), ["region", "sex"], name, **options)
    same(table, again, named=contributor)


@examples(25)
@given(cases(signed=False), st.booleans())
def test_ids_name_the_contributor_of_each_entry(case, by_region):
    by = ["region"] if by_region else ["sex"]
    table = Table.from_microdata(frame_of(case, "text"), by, "value", contributor="firm", top=3)
    firms = sorted(set(case.firm))
    unit = 10**table.scale
    assert table.contributors is not None
    assert table.contributors.ids is not None
    codes = case.region if by_region else case.sex
    for i, (code,) in enumerate(table.labels):
        for amount, who in zip(table.contributors.top[i], table.contributors.ids[i], strict=True):
            if who < 0:
                assert amount == 0
                continue
            owned = [
                Fraction(v)
                for v, f, c in zip(case.value, case.firm, codes, strict=True)
                if f == firms[who] and code in (c, "Total")
            ]
            assert owned
            assert Fraction(int(amount), unit) == sum(owned)
    assert set(table.lower.tolist()) == {0}


@examples(25)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 10**6)), min_size=1))
def test_agrees_with_pandas_groupby(rows):
    frame = pd.DataFrame(rows, columns=["g", "v"])
    table = Table.from_microdata(frame, ["g"], "v")
    wanted = frame.groupby("g")["v"].sum()
    assert {label[0]: v for label, v in zip(table.labels, table.values.tolist(), strict=True)} == {
        **wanted.to_dict(),
        "Total": frame["v"].sum(),
    }


ROWS = {"g": ["b", "a", "b"], "h": ["x", "x", "y"], "v": [1.5, 2.25, 0.1], "n": [1, 2, 3]}


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        lambda d: pd.DataFrame(d).convert_dtypes(),
        lambda d: pd.DataFrame(d).astype({"g": "category"}),
        pl.DataFrame,
        pl.LazyFrame,
        lambda d: pl.DataFrame(d).with_columns(pl.col("g").cast(pl.Categorical)),
        lambda d: pl.DataFrame(d).with_columns(pl.col("v").cast(pl.Decimal(10, 3))),
        lambda d: pl.DataFrame(d).with_columns(pl.col("v").cast(pl.Float32)),
        pa.table,
    ],
)
def test_any_frame_gives_the_same_table(make):
    table = Table.from_microdata(make(ROWS), ["g", "h"], "v")
    same(table, Table.from_microdata(ROWS, ["g", "h"], "v"))
    assert table.values[table.position(("b", "Total"))] == 160
    assert table.scale == 2


def test_files_and_relations_give_the_same_table(tmp_path):
    wanted = Table.from_microdata(ROWS, ["g", "h"], "v")
    frame = pd.DataFrame(ROWS)
    csv, packed, parquet = (tmp_path / name for name in ("a.csv", "a.csv.gz", "a.parquet"))
    frame.to_csv(csv, index=False)
    frame.to_csv(packed, index=False, sep=";")
    frame.to_parquet(parquet)
    for path in (csv, packed, parquet, str(csv)):
        table = Table.from_microdata(path, ["g", "h"], "v")
        same(table, wanted)
        assert table.frame == ""
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT * FROM read_parquet('{parquet}')")
        same(Table.from_microdata(relation, ["g", "h"], "v"), wanted)
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT 'a' AS g, 12345678901.10::DECIMAL(18,2) AS v")
        assert Table.from_microdata(relation, ["g"], "v").values[0] == 123456789011


def test_text_of_a_csv_is_read_exactly(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("g,v\n007,900719900000.0991\n007,0.0001\n08,1e2\n")
    table = Table.from_microdata(path, ["g"], "v")
    assert table.labels == (("007",), ("08",), ("Total",))
    assert table.values[0] == 9007199000000992
    assert table.scale == 4


def test_integers_with_gaps_in_pandas_keep_their_codes():
    frame = pd.DataFrame({"g": [1, 2, None], "v": [1, 2, 3]})  # floats now
    table = Table.from_microdata(frame, ["g"], "v", missing="none")
    assert table.labels == (("1",), ("2",), ("none",), ("Total",))


def test_truth_values_count_as_one():
    for make in (dict, pd.DataFrame, pl.DataFrame, pa.table):
        data = make({"g": ["a", "a", "b"], "v": [True, True, False]})
        assert Table.from_microdata(data, ["g"], "v").values.tolist() == [2, 0, 2]


def test_decimals_of_hundreds_are_read():
    hundreds = pa.array([Decimal(300), None, Decimal(-700)], pa.decimal128(4, -2))
    data = pa.table({"g": ["a", "b", "a"], "v": hundreds.fill_null(Decimal(0))})
    assert Table.from_microdata(data, ["g"], "v", negative="abs").values.tolist() == [-400, 0, -400]
    with pytest.raises(InputError, match=r"row 2, column 'v'.*missing"):
        Table.from_microdata(pa.table({"g": ["a", "b", "a"], "v": hundreds}), ["g"], "v")


def test_a_closed_relation_is_refused():
    connection = duckdb.connect()
    relation = connection.sql("SELECT 'a' AS g")
    connection.close()
    with pytest.raises(InputError, match="relation"):
        Table.from_microdata(relation, ["g"])


def test_floats_sum_as_decimals():
    table = Table.from_microdata({"g": ["a"] * 10, "v": [0.1] * 10}, ["g"], "v")
    assert (table.values.tolist(), table.scale) == ([10, 10], 1)
    assert Table.from_microdata({"g": ["a"], "v": [0.1]}, ["g"], "v", decimals=3).scale == 3


def test_margins_come_from_the_records_of_each_contributor():
    # One firm in both regions: two contributors of 60, but one of 120 in the total.
    data = {"r": ["a", "a", "b", "b"], "f": ["x", "y", "x", "z"], "v": [60, 100, 60, 1]}
    table = Table.from_microdata(data, ["r"], "v", contributor="f", top=2)
    assert table.contributors is not None
    assert table.contributors.top.tolist() == [[100, 60], [60, 1], [120, 100]]
    assert table.contributors.count.tolist() == [2, 2, 3]
    assert table.contributors.ids is not None
    assert table.contributors.ids.tolist() == [[1, 0], [0, 2], [0, 1]]


def test_equal_records_of_one_contributor_are_added_up():
    """Nothing tells a copy from a second contribution, so none is dropped."""
    data = {"r": ["a", "a", "a", "b"], "f": ["x", "x", "y", "z"], "v": [10, 10, 7, 5]}
    table = Table.from_microdata(data, ["r"], "v", contributor="f", top=2)
    assert table.values.tolist() == [27, 5, 32]
    assert table.contributors is not None
    assert table.contributors.count.tolist() == [2, 1, 3]
    assert table.contributors.top.tolist() == [[20, 7], [5, 0], [20, 7]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"g": ["a"] * 3, "v": [2**52] * 3}, r"is beyond 2\*\*53; use"),
        (
            {"g": ["a"] * 3, "v": ["45035996273704.96"] * 300},
            r"is beyond 2\*\*53 units of 10\*\*-2",
        ),
    ],
)
def test_units_are_named_where_there_are_decimals(data, words):
    data["g"] *= len(data["v"]) // 3
    with pytest.raises(InputError, match=words):
        Table.from_microdata(data, ["g"], "v")


def test_an_identifier_is_no_dimension():
    """A million of them ran into the time limit, and the message asked for more time."""
    codes = [f"e{i}" for i in range(1000)]
    data = {"id": codes, "r": ["a", "b"] * 500}
    with pytest.raises(InputError, match=r"'id' has another code in each of the 1000 records"):
        Table.from_microdata(data, ["r", "id"])
    data["id"] = [*codes[:-1], "e0"]
    assert Table.from_microdata(data, ["id"]).n_cells == 1000


def bad(**changes):
    data = {"g": ["a", "b", "a"], "f": ["x", "x", "y"], "w": [1, 1, 2], "v": [1, 2, 3]}
    return data | changes


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (bad(g=[], v=[], f=[], w=[]), {}, ["no records"]),
        (bad(v=[1, None, 3]), {}, ["row 2", "'v'", "missing"]),
        (bad(v=[1, 2, float("nan")]), {}, ["row 3", "'v'", "missing"]),
        (bad(v=[float("inf"), 2, 3]), {}, ["row 1", "'v'"]),
        (bad(v=[1, -77, 3]), {}, ["row 2", "'v'", "negative", "split"]),
        (bad(v=[1, "77,5", 3]), {}, ["row 2", "'v'", "decimal number"]),
        (bad(v=[1, 1 / 3, 3]), {}, ["row 2", "'v'", "9 decimal places"]),
        (bad(v=[1, 0.77, 3]), {"decimals": 1}, ["row 2", "'v'", "1 decimal places"]),
        (bad(v=[1, 2**60, 3]), {}, ["row 2", "'v'", "2**53"]),
        (bad(v=[2**52, 2**52, 2**52]), {}, ["(g=Total)", "2**53"]),
        (bad(g=["a", None, "b"]), {}, ["row 2", "'g'", "missing="]),
        (bad(g=["a", " ", "b"]), {}, ["row 2", "'g'", "missing="]),
        (bad(g=["a", "Total", "b"]), {}, ["'Total'", "another name"]),
        (bad(f=["x", None, "y"]), {"contributor": "f"}, ["row 2", "'f'", "missing"]),
        (bad(w=[1, 0, 2]), {"weight": "w"}, ["row 2", "'w'", "positive"]),
        (bad(w=[1, 1 / 3, 2]), {"weight": "w"}, ["row 2", "'w'", "round the weights"]),
        (
            bad(w=["1", "0.3333333333", "2"]),
            {"weight": "w", "decimals": 2},
            ["row 2", "'w'", "the weight has more than 9 decimal places; round the weights"],
        ),
        (bad(w=[1, None, 2]), {"weight": "w"}, ["row 2", "'w'", "missing"]),
        (bad(w=[1, 2, 2]), {"weight": "w", "contributor": "f"}, ["rows 1 and 2", "'f'", "'w'"]),
        (bad(), {"weight": "ww"}, ["'ww'", "'w'"]),
        (bad(), {"contributor": "firm"}, ["'firm'", "g, f, w, v"]),
        (bad(), {"negative": "drop"}, ["'drop'", "split"]),
        (bad(), {"top": 0}, ["top", "at least 1"]),
        (bad(), {"decimals": -1}, ["decimals"]),
        (bad(), {"hierarchies": {"x": Hierarchy.flat(["a"])}}, ["'x'", "g"]),
        (bad(), {"hierarchies": {"g": {"a": None}}}, ["'g'", "from_dict"]),
        (bad(), {"hierarchies": {"g": Hierarchy.flat(["a"])}}, ["row 2", "'b'", "'g'"]),
        (
            bad(g=["a", "north", "a"]),
            {"hierarchies": {"g": Hierarchy.from_dict({"north": ["a", "b"]})}},
            ["row 2", "'north'", "lowest level"],
        ),
        (
            bad(g=["soth", "north", "north"]),
            {"hierarchies": {"g": Hierarchy.flat(["north", "south"])}},
            ["row 1", "'soth'", "'south'"],
        ),
        ([1, 2], {}, ["list"]),
        (bad(g=["a", ["b"], "c"]), {}, ["row 2", "list"]),
        (pd.DataFrame([["a", "a", 1]], columns=["g", "g", "v"]), {}, ["unique"]),
        (pd.DataFrame([["a", 1]], columns=[0, 1]), {}, ["'g'"]),
        (({}, {}), {}, ["pair"]),
        (bad(v=[1]), {}, ["column 'v' has 1 entries", "'g' has 3"]),
    ],
)
def test_refusals_name_row_and_column_but_no_value(data, options, words):
    with pytest.raises(InputError) as caught:
        Table.from_microdata(data, ["g"], "v", **options)
    for word in words:
        assert word in str(caught.value)
    assert "77" not in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "parquet", "relation"])
def test_a_weight_in_a_file_is_refused_in_the_same_words(tmp_path, kind):
    frame = pd.DataFrame(bad(w=[1, 1 / 3, 2]))
    path = tmp_path / f"a.{kind}"
    if kind == "relation":
        data = duckdb.from_df(frame)
    else:
        data = path
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    with pytest.raises(InputError, match=r"row 2, column 'w': the weight .*; round the weights"):
        Table.from_microdata(data, ["g"], "v", weight="w", memory="4GB")


@pytest.mark.parametrize("by", [[], ["g", "g"], ["gg"], [0], ["g", "v"]])
def test_dimensions_are_checked(by):
    with pytest.raises(InputError):
        Table.from_microdata(bad(), by, "v")


def test_codes_are_no_values():
    with pytest.raises(InputError, match="the value 'v' is a dimension too"):
        Table.from_microdata(bad(), ["g", "v"], "v")
    # Counts by a number are what they look like.
    assert Table.from_microdata(bad(), ["g", "v"]).n_cells == 12


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"no file .*none\.csv"):
        Table.from_microdata(tmp_path / "none.csv", ["g"])
    for end, mend in (
        ("xlsx", "give the frame"),
        ("xls", r"save it as \.xlsx"),
        ("doc", "convert"),
    ):
        other = tmp_path / f"a.{end}"
        other.write_text("g\n")
        with pytest.raises(InputError, match=rf"not a file of columns that can be read.*{mend}"):
            Table.from_microdata(other, ["g"])
    torn = tmp_path / "a.parquet"
    torn.write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read as parquet"):
        Table.from_microdata(torn, ["g"])
    ragged = tmp_path / "a.csv"
    ragged.write_text("g,h,v\n" + "a,b,1\n" * 50 + "a,b,77,88,99\n")
    with pytest.raises(InputError, match="line 52") as caught:
        Table.from_microdata(ragged, ["g"], "v")
    assert "77" not in str(caught.value).replace(str(ragged), "")
    for text in ("", "g,g\n1,2\n"):
        torn.with_suffix(".csv").write_text(text)
        with pytest.raises(InputError, match="header"):
            Table.from_microdata(torn.with_suffix(".csv"), ["g"])
    foreign = tmp_path / "c.csv"
    foreign.write_bytes("g,v\nKöln,1\n".encode("cp1252"))
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        Table.from_microdata(foreign, ["g"], "v")
    windows = tmp_path / "d.csv"
    windows.write_bytes('\ufeffg;"v, w"\r\n"a;b";1.5\r\n'.encode())
    assert Table.from_microdata(windows, ["g"], "v, w").labels == (("a;b",), ("Total",))
    empty = tmp_path / "b.csv"
    empty.write_text("g,v\n")
    with pytest.raises(InputError, match="no records"):
        Table.from_microdata(empty, ["g"], "v")


def test_sums_beyond_integers_are_refused():
    big = {"g": ["a", "b"], "v": [2**53, 2**53], "w": [1000, 1000]}
    with pytest.raises(InputError, match=r"2\*\*62"):
        Table.from_microdata(big, ["g"], "v", weight="w")
    codes = [*map(str, range(5000)), "0"]
    wide = {"g": codes, "h": codes}
    with pytest.raises(InputError, match="25010001 cells"):
        Table.from_microdata(wide, ["g", "h"])


def test_a_large_file_is_quick_and_exact():
    n = 200_000
    r = random.Random(1)
    data = {
        "g": np.array([r.randrange(20) for _ in range(n)]),
        "h": np.array([r.randrange(20) for _ in range(n)]),
        "v": np.array([r.randrange(10**6) for _ in range(n)]) / 100,
    }
    table = Table.from_microdata(data, ["g", "h"], "v")
    assert table.values[-1] == int(np.rint(data["v"] * 100).astype(np.int64).sum())


@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [1.5, 0.5, 1, 1]])
def test_whether_weights_were_named_decides_and_not_what_they_are(weights):
    """A single hidden weight other than 1 chose which attackers were withstood."""
    data = {"r": ["a", "a", "b", "b"], "w": weights}
    table = Table.from_microdata(data, ["r"], weight="w")
    assert table.contributors is not None
    mechanism = Mechanism("FREQ(3,10)")
    assert not mechanism.attacker_is_integer(table)
    assert mechanism.guards_singletons(table)


@pytest.mark.parametrize("second", ["x", "y"])
def test_whether_contributors_were_named_decides_and_not_how_many_records_they_have(second):
    data = {"r": ["a", "a", "b", "b"], "who": ["x", second, "p", "q"]}
    table = Table.from_microdata(data, ["r"], contributor="who")
    mechanism = Mechanism("FREQ(3,10)")
    assert not mechanism.attacker_is_integer(table)
    assert mechanism.guards_singletons(table)
