"""A session: what its tables disclose together is what was promised, and its files say no more."""

from __future__ import annotations

import hashlib
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil import InputError, Manual, Mechanism, Session, Unprotectable, audit, link
from cellveil.sessions.asking import Asked

RULES = "P(15,1)|FREQ(4,20)"


def survey(n=240, seed=5):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": rng.choice([*"nsew"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "size": pd.Categorical(rng.choice([*"zyx"], n, p=[0.6, 0.3, 0.1]), [*"zyx"]),
            "sector": rng.choice(["farms", "trade", "mining"], n, p=[0.5, 0.4, 0.1]),
            "exports": rng.random(n) < 0.3,
            "pay": 100_000 + rng.integers(1, 50_000, n),
        }
    )


def judged_together(session, of, rules):
    """Audit of all tables of one response as one, by a problem posed of them anew."""
    parts = [(one.protected[of].table, one.pattern) for one in session.tables.values()
             if of in one.protected]  # fmt: skip
    whole = link(*(table for table, _ in parts))
    hidden, shown = np.zeros((2, whole.n_cells), bool)
    for part, (_, pattern) in zip(whole.parts, parts, strict=True):
        hidden[part.cells[pattern]] = True
        shown[part.cells[~pattern]] = True
    return audit(Mechanism(rules).problem(whole), hidden & ~shown, integer=of == "count")


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.permutations([0, 1, 2, 3]))
def test_all_tables_are_safe_together(seed, order):
    data = survey(60, seed)
    session = Session(data=data, rules=RULES)
    calls = [
        lambda: session.crosstab("region", "size"),
        lambda: session.crosstab("sector", "size", "pay", aggfunc=["sum", "mean"]),
        lambda: session.crosstab("region", "sector", "pay"),
        lambda: session.crosstab("sector", where="exports"),
    ]
    before = {}
    for number in order:
        try:
            calls[number]()
        except (InputError, Unprotectable):
            continue  # shown already and sensitive by other figures: refused, not published
        for name, pattern in before.items():  # what is out stays as it is
            assert (session.tables[name].pattern == pattern).all()
        before = {name: one.pattern.copy() for name, one in session.tables.items()}
    assert len(session.tables) >= 2
    for of, rules in (("count", "FREQ(4,20)"), ("pay", RULES)):
        if any(of in one.protected for one in session.tables.values()):
            assert judged_together(session, of, rules).safe


def test_a_later_session_knows_the_tables(tmp_path):
    data = survey()
    first = Session(tmp_path, data, rules=RULES)
    first.crosstab("region", "size", comment="by size")
    first.crosstab("sector", "size", "pay", aggfunc=["count", "mean"], where="exports", name="pay")
    first.decide("pay", "accepted", by="Ann", reason="fine")
    assert not (tmp_path / "session.json").exists()
    first.write()
    second = Session(tmp_path, data, rules=RULES)
    assert repr(second) == "Session(2 tables, 2 of them released before)"
    for name, one in first.tables.items():
        again = second.tables[name]
        assert (again.pattern == one.pattern).all()
        assert again.to_frame().equals(one.to_frame())
        assert again.comment == one.comment
    assert second.decisions == first.decisions
    second.crosstab("region", "sector", "pay", aggfunc="mean")
    assert judged_together(second, "count", "FREQ(4,20)").safe
    assert judged_together(second, "pay", RULES).safe
    for call in (lambda: second.remove("pay"), lambda: second.decide("pay", "rejected")):
        with pytest.raises(InputError, match="was released before"):
            call()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: None, "give their records as data="),
        (lambda d: d.drop(columns="size"), "a column 'size', which the data do not have"),
        (
            lambda d: d.assign(size=d["size"].astype(str).replace("x", "w")),
            "has other cells than these data",
        ),
        (lambda d: d.assign(region=d.region.to_numpy()[::-1]), "shows other values"),
    ],
)
def test_a_later_session_of_other_data_is_refused(tmp_path, change, words):
    data = survey()
    session = Session(tmp_path, data, rules=RULES)
    session.crosstab("region", "size")
    session.write()
    with pytest.raises(InputError, match=words):
        Session(tmp_path, change(data), rules=RULES)


