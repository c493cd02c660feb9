"""What goes out looks like the house, and comes in again as what was published."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import csp
from cellveil.cli.app import app
from cellveil.io.files import result_columns
from cellveil.io.house import look_of
from cellveil.io.published import read_public
from cellveil.io.results import FORMATS, write_result
from cellveil.requests.outputs import House
from cellveil.requests.publication import Publication, Signs
from cellveil.requests.source import Written
from csp import Hierarchy, InputError, Release, Table
from csp.published.marks import OFFICES, PRINTED

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")


def tables() -> dict[str, Table]:
    """Tables of one to three dimensions; codes are not in alphabetical order."""
    tree = Hierarchy.from_dict({"West": ["W2", "W1"], "East": ["E9", "E1", "E5"]})
    keys = list(product(("W2", "W1", "E9", "E1", "E5"), ("wool", "silk"), ("2024", "2023")))
    numbers = [31, 2, 17, 44, 9, 5, 28, 3, 60, 11, 7, 19, 1, 33, 21, 15, 8, 40, 26, 13]
    frame = {
        "region": [k[0] for k in keys], "sort": [k[1] for k in keys], "year": [k[2] for k in keys],
        "n": numbers,
    }  # fmt: skip
    found = {}
    for by in (["region"], ["region", "sort"], ["region", "sort", "year"]):
        cells: dict[tuple[str, ...], int] = {}
        for key, n in zip(zip(*(frame[name] for name in by), strict=True), numbers, strict=True):
            cells[key] = cells.get(key, 0) + n
        columns: dict[str, Any] = {name: [k[d] for k in cells] for d, name in enumerate(by)}
        found["x".join(by)] = Table.from_frame(
            columns | {"n": list(cells.values())}, by, "n", count="n", hierarchies={"region": tree},
        )  # fmt: skip
    return found


TABLES = tables()
DONE = {name: csp.protect(table, "FREQ(35,10)") for name, table in TABLES.items()}


def told(release: Release) -> dict[tuple[str, ...], int | None]:
    """What is published of each cell, whatever the order of its dimensions."""
    several = [d for d, codes in enumerate(zip(*release.labels, strict=True)) if len({*codes}) > 1]
    return {
        tuple(sorted(label[d] for d in several)):
        None if gone else int(value) * 10 ** (3 - release.scale)
        for label, value, gone in zip(
            release.labels, release.published.tolist(), release.pattern.tolist(), strict=True
        )
    }  # fmt: skip


READ_BACK = [form for form in FORMATS if form != "apriori"]
"""All forms but a-priori files, which are lists of cells."""


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("form", READ_BACK)
@pytest.mark.parametrize("mark", [None, *PRINTED, "secret"])
def test_everything_that_is_written_comes_in_again(
    name: str, form: str, mark: str | None, tmp_path: Path
) -> None:
    done = DONE[name]
    house = House(mark, "Persons by region, 2023 and 2024", ("Source: census of 2024, table 7",))
    path = tmp_path / f"t{FORMATS[form]}"
    write_result(path, done, result_columns(done), form=form, house=house)
    signs = Signs(marks=mark if mark in OFFICES else None)
    if mark == "secret":
        signs = Signs(withheld=("secret",))
    published = [] if form in ("sdmx", "sdctable", "argus", "parquet") else [signs]
    for sheet in ("cells", "table") if form == "xlsx" else (None,):
        for one in published or [Signs()]:
            asked = Publication(signs=one, written=Written(sheet=sheet))
            found, _ = read_public(path, asked, quiet=True)
            assert told(found) == told(done.release), (sheet, found.notes)


@pytest.mark.parametrize("mark", PRINTED)
def test_presets_mean_the_same_in_and_out(mark: str) -> None:
    look, marks = look_of(House(mark)), OFFICES[mark]
    assert marks.meaning(look.suppressed) == "withheld"
    assert look.empty == "" or marks.meaning(look.empty) in ("empty", "zero")


def rows_of(path: Path, sheet: str) -> list[tuple[Any, ...]]:
    return list(openpyxl.load_workbook(path)[sheet].values)


def test_the_sheet_has_title_legend_and_footnotes(tmp_path: Path) -> None:
    house = House("destatis", "Personen nach Region", ("Quelle: Zensus", "Stand: Mai"))
    path, done = tmp_path / "t.xlsx", DONE["regionxsort"]
    write_result(path, done, result_columns(done), house=house)
    rows = rows_of(path, "table")
    assert [rows[0][0], rows[2][0]] == ["Personen nach Region", "region"]
    assert [row[0] for row in rows[-3:]] == [
        "\u00b7 = Zahlenwert unbekannt oder geheim zu halten", "Quelle: Zensus", "Stand: Mai",
    ]  # fmt: skip
    body = [row for row in rows[3:] if row[0] in {label[0] for label in done.table.labels}]
    assert [row[0] for row in body] == ["West", "W2", "W1", "East", "E9", "E1", "E5", "Total"]
    assert {type(item) for row in body for item in row[1:]} == {int, str}
    assert {item for row in body for item in row[1:] if isinstance(item, str)} == {"\u00b7"}


def test_panels_of_few_columns_stand_side_by_side(tmp_path: Path) -> None:
    path, done = tmp_path / "t.xlsx", DONE["regionxsortxyear"]
    write_result(path, done, result_columns(done), house=House())
    rows = rows_of(path, "table")
    further, across = rows[0][1:], rows[1][1:]
    assert [head for head in further if head] == ["silk", "wool", "Total"], "in their order"
    assert list(across) == ["2023", "2024", "Total"] * 3


def test_facts_are_numbers(tmp_path: Path) -> None:
    path, done = tmp_path / "t.xlsx", DONE["regionxsort"]
    write_result(path, done, result_columns(done))
    facts = dict(rows_of(path, "facts"))
    assert facts["cells"] == done.table.n_cells
    assert facts["safe"] is True


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ("12", "not a number"),
        ("", "short sign"),
        ("=x", "formula"),
        ("-", "zero"),
        ("y" * 21, "short"),
    ],
)
def test_a_mark_that_would_be_misread_is_refused(mark: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        House(mark)


def test_the_command_and_a_job_mark_alike(tmp_path: Path) -> None:
    data = tmp_path / "cells.csv"
    data.write_text("region,n\nZeta,2\nBeta,3\nMu,50\n")

    def run(*words: object) -> None:
        found = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert found.exit_code == 0, found.output

    out = tmp_path / "out.csv"
    run("protect", data, "--by", "region", "--value", "n", "--aggregated", "--count", "n",
        "--rules", "FREQ(3,10)", "--mark", "uk", "-o", out)  # fmt: skip
    (tmp_path / "j.toml").write_text(
        '[data]\nfile = "cells.csv"\nvalue = "n"\naggregated = true\ncount = "n"\n'
        '[[table]]\nby = ["region"]\n[rules]\nsensitive = "FREQ(3,10)"\n'
        '[output]\nformat = ["csv", "xlsx"]\nmark = "uk"\ntitle = "T"\nfootnote = ["One", "Two"]\n'
    )
    run("run", tmp_path / "j.toml")
    assert out.read_bytes() == (tmp_path / "published" / "region.csv").read_bytes()
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    # The order is that of the input, the total last.
    assert [row["region"] for row in rows] == ["Zeta", "Beta", "Mu", "Total"]
    assert {row["value"] for row in rows if row["status"] == "x"} == {"[c]"}
    sheet = rows_of(tmp_path / "published" / "region.xlsx", "table")
    assert [row[0] for row in sheet[-3:]] == ["[c] = confidential", "One", "Two"]


def test_linked_tables_have_a_sheet_of_their_own(tmp_path: Path) -> None:
    data = tmp_path / "records.csv"
    often = {"N,a,small": 1, "N,b,small": 5, "N,b,big": 4, "S,a,big": 6, "S,b,small": 8}
    lines = [line for line, n in often.items() for _ in range(n)]
    data.write_text("\n".join(["region,sector,size", *lines]) + "\n")
    (tmp_path / "j.toml").write_text(
        '[data]\nfile = "records.csv"\n[[table]]\nby = ["region", "sector"]\n'
        '[[table]]\nby = ["region", "size"]\n[rules]\nsensitive = "FREQ(3,10)"\n'
        '[output]\nformat = ["csv", "xlsx"]\nmark = "statcan"\n'
    )
    found = CliRunner().invoke(app, ["run", str(tmp_path / "j.toml")], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    for name in ("region-sector", "region-size"):
        listed, _ = read_public(tmp_path / "published" / f"{name}.csv", quiet=True)
        asked = Publication(signs=Signs(marks="statcan"), written=Written(sheet="table"))
        crossed, _ = read_public(tmp_path / "published" / f"{name}.xlsx", asked, quiet=True)
        assert told(listed) == told(crossed)
        assert crossed.pattern.any() == (name == "region-sector")


@pytest.mark.parametrize("sign", ["desttis", "Destatis", "eurostatt", "statcam"])
def test_a_mistyped_office_is_not_a_sign(sign: str) -> None:
    with pytest.raises(InputError, match="looks like"):
        House(mark=sign)
    assert House(mark="kept").mark == "kept"
