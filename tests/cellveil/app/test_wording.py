"""What the page says where the command line names an option that the page does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellveil.app.work.wording import words_of
from cellveil.io.sheets.reading import open_sheet
from csp.errors import InputError
from csp.tables.columns import read_columns


def test_options_of_the_command_line_are_said_to_be_those(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.create_sheet("other")
    for sheet in book.worksheets:
        sheet.append(["a", "b"])
        sheet.append([1, 2])
    book.save(tmp_path / "two.xlsx")
    with pytest.raises(InputError) as caught:
        open_sheet(tmp_path / "two.xlsx")
    said = words_of(caught.value, tmp_path)
    assert "keep one of them in the file, or name it on the command line" in said
    assert str(tmp_path) not in said


def test_so_is_an_encoding(tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    (tmp_path / "a.sav").write_bytes(b"$FL2 nothing")
    with pytest.raises(InputError) as caught:
        read_columns(tmp_path / "a.sav", ["x"])
    assert "the command line takes --encoding cp1252" in words_of(caught.value, tmp_path)
