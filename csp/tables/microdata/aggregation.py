"""Microdata added up where they lie: files beyond memory, DuckDB relations, Ibis expressions.

DuckDB reads the records, finds the inner cell of each and keeps cell, amount, weight and
contributor in a table of its own, which goes to disk where it is larger than the memory allowed.
From there they come in batches of contributors who follow each other in the order of their
identifiers, so that every batch is summed as if it were all (`csp.tables.microdata.grouping`) and
contributors have the numbers that they have in memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, argument
from csp.formats.delimited import (
    Opened,
    check_plain,
    connected,
    is_parquet,
    open_parquet,
    open_text,
    undeclared_na,
    with_points,
)
from csp.memory import size_text, taken_memory
from csp.tables.columns import (
    TextFile,
    check_names,
    file_note,
    is_ibis,
    is_relation,
    numbered_owners,
    plain_relation,
)
from csp.tables.hierarchies.coding import (
    Finder,
    check_repeats,
    first_row,
    leaf_positions,
    missing_owner,
    negative_value,
    read_codes,
    weight_not_positive,
)
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.microdata.grouping import MAX_BATCH, Grouped, Records, Tally
from csp.tables.units import NotUnits, to_units, unmasked

__all__ = [
    "Found",
    "Numbers",
    "Stage",
    "Wanted",
    "aggregated",
    "check_weights",
    "found_of",
    "numbers_of",
]

_NAME = "cellveil_source"
"""What the records are called in queries; a relation may be about a table of any other name."""

_LEAST = 300 * 2**20
"""Bytes beyond what the process holds already without which nothing can be done."""

_RECORD = 300
"""Bytes that a record of a batch takes while the batch is summed."""

_PAIR = 150
"""Bytes that a pair of a cell and a contributor takes."""

_SAMPLE = 20_000
"""Contributors from whom the batches are chosen."""

_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
"""What Python strips from a text."""

_DIGITS = 15
"""Up to this many digits a decimal and the float nearest to it determine each other."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What is being done to records, for a progress line.

    Attributes
    ----------
    words : str
    done, total : int
        Batches that are done, of how many; 0 of 0 where nothing is counted.
    note : str
        How a text file was read, where that was found from the file; see
        `csp.tables.columns.Columns`.
    """

    words: str
    done: int = 0
    total: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to tabulate; see `csp.tables.microdata.from_microdata.tabulate`.

    Attributes
    ----------
    names : tuple of str
    value, contributor, weight : str or None
    hierarchies : mapping of str to Hierarchy
    roots : mapping of str to str
    negative : str
    top : int
    decimals : int or None
    missing : str or None
    check : callable
        Refuses a table that is too large, given its hierarchies and the number of largest
        contributions.
    """

    names: tuple[str, ...]
    value: str | None
    contributor: str | None
    weight: str | None
    hierarchies: Mapping[str, Hierarchy]
    roots: Mapping[str, str]
    negative: str
    top: int
    decimals: int | None
    missing: str | None
    check: Callable[[Sequence[Hierarchy], int], None]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data, each once."""
        others = [n for n in (self.value, self.contributor, self.weight) if n is not None]
        return tuple(dict.fromkeys([*self.names, *others]))

    def placed(
        self, name: str, entries: NDArray[Any], n: int, first: Finder = first_row
    ) -> tuple[Hierarchy, NDArray[np.int64]]:
        """Hierarchy of a dimension, and the position in it of each entry of its column.

        Entries are the codes of all n records, or each code once with a `Finder` of its record.
        Without a hierarchy all codes that occur stand below the total.
        """
        if not n:
            msg = "the data has no records; a table needs at least one"
            raise InputError(msg)
        texts, number = read_codes(entries, name, self.missing, first)
        check_repeats(len(texts), n, name)
        tree = self.hierarchies.get(name) or Hierarchy.flat(sorted(texts), self.roots[name])
        return tree, leaf_positions(texts, number, tree, name, first)

    @property
    def counted(self) -> bool:
        """Whether records are only counted, each as one: then no contribution is kept."""
        return self.value is None and self.contributor is None and self.weight is None


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Cells of records.

    Attributes
    ----------
    grouped : Grouped
    trees : tuple of Hierarchy
    scale : int
        Decimals of the values.
    library : str
        Of the caller's frame.
    """

    grouped: Grouped
    trees: tuple[Hierarchy, ...]
    scale: int
    library: str = ""


