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
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from csp.errors import InputError, argument
from csp.formats.delimited import Opened, TextFile, check_plain, open_text
from csp.formats.formulas import kept_from_formulas
from csp.formats.kinds import kind_of
from csp.formats.marks import undeclared_na, with_points
from csp.formats.parquet import connected, open_parquet
from csp.tables.hierarchies.coding import negative_value, weight_not_positive
from csp.tables.memory import size_text, taken_memory
from csp.tables.microdata.contributions import Stage, Wanted, check_weights
from csp.tables.microdata.duckdb_records import Source, Units, literal, trimmed
from csp.tables.microdata.grouping import Found, Tally
from csp.tables.microdata.records import Records
from csp.tables.sources.files import file_note
from csp.tables.sources.frames import is_ibis
from csp.tables.sources.relations import is_relation, plain_relation
from csp.tables.sources.source import check_names

_LEAST = 300 * 2**20
"""Bytes beyond what the process holds already without which nothing can be done."""

_RECORD = 300
"""Bytes that a record of a batch takes while the batch is summed."""

_PAIR = 150
"""Bytes that a pair of a cell and a contributor takes."""


def aggregated(
    data: Any,
    wanted: Wanted,
    memory: int | None,
    progress: Callable[[Stage], None] | None = None,
) -> Found:
    """Cells of the records of a file or a DuckDB relation, which stay where they are.

    The process may take `memory` in bytes for a file; a relation obeys its own connection, and so
    does an Ibis expression on DuckDB.

    Raises
    ------
    InputError
        As for `csp.tables.microdata.from_microdata.tabulate`; also if the memory is too little, or
        the data is neither a file nor a relation.
    """
    say = progress or (lambda stage: None)
    names = wanted.columns
    numbers = {n for n in (wanted.value, wanted.weight, *wanted.answered) if n is not None}
    with _opened(data, names, numbers, memory) as source:
        say(Stage("reading codes", note=source.note))
        n = source.count()
        trees, places = [], []
        for name in wanted.names:
            entries = source.distinct(name)
            tree, position = wanted.placed(name, entries, n, source.finder(name, entries))
            places.append((entries, position))
            trees.append(tree)
        wanted.check(trees)
        tally = Tally(wanted, trees, source.pairs)
        source, left = source.with_gaps(wanted.answered)
        wanted.check_answered(n, left)
        amounts = Units(source, wanted.value, wanted.decimals, rounded=wanted.rounded)
        weights = Units(source, wanted.weight, None, weights=True)
        say(Stage("sorting records"))
        source.keep(wanted, places, [len(tree.codes) for tree in trees], n - left)
        owners = 0
        batches = source.batches(n - left, owned=wanted.contributor is not None)
        for done, where in enumerate(batches):
            say(Stage("adding up", done, len(batches)))
            columns = source.batch(where, owned=wanted.contributor is not None)
            amount = amounts.of(columns.get("x"), len(columns["leaf"]))
            weight = weights.of(columns.get("w"), len(columns["leaf"]))
            if wanted.negative == "error" and (amount < 0).any():
                row = amounts.row(columns["x"][int(np.argmax(amount < 0))])
                raise negative_value(row, wanted.value)
            if (weight <= 0).any():
                row = weights.row(columns["w"][int(np.argmax(weight <= 0))])
                raise weight_not_positive(row, wanted.weight)
            owner = columns.get("owner")
            if owner is not None:
                check_weights(owner, weight, wanted)
                owner = owner + owners
                owners = int(owner.max()) + 1
            tally.add(
                Records(columns["leaf"], amount, weight, weights.scale, owner, columns.get("place"))
            )
        return tally.result(amounts.scale)


# ---- sources -------------------------------------------------------------------------------------


@contextmanager
def _opened(
    data: Any, names: Sequence[str], numbers: Collection[str], memory: int | None
) -> Iterator[Source]:
    """Open a file within the memory, or a relation on its own connection."""
    import duckdb

    if is_ibis(data):
        with _of_ibis(data, names, memory) as source:
            yield source
        return
    if is_relation(data):
        try:
            source = Source(plain_relation(data, names), names, "temp.cellveil_records")
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
    kind = kind_of(file.path)
    if kind == "statistical":
        msg = (
            f"{argument('memory')} is for files that are read in parts, .csv and .parquet; "
            f"{str(file.path)!r} is read as a whole: leave it out, or convert the file"
        )
        raise InputError(msg)
    share = _LEAST // 3 if memory is None else _share(memory)
    rows, pairs = share // _RECORD, share // _PAIR
    parquet = kind == "parquet"
    if parquet:
        check_plain(file)
    with (
        tempfile.TemporaryDirectory(prefix="cellveil-") as folder,
        connected(file.path, "parquet" if parquet else "csv", folder, share) as connection,
    ):
        if parquet:
            relation = plain_relation(open_parquet(connection, file.path), names)
            yield Source(relation, names, "records", rows, pairs, ordered=True)
            return
        with open_text(connection, file) as opened:
            check_names(names, opened.names, title=opened.title)
            places = [f"c{opened.names.index(name)}" for name in names]
            relation = plain_relation(opened.relation, places)
            source = Source(relation, names, "records", rows, pairs, ordered=True)
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
def _of_ibis(data: Any, names: Sequence[str], memory: int | None) -> Iterator[Source]:
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
        yield Source(
            relation, names, "records",
            *(() if share is None else (share // _RECORD, share // _PAIR)),
        )  # fmt: skip


def _without_apostrophes(source: Source, name: str) -> str:
    """Term for codes as meant where `csp.formats.formulas` says they have apostrophes, else ""."""
    if not kept_from_formulas(source.formulas(name)):
        return ""
    column = source.column(name)
    marked = f"regexp_matches({column}, '^''+[-=+@\\t\\r\\n]')"
    return f"CASE WHEN {marked} THEN substr({column}, 2) ELSE {column} END"


def _written(source: Source, asked: TextFile, opened: Opened, numbers: Collection[str]) -> Source:
    """Text columns with NULL for missing entries and points in numbers, by the rules of files."""
    file = opened.file
    texts = file.missing
    codes = [name for name in source.names if name not in numbers]
    if "'" in opened.signs:
        source = source.changed({n: t for n in codes if (t := _without_apostrophes(source, n))})
    if texts is None and "NA" in opened.signs:
        for name in codes:
            gap = f"{source.column(name)} LIKE '%NA%' AND {trimmed(source.column(name))} = 'NA'"
            if source.any(gap):
                raise undeclared_na(source.first_row(gap), name)
    if texts:
        listed = ", ".join(map(literal, texts))
        source = source.changed(
            {
                name: f"CASE WHEN {trimmed(c)} IN ({listed}) THEN NULL ELSE {c} END"
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
                name: f"CASE WHEN regexp_full_match({trimmed(source.column(name))}, "
                f"'[+-]?[0-9]*,[0-9]+') THEN replace({source.column(name)}, ',', '.') "
                f"ELSE {source.column(name)} END"
                for name in numbers
            }
        )
    return replace(source, note=note)
