"""OpenDocument spreadsheets: what their cells hold, and what cannot be read is told."""

from __future__ import annotations

import csv
from datetime import date, datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io.inputs import read_table
from cellveil.io.sheets.reading import grid_of_sheet, hidden_parts, open_sheet
from cellveil.requests.source import Source, Written
from csp import InputError
from tests.support.open_document import cell, row, save_ods

HEAD = ["region", "sector", "firm", "pay"]
ROWS = [[f"r{i % 3}", 2020 + i % 2, f"f{i}", 10 * i + 5 + i % 7 / 10] for i in range(30)]
BY = ("region", "sector")

values = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.dates(),
    st.decimals(-1000, 1000, places=2).map(float),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5),
)  # fmt: skip


def test_a_sheet_is_the_table_of_the_same_csv(tmp_path: Path) -> None:
    book = save_ods(tmp_path / "data.ods", {"notes": [["read me"]], "2026": [HEAD, *ROWS]})
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEAD, *ROWS])
    one = read_table(Source(book, BY, "pay", "firm", written=Written(sheet="2026")))
    other = read_table(Source(tmp_path / "data.csv", BY, "pay", "firm"))
    assert one.labels == other.labels
    assert one.values.tolist() == other.values.tolist()
    with pytest.raises(InputError, match="has the sheets 'notes', '2026'"):
        read_table(Source(book, BY, "pay", "firm"))


@given(st.lists(st.lists(values, min_size=1, max_size=4), min_size=1, max_size=6))
def test_cells_hold_what_was_written(tmp_path_factory, rows) -> None:
    path = save_ods(tmp_path_factory.mktemp("ods") / "a.ods", {"one": rows})
    wanted = [
        [
            str(item) if isinstance(item, (bool, date)) else None if item is None else item
            for item in line
        ]
        for line in rows
    ]
    for line in wanted:
        while line and line[-1] is None:
            line.pop()
    while wanted and not wanted[-1]:
        wanted.pop()
    assert grid_of_sheet(path) == wanted


def test_texts_are_those_of_their_paragraphs(tmp_path: Path) -> None:
    note = (
        '<table:table-cell office:value-type="string"><office:annotation><text:p>a remark</text:p>'
        '</office:annotation><text:p><text:s text:c="2"/>South<text:s/><text:span>and</text:span>'
        "<text:tab/>East</text:p><text:p>more</text:p></table:table-cell>"
    )
    given_out = (
        '<table:table-cell office:value-type="string" office:string-value="true text">'
        "<text:p>shown</text:p></table:table-cell>"
    )
    when = datetime(2020, 1, 2, 3, 4)
    length = '<table:table-cell office:value-type="time" office:time-value="PT{}S"/>'
    lines = [
        [note, given_out], [date(2020, 1, 2), when],
        [length.format("12H30M0"), length.format("30H0M0")],
    ]  # fmt: skip
    assert grid_of_sheet(save_ods(tmp_path / "a.ods", {"one": lines})) == [
        ["  South and\tEast\nmore", "true text"], ["2020-01-02", str(when)],
        ["12:30:00", "1 day, 6:00:00"],
    ]  # fmt: skip


def test_what_is_repeated_and_covered_is_where_it_stands(tmp_path: Path) -> None:
    lines = [
        row([cell("x", 'table:number-columns-repeated="2"'), "<table:covered-table-cell/>", 1]),
        row([], 'table:number-rows-repeated="2"'), row([None, 5], 'table:number-rows-repeated="2"'),
    ]  # fmt: skip
    grid = grid_of_sheet(save_ods(tmp_path / "a.ods", {"one": lines}))
    assert grid == [["x", "x", None, 1], [], [], [None, 5], [None, 5]]


