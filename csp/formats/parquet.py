"""Tables as .parquet files, and the connection to DuckDB that reads files of both kinds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from csp.errors import InputError, argument
from csp.formats.reading import regular_file

if TYPE_CHECKING:
    import duckdb

_MOST_ROWS = 2**30


@contextmanager
def connected(
    path: str | os.PathLike[str], kind: str, folder: str | None = None, memory: int | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to DuckDB, which loads nothing from elsewhere; its errors speak of the file.

    Parameters
    ----------
    path : path-like
    kind : {"csv", "parquet"}
    folder : str, optional
        Where the database and what does not fit into memory are kept; otherwise all stays in
        memory.
    memory : int, optional
        Bytes that DuckDB may take.
    """
    import duckdb

    alone: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": folder or "",  # no copy of the data is spilled into the working folder
    }
    if memory is not None:
        alone["memory_limit"] = f"{memory // 10**6}MB"
        # The database lives for one run: to pack it takes longer than to write it.
        alone["force_compression"] = "uncompressed"
    place = ":memory:" if folder is None else str(Path(folder) / "records.duckdb")
    with duckdb.connect(place, config=alone) as connection:
        try:
            yield connection
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            mend = f"give more of it ({argument('memory')})"
            if folder is None:
                limit = argument("memory", "2GB")
                mend = f"read fewer columns or records, or give {limit} to tabulate within that"
            msg = f"{str(path)!r} does not fit into memory; {mend}"
            raise InputError(msg) from error
        except duckdb.Error as error:
            line = re.search(r"Line: *([0-9]+)", str(error))
            where = f" at line {line[1]}" if line else ""
            mend = {
                "csv": "has it as many fields as line 1, and are its quotes closed?",
                "ibis": "does the expression run on its backend?",
            }.get(kind, "the file is damaged or something else")
            if _is_odd(path):
                where, mend = "", "its name is not UTF-8, which the reader needs: rename it"
            msg = f"{str(path)!r} cannot be read as {kind}{where}; {mend}"
            error.args = (msg,)  # the library's text may quote the data
            raise InputError(msg) from None


def open_parquet(connection: duckdb.DuckDBPyConnection, path: str | os.PathLike[str]) -> Any:
    """Relation of a .parquet file.

    Raises
    ------
    InputError
        If two columns differ only in case, which the reader would rename.
    """
    name = literal(regular_file(path))
    _check_rows(connection, name, path)
    listed = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [name])
    (_, left), *fields = listed.fetchall()
    names: list[str] = []
    inside = 0
    for field, children in fields:
        if inside:
            inside += int(children or 0) - 1
        elif len(names) < left:
            names.append(field)
            inside = int(children or 0)
    _check_case(names, path)
    return connection.read_parquet(name, hive_partitioning=False)


def _check_rows(connection: Any, name: str, path: str | os.PathLike[str]) -> None:
    """Refuse a file whose records, one pointer each, fill the memory; a few bytes can claim so."""
    found = connection.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [name])
    rows = int(found.fetchone()[0] or 0)
    if not 0 <= rows <= _MOST_ROWS:
        msg = f"{str(path)!r} has {rows} records, more than {_MOST_ROWS}; read it in parts"
        raise InputError(msg)


def literal(path: Path) -> str:
    """Name of a file for a reader that would take it for a pattern: every sign means itself."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _check_case(names: Sequence[str], path: str | os.PathLike[str]) -> None:
    first: dict[str, str] = {}
    for name in names:
        if first.setdefault(name.lower(), name) != name:
            msg = (
                f"{str(path)!r} has columns {first[name.lower()]!r} and {name!r}, which differ in "
                "case only; rename one of them"
            )
            raise InputError(msg)


def _is_odd(path: object) -> bool:
    """Whether a name of a file holds bytes that are not text."""
    return any("\ud800" <= sign <= "\udfff" for sign in str(path))


def time_text(column: str, *, zoned: bool) -> str:
    """Text of a point in time as Python has it: in UTC where it has a zone, a midnight as a date.

    Programs without dates keep them as midnight without a zone (`csp.tables.codes`).
    """
    time = f"{column} AT TIME ZONE 'UTC'" if zoned else f"CAST({column} AS TIMESTAMP)"
    zone = "+00:00" if zoned else ""
    part = f"CASE WHEN microsecond({time}) % 1000000 = 0 THEN '' ELSE strftime({time}, '.%f') END"
    text = f"strftime({time}, '%Y-%m-%d %H:%M:%S') || {part} || '{zone}'"
    if zoned:
        return text
    day = f"strftime({time}, '%Y-%m-%d')"
    return f"CASE WHEN {time} = date_trunc('day', {time}) THEN {day} ELSE {text} END"
