"""Columns of relations of DuckDB, of a caller or of a file that is open."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from csp.errors import InputError
from csp.formats.parquet import time_text
from csp.tables.sources.frames import library_of
from csp.tables.sources.source import Columns, ColumnSource, Place, check_names
from csp.tables.units import unmasked


@dataclass(frozen=True, slots=True, eq=False)
class RelationSource(ColumnSource):
    """A relation of a connection of the caller's."""

    data: Any

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(self.data.columns)

    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        """Run the query for named columns."""
        import duckdb

        try:
            return Columns(fetched(self.data, names))
        except duckdb.Error as error:
            msg = "the DuckDB relation cannot be read; is its connection open, its query right?"
            raise InputError(msg) from error

    @property
    def place(self) -> Place:
        """Behind a connection."""
        return "elsewhere"


def is_relation(data: Any) -> bool:
    """Whether data is a DuckDB relation."""
    return library_of(data) in {"duckdb", "_duckdb"} and hasattr(data, "fetchnumpy")


def fetched(relation: Any, names: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """Return columns of a relation, integers, floats or objects; see `plain_relation`."""
    return tuple(map(unmasked, plain_relation(relation, names).fetchnumpy().values()))


def plain_relation(relation: Any, names: Sequence[str]) -> Any:
    """Columns c0, c1, ... of a DuckDB relation: whole numbers, DOUBLE, and all else as text.

    Narrow floats and truth values come as from a frame: 0.1 is one tenth, and a code True.

    Raises
    ------
    InputError
        If a column is unknown.
    """
    check_names(names, relation.columns)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    exact = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
    terms = []
    for i, name in enumerate(names):
        column = '"' + name.replace('"', '""') + '"'
        if types[name] == "BLOB":
            column = f"decode({column})"
        elif types[name] == "FLOAT":
            column = f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)"
        elif types[name] == "BOOLEAN":
            column = f"CASE {column} WHEN true THEN 'True' WHEN false THEN 'False' END"
        elif types[name].startswith("TIMESTAMP"):
            column = time_text(column, zoned="ZONE" in types[name] or "TZ" in types[name])
        kept = types[name] in exact or types[name] in {"DOUBLE", "FLOAT"}
        terms.append(f"{column} AS c{i}" if kept else f"CAST({column} AS VARCHAR) AS c{i}")
    return relation.project(", ".join(terms))
