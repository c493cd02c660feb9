"""Records that were read once give the table that their file gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import csp
from cellveil.io.inputs import read_table
from cellveil.io.sheets.reading import Sheet, open_sheet
from cellveil.requests.source import Source
from csp.tables.columns import column_names, read_columns
from csp.tables.sources.files import WholeFile, read_whole

ROWS = [(f"r{i % 3}", f"{2020 + i % 2}", f"f{i}", f"{10 * i + 5},{i % 7}") for i in range(30)]
FRAME = pd.DataFrame(ROWS, columns=["region", "year", "firm", "pay"])
NUMBERS = FRAME.assign(pay=FRAME.pay.str.replace(",", ".").astype(float))


def whole(path: Path) -> WholeFile | Sheet:
    return open_sheet(path) if path.suffix == ".xlsx" else read_whole(path)


@pytest.mark.parametrize("name", ["a.csv", "german.csv", "a.csv.gz", "a.parquet", "a.xlsx"])
def test_the_table_is_that_of_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    match path.suffix:
        case ".parquet":
            NUMBERS.to_parquet(path)
        case ".xlsx":
            pytest.importorskip("openpyxl", reason="openpyxl is not installed")
            NUMBERS.to_excel(path, index=False)
        case _:
            frame, mark = (FRAME, ";") if name == "german.csv" else (NUMBERS, ",")
            frame.to_csv(path, index=False, sep=mark)
    records = whole(path)
    sources = [
        Source(path, ("region", "year"), "pay", "firm"),
        Source(path, ("year",)),
        Source(path, ("region",), "pay"),
    ]
    expected = [read_table(source) for source in sources]
    path.write_bytes(b"")  # what was read is not read again
    for source, fresh in zip(sources, expected, strict=True):
        table = read_table(source, records=records)
        assert (table.values == fresh.values).all()
        assert table.labels == fresh.labels
        assert table.scale == fresh.scale


def test_a_whole_file_stands_where_the_file_can(tmp_path: Path) -> None:
    path = tmp_path / "german.csv"
    FRAME.to_csv(path, index=False, sep=";")
    kept = read_whole(path)
    assert column_names(kept) == column_names(path)
    for numbers in (None, ["pay"]):
        one, two = (read_columns(data, ["pay", "firm"], numbers) for data in (kept, path))
        assert one.note == two.note
        assert all(map(np.array_equal, one.arrays, two.arrays))
    assert (
        csp.inspect(kept, ["region"], "pay").tables == csp.inspect(path, ["region"], "pay").tables
    )
    with pytest.raises(csp.InputError, match="did you mean 'firm'"):
        read_columns(kept, ["frim"])
