"""Sheets of records: the same table as from a text file, and what is not one is told."""

from __future__ import annotations

import csv
import re
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io.inputs import read_table
from cellveil.io.sheets import reading
from cellveil.io.sheets.reading import hidden_parts, open_sheet
from cellveil.requests.source import Source, Written
from csp import InputError, Table
from tests.support.shared import examples

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")

HEAD = ["region", "sector", "firm", "pay"]
ROWS = [[f"r{i % 3}", 2020 + i % 2, f"f{i}", 10 * i + 5 + i % 7 / 10] for i in range(30)]


def save(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    book.save(path)
    return path


def patched(path: Path, old: bytes, new: bytes) -> Path:
    """Copy of a workbook whose first sheet has another text, as other programs write it."""
    other = path.with_name("patched.xlsx")
    with ZipFile(path) as book, ZipFile(other, "w") as copy:
        for part in book.infolist():
            text = book.read(part)
            if part.filename.endswith("sheet1.xml"):
                text, count = re.subn(old, new, text)
                assert count
            copy.writestr(part, text)
    return other


def test_a_sheet_is_the_table_of_the_same_csv(tmp_path: Path) -> None:
    book = save(tmp_path / "data.xlsx", {"notes": [["read me"]], "2026": [HEAD, *ROWS]})
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEAD, *ROWS])
    by = ("region", "sector")
    one = read_table(Source(book, by, "pay", "firm", written=Written(sheet="2026")))
    two = Table.from_microdata(tmp_path / "data.csv", by, "pay", contributor="firm")
    assert list(one.labels) == list(two.labels)
    assert one.values.tolist() == two.values.tolist()
    assert one.scale == two.scale == 1
    assert one.contributors.top.tolist() == two.contributors.top.tolist()


@examples(30)
@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6))
def test_sums_of_decimals_are_exact(tmp_path_factory: Any, units: list[int]) -> None:
    path = tmp_path_factory.mktemp("x") / "t.xlsx"
    save(path, {"s": [["a", "v"], *([["x", unit / 100] for unit in units])]})
    source = Source(path, ("a",), "v", decimals=2, negative="abs")
    assert read_table(source).values.tolist() == [sum(units)] * 2


def test_an_error_of_computing_goes_with_its_decimals_and_is_refused_without(
    tmp_path: Path,
) -> None:
    path = save(tmp_path / "t.xlsx", {"s": [["a", "v"], ["x", 7.5]]})
    path = patched(path, rb"<v>7.5</v>", b"<v>0.30000000000000004</v>")  # as Excel writes 0.1+0.2
    assert read_table(Source(path, ("a",), "v", decimals=2)).values.tolist() == [30, 30]
    with pytest.raises(InputError, match="decimal places"):
        read_table(Source(path, ("a",), "v"))


def test_what_cells_mean(tmp_path: Path) -> None:
    row = ["text ", 2021, 2021.0, 1.5, date(2026, 1, 31), datetime(2026, 1, 31, 12, 30), True, None]
    names = list("abcdefgh")
    path = save(tmp_path / "t.xlsx", {"s": [names, row, ["x"] * 8]})
    found = open_sheet(path).columns(numbers=["d"])
    assert [column[0] for column in found.values()] == [
        *("text ", "2021", "2021", 1.5, "2026-01-31", "2026-01-31 12:30:00", "True", None),
    ]


def test_codes_are_those_of_the_same_frame(tmp_path: Path) -> None:
    """Truth values, times of day and midnights, which are dates; what Python prints is right."""
    columns = {
        "flag": [True, False, True],
        "when": [datetime(2026, 1, 1), datetime(2026, 1, 1, 12), datetime(2026, 1, 2)],
        "hour": [time(1, 2), time(3, 4, 5), time(1, 2)],
    }
    path = save(tmp_path / "t.xlsx", {"s": [[*columns], *zip(*columns.values(), strict=True)]})
    assert open_sheet(path).columns() == {
        name: [str(item).removesuffix(" 00:00:00") for item in column]
        for name, column in columns.items()
    }
    for name in columns:
        found = read_table(Source(path, (name,)))
        assert list(found.labels) == list(Table.from_microdata(columns, [name]).labels)


def test_hidden_rows_and_columns_are_read_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "t.xlsx", {"s": [HEAD, *ROWS]})
    assert not open_sheet(path).note
    book = openpyxl.load_workbook(path)
    for row in (7, 9):
        book["s"].row_dimensions[row].hidden = True
    book["s"].column_dimensions["C"].hidden = True
    book.save(path)
    assert len(open_sheet(path).columns()["pay"]) == len(ROWS)
    said = "has hidden rows (the first is 7) and columns (the first is C), which are read"
    assert said in open_sheet(path).note
    read_table(Source(path, ("region",)))
    assert said in " ".join(capsys.readouterr().err.split())
    save(path, {"s": [["region", "x", "y", "Total"], ["a", 4, 5, 9], ["Total", 4, 5, 9]]})
    book = openpyxl.load_workbook(path)
    book["s"].row_dimensions[2].hidden = True
    book.save(path)
    assert "hidden rows (the first is 2), which" in hidden_parts(path)
    result = CliRunner().invoke(app, ["audit", str(path)])
    assert "hidden rows (the first is 2)" in " ".join(result.output.split())