def test_a_rejected_table_cannot_come_back_beside_later_ones():
    session = Session(data=survey(), rules=RULES)
    session.crosstab("region", "size", name="A")
    session.decide("A", "rejected")
    session.decide("A", "open")  # nothing was made since
    session.decide("A", "rejected")
    session.crosstab("size", "region", where="exports")
    with pytest.raises(InputError, match="are not protected beside it"):
        session.decide("A", "accepted")


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars"])
def test_a_later_session_takes_the_same_data_in_another_form(tmp_path, kind):
    data = survey()
    first = Session(tmp_path / "out", data, rules=RULES)
    first.crosstab("size", "region", "pay", name="pay")  # sizes in the order of their categories
    first.crosstab("size", where="exports", name="exporters")
    first.write()
    if kind == "polars":
        same = pl.from_pandas(data)
    else:
        same = tmp_path / f"d.{kind}"
        data.to_csv(same, index=False) if kind == "csv" else data.to_parquet(same)
    later = Session(tmp_path / "out", same, rules=RULES)

    def cells(one):
        table = one.first.table
        return set(zip(table.labels, table.values.tolist(), one.pattern.tolist(), strict=True))

    for name, one in first.tables.items():
        assert cells(later.tables[name]) == cells(one)


def test_a_later_session_knows_means_judged_without_a_rule_of_frequency(tmp_path):
    folder, data = tmp_path / "out", survey()
    session = Session(folder, data, rules="P(10,1)", complete=["pay"])
    one = session.crosstab("region", "size", "pay", aggfunc=["mean", "count"])
    session.write()
    (later,) = Session(folder, data, rules="P(10,1)", complete=["pay"]).tables.values()
    assert (later.pattern == one.pattern).all()


def test_a_condition_has_the_codes_of_its_column():
    data = survey()
    session = Session(data=data, rules=RULES)
    first = session.crosstab("region", where="exports")
    second = session.crosstab(["exports", "size"])
    assert list(first.to_frame().index.get_level_values("exports").unique()) == [
        "True", "False", "Total",
    ]  # fmt: skip
    shared = {"True", "False"}
    for one in (first, second):
        at = one.first.table.names.index("exports")
        assert shared <= {label[at] for label in one.first.table.labels}


def test_columns_that_nest_and_other_codings_are_refused():
    data = survey().assign(part=lambda d: d.region + d.exports.astype(str))
    session = Session(data=data, rules=RULES)
    session.crosstab("region", "size")
    with pytest.raises(InputError, match="each code of 'part' lies within one of 'region'"):
        session.crosstab("part", "size")
    other = Session(rules=RULES)
    other.crosstab(data.region)
    with pytest.raises(InputError, match="'region' has other codes than in an earlier table"):
        other.crosstab(data.region.str.upper())


def test_a_later_session_has_to_mean_the_same(tmp_path):
    data = survey().assign(firm=[f"f{i // 3}" for i in range(240)])
    session = Session(tmp_path, data, rules="P(20)|FREQ(3,10)", contributor="firm")
    session.crosstab("region", "size", "pay")
    session.write()
    with pytest.raises(InputError, match="had 'firm' as contributor="):
        Session(tmp_path, data, rules="FREQ(3,10)")
    assert Session(tmp_path, data, rules="FREQ(3,10)", contributor="firm").tables