def aggregated(
    data: Any,
    wanted: Wanted,
    memory: int | None,
    progress: Callable[[Stage], None] | None = None,
) -> Found:
    """Cells of the records of a file or a DuckDB relation, which stay where they are.

    Parameters
    ----------
    data : path, TextFile, DuckDB relation or Ibis expression
    wanted : Wanted
    memory : int or None
        Bytes that the process may take, for a file; a relation obeys its own connection, and so
        does an Ibis expression on DuckDB.
    progress : callable, optional

    Raises
    ------
    InputError
        As for `csp.tables.microdata.from_microdata.tabulate`; also if the memory is too little, or
        the data is neither a file nor a relation.
    """
    say = progress or (lambda stage: None)
    names = wanted.columns
    numbers = {n for n in (wanted.value, wanted.weight) if n is not None}
    with _opened(data, names, numbers, memory) as source:
        say(Stage("reading codes", note=source.note))
        n = source.count()
        trees, places = [], []
        for name in wanted.names:
            entries = source.distinct(name)
            tree, position = wanted.placed(name, entries, n, source.finder(name, entries))
            places.append((entries, position))
            trees.append(tree)
        top = 0 if wanted.counted else wanted.top
        wanted.check(trees, top)
        tally = Tally(trees, wanted.negative, top, pairs=source.pairs)
        amounts = _Units(source, wanted.value, wanted.decimals)
        weights = _Units(source, wanted.weight, None)
        say(Stage("sorting records"))
        shape = [len(tree.codes) for tree in trees]
        source.keep(wanted, places, shape, n)
        owners = 0
        batches = source.batches(n, owned=wanted.contributor is not None)
        for done, where in enumerate(batches):
            say(Stage("adding up", done, len(batches)))
            columns = source.batch(where, owned=wanted.contributor is not None)
            amount = amounts.of(columns.get("x"), len(columns["leaf"]))
            weight = weights.of(columns.get("w"), len(columns["leaf"]))
            if wanted.negative == "error" and (amount < 0).any():
                row = amounts.row(wanted.value, columns["x"][int(np.argmax(amount < 0))])
                raise negative_value(row, wanted.value)
            if (weight <= 0).any():
                i = int(np.argmax(weight <= 0))
                row = amounts.row(wanted.weight, columns["w"][i])
                raise weight_not_positive(row, wanted.weight)
            owner = columns.get("owner")
            if owner is not None:
                check_weights(owner, weight, wanted)
                owner = owner + owners
                owners = int(owner.max()) + 1
            tally.add(
                Records(
                    tuple(np.unravel_index(columns["leaf"], shape)), amount, weight,
                    weights.scale, owner,
                )
            )  # fmt: skip
        return found_of(tally, wanted, trees, amounts.scale, weights.scale)


def found_of(
    tally: Tally, wanted: Wanted, trees: Sequence[Hierarchy], scale: int, weight_scale: int
) -> Found:
    """Cells of all records that were added up; plain counts have no contributions."""
    grouped = tally.result()
    plain = wanted.value is None and wanted.contributor is None
    if plain and weight_scale == 0 and tally.unweighted:
        grouped = replace(grouped, contributors=None)
    return Found(grouped, tuple(trees), scale + weight_scale)