def test_hidden_rows_and_columns_are_read_and_named(tmp_path: Path) -> None:
    columns = (
        '<table:table-column table:number-columns-repeated="2"/>'
        '<table:table-column table:visibility="collapse"/>'
    )
    rows = [columns, HEAD, ROWS[0], row(ROWS[1], 'table:visibility="filter"'), *ROWS[2:]]
    path = save_ods(tmp_path / "a.ods", {"one": rows})
    said = "has hidden columns (the first is C) and rows (the first is 3)"
    assert said in open_sheet(path).note
    assert said in hidden_parts(path)
    assert len(open_sheet(path).columns()["pay"]) == len(ROWS)
    assert not open_sheet(save_ods(tmp_path / "b.ods", {"one": [HEAD, *ROWS]})).note


FORMULA = '<table:table-cell table:formula="of:=1+1"/>'
FAULT = (
    '<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="">'
    "<text:p>{}</text:p></table:table-cell>"
)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (FORMULA, "cell B3 holds a formula without a saved value"),
        (FAULT.format("#DIV/0!"), "cell B3 holds the error #DIV/0!"),
        (FAULT.format("Err:502"), "cell B3 holds the error Err:502"),
    ],
)
def test_faults_of_formulas_are_named(tmp_path: Path, entry: str, words: str) -> None:
    path = save_ods(tmp_path / "a.ods", {"one": [["a", "v"], ["x", 1], ["y", entry]]})
    with pytest.raises(InputError, match=words):
        open_sheet(path).columns(numbers=["v"])
    assert open_sheet(path).columns(["a"]) == {"a": ["x", "y"]}


def test_a_published_table_is_audited(tmp_path: Path) -> None:
    rows = [["", "Farms", "Trade", "Total"], ["North", "[c]", 45, 165], ["South", 12, 8, 20],
            ["Total", "[c]", 53, 185]]  # fmt: skip
    path = save_ods(tmp_path / "published.ods", {"one": rows})
    with (tmp_path / "published.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    one, other = (
        CliRunner().invoke(app, ["audit", str(path.with_suffix(end))]) for end in (".ods", ".csv")
    )
    assert one.exit_code == other.exit_code == 1
    assert one.stdout == other.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<office:document", "not an OpenDocument spreadsheet"),
        ("", "not an OpenDocument spreadsheet"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares a document type"),
    ],
)
def test_what_is_damaged_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.ods"
    with ZipFile(path, "w") as book:
        book.writestr("content.xml", text)
    with pytest.raises(InputError, match=words):
        grid_of_sheet(path)
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="not an OpenDocument spreadsheet"):
        open_sheet(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (row([cell(1, 'table:number-columns-repeated="1000000000"')]), "more than 16,384 columns"),
        (row([1], 'table:number-rows-repeated="1000000000"'), "more than 1,048,576 rows"),
    ],
)
def test_what_is_repeated_without_end_is_refused(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        grid_of_sheet(save_ods(tmp_path / "a.ods", {"one": [line]}))


def test_microdata_of_a_sheet_are_those_of_the_same_csv(tmp_path: Path) -> None:
    rows = [[i % 2 + 1, f"r{i % 3}", 20 + i, 10 * i + 0.5] for i in range(24)]
    head = ["sex", "region", "age", "pay"]
    save_ods(tmp_path / "a.ods", {"notes": [["x"]], "2026": [head, *rows]})
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])

    def run(*words: object) -> str:
        result = CliRunner().invoke(app, ["microdata", *map(str, words)])
        assert result.exit_code in (0, 1), result.output
        return result.stdout

    for name, more in (("a.ods", ("--sheet", "2026")), ("a.csv", ())):
        run("microaggregate", tmp_path / name, *more, "-k", 4, "--attributes", "age,pay",
            "--keep", "sex,region", "-o", tmp_path / f"masked-{name[2:]}.csv")  # fmt: skip
    one, other = (tmp_path / f"masked-{end}.csv" for end in ("ods", "csv"))
    assert one.read_bytes() == other.read_bytes()
    compared = [
        run("utility", tmp_path / name, one, *more, "--json")
        for name, more in (("a.ods", ("--sheet", "2026")), ("a.csv", ()))
    ]
    assert compared[0] == compared[1]
    refused = CliRunner().invoke(app, ["microdata", "check", str(one), "--sheet", "2026"])
    assert refused.exit_code == 2
    assert "--sheet is for workbooks" in refused.stderr
