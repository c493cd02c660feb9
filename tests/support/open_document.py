"""OpenDocument spreadsheets as LibreOffice writes them, by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZipFile

SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "table", "text")
)


def cell(value: Any, more: str = "") -> str:
    """Markup of a cell: it shows something else than it holds, as where numbers are formatted."""
    if isinstance(value, str) and value.startswith("<table:"):
        return value
    if value is None:
        return f"<table:table-cell {more}/>"
    if isinstance(value, bool):
        kind, shown = f'"boolean" office:boolean-value="{str(value).lower()}"', str(value).upper()
    elif isinstance(value, (int, float)):
        kind, shown = f'"float" office:value="{value!r}"', f"{value:,.0f} EUR"
    elif isinstance(value, (date, datetime)):
        kind, shown = f'"date" office:date-value="{value.isoformat()}"', "some day"
    else:
        kind, shown = '"string"', value
    return (
        f"<table:table-cell office:value-type={kind} {more}>"
        f"<text:p>{escape(shown)}</text:p></table:table-cell>"
    )


def row(values: Iterable[Any], more: str = "") -> str:
    """Markup of a row; like all rows it ends in a thousand cells without anything."""
    end = '<table:table-cell table:number-columns-repeated="1000"/>'
    return f"<table:table-row {more}>{''.join(map(cell, values))}{end}</table:table-row>"


def save_ods(path: Path, sheets: Mapping[str, Iterable[Any]], head: str = "") -> Path:
    """Write sheets: rows of values, or of markup as it stands."""
    pages = "".join(
        f"<table:table table:name={quoteattr(name)}>"
        + "".join(line if isinstance(line, str) else row(line) for line in rows)
        + '<table:table-row table:number-rows-repeated="1048000"><table:table-cell '
        'table:number-columns-repeated="1024"/></table:table-row></table:table>'
        for name, rows in sheets.items()
    )
    with ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr(
            "content.xml",
            f'<?xml version="1.0" encoding="UTF-8"?>{head}<office:document-content {SPACES}>'
            f"<office:body><office:spreadsheet>{pages}</office:spreadsheet></office:body>"
            "</office:document-content>",
        )
    return path