def test_formulas_count_as_what_was_saved(tmp_path: Path) -> None:
    path = save(tmp_path / "t.xlsx", {"s": [["a", "v"], ["x", "=1+2"]]})
    with pytest.raises(InputError, match=r"cell B2 holds a formula without a saved value"):
        open_sheet(path).columns()
    assert open_sheet(path).columns(names=["a"]) == {"a": ["x"]}
    saved = patched(path, rb"<v></v>|<v ?/>", b"<v>3</v>")
    assert open_sheet(saved).columns(numbers=["v"]) == {"a": ["x"], "v": [3]}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "it is empty"),
        ([["a", "b"]], "there are no records"),
        ([["Turnover 2026"], ["a", "b"], ["x", 1]], "row 1 has one entry and looks like a title"),
        ([["a", 2020, 2021], ["x", 1, 2]], "cell B1 holds a number or a date"),
        ([["a", None, "c"], ["x", 1, 2]], "column B has entries, but cell B1 has no name"),
        ([[None, "a", "c"], [None, "x", 2]], "column A is empty; take it out"),
        ([["a", "a"], ["x", 1]], "two columns are named 'a'"),
        ([["a", "b"], ["x", 1], [None, None], ["y", 2]], "row 3 is blank and more follows"),
        ([["a", "b"], ["x", "#DIV/0!"]], "cell B2 holds the error #DIV/0!"),
    ],
)
def test_what_is_not_a_sheet_of_records_is_told(tmp_path: Path, rows: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_sheet(save(tmp_path / "t.xlsx", {"s": rows})).columns()


def test_sheets_are_named_and_other_files_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "t.xlsx", {"one": [["a"], [1]], "two": [["a"], [1]]})
    with pytest.raises(InputError, match="sheets 'one', 'two'; say which one with --sheet"):
        open_sheet(path).columns()
    with pytest.raises(InputError, match="no sheet 'three'; there are 'one', 'two'"):
        open_sheet(path, "three")
    with pytest.raises(InputError, match="'b'"):
        open_sheet(path, "one").columns(["b"])
    (tmp_path / "no.xlsx").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not an Excel workbook"):
        open_sheet(tmp_path / "no.xlsx")
    with pytest.raises(InputError, match="leave it out"):
        Source(tmp_path / "a.csv", ("a",), written=Written(sheet="one"))
    with pytest.raises(InputError, match="read as a whole; leave out --memory"):
        Source(path, ("a",), memory="1GB")
    with pytest.raises(InputError, match="a workbook is read as it is"):
        Source(path, ("a",), written=Written(decimal=","))


def test_commands_and_jobs_read_sheets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "data.xlsx", {"notes": [["read me"]], "2026": [HEAD, *ROWS]})
    words = ["data.xlsx", "--sheet", "2026", "--by", "region,sector", "--value", "pay"]
    words += ["--contributor", "firm"]
    runs = [
        ["inspect", *words, "--job", "job.toml", "--rules", "P(10,1)"],
        ["protect", *words, "--rules", "P(10,1)", "-o", "out.csv"],
        ["run", "job.toml"],
    ]
    for run in runs:
        result = CliRunner().invoke(app, run)
        assert result.exit_code == 0, result.output
    assert 'sheet = "2026"' in (tmp_path / "job.toml").read_text()
    (published,) = (tmp_path / "published").glob("*.csv")
    assert published.read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_a_sheet_is_read_once_for_all_that_is_asked_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps = [HEAD, *ROWS[:-1], ["r1", 2020, None, 4.5]]
    path = save(tmp_path / "data.xlsx", {"2026": gaps})
    expected = [
        open_sheet(path).columns(),
        open_sheet(path).columns(numbers=["pay"]),
        open_sheet(path).columns(names=["pay"], numbers=["pay"]),
    ]
    opened: list[bool] = []
    load = openpyxl.load_workbook
    monkeypatch.setattr(
        openpyxl,
        "load_workbook",
        lambda *given, data_only, **more: (
            opened.append(data_only) or load(*given, data_only=data_only, **more)
        ),
    )
    sheet = open_sheet(path)
    found = [
        sheet.columns(),
        sheet.columns(numbers=["pay"]),
        sheet.columns(["pay"], ["pay"]),
    ]
    assert found == expected
    assert opened == [True, False]  # values once, and formulas once, since a cell is empty


def test_the_rows_that_were_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_TOLD", 10)
    path = save(tmp_path / "data.xlsx", {"2026": [HEAD, *ROWS]})
    told: list[int] = []
    open_sheet(path, progress=told.append)
    assert told == [10, 20, 30]
