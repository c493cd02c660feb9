"""A table in one call: that of pandas where it is published, one pattern, the caller's frame."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellveil
from cellveil import InputError, Session, TextFile, Unprotectable, crosstab
from csp.release_file import read_release

RULES = "P(15,1)|FREQ(3,20)"
RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["north", "south", "east"]), st.sampled_from("zyx"), st.booleans(),
        st.integers(1, 90) | st.none(), st.integers(0, 12),
    ),
    min_size=8, max_size=40,
)  # fmt: skip


def frame(records):
    found = pd.DataFrame(records, columns=["region", "size", "exports", "pay", "who"])
    found["size"] = found["size"].astype(pd.CategoricalDtype([*"zyx"]))
    return found.astype({"pay": float})


def survey(n=300, seed=3):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.25, 0.05]),
            "size": pd.Categorical(rng.choice([*"zyx"], n, p=[0.6, 0.3, 0.1]), categories=[*"zyx"]),
            "exports": rng.random(n) < 0.3,
            "pay": rng.integers(1, 5000, n),
            "staff": rng.integers(1, 90, n),
        }
    )


def wanted(data, function, values="pay", **options):
    """What pandas makes of the records that have a value."""
    if function == "count":
        return pd.crosstab(
            data.region, data["size"], margins=True, margins_name="Total", dropna=False, **options
        )
    return pd.crosstab(
        data.region, data["size"], data[values], aggfunc=function, margins=True,
        margins_name="Total", dropna=False, **options,
    )  # fmt: skip


def same(found, whole, hidden=None):
    """Whether published cells are those of pandas; which cells are shown."""
    whole = whole.reindex(index=found.index, columns=found.columns)
    shown = ~found.isna()
    left, right = found.to_numpy(float)[shown], whole.to_numpy(float)[shown]
    assert np.allclose(left, np.nan_to_num(right), rtol=1e-12, atol=1e-12)
    return shown


@settings(max_examples=40)
@given(RECORDS, st.sampled_from(["count", "sum", "mean"]))
def test_published_cells_are_those_of_pandas(records, function):
    data = frame(records)
    full = data.dropna(subset=["pay"])
    if full.empty or full.region.nunique() < 2 or full["size"].nunique() < 2:
        return
    values = None if function == "count" else data.pay
    total = {"region": "Total", "size": "Total"}
    try:
        found = crosstab(
            data.region, data["size"], values, aggfunc=function, rules=RULES, total=total
        )
    except Unprotectable:
        return
    shown = same(found.to_frame(), wanted(data if function == "count" else full, function))
    assert found.safe
    if function != "mean":  # a mean of nobody is missing too
        assert int((~shown).to_numpy().sum()) == int(found.pattern.sum())
    order = [code for code in "zyx" if code in set((data if values is None else full)["size"])]
    assert list(found.to_frame().columns) == [*order, "Total"]


def test_one_pattern_for_all_responses():
    data = survey()
    both = crosstab(
        data.region, data["size"], [data.pay, data.staff], aggfunc=["count", "sum", "mean"],
        rules=RULES,
    )  # fmt: skip
    assert set(both.protected) == {"pay", "staff", "count"}
    patterns = [one.pattern for one in both.protected.values()]
    assert all((one == patterns[0]).all() for one in patterns)
    assert patterns[0].any()
    table = both.to_frame()
    assert list(table.columns.get_level_values(0).unique()) == [
        "count", "sum of pay", "sum of staff", "mean of pay", "mean of staff",
    ]  # fmt: skip
    shown = [same(table["count"], wanted(data, "count"))]
    shown += [
        same(table[f"{function} of {value}"], wanted(data, function, value))
        for value in ("pay", "staff")
        for function in ("sum", "mean")
    ]
    assert all((one == shown[0]).all(axis=None) for one in shown)


@pytest.mark.parametrize("share", ["index", "columns", "all", True])
def test_shares_are_over_published_wholes(share):
    data = survey()
    found = crosstab(data.region, data["size"], rules="FREQ(12,10)", normalize=share)
    plain = crosstab(data.region, data["size"], rules="FREQ(12,10)").to_frame()
    table = found.to_frame()
    for row in table.index:
        for column in table.columns:
            whole = {
                "index": plain.at[row, "Total"], "columns": plain.at["Total", column],
            }.get(share, plain.at["Total", "Total"])  # fmt: skip
            cell = plain.at[row, column]
            if np.isnan(cell) or np.isnan(whole):
                assert np.isnan(table.at[row, column])
            else:
                assert table.at[row, column] == pytest.approx(cell / whole, rel=1e-12)
    assert table.isna().to_numpy().any()


def test_a_condition_is_protected_with_the_whole():
    data = survey()
    found = crosstab(data.region, data["size"], rules="FREQ(8,10)", where=data.exports)
    table = found.to_frame()
    assert list(table.index.get_level_values("exports").unique()) == ["True", "False", "Total"]
    for code, part in (
        ("True", data[data.exports]),
        ("False", data[~data.exports]),
        ("Total", data),
    ):
        same(table.loc[code], wanted(part, "count"))
    # No cell follows from the others: what is withheld of those who export is withheld elsewhere.
    gone = found.pattern
    relations = found.first.table.relations.toarray()
    assert all((row[gone] != 0).sum() != 1 for row in relations)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict"])
def test_every_kind_of_data(kind, tmp_path):
    data = survey()
    whole = crosstab(data.region, data["size"], data.pay, rules=RULES, aggfunc="mean")
    given_as = {
        "pandas": lambda: data,
        "polars": lambda: pl.from_pandas(data.astype({"size": str})),
        "pyarrow": lambda: pa.Table.from_pandas(data),
        "dict": lambda: {name: data[name].tolist() for name in data},
    }[kind]()
    found = crosstab("region", "size", "pay", data=given_as, rules=RULES, aggfunc="mean")
    result = found.to_frame()
    if kind in ("polars", "pyarrow"):
        assert type(result).__module__.startswith(kind)
        rows = result.to_dict(as_series=False) if kind == "polars" else result.to_pydict()
        result = pd.DataFrame(rows).set_index("region")
    same(result, whole.to_frame())
    if kind == "polars":
        series = crosstab(
            given_as["region"], given_as["size"], given_as["pay"], rules=RULES, aggfunc="mean"
        )
        assert series.to_frame().equals(found.to_frame())


def test_records_that_lack_something_are_counted():
    data = survey().astype({"pay": float})
    data.loc[:4, "pay"] = np.nan
    data.loc[3:9, "region"] = None
    found = crosstab(data.region, data["size"], data.pay, rules=RULES)
    assert found.left_out == 10
    assert found.notes[0].startswith("records without 'region' or 'size' or 'pay' are left out")
    assert not any("10" in note for note in found.notes)
    same(found.to_frame(), wanted(data.dropna(), "sum"))
    coded = crosstab(data.region, data["size"], rules=RULES, missing="unknown")
    assert "unknown" in coded.to_frame().index


def test_one_way_tables_and_weights():
    data = survey()
    found = crosstab(data.region, rules="FREQ(20,10)").to_frame()
    counts = data.region.value_counts()
    counts["Total"] = 300
    same(found["count"].to_frame(), counts.to_frame("count"))
    weights = data.staff
    mean = crosstab(
        data.region, values=data.pay, weight=weights, aggfunc="mean", rules="FREQ(20,10)"
    )
    for region, part in data.groupby("region"):
        value = mean.to_frame().at[region, "mean of pay"]
        if not np.isnan(value):
            by_hand = (part.pay * part.staff).sum() / part.staff.sum()
            assert value == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    "kind", [pd.Categorical, pd.Index, pd.array, lambda c: pd.Categorical(c, categories=[*"zyxw"])]
)
def test_arrays_of_pandas_are_columns(kind):
    sizes = survey()["size"].astype(str)
    found = crosstab(kind(sizes), rules="FREQ(3,10)").to_frame()["count"]
    assert found.drop("Total").to_dict() == sizes.value_counts().to_dict()


def test_an_earlier_table_is_kept():
    data = survey()
    before = crosstab(data.region, data["size"], rules="FREQ(20,10)")
    after = crosstab(data.region, data["size"], rules="FREQ(4,10)", keep=before)
    assert (after.pattern >= before.pattern).all()
    assert before.pattern.any()


def test_contributors_are_counted_once():
    data = survey().assign(who=1)  # all records of one contributor
    rules = "FREQ(3,10)"
    found = crosstab(data.region, data["size"], data.pay, rules=rules, contributor=data.who)
    assert found.pattern.all()
    assert not crosstab(data.region, data["size"], data.pay, rules=rules).pattern.all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: crosstab(d.region, d["size"]), "rules= says which cells are sensitive"),
        (lambda d: crosstab(d, "region", "size", rules=RULES), "takes columns, not a whole DataFr"),
        (lambda d: crosstab("region", rules=RULES), "no frame to find it in; add data=frame"),
        (lambda d: crosstab("regoin", data=d, rules=RULES), "did you mean 'region'"),
        (lambda d: crosstab(d.region, d["size"][5:], rules=RULES), "other labels than those"),
        (lambda d: crosstab(d.region, [1, 2, 3], rules=RULES), "has 3 records and 'region' 300"),
        (lambda d: crosstab(d.region, d.region, rules=RULES), "'region' is crossed with itself"),
        (lambda d: crosstab([], rules=RULES), "index names no dimension"),
        (lambda d: crosstab(d.region, d["size"], d.pay, aggfunc="median", rules=RULES),
         "'median' is not one of.*one or two records"),
        (lambda d: crosstab(d.region, d["size"], d.pay, aggfunc=np.std, rules=RULES), "'std'"),
        (lambda d: crosstab(d.region, d["size"], aggfunc="mean", rules=RULES), "needs values="),
        (lambda d: crosstab(d.region, d["size"], d.pay, aggfunc="mean", normalize=True,
                            rules=RULES), "a mean is not a part"),
        (lambda d: crosstab(d.region, d["size"], rules=RULES, normalize="row"), "'row' is not one"),
        (lambda d: crosstab(d.region, d["size"], rules="P(10,1)"), "judged by frequency"),
        (lambda d: crosstab(d.region, d["size"], rules=RULES, margins=True), "always part"),
        (lambda d: crosstab(d.region, where=d.pay, rules=RULES), "not true or false"),
        (lambda d: crosstab(3, rules=RULES), "index is a int"),
        (lambda d: crosstab(pd.Timestamp(0), rules=RULES), "index is a Timestamp"),
        (lambda d: crosstab(d.region, None, d.pay.rename("count"), aggfunc="mean", rules=RULES),
         "what the table of counts is called"),
        (lambda d: crosstab(d.region, d["size"], rules=RULES).to_frame("polars", mark="x"),
         "only frames of pandas hold"),
        (lambda d: crosstab(d.region[d.pay < 0], rules=RULES), "no records"),
        (lambda d: crosstab(d.set_index(["region", "size"]).index, d.pay, rules=RULES),
         r"an index of 2 levels; give those that cross as a list"),
    ],
)  # fmt: skip
def test_wrong_calls_are_answered(call, words):
    with pytest.raises(InputError, match=words):
        call(survey())


# ---- files ---------------------------------------------------------------------------------------


def test_no_output_holds_a_suppressed_value(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    data = survey()
    data["pay"] += 100_000  # sums that occur nowhere else
    found = crosstab(
        data.region, data["size"], data.pay, aggfunc=["count", "sum", "mean"], rules=RULES,
        comment="for the checker",
    )  # fmt: skip
    sums = found.protected["pay"].table.values[found.pattern].tolist()
    counts = found.protected["count"].table.values[found.pattern].tolist()
    secret = {str(v) for v in sums} | {str(s // n) for s, n in zip(sums, counts, strict=True)}
    assert len(secret) > 4
    found.to_excel(tmp_path / "t.xlsx")
    found.report(tmp_path / "t.html")
    written = found.write(tmp_path / "t.json")
    assert {path.name for path in written} == {"t-pay.json", "t-count.json"}
    texts = [path.read_text() for path in tmp_path.iterdir() if path.suffix != ".xlsx"]
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    cells = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row]
    texts += [*cells, repr(found), found._repr_html_(), json.dumps(found.summary()),
              found.to_frame().to_csv(), found.to_frame(mark="x").to_csv()]  # fmt: skip
    digits = {number for text in texts for number in re.findall(r"\d+", text.replace(",", ""))}
    assert not secret & digits
    assert any("for the checker" in text for text in texts)
    assert book.sheetnames == [
        "table count", "table sum of pay", "table mean of pay", "table cells", "facts",
    ]  # fmt: skip
    assert found.to_frame(mark="x").isin(["x"]).to_numpy().sum() == 3 * found.pattern.sum()


@pytest.mark.parametrize("name", ["count", "status"])
def test_codes_are_not_overwritten_on_a_sheet(name, tmp_path):
    pytest.importorskip("openpyxl")
    found = crosstab(name, data=survey().rename(columns={"region": name}), rules=RULES)
    with pytest.raises(InputError, match=f"a column '{name}' of its own; rename that dimension"):
        found.to_excel(tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


def test_every_table_has_a_file_of_its_own(tmp_path):
    data = survey().assign(**{"a b": lambda d: d.pay, "a_b": lambda d: 2 * d.pay, "A+B": 1})
    found = crosstab("region", None, ["a b", "a_b", "A+B"], data=data, rules="FREQ(2,10)")
    paths = found.write(tmp_path / "t.json")
    totals = [int(read_release(path)[0].published[-1]) for path in paths]
    assert totals == [data.pay.sum(), 2 * data.pay.sum(), len(data)]


def test_what_is_written_comes_back(tmp_path):
    data = survey()
    found = crosstab(data.region, data["size"], rules="FREQ(8,10)")
    (path,) = found.write(tmp_path / "counts.json")
    release, mechanism = read_release(path)
    assert (release.pattern == found.pattern).all()
    assert str(mechanism.rules) == "FREQ(8,10)"


# ---- two geographies -----------------------------------------------------------------------------


def places(seed):
    """Records of which nearly all of a municipality lie in one square of a grid."""
    rng = np.random.default_rng(seed)
    muni = rng.integers(0, 6, 500)
    away = rng.random(500) < 0.03
    square = np.where(away, np.minimum(muni * 5 // 6 + 1, 4), muni * 5 // 6)
    return pd.DataFrame({"muni": [f"M{m}" for m in muni], "square": [f"S{s}" for s in square]})


@pytest.mark.parametrize("seed", range(6))
def test_no_intersection_follows_from_two_geographies(seed):
    from scipy.optimize import linprog

    data = places(seed)
    found = crosstab("muni", "square", data=data, rules="FREQ(5,20)", inner=False)
    frame = found.to_frame()
    whole = pd.crosstab(data.muni, data.square)
    assert frame.drop(index="Total", columns="Total").isna().all(axis=None)
    # What a reader works out by linear programs, of squares and municipalities that overlap.
    pairs = [(m, s) for m in whole.index for s in whole.columns if whole.at[m, s]]
    rows, sums = [[1.0] * len(pairs)], [len(data)]
    for axis, codes in ((0, whole.index), (1, whole.columns)):
        for code in codes:
            shown = frame.at[code, "Total"] if axis == 0 else frame.at["Total", code]
            if not np.isnan(shown):
                rows.append([float(pair[axis] == code) for pair in pairs])
                sums.append(shown)
    assert len(rows) > 3
    for k, (m, s) in enumerate(pairs):
        if whole.at[m, s] >= 5:
            continue
        ends = []
        for sign in (1, -1):
            cost = np.zeros(len(pairs))
            cost[k] = sign
            ends.append(sign * linprog(cost, A_eq=rows, b_eq=sums).fun)
        value = whole.at[m, s]
        assert ends[0] <= value - 0.2 * value + 1e-6 or ends[0] <= 1e-6
        assert ends[1] >= 1.2 * value - 1e-6
    # Margins alone, each protected by itself, disclose some of them.
    if seed == 0:
        table = cellveil.Table.from_microdata(data, ["muni", "square"], empty="drop")
        problem = cellveil.Mechanism("FREQ(5,20)").problem(table)
        assert not cellveil.audit(problem, ~table.margins).safe


def test_two_geographies_are_found():
    data = places(1)
    (problem,) = [w for w in cellveil.inspect(data, [["muni"], ["square"]]).problems
                  if "intersections" in w]  # fmt: skip
    assert "cellveil.crosstab('muni', 'square', inner=False)" in problem
    rng = np.random.default_rng(0)
    chance = pd.DataFrame({"a": rng.choice([*"xyz"], 500), "b": rng.choice([*"pqrs"], 500)})
    assert not any("intersections" in w for w in cellveil.inspect(chance, [["a"], ["b"]]).problems)


@pytest.mark.parametrize("session", [False, True])
@pytest.mark.parametrize(
    ("text", "declared", "sums"),
    [
        ("N;1,5\nS;2,25\n", {}, {"N": 9, "S": 13.5}),
        ("N;1.500\nS;2.250\n", {}, "may be a decimal mark or separate thousands"),
        ("N;1.500\nS;2.250\n", {"decimal": "."}, {"N": 9, "S": 13.5}),
        ("N;1.500\nS;2.250\n", {"decimal": ","}, "the number has a point"),
        ("N;2\nNA;4\n", {}, "the code is NA"),
        ("N;2\nNA;4\n", {"missing": ()}, {"N": 12, "NA": 24}),
        ("N;2\nNA;4\n", {"missing": ("NA",)}, {"N": 12}),
        ("N;2\nS;999\nS;3\n", {"missing": ("999",)}, {"N": 12, "S": 18}),
    ],
)
def test_what_is_declared_of_a_text_file_counts(tmp_path, session, text, declared, sums):
    """The same refusals and sums as where records are tabulated in any other way."""
    (tmp_path / "d.csv").write_text("region;pay\n" + text * 6)
    data = TextFile(tmp_path / "d.csv", **declared)
    how = {"values": "pay", "aggfunc": ["sum", "count"]}

    def made():
        if session:
            return Session(data=data, rules="FREQ(2,10)", complete="pay").crosstab("region", **how)
        return crosstab("region", data=data, rules="FREQ(2,10)", **how)

    if isinstance(sums, str):
        with pytest.raises(InputError, match=sums):
            made()
        return
    shown = made().to_frame("pandas")
    assert shown["sum of pay"].drop("Total").to_dict() == sums
    assert shown["count"].drop("Total").to_dict() == dict.fromkeys(sums, 6)


@pytest.mark.parametrize("written", [("true", "false"), ("TRUE", "FALSE")])
def test_a_condition_may_stand_in_a_file(tmp_path, written):
    yes, no = written
    (tmp_path / "d.csv").write_text(f"region,exports\nN,{yes}\nN,{no}\nS,{yes}\n" + f"S,{no}\n" * 5)
    shown = crosstab("region", where="exports", data=tmp_path / "d.csv", rules="FREQ(1,10)")
    counts = shown.to_frame("pandas")["count"]
    assert counts[yes].to_dict() == {"N": 1, "S": 1, "Total": 2}
    assert counts["Total"].to_dict() == {"N": 2, "S": 6, "Total": 8}


@pytest.mark.parametrize("kind", ["frame", "file", "session"])
def test_a_column_that_may_say_who_reports_is_named(tmp_path, kind):
    """Rows are not firms: three rows of a firm pass FREQ(3), and the note is all that says so."""
    panel = pd.DataFrame({"region": [*"NS"] * 15, "firm_id": [i // 3 for i in range(30)]})
    panel["pay"] = range(30)
    path = tmp_path / "panel.csv"
    panel.to_csv(path, index=False)
    data = path if kind == "file" else panel

    def notes(**contributor):
        if kind == "session":
            session = Session(data=data, rules="FREQ(3,10)", **contributor)
            return session.crosstab("region", values="pay", aggfunc=["sum", "count"]).notes
        return crosstab("region", values="pay", data=data, rules="FREQ(3,10)", **contributor).notes

    assert [note for note in notes() if "firm_id" in note] == [
        "each record counts as one contributor; 'firm_id' repeats: contributor='firm_id'?"
    ]
    assert not any("each record" in note for note in notes(contributor="firm_id"))
