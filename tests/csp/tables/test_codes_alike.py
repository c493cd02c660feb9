"""Codes that look alike are one: forms of Unicode, and dates that programs keep as midnight."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from attacks.descriptions import position
from attacks.release_alone.several_releases import union_of
from csp import Decoys, Hierarchy, InputError, Key, Mechanism, Release, Table, link, protect
from csp.formats.codes import plain_code
from csp.formats.layout import read_metadata
from csp.rules import Manual
from csp.tables.argus import read_table_data
from csp.tables.codes import text_codes
from csp.tables.columns import read_columns
from csp.tables.patterns import as_pattern

WHOLE, APART = (normalize(form, "Châlons") for form in ("NFC", "NFD"))
DAYS = [dt.date(2024, 1, 1)] * 5 + [dt.date(2025, 1, 1)] * 3
RECORDS = {
    "size": list("aaaabbbb"), "sector": list("xxyyxxyy"), "pay": [40, 42, 38, 42, 46, 20, 22, 22],
}  # fmt: skip


@given(st.text(max_size=8), st.sampled_from(["NFC", "NFD"]))
def test_the_form_of_a_code_does_not_count(text: str, form: str) -> None:
    other = normalize(form, text)
    assert plain_code(text) == plain_code(f" {other} ") == normalize("NFC", text).strip()
    assert len({*text_codes(np.array([text, other, None], object))} - {""}) <= 1


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "parquet", "lists"])
def test_midnight_is_a_date_through_every_door(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": pd.to_datetime([*DAYS])})
    points = pl.DataFrame({"day": [day.to_pydatetime() for day in frame["day"]]})
    data = {
        "pandas": frame, "polars": points,
        "lists": {"day": [*frame["day"]]}, "parquet": tmp_path / "a.parquet",
        "arrow": points.to_arrow(),
    }[kind]  # fmt: skip
    frame.to_parquet(tmp_path / "a.parquet")
    days = ("2024-01-01", "2025-01-01", "Total")
    assert Table.from_microdata(data, ["day"]).labels == tuple((day,) for day in days)
    noon = dt.datetime(2024, 1, 1, 12)
    assert text_codes(np.array([noon, DAYS[0]], object)) == ["2024-01-01 12:00:00", "2024-01-01"]


TOWNS = [WHOLE] * 5 + ["Laon"] * 3
BOTH = [
    (pl.DataFrame({"x": DAYS, **RECORDS}), pd.DataFrame({"x": pd.to_datetime(DAYS), **RECORDS})),
    ({"x": TOWNS, **RECORDS}, {"x": [normalize("NFD", town) for town in TOWNS], **RECORDS}),
]


@pytest.mark.parametrize(("one", "other"), BOTH)
def test_linked_tables_share_the_cells_that_look_alike(one, other) -> None:
    first = Table.from_microdata(one, ["x", "size"], "pay")
    linked = link(first, Table.from_microdata(other, ["x", "sector"], "pay"))
    wanted = link(first, Table.from_microdata(one, ["x", "sector"], "pay"))
    assert linked.labels == wanted.labels
    found, same = (protect(t, "FREQ(3,10)", singletons=False).pattern for t in (linked, wanted))
    assert found.tolist() == same.tolist()


def test_hierarchies_labels_and_totals_have_one_form(tmp_path: Path) -> None:
    path = tmp_path / "a.hrc"
    path.write_text(f"Marne\n@{APART}\n@Reims\n", encoding="utf-8")
    tree = Hierarchy.from_hrc(path)
    assert WHOLE in tree.codes
    assert (
        tree.codes
        == Hierarchy.from_parents([("Marne", ""), (APART, "Marne"), ("Reims", "Marne")]).codes
    )
    data = {"town": [WHOLE, APART, "Reims"], "n": [1, 2, 3]}
    table = Table.from_microdata(data, ["town"], "n", hierarchies={"town": tree})
    assert len(table.labels) == 4
    assert Table.from_microdata(data, ["n"], total=APART).labels[-1] == (WHOLE,)
    assert table.position((APART,)) == table.position((WHOLE,))
    assert Manual([(APART,)], 5)(table).primary[table.position((WHOLE,))]


def test_decoys_are_the_same_for_codes_that_look_alike() -> None:
    towns, found = ["Évry", "Châlons", "Orléans", "Nîmes"], []
    for form in ("NFC", "NFD"):
        codes = [normalize(form, town) for town in towns]
        data = {"a": [x for x in codes for _ in "pqr"], "b": list("pqr") * 4,
                "n": [4, 21, 16, 13, 14, 11, 31, 33, 12, 23, 17, 15]}  # fmt: skip
        table = Table.from_frame(data, ["a", "b"], "n", count="n")
        defence = Decoys("0.3", Key(bytes(range(32))), table="t")
        made = Mechanism("FREQ(5)", width=8, margins="publish", defence=defence).protect(table)
        found.append(made.pattern.tolist())
    assert found[0] == found[1]


def test_a_contributor_and_a_secret_are_one_in_either_form() -> None:
    for firm in (WHOLE, APART):
        firms = [WHOLE, firm, "b", "c", "d"]
        rows = {"a": list("xxyyy"), "firm": firms, "v": [50, 40, 30, 30, 30]}
        table = Table.from_microdata(rows, ["a"], "v", contributor="firm")
        assert protect(table, "FREQ(2,10)").pattern.tolist() == [True, True, False]
        people = {"age": [30, 30, 40, 40], "firm": firms[:4]}
        assert microagg.checks.anonymity(people, ["age"], contributor="firm").k == 1
        assert microagg.checks.anonymity({"q": [5, 5], "c": [WHOLE, firm]}, ["q"], ["c"]).p == 1
        masked = {"q": [5, 5], "c": [WHOLE, firm]}
        assert (
            microagg.intruders.homogeneity(masked, ["q"], ["c"]).summary()["confidential"][0][
                "disclosed"
            ]
            == 2
        )
        groups = microagg.comply(
            {"pay": [1, 2, 3, 4], "ill": [WHOLE, firm, "b", "c"]}, 2, "NK(1,99)", method="merge",
            diverse={"ill": 2}, attributes=["pay"],
        )  # fmt: skip
        assert len({*groups.partition.labels.tolist()}) == 1


def test_numbers_and_texts_are_one_contributor() -> None:
    firms = [1, 2, "1", "2"]
    rows = {"age": [30, 40, 30, 40], "pay": [10, 20, 12, 22], "firm": firms}
    assert not microagg.checks.is_k_anonymous(rows, 2, ["age"], contributor="firm")
    assert not microagg.checks.is_k_anonymous(rows, 2, ["age"], contributor=firms)
    assert microagg.read_records(rows, ["pay"], contributor="firm").contributors == 2


ENTRIES = ["a", None, "b"]
SERIES = {"arrow": pa.array, "chunks": lambda x: pa.chunked_array([x]), "polars": pl.Series}


@pytest.mark.parametrize("make", SERIES.values(), ids=[*SERIES])
def test_columns_of_libraries_are_those_of_lists(make) -> None:
    found = read_columns({"t": make(ENTRIES), "x": make([1, None, 3])}, ["t", "x"]).arrays
    assert [array.tolist() for array in found] == [ENTRIES, [1, None, 3]]
    with pytest.raises(InputError, match="row 2: the code in column 't' is missing"):
        Table.from_microdata({"t": make(ENTRIES)}, ["t"])
    rows = {"q": ["a"] * 4, "c": make(["x", None, "y", "y"])}
    assert not microagg.checks.is_p_sensitive(rows, 3, ["q"], "c")
    narrow = pa.array([0.1, 2], pa.float32()) if make is pa.array else None
    if narrow is not None:
        assert text_codes(read_columns({"f": narrow}, ["f"]).arrays[0]) == ["0.1", "2"]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_points_in_time_have_one_text_whatever_the_zone_of_the_machine(
    tmp_path: Path, unit: str
) -> None:
    moments = pd.to_datetime(["2024-01-31 23:30:00.5", "2024-02-29 00:00:00.0"])
    frame = pd.DataFrame({"t": moments, "z": moments.tz_localize("UTC")}).astype(
        {"t": f"datetime64[{unit}]", "z": f"datetime64[{unit}, UTC]"}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    code = (
        "import sys\nfrom csp.tables.columns import read_columns\n"
        "from csp.tables.codes import text_codes\n"
        "for array in read_columns(sys.argv[1], ['t', 'z']).arrays:\n"
        "    print(*text_codes(array), sep=';')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.parquet")], text=True, check=True,
        capture_output=True, env=os.environ | {"TZ": "America/New_York"},
    )  # fmt: skip
    wanted = [";".join(text_codes(frame[name].to_numpy(object))) for name in ("t", "z")]
    assert done.stdout.splitlines() == wanted
    assert wanted[0] == "2024-01-31 23:30:00.500000;2024-02-29"


NAMES = tuple(normalize(form, "ré") for form in ("NFC", "NFD"))


def test_linked_tables_share_the_dimensions_that_look_alike() -> None:
    whole, apart = NAMES
    data = {**RECORDS, whole: TOWNS, apart: TOWNS}
    tables = [Table.from_microdata(data, by, "pay") for by in (["size", whole], ["sector", apart])]
    wanted = link(tables[0], Table.from_microdata(data, ["sector", whole], "pay"))
    for linked in (link(*tables), link(*tables[::-1])):
        assert linked.names == wanted.names == (whole, "sector", "size")
        assert linked.labels == wanted.labels
        assert all(whole in part.names for part in linked.parts)
    assert link(tables[1], tables[1]).names == tuple(sorted(tables[1].names))
    shown = [Release.of(table, np.zeros(table.n_cells, bool)) for table in tables]
    assert union_of(shown)[1].labels == wanted.labels
    with pytest.raises(InputError, match="two dimensions with the name"):
        link(Table.from_microdata(data, NAMES, "pay"), tables[0])


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("cells", [0, 1])
def test_the_total_of_a_layout_has_one_form(layout: int, cells: int, tmp_path: Path) -> None:
    forms = "NFC", "NFD"
    said = '<SEPARATOR> ","\nr Évry\n<RECODEABLE>\n<TOTCODE> "Régions"\nv\n<NUMERIC>\n'
    (tmp_path / "t.rda").write_text(normalize(forms[layout], said), encoding="utf-8")
    text = normalize(forms[cells], "Châlons,5\nÉvry,7\nRégions,12\n")
    (tmp_path / "t.tab").write_text(text, encoding="utf-8")
    read = read_table_data(tmp_path / "t.tab", tmp_path / "t.rda")
    variable = read_metadata(tmp_path / "t.rda").variable("r")
    assert read.columns["r"].tolist() == ["Châlons", "Évry", "Régions"]
    assert (variable.total, variable.missing) == ("Régions", ("Évry",))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_cells_and_totals_are_named_in_either_form(form: str) -> None:
    town, total = normalize(form, "Châlons"), normalize(form, "Régions")
    rows = {"r": [WHOLE, "Laon", "Régions"], "v": [5, 7, 12]}
    for told in (total, {"r": total}):
        release = Release.from_frame(rows, ["r"], "v", total=told)
        assert release.roots == ("Régions",)
    assert position(release, (town,)) == 0
    table = Table.from_array([5, 7], names=["r"], codes=[[WHOLE, "Laon"]])
    index = pd.Index([town, "Total", "Laon"])
    assert as_pattern(table, pd.Series([True, False, True], index)).tolist() == [True, True, False]


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="this polars has no such numbers")
def test_whole_numbers_that_numpy_does_not_have_are_read() -> None:
    column = pl.Series([1, 2, 2**70], dtype=pl.Int128)
    frame = pl.DataFrame({"g": ["a", "b", "b"], "v": column})
    assert [*read_columns(frame, ["v"]).arrays[0]] == [1, 2, 2**70]
    assert Table.from_microdata(frame, ["g"]).values.tolist() == [1, 2, 3]