def test_what_is_written_has_the_intervals_of_all_tables(tmp_path):
    session = Session(tmp_path, survey(90, 2), rules="FREQ(4,20)")
    session.crosstab("region", "size", name="A")
    session.crosstab(["region", "sector"], "size", name="B")
    session.write()
    told = json.loads((tmp_path / "report.json").read_text())["tables"]
    judged = judged_together(session, "count", "FREQ(4,20)")
    whole = link(*(one.protected["count"].table for one in session.tables.values()))
    compared = 0
    for part, table in zip(whole.parts, told.values(), strict=True):
        labels = [dict(zip(part.names, [whole.labels[c][whole.names.index(n)] for n in part.names],
                           strict=True)) for c in part.cells]  # fmt: skip
        for cell in table["protected"]["count"]["suppressed_cells"]:
            place = part.cells[labels.index(cell["cell"])]
            if cell["lower"] is not None and judged.exact[place].all():
                assert float(cell["lower"]) == judged.lower[place]
                assert float(cell["upper"]) == judged.upper[place]
                compared += 1
    assert compared > 3


def test_all_tables_rejected_take_all_files_back(tmp_path):
    session = Session(tmp_path, survey(), rules=RULES)
    session.crosstab("region", name="A")
    session.write()
    session.decide("A", "rejected")
    assert session.write() == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert Session(tmp_path, survey(), rules=RULES).tables == {}


def test_complete_holds_beside_a_code_for_missing_ones():
    data = survey().astype({"pay": float})
    data.loc[:7, "pay"] = np.nan
    session = Session(data=data, rules=RULES, missing="?", complete=["pay"])
    found = session.crosstab("region", "size")
    assert int(found.first.table.values.max()) == 232
    assert found.left_out == 8
    session.crosstab("region", "size", "pay", aggfunc="mean")


def test_a_damaged_folder_is_named(tmp_path):
    session = Session(tmp_path, survey(), rules=RULES)
    session.crosstab("region", "size")
    session.write()
    path = tmp_path / "session.json"
    told = json.loads(path.read_text())
    for damage in ("{", "[]", json.dumps({"tables": {"a": {}}})):
        path.write_text(damage)
        with pytest.raises(InputError, match="cannot be read as a session"):
            Session(tmp_path, survey(), rules=RULES)
    told["tables"]["table 1"]["releases"]["count"] = "../other.json"
    path.write_text(json.dumps(told))
    with pytest.raises(InputError, match="the file of the session is damaged"):
        Session(tmp_path, survey(), rules=RULES)


def test_tables_of_other_records_are_refused():
    data = survey().astype({"pay": float})
    data.loc[:3, "pay"] = np.nan
    session = Session(data=data, rules=RULES)
    session.crosstab("region", "size")
    with pytest.raises(InputError, match=r"4 records are in this table and not.*complete=\["):
        session.crosstab("region", "size", "pay")
    session = Session(data=data, rules=RULES, complete=["pay"])
    counts = session.crosstab("region", "size").to_frame()
    assert counts.at["Total", "Total"] == 236
    session.crosstab("region", "size", "pay")
    loose = Session(rules=RULES)
    loose.crosstab(data.region)
    with pytest.raises(InputError, match="of 100 records and the others of 240"):
        loose.crosstab(data.region[:100])
    with pytest.raises(InputError, match="complete= names columns of data="):
        Session(rules=RULES, complete="pay").crosstab(data.region)


def test_what_a_later_session_could_not_make_is_refused(tmp_path):
    data = survey()
    session = Session(tmp_path, data, rules=RULES)
    session.crosstab(data.region, data["size"], where=data.exports)  # columns of the data
    other = (data.pay > 120_000).rename("exports")
    for column, name in ((other, "where"), (other.rename("rich"), "rich")):
        with pytest.raises(InputError, match=f"data= has no column '{name}' with these"):
            session.crosstab("region", where=column)
    with pytest.raises(InputError, match="data= has no column 'region' with these"):
        session.crosstab(data.region[::-1].reset_index(drop=True))
    with pytest.raises(InputError, match="tells its rules in words"):
        session.crosstab("sector", rules=Manual([("farms",)], width=3))
    session.write()
    assert list(Session(tmp_path, data, rules=RULES).tables) == ["table 1"]
    with pytest.raises(InputError, match="holds tables of another session"):
        Session(data=data, rules=RULES).write(tmp_path)
    loose = Session(data=data, rules=RULES)
    loose.crosstab("region")
    with pytest.raises(InputError, match="holds tables of another session"):
        loose.write(tmp_path)


