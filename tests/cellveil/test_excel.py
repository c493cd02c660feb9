"""Workbooks: what is on their sheets, that texts are not formulas, and that nothing leaks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from typer.testing import CliRunner

import csp
import instances
from cellveil.cli.app import app
from cellveil.io.excel import write_workbook
from cellveil.io.files import result_columns
from cellveil.io.published import read_public
from cellveil.requests.publication import Publication

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")


LEGEND = {
    "\u00d7": "\u00d7 = suppressed, so that no contributor can be worked out",
    "\u2013": "\u2013 = nil, known to be 0",
}


def write(path: Path, protected: csp.Protected, *, reveal: bool = False) -> Any:
    columns = result_columns(protected, reveal=reveal, intervals=True)
    facts = protected.summary(reveal=reveal)
    write_workbook(path, protected, columns, facts, reveal=reveal)
    return openpyxl.load_workbook(path)


def demo() -> csp.Protected:
    table = instances.load("demo")
    assert isinstance(table, csp.Table)
    return csp.protect(table, "P(10,1)|FREQ(3,10)")


@pytest.mark.parametrize("reveal", [False, True])
def test_sheets_hold_the_published_table(tmp_path: Path, reveal: bool) -> None:
    protected = demo()
    table = protected.table
    book = write(tmp_path / "t.xlsx", protected, reveal=reveal)
    assert book.sheetnames == ["table", "cells", "hierarchies", "facts"]
    levels = [*book["hierarchies"].iter_rows(min_row=2, values_only=True)]
    tree = table.labels
    assert {name for name, _, _ in levels} == {"region"}
    assert {code for _, code, _ in levels} == {label[0] for label in tree} - {"Total"}
    rows = list(book["cells"].values)
    assert rows[0][:4] == ("region", "sector", "value", "status")
    for row, label, value, hidden in zip(
        rows[1:], table.labels, table.values.tolist(), protected.pattern.tolist(), strict=True
    ):
        assert row[:2] == label
        assert row[2] == (value if reveal or not hidden else None)
        assert row[5] <= value <= row[6]
    cross = list(book["table"].values)
    heads = cross[0][1:]
    end = next(i for i, line in enumerate(cross) if not any(line))
    assert [line[0] for line in cross[end + 1 :]] == [
        words for sign, words in LEGEND.items() if any(sign in line for line in cross[:end])
    ]  # fmt: skip
    for line in cross[1:end]:
        for head, shown in zip(heads, line[1:], strict=True):
            cell = table.position((line[0], head))
            if protected.pattern[cell]:
                assert shown == (table.values[cell] if reveal else "×")
            elif shown != "–":
                assert shown == table.values[cell]
    assert ("primary" in dict(book["facts"].values)) is reveal


def test_no_suppressed_value_is_anywhere_in_the_file(tmp_path: Path) -> None:
    values = [[90171, 90313, 4], [90432, 80599, 90019], [80017, 80119, 80875]]
    protected = csp.protect(csp.Table.from_array(values), csp.MinFrequency(5), width=4)
    write(tmp_path / "t.xlsx", protected)
    with ZipFile(tmp_path / "t.xlsx") as packed:
        whole = b"".join(packed.read(name) for name in packed.namelist()).decode()
    # Times have digits enough to hold any number.
    whole = re.sub(r"\b\d{1,2}\.\d{6,}", "", whole)
    low, high = protected.audit.proved
    ends = {*low[protected.pattern].tolist(), *high[protected.pattern].tolist()}
    for value in set(protected.table.values[protected.pattern].tolist()) - {int(e) for e in ends}:
        assert value == 4 or str(value) not in whole


def test_texts_are_not_formulas(tmp_path: Path) -> None:
    codes = ["=1+1", "+2", "-3", "@x", "=cmd|' /C calc'!A0", "plain", "bell\a"]
    table = csp.Table.from_microdata({"=a": codes * 4}, by=["=a"])
    book = write(tmp_path / "t.xlsx", csp.protect(table, csp.MinFrequency(1), width=0))
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f"
    shown = {row[0] for row in book["cells"].values}
    assert {"=1+1", "@x", "bell\\x07"} <= shown


def test_numbers_that_excel_would_round_are_text(tmp_path: Path) -> None:
    table = csp.Table.from_array(np.array([2**52 - 1, 12]))
    rows = list(
        write(tmp_path / "t.xlsx", csp.protect(table, csp.MinFrequency(1), width=0))["cells"].values
    )
    assert rows[1][1] == str(2**52 - 1)
    assert rows[2][1] == 12
    decimals = csp.Table.from_microdata({"a": ["x", "y"], "v": ["1.25", "3.5"]}, ["a"], "v")
    protected = csp.protect(decimals, csp.MinFrequency(1), width=0)
    rows = list(write(tmp_path / "t.xlsx", protected)["cells"].values)
    assert [row[1] for row in rows[1:]] == [1.25, 3.5, 4.75]


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    protected = demo()
    facts = {"rules": "P(10,1)"}
    for name in ("one.xlsx", "two.xlsx"):
        write_workbook(tmp_path / name, protected, result_columns(protected), facts)
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()


def test_the_command_writes_a_workbook(tmp_path: Path) -> None:
    data = tmp_path / "survey.csv"
    data.write_text("region,sector\n" + "N,a\nN,b\nS,a\nS,b\nS,b\nN,c\n" * 5 + "S,c\n")
    ask = ["protect", str(data), "--by", "region,sector", "--rules", "FREQ(3)", "--width", "2"]
    for name in ("one.xlsx", "two.xlsx"):
        found = CliRunner().invoke(app, [*ask, "-o", str(tmp_path / name)])
        assert found.exit_code == 0, found.output
    facts = [openpyxl.load_workbook(tmp_path / n)["facts"] for n in ("one.xlsx", "two.xlsx")]
    rows = [[row for row in sheet.values if row[0] != "seconds"] for sheet in facts]
    assert rows[0] == rows[1]
    assert "×" in {
        v for row in openpyxl.load_workbook(tmp_path / "one.xlsx")["table"].values for v in row
    }


def test_a_missing_library_is_told_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cellveil.io import excel

    monkeypatch.setattr(excel, "find_spec", lambda _: None)
    ask = ["protect", str(tmp_path / "gone.csv"), "--by", "a", "--rules", "FREQ(3)"]
    found = CliRunner().invoke(app, [*ask, "-o", str(tmp_path / "x.xlsx")])
    assert found.exit_code == 2
    assert "pip install openpyxl" in found.output


def test_a_workbook_does_not_say_when_it_was_written(tmp_path: Path) -> None:
    write(tmp_path / "t.xlsx", demo())
    with ZipFile(tmp_path / "t.xlsx") as packed:
        core = packed.read("docProps/core.xml").decode()
        assert {part.date_time[0] for part in packed.infolist()} == {2000}
    assert core.count("2000-01-01T00:00:00Z") == core.count("<dcterms:") == 2


def test_codes_with_tabs_and_line_ends_come_back(tmp_path: Path) -> None:
    records = {"r": ["a\nb"] * 5 + ["c\td"] * 4 + ["e"] * 6}
    protected = csp.protect(csp.Table.from_microdata(records, ["r"]), "FREQ(3,10)")
    protected.to_excel(tmp_path / "a.xlsx")
    again = read_public(tmp_path / "a.xlsx", Publication())[0]
    assert set(again.labels) == set(protected.release.labels)
