"""Records in DuckDB: read column by column, kept with their cells, given out in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.tables.codes import missing_owner
from csp.tables.hierarchies.coding import Finder, missing_value
from csp.tables.microdata.contributions import Wanted
from csp.tables.microdata.records import MAX_BATCH
from csp.tables.units import GAPS, NotUnits, to_units, unmasked

_NAME = "cellveil_source"
"""What the records are called in queries; a relation may be about a table of any other name."""

_SAMPLE = 20_000
"""Contributors from whom the batches are chosen."""

_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
"""What Python strips from a text."""

_DIGITS = 15
"""Up to this many digits a decimal and the float nearest to it determine each other."""


def literal(value: Any) -> str:
    """Value as SQL; a text may hold any sign."""
    if value is None:
        return "NULL"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    return "'" + str(value).replace("'", "''") + "'"


def trimmed(column: str) -> str:
    """Column without what Python strips from a text, as SQL."""
    return f"trim({column}, {literal(_BLANKS)})"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Records in DuckDB.

    Attributes
    ----------
    relation : DuckDB relation
        Columns c0, c1, ...: whole numbers, DOUBLE and text.
    names : sequence of str
        What the columns are called in the data.
    table : str
        Where the records are kept with their cells.
    rows, pairs : int
        Most records of a batch, and pairs of a cell and a contributor at once.
    ordered : bool
        Whether the records come in the same order whenever they are read, as those of a file do.
    note : str
        How a text file was read; see `csp.tables.sources.source.Columns`.
    """

    relation: Any
    names: Sequence[str]
    table: str
    rows: int = MAX_BATCH
    pairs: int = MAX_BATCH
    ordered: bool = False
    note: str = ""

    @property
    def columns(self) -> list[str]:
        """Columns of the relation."""
        return [f"c{i}" for i in range(len(self.names))]

    def column(self, name: str) -> str:
        """Column of the relation that has this name in the data."""
        return f"c{list(self.names).index(name)}"

    def kind(self, name: str) -> str:
        """Type of a column."""
        return str(self.relation.types[list(self.names).index(name)])

    def changed(self, terms: Mapping[str, str]) -> Source:
        """Return the records with some columns replaced by terms of SQL."""
        listed = ", ".join(
            f"{terms.get(name, column)} AS {column}"
            for name, column in zip(self.names, self.columns, strict=True)
        )
        return replace(self, relation=self.relation.project(listed))

    def with_gaps(self, names: Sequence[str]) -> tuple[Source, int]:
        """Return the records with NULL for all missing entries of columns of numbers.

        Also returns how many records lack one of these numbers; `keep` leaves them out.
        """
        if not names:
            return self, 0
        terms = {}
        for name in names:
            column, kind = self.column(name), self.kind(name)
            gap = {
                "VARCHAR": f"lower({trimmed(column)}) IN ({', '.join(map(literal, sorted(GAPS)))})",
                "DOUBLE": f"isnan({column})",
            }.get(kind, "false")
            terms[name] = f"CASE WHEN {gap} THEN NULL ELSE {column} END"
        changed = self.changed(terms)
        lacking = " OR ".join(f"{self.column(name)} IS NULL" for name in names)
        found = changed.ask(f"SELECT count(*) AS n FROM {_NAME} WHERE {lacking}")
        return changed, int(found["n"][0])

    def ask(self, query: str) -> dict[str, Any]:
        """Run a query; the records are the table `_NAME`."""
        found: dict[str, Any] = self.relation.query(_NAME, query).fetchnumpy()
        return {name: unmasked(column) for name, column in found.items()}

    def count(self) -> int:
        """Count the records."""
        return int(self.ask(f"SELECT count(*) AS n FROM {_NAME}")["n"][0])

    def distinct(self, name: str) -> NDArray[Any]:
        """Different entries of a column; None for missing ones."""
        found: NDArray[Any] = self.ask(f"SELECT DISTINCT {self.column(name)} AS c FROM {_NAME}")[
            "c"
        ]
        return found

    def formulas(self, name: str) -> list[str]:
        """Different texts of a column that begin like formulas, with apostrophes before or not."""
        column = self.column(name)
        found: list[str] = self.ask(
            f"SELECT DISTINCT {column} AS c FROM {_NAME} "
            f"WHERE regexp_matches({column}, '^''*[-=+@\\t\\r\\n]')"
        )["c"].tolist()
        return found

    def first_row(self, condition: str) -> int:
        """First row, from 1, for which a condition holds; 0 if there is none."""
        # A scan without a sort keeps the order of the rows.
        found = self.ask(
            f"SELECT coalesce(min(row), 0) AS row FROM (SELECT row_number() OVER () AS row, "
            f"{', '.join(self.columns)} FROM {_NAME}) WHERE {condition}"
        )
        return int(found["row"][0])

    def any(self, condition: str) -> bool:
        """Whether a condition holds for some record."""
        found = self.ask(f"SELECT coalesce(bool_or({condition}), false) AS found FROM {_NAME}")
        return bool(found["found"][0])

    def finder(self, name: str, entries: NDArray[Any]) -> Finder:
        """Find the first row with one of some entries of a column."""

        def first(marked: Bools) -> tuple[int, int]:
            rows = [
                (self.first_row(f"{self.column(name)} IS NOT DISTINCT FROM {literal(value)}"), i)
                for i, value in zip(
                    np.flatnonzero(marked).tolist(), entries[marked].tolist(), strict=True
                )
            ]
            return min(rows)

        return first

    def shapes(self, name: str, *, rows: bool = False) -> tuple[NDArray[Any], Ints]:
        """Texts of a column, one for all that differ in digits other than 0 only, and their rows.

        Where its decimal places end and what separates its parts is the same for all of them.
        """
        column = self.column(name)
        row = "row_number() OVER ()" if rows else "0"
        found = self.ask(
            f"SELECT arg_min(c, row) AS text, min(row) AS row FROM (SELECT {column} AS c, {row} AS "
            f"row FROM {_NAME} WHERE {column} IS NOT NULL) GROUP BY translate(c, '23456789', "
            "'11111111')"
        )
        order = np.argsort(found["row"], kind="stable")
        return found["text"][order], found["row"][order].astype(np.int64)

    # ---- records with their cells ----------------------------------------------------------------

    def keep(
        self,
        wanted: Wanted,
        places: Sequence[tuple[NDArray[Any], Ints]],
        shape: Sequence[int],
        n: int,
    ) -> None:
        """Keep the inner cell, amount, weight and contributor of every record."""
        joins, terms = [], []
        for k, (entries, positions) in enumerate(places):
            stride = prod(shape[k + 1 :])
            column = self.column(wanted.names[k])
            listed = ", ".join(
                f"({literal(entry)}, {position * stride})"
                for entry, position in zip(entries.tolist(), positions.tolist(), strict=True)
            )
            joins.append(
                f"JOIN (VALUES {listed}) AS m{k}(entry, place) "
                f"ON r.{column} IS NOT DISTINCT FROM m{k}.entry"
            )
            terms.append(f"CAST(m{k}.place AS BIGINT)")
        columns = [f"{' + '.join(terms)} AS leaf"]
        if wanted.value is not None:
            columns.append(f"{self.column(wanted.value)} AS x")
        if wanted.weight is not None:
            columns.append(f"{self.column(wanted.weight)} AS w")
        if wanted.contributor is not None:
            owner = self._owner(wanted.contributor)
            columns.append(f"{owner} AS owner")
            columns.append(f"{self._part(owner, n)} AS part")
        records = _NAME
        if wanted.contributor is None and self.ordered:
            # A scan without a sort keeps the order of the rows; the joins below need not.
            records = f"(SELECT *, row_number() OVER () - 1 AS place FROM {_NAME})"
            columns.append("r.place")
        full = " AND ".join(f"r.{self.column(name)} IS NOT NULL" for name in wanted.answered)
        kind = "TEMP TABLE" if self.table.startswith("temp.") else "TABLE"
        self.relation.query(
            _NAME,
            f"CREATE OR REPLACE {kind} {self.table} AS SELECT {', '.join(columns)} FROM {records} "
            f"AS r {' '.join(joins)} WHERE {full or 'true'}",
        )

    def drop(self) -> None:
        """Drop the records that were kept on a connection of the caller's."""
        import duckdb

        try:
            self.relation.query(_NAME, f"DROP TABLE IF EXISTS {self.table}")
        except duckdb.Error:
            return  # the connection is closed, and the table with it

    def _owner(self, name: str) -> str:
        """Term whose order is that of the identifiers of a column as text."""
        column, kind = self.column(name), self.kind(name)
        if kind == "VARCHAR":
            # To strip every text takes longer than all else, and hardly any needs it.
            first, last = f"ord({column})", f"ord(right({column}, 1))"
            bare = f"({first} BETWEEN 33 AND 127 AND {last} BETWEEN 33 AND 127)"
            if not self.any(f"{column} IS NULL OR NOT {bare}"):
                return column
            term = trimmed(column)
            missing = f"{column} IS NULL OR {term} = ''"
        elif kind == "DOUBLE":
            odd = f"{column} <> trunc({column}) OR abs({column}) >= 1e{_DIGITS}"
            if self.any(f"NOT isnan({column}) AND ({odd})"):
                msg = (
                    f"column {name!r} holds fractions or very large numbers, which do not identify "
                    "contributors; give them whole numbers or text"
                )
                raise InputError(msg)
            missing = f"{column} IS NULL OR isnan({column})"
            term = f"CAST(CAST({column} AS BIGINT) AS VARCHAR)"
        else:
            missing = f"{column} IS NULL"
            ends = self.ask(f"SELECT min({column}) AS low, max({column}) AS high FROM {_NAME}")
            term = f"CAST({column} AS VARCHAR)"
            low, high = ends["low"][0], ends["high"][0]
            if low is not None and low >= 0 and high < 10**_DIGITS:
                # With zeros after its digits a number sorts like its text, of equal ones the
                # shorter one first; numbers are smaller and quicker than texts.
                length = f"length({term})"
                term = (
                    f"CAST({column} AS BIGINT) * CAST(pow(10, {_DIGITS} - {length}) AS BIGINT) * "
                    f"{_DIGITS + 1} + {length}"
                )
        if self.any(missing):
            raise missing_owner(self.first_row(missing), name)
        return term

    def _part(self, owner: str, n: int) -> str:
        """Term that numbers the batches: whole contributors, in the order of their identifiers."""
        number = -(-n // min(self.rows, MAX_BATCH * 3 // 4))
        if number == 1:
            return "0"
        sample = sorted(
            self.ask(
                f"SELECT owner FROM (SELECT {owner} AS owner FROM {_NAME}) USING SAMPLE "
                f"reservoir({_SAMPLE} ROWS) REPEATABLE (1)"
            )["owner"].tolist()
        )
        step = len(sample) / number
        ends = list(dict.fromkeys(sample[int(step * k)] for k in range(1, number)))

        def between(low: int, high: int) -> str:
            if low == high:
                return str(low)
            middle = (low + high) // 2
            return (
                f"CASE WHEN owner < {literal(ends[middle])} THEN {between(low, middle)} "
                f"ELSE {between(middle + 1, high)} END"
            )

        return f"CAST({between(0, len(ends))} AS SMALLINT)"

    def batches(self, n: int, *, owned: bool) -> list[str]:
        """Conditions that divide the records that were kept into batches of whole contributors.

        Raises
        ------
        InputError
            If few contributors have more records than fit into memory.
        """
        if not owned:
            rows = min(self.rows, MAX_BATCH)
            return [f"rowid >= {k} AND rowid < {k + rows}" for k in range(0, n, rows)]
        found = self.ask(
            f"SELECT part, count(*) AS n FROM {self.table} GROUP BY part ORDER BY part"
        )
        most = int(found["n"].max())
        if most > 2 * self.rows:
            msg = (
                f"one contributor or a few have {most} records, more than fit into the memory "
                f"allowed at once; give more of it ({argument('memory')})"
            )
            raise InputError(msg)
        return [f"part = {part}" for part in found["part"].tolist()]

    def batch(self, where: str, *, owned: bool) -> dict[str, NDArray[Any]]:
        """Columns of a batch: leaf, and x, w, owner and place as far as they are there.

        Contributors are numbered from 0 in the order of their identifiers.
        """
        columns = "* EXCLUDE (owner, part), dense_rank() OVER (ORDER BY owner) - 1 AS owner"
        return self.ask(f"SELECT {columns if owned else '*'} FROM {self.table} WHERE {where}")


class Units:
    """A column of numbers as units of one scale, found beforehand over all records.

    Parameters
    ----------
    source : Source
    name : str or None
        None stands for ones.
    decimals : int or None
    weights : bool
        Whether these are sampling weights.
    rounded : bool
        Whether numbers may be rounded to `decimals`.
    """

    def __init__(
        self, source: Source, name: str | None, decimals: int | None, *, weights: bool = False,
        rounded: bool = False,
    ) -> None:  # fmt: skip
        self._source, self._name, self._decimals = source, name, decimals
        self._weights, self._rounded = weights, rounded
        self.scale = 0 if name is None else self._places(name) if decimals is None else decimals

    def of(self, column: NDArray[Any] | None, n: int) -> Ints:
        """Units of some entries.

        Raises
        ------
        InputError
            Naming row and column.
        """
        if column is None:
            return np.ones(n, np.int64)
        try:
            units, scale = to_units(column, self._decimals, rounded=self._rounded)
            if scale < self.scale:
                units, _ = to_units(column, self.scale)
        except NotUnits as error:
            row = self.row(column[error.index])
            raise self._refused(row, error) from error
        return units

    def row(self, entry: Any) -> int:
        """First row with an entry."""
        assert self._name is not None
        value = entry.item() if isinstance(entry, np.generic) else entry
        column = self._source.column(self._name)
        return self._source.first_row(f"{column} IS NOT DISTINCT FROM {literal(value)}")

    def _places(self, name: str) -> int:
        """Fewest decimal places at which every number is whole."""
        source, column, kind = self._source, self._source.column(name), self._source.kind(name)
        if kind == "VARCHAR":
            entries, _ = source.shapes(name)
            return self._scale(entries)
        if kind != "DOUBLE":
            return 0
        cases = " ".join(
            f"WHEN abs({column} * 1e{d}) < 1e{_DIGITS} AND "
            f"round_even({column} * 1e{d}, 0) / 1e{d} = {column} THEN {d}"
            for d in range(10)
        )
        places = f"CASE WHEN {column} IS NULL OR NOT isfinite({column}) THEN 0 {cases} END"
        found = source.ask(f"SELECT max({places}) AS most FROM {_NAME}")["most"][0]
        # What is longer is looked at one by one, as a decimal text.
        odd = source.ask(f"SELECT DISTINCT {column} AS c FROM {_NAME} WHERE ({places}) IS NULL")[
            "c"
        ]
        return max(0 if found is None else int(found), self._scale(odd) if len(odd) else 0)

    def _scale(self, entries: NDArray[Any]) -> int:
        assert self._name is not None
        try:
            return to_units(entries, None)[1]
        except NotUnits as error:
            found, row = error, self.row(entries[error.index])
        if self._source.kind(self._name) == "VARCHAR":  # the first of all that are wrong
            entries, rows = self._source.shapes(self._name, rows=True)
            try:
                to_units(entries, None)
            except NotUnits as error:
                found, row = error, int(rows[error.index])
        raise self._refused(row, found) from found

    def _refused(self, row: int, error: NotUnits) -> InputError:
        if error.missing and not self._weights:
            return missing_value(row, self._name)
        reason = error.in_weight if self._weights else error.reason
        return InputError(f"row {row}, column {self._name!r}: {reason}")