def test_files_of_a_table_that_was_rejected_later_go(tmp_path):
    session = Session(tmp_path, survey(), rules=RULES)
    session.crosstab("region", "size", name="kept")
    session.crosstab("sector", "size", name="gone")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "output_9_0.csv").write_text("mine too")
    session.write()
    both = {p.name for p in tmp_path.rglob("*")}
    assert {"output_1_0.csv", "output_1_0.csv.txt", "table2-1.json", "table2-1.csv"} <= both
    session.decide("gone", "rejected")
    session.write()
    left = {p.name for p in tmp_path.rglob("*")}
    assert both - left == {"output_1_0.csv", "output_1_0.csv.txt", "table2-1.json", "table2-1.csv"}


def test_a_rejected_table_is_not_written(tmp_path):
    session = Session(tmp_path, survey(), rules=RULES)
    session.crosstab("region", "size", name="kept")
    session.crosstab("sector", "size", name="gone")
    session.decide("gone", "rejected", by="Ann", reason="not needed")
    session.write()
    text = (tmp_path / "session.json").read_text() + (tmp_path / "results.json").read_text()
    assert "kept" in text
    assert "gone" not in text
    assert "farms" not in "".join(p.read_text() for p in tmp_path.rglob("*.csv"))
    session.remove("gone")
    assert list(session.tables) == ["kept"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.crosstab("region", name="a"), "there is a table 'a' already"),
        (lambda s: s.remove("b"), "there is no table 'b'; there are 'a'"),
        (lambda s: s.decide("a", "fine"), "'fine' is not one of accepted"),
        (lambda s: s.write(), "there is no folder to write to"),
        (lambda s: s.crosstab("region", aggfunc="max"), "'max' is not one of"),
        (lambda s: s.crosstab("regoin"), "did you mean 'region'"),
    ],
)
def test_wrong_calls_are_answered(call, words):
    session = Session(data=survey(), rules=RULES)
    session.crosstab("region", "size", name="a")
    with pytest.raises(InputError, match=words):
        call(session)
    with pytest.raises(InputError, match="rules= says which cells"):
        Session(data=survey()).crosstab("region")
    with pytest.raises(InputError, match="no table to write"):
        Session("nowhere", data=survey()).write()


def test_files_say_no_more_than_the_tables(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    data = survey()
    session = Session(tmp_path, data, rules=RULES, title="Pay")
    session.crosstab("region", "size", "pay", aggfunc=["count", "sum", "mean"], comment="hello")
    session.crosstab("sector", "size", "pay", aggfunc="mean")
    written = session.write()
    assert len(written) == len(set(written))
    assert all(path.exists() for path in written)
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == {
        *written, *(p.with_suffix(".csv") for p in written if p.parent.name == "releases"),
    }  # fmt: skip
    secret = {
        str(v)
        for one in session.tables.values()
        for v in one.protected["pay"].table.values[one.pattern].tolist()
    }
    assert len(secret) > 4
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.suffix in
             (".csv", ".json", ".html", ".txt")]  # fmt: skip
    book = openpyxl.load_workbook(tmp_path / "tables.xlsx")
    texts += [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row]
    texts += [repr(session), session._repr_html_()]
    numbers = {n for text in texts for n in re.findall(r"\d+", text.replace(",", ""))}
    assert not secret & numbers
    assert any("hello" in text for text in texts)