def check_weights(owner: NDArray[np.int64], weight: NDArray[np.int64], wanted: Wanted) -> None:
    """Refuse two weights of one contributor; an average of them would be a guess.

    Raises
    ------
    InputError
    """
    last = np.zeros(int(owner.max()) + 1, np.int64)
    last[owner] = weight
    if (last[owner] != weight).any():
        msg = (
            f"one contributor (column {wanted.contributor!r}) has two weights (column "
            f"{wanted.weight!r}); give it one"
        )
        raise InputError(msg)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What records in memory contribute; see `csp.tables.microdata.grouping.Records`.

    Attributes
    ----------
    amount : (n,) int64
    scale : int
    weight : (n,) int64
    weight_scale : int
    owner : (n,) int64 or None
    """

    amount: NDArray[np.int64]
    scale: int
    weight: NDArray[np.int64]
    weight_scale: int
    owner: NDArray[np.int64] | None


def numbers_of(columns: Mapping[str, NDArray[Any]], wanted: Wanted) -> Numbers:
    """Read amounts, weights and contributors of records in memory.

    Raises
    ------
    InputError
        See `csp.tables.microdata.from_microdata.tabulate`.
    """
    n = len(columns[wanted.names[0]])
    amount, scale = np.ones(n, np.int64), 0
    if wanted.value is not None:
        amount, scale = _numbers(columns[wanted.value], wanted.value, wanted.decimals)
    if wanted.negative == "error" and (amount < 0).any():
        raise negative_value(int(np.argmax(amount < 0)) + 1, wanted.value)
    weight, weight_scale = np.ones(n, np.int64), 0
    if wanted.weight is not None:
        weight, weight_scale = _weights(columns[wanted.weight], wanted.weight)
    owner = None
    if wanted.contributor is not None:
        owner = _owners(columns[wanted.contributor], wanted.contributor)
        if wanted.weight is not None:
            _check_owner_weights(owner, weight, wanted.contributor, wanted.weight)
    return Numbers(amount, scale, weight, weight_scale, owner)


def _numbers(
    column: NDArray[Any], name: str, decimals: int | None
) -> tuple[NDArray[np.int64], int]:
    try:
        return to_units(column, decimals)
    except NotUnits as error:
        msg = f"row {error.index + 1}, column {name!r}: {error.reason}"
        raise InputError(msg) from error


def _weights(column: NDArray[Any], name: str) -> tuple[NDArray[np.int64], int]:
    weights, scale = _numbers(column, name, None)
    if (weights <= 0).any():
        raise weight_not_positive(int(np.argmax(weights <= 0)) + 1, name)
    return weights, scale


def _owners(column: NDArray[Any], name: str) -> NDArray[np.int64]:
    """Give contributors numbers, in the sorted order of their identifiers."""
    _, number, gap = numbered_owners(column)
    if gap >= 0:
        raise missing_owner(gap + 1, name)
    return number


def _check_owner_weights(
    owner: NDArray[np.int64], weights: NDArray[np.int64], contributor: str, weight: str
) -> None:
    """Repeating a contributor needs one weight; an average of several would be a guess."""
    _, first = np.unique(owner, return_index=True)
    differ = weights != weights[first][owner]
    if differ.any():
        row = int(np.argmax(differ))
        msg = (
            f"rows {int(first[owner[row]]) + 1} and {row + 1}: one contributor (column "
            f"{contributor!r}) has two weights (column {weight!r}); give it one"
        )
        raise InputError(msg)


# ---- sources -------------------------------------------------------------------------------------


@contextmanager
def _opened(
    data: Any, names: Sequence[str], numbers: Collection[str], memory: int | None
) -> Iterator[_Source]:
    """Open a file within the memory, or a relation on its own connection."""
    import duckdb

    if is_ibis(data):
        with _of_ibis(data, names, memory) as source:
            yield source
        return
    if is_relation(data):
        try:
            source = _Source(plain_relation(data, names), names, "temp.cellveil_records")
            try:
                yield source
            finally:
                source.drop()
        except duckdb.Error as error:
            msg = "the DuckDB relation cannot be read; is its connection open, its query right?"
            raise InputError(msg) from error
        return
    if not isinstance(data, (str, os.PathLike, TextFile)):
        msg = (
            f"{argument('memory')} is for a .csv or .parquet file or a DuckDB relation; data of "
            f"type {type(data).__name__} is in memory already, so leave it out"
        )
        raise InputError(msg)
    file = data if isinstance(data, TextFile) else TextFile(data)
    share = _LEAST // 3 if memory is None else _share(memory)
    rows, pairs = share // _RECORD, share // _PAIR
    parquet = is_parquet(file.path)
    if parquet:
        check_plain(file)
    kind = "parquet" if parquet else "csv"
    with (
        tempfile.TemporaryDirectory(prefix="cellveil-") as folder,
        connected(file.path, kind, folder, share) as connection,
    ):
        if parquet:
            relation = plain_relation(open_parquet(connection, file.path), names)
            yield _Source(relation, names, "records", rows, pairs)
            return
        with open_text(connection, file) as opened:
            check_names(names, opened.names, title=opened.title)
            places = [f"c{opened.names.index(name)}" for name in names]
            relation = plain_relation(opened.relation, places)
            source = _Source(relation, names, "records", rows, pairs)
            yield _written(source, file, opened, numbers)


def _share(memory: int) -> int:
    """Bytes for each of DuckDB, a batch, and the cells."""
    spare = memory - taken_memory()
    if spare < _LEAST:
        msg = (
            f"{argument('memory')} leaves {size_text(max(spare, 0))} beside what the program takes "
            f"already; give at least {size_text(taken_memory() + _LEAST)}"
        )
        raise InputError(msg)
    return spare // 3


@contextmanager
def _of_ibis(data: Any, names: Sequence[str], memory: int | None) -> Iterator[_Source]:
    """Open an Ibis expression: a relation on DuckDB, elsewhere a stream that is kept on disk."""
    import ibis

    check_names(names, data.columns)
    try:
        backend = data.get_backend()
        if backend.name == "duckdb" and not data.op().find(ibis.expr.operations.InMemoryTable):
            with _opened(backend.con.sql(str(ibis.to_sql(data))), names, (), memory) as source:
                yield source
            return
        stream = data.select(*names).to_pyarrow_batches()
    except ibis.common.exceptions.IbisError as error:
        msg = f"the Ibis expression cannot be read: {' '.join(str(error).split())}"
        raise InputError(msg) from error
    share = None if memory is None else _share(memory)
    with (
        tempfile.TemporaryDirectory(prefix="cellveil-") as folder,
        connected("the Ibis expression", "ibis", folder, share) as connection,
    ):
        connection.register("stream", stream)
        connection.execute("CREATE TABLE kept AS SELECT * FROM stream")
        relation = plain_relation(connection.table("kept"), names)
        yield _Source(
            relation, names, "records",
            *(() if share is None else (share // _RECORD, share // _PAIR)),
        )  # fmt: skip


def _written(source: _Source, asked: TextFile, opened: Opened, numbers: Collection[str]) -> _Source:
    """Text columns with NULL for missing entries and points in numbers, by the rules of files."""
    file = opened.file
    texts = file.missing
    codes = [name for name in source.names if name not in numbers]
    if texts is None and "NA" in opened.signs:
        for name in codes:
            gap = f"{source.column(name)} LIKE '%NA%' AND {_trimmed(source.column(name))} = 'NA'"
            if source.any(gap):
                raise undeclared_na(source.first_row(gap), name)
    if texts:
        listed = ", ".join(map(_literal, texts))
        source = source.changed(
            {
                name: f"CASE WHEN {_trimmed(c)} IN ({listed}) THEN NULL ELSE {c} END"
                for name, c in zip(source.names, source.columns, strict=True)
            }
        )
    entries, rows = {}, {}
    for name in source.names:
        if name in numbers:
            entries[name], rows[name] = source.shapes(name, rows=True)
    _, mark = with_points(entries, opened, rows)
    note = file_note(asked, replace(file, decimal=mark))
    if mark == ",":
        source = source.changed(
            {
                name: f"CASE WHEN regexp_full_match({_trimmed(source.column(name))}, "
                f"'[+-]?[0-9]*,[0-9]+') THEN replace({source.column(name)}, ',', '.') "
                f"ELSE {source.column(name)} END"
                for name in numbers
            }
        )
    return replace(source, note=note)


def _literal(value: Any) -> str:
    """Value as SQL; a text may hold any sign."""
    if value is None:
        return "NULL"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    return "'" + str(value).replace("'", "''") + "'"


def _trimmed(column: str) -> str:
    return f"trim({column}, {_literal(_BLANKS)})"


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
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
    note : str
        How a text file was read; see `csp.tables.columns.Columns`.
    """

    relation: Any
    names: Sequence[str]
    table: str
    rows: int = MAX_BATCH
    pairs: int = MAX_BATCH
    note: str = field(default="")

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

    def changed(self, terms: Mapping[str, str]) -> _Source:
        """Return the records with some columns replaced by terms of SQL."""
        listed = ", ".join(
            f"{terms.get(name, column)} AS {column}"
            for name, column in zip(self.names, self.columns, strict=True)
        )
        return replace(self, relation=self.relation.project(listed))

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

    def finder(
        self, name: str, entries: NDArray[Any]
    ) -> Callable[[NDArray[np.bool_]], tuple[int, int]]:
        """Find the first row with one of some entries of a column."""

        def first(marked: NDArray[np.bool_]) -> tuple[int, int]:
            rows = [
                (self.first_row(f"{self.column(name)} IS NOT DISTINCT FROM {_literal(value)}"), i)
                for i, value in zip(
                    np.flatnonzero(marked).tolist(), entries[marked].tolist(), strict=True
                )
            ]
            return min(rows)

        return first

    def shapes(self, name: str, *, rows: bool = False) -> tuple[NDArray[Any], NDArray[np.int64]]:
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
        places: Sequence[tuple[NDArray[Any], NDArray[np.int64]]],
        shape: Sequence[int],
        n: int,
    ) -> None:
        """Keep the inner cell, amount, weight and contributor of every record."""
        joins, terms = [], []
        for k, (entries, positions) in enumerate(places):
            stride = prod(shape[k + 1 :])
            column = self.column(wanted.names[k])
            listed = ", ".join(
                f"({_literal(entry)}, {position * stride})"
                for entry, position in zip(entries.tolist(), positions.tolist(), strict=True)
            )
            joins.append(
                f"JOIN (VALUES {listed}) AS m{k}(entry, place) "
                f"ON {column} IS NOT DISTINCT FROM m{k}.entry"
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
        kind = "TEMP TABLE" if self.table.startswith("temp.") else "TABLE"
        self.relation.query(
            _NAME,
            f"CREATE OR REPLACE {kind} {self.table} AS SELECT {', '.join(columns)} FROM {_NAME} "
            f"{' '.join(joins)}",
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
            term = _trimmed(column)
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
                f"CASE WHEN owner < {_literal(ends[middle])} THEN {between(low, middle)} "
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
        """Columns of a batch: leaf, and x, w and owner as far as they are there.

        Contributors are numbered from 0 in the order of their identifiers.
        """
        columns = "* EXCLUDE (owner, part), dense_rank() OVER (ORDER BY owner) - 1 AS owner"
        return self.ask(f"SELECT {columns if owned else '*'} FROM {self.table} WHERE {where}")


class _Units:
    """A column of numbers as units of one scale, found beforehand over all records.

    Parameters
    ----------
    source : _Source
    name : str or None
        None stands for ones.
    decimals : int or None
    """

    def __init__(self, source: _Source, name: str | None, decimals: int | None) -> None:
        self._source, self._name, self._decimals = source, name, decimals
        self.scale = 0 if name is None else self._places(name) if decimals is None else decimals

    def of(self, column: NDArray[Any] | None, n: int) -> NDArray[np.int64]:
        """Units of some entries.

        Raises
        ------
        InputError
            Naming row and column.
        """
        if column is None:
            return np.ones(n, np.int64)
        try:
            units, scale = to_units(column, self._decimals)
            if scale < self.scale:
                units, _ = to_units(column, self.scale)
        except NotUnits as error:
            row = self.row(self._name, column[error.index])
            msg = f"row {row}, column {self._name!r}: {error.reason}"
            raise InputError(msg) from error
        return units

    def row(self, name: str | None, entry: Any) -> int:
        """First row with an entry."""
        assert name is not None
        value = entry.item() if isinstance(entry, np.generic) else entry
        column = self._source.column(name)
        return self._source.first_row(f"{column} IS NOT DISTINCT FROM {_literal(value)}")

    def _places(self, name: str) -> int:
        """Fewest decimal places at which every number is whole."""
        source, column, kind = self._source, self._source.column(name), self._source.kind(name)
        if kind == "VARCHAR":
            entries, _ = source.shapes(name)
            return self._scale(name, entries)
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
        return max(0 if found is None else int(found), self._scale(name, odd) if len(odd) else 0)

    def _scale(self, name: str, entries: NDArray[Any]) -> int:
        try:
            return to_units(entries, None)[1]
        except NotUnits as error:
            found, row = error, self.row(name, entries[error.index])
        if self._source.kind(name) == "VARCHAR":  # the first of all that are wrong
            entries, rows = self._source.shapes(name, rows=True)
            try:
                to_units(entries, None)
            except NotUnits as error:
                found, row = error, int(rows[error.index])
        msg = f"row {row}, column {name!r}: {found.reason}"
        raise InputError(msg) from found