def test_results_in_the_form_of_acro(tmp_path):
    session = Session(tmp_path, survey(), rules=RULES)
    table = session.crosstab("region", "size", "pay", aggfunc=["sum", "mean"], comment="hello")
    session.crosstab("sector", "size")
    session.decide("table 2", "accepted", by="Ann")
    session.write()
    told = json.loads((tmp_path / "results.json").read_text())
    assert list(told["results"]) == ["output_0", "output_1"]
    one, two = told["results"].values()
    assert (one["status"], two["status"]) == ("review", "pass")
    assert {"uid", "status", "type", "properties", "files", "outcome", "command", "summary",
            "timestamp", "comments", "exception", "fair"} == set(one)  # fmt: skip
    assert one["comments"][1] == "hello"
    assert [file["name"] for file in one["files"]] == ["output_0_0.csv", "output_0_1.csv"]
    read = pd.read_csv(tmp_path / "output_0_0.csv", index_col=0)
    assert list(read.columns) == ["z", "y", "x", "Total"]
    assert (read == "×").to_numpy().sum() == table.pattern.sum()
    for path in (tmp_path / "checksums").iterdir():
        data = (tmp_path / path.name.removesuffix(".txt")).read_bytes()
        assert path.read_text() == hashlib.sha256(data).hexdigest()
    command = one["command"]
    other = Session(data=survey(), rules=RULES)
    again = eval(command, {"session": other})
    assert again.to_frame().equals(table.to_frame())


def test_what_was_asked_comes_back():
    asked = Asked(("a",), ("b",), ("v",), ("sum", "mean"), "FREQ(3)", "index", "w", 2, True, "c")
    assert Asked.from_dict(json.loads(json.dumps(asked.to_dict())), "x") == asked
    with pytest.raises(InputError, match="x: 'rules' is missing"):
        Asked.from_dict({n: v for n, v in asked.to_dict().items() if n != "rules"}, "x")
    with pytest.raises(InputError, match="x: 'more' is not known"):
        Asked.from_dict(asked.to_dict() | {"more": 1}, "x")


# ---- a reader of all tables, by linear programs over the finest cells ----------------------------


def known_range(tables, of, names, keys, asked):
    """Least and largest sum over the finest cells that a reader of all tables cannot exclude.

    Nothing of this is shared with the session: neither links nor patterns of a whole.
    """
    from scipy.optimize import linprog

    def row(table, label):
        parts = list(zip(table.names, label, table.roots, strict=True))
        return [
            float(all(code in (root, key[names.index(name)]) for name, code, root in parts))
            for key in keys
        ]

    rows, sums = [], []
    for one in tables:
        table, pattern = one.protected[of].table, one.protected[of].pattern
        for label, gone, value in zip(table.labels, pattern, table.values, strict=True):
            if not gone:
                rows.append(row(table, label))
                sums.append(float(value))
    cost = np.array(row(*asked))
    ends = [sign * linprog(sign * cost, A_eq=rows, b_eq=sums).fun for sign in (1, -1)]
    return ends[0], ends[1]


@pytest.mark.parametrize("seed", range(12))
def test_a_reader_of_all_tables_learns_no_more_than_was_promised(seed):
    rng = np.random.default_rng(seed)
    names = ["region", "size", "exports"]
    keys = [(r, s, e) for r in "nse" for s in "zyx" for e in ("True", "False")]
    counts = rng.choice([1, 1, 2, 2, 3, 6, 9], len(keys))
    data = pd.DataFrame([k for k, n in zip(keys, counts, strict=True) for _ in range(n)],
                        columns=names)  # fmt: skip
    data["exports"] = data.exports == "True"
    session = Session(data=data, rules="FREQ(5,20)")
    calls = [
        lambda: session.crosstab("region", "size"),
        lambda: session.crosstab("size", where="exports"),
        lambda: session.crosstab(["exports", "region"]),
    ]
    for number in rng.permutation(3):
        calls[number]()
    tables, looked = list(session.tables.values()), 0
    for one in tables:
        found = one.protected["count"]
        problem, table = found.problem, found.table
        for cell in np.flatnonzero(problem.primary & found.pattern):
            asked = (table, table.labels[cell])
            low, high = known_range(tables, "count", names, keys, asked)
            assert low <= table.values[cell] - problem.lpl[cell] + 1e-6
            assert high >= table.values[cell] + problem.upl[cell] - 1e-6
            looked += 1
    assert looked
