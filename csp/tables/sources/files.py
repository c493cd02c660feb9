"""Columns of files: text, Parquet, and those of Stata, SPSS and SAS."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from csp.formats.delimited import SEPARATORS, Opened, TextFile, check_plain, header, open_text
from csp.formats.kinds import Kind, kind_of
from csp.formats.marks import with_points, without_apostrophes, without_missing
from csp.formats.parquet import connected, open_parquet
from csp.formats.reading import encoding_name
from csp.formats.statistical import statistical_columns, statistical_names
from csp.tables.sources.relations import fetched
from csp.tables.sources.source import Columns, ColumnSource, Place, check_names


@dataclass(frozen=True, slots=True, eq=False)
class _File(ColumnSource):
    """A file of one kind."""

    file: TextFile

    @property
    def place(self) -> Place:
        return "file"

    @property
    def as_they_stand(self) -> tuple[()] | None:
        return _as_they_stand(self.file)

    @abstractmethod
    def whole(self) -> WholeFile:
        """Read all columns."""


class _Text(_File):
    @property
    def names(self) -> tuple[str, ...]:
        return tuple(header(self.file))

    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        columns, opened = self._raw(names)
        return _as_meant(self.file, columns, opened, names, numbers)

    def whole(self) -> WholeFile:
        columns, opened = self._raw(None)
        return WholeFile(self.file, columns, replace(opened, relation=None))

    def _raw(self, names: Sequence[str] | None) -> tuple[dict[str, NDArray[Any]], Opened]:
        """Columns as they stand in the file, and how it is written."""
        path = self.file.path
        with connected(path, "csv") as connection, open_text(connection, self.file) as opened:
            wanted = opened.names if names is None else names
            check_names(wanted, opened.names, title=opened.title)
            places = [f"c{opened.names.index(name)}" for name in wanted]
            return dict(zip(wanted, fetched(opened.relation, places), strict=True)), opened


class _Parquet(_File):
    @property
    def names(self) -> tuple[str, ...]:
        with connected(self.file.path, "parquet") as connection:
            return tuple(open_parquet(connection, self.file.path).columns)

    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        columns = self._raw(names)
        return Columns(tuple(columns[name] for name in names))

    def whole(self) -> WholeFile:
        return WholeFile(self.file, self._raw(None))

    def _raw(self, names: Sequence[str] | None) -> dict[str, NDArray[Any]]:
        check_plain(self.file)
        with connected(self.file.path, "parquet") as connection:
            relation = open_parquet(connection, self.file.path)
            wanted = relation.columns if names is None else names
            return dict(zip(wanted, fetched(relation, wanted), strict=True))


class _Statistical(_File):
    @property
    def names(self) -> tuple[str, ...]:
        return statistical_names(self.file)

    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        check_names(names, self.names)
        columns = statistical_columns(self.file, names, numbers or ())
        return Columns(tuple(columns[name] for name in names))

    def whole(self) -> WholeFile:
        return WholeFile(self.file, statistical_columns(self.file))


_SOURCES: dict[Kind, type[_File]] = {
    "text": _Text, "parquet": _Parquet, "statistical": _Statistical
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class WholeFile(ColumnSource):
    """All columns of a file, read once: it can stand wherever the file can (`read_whole`).

    Attributes
    ----------
    file : TextFile
    columns : mapping of str to (n,) array
        As they stand in the file, before it is known which of them hold numbers.
    opened : Opened or None
        How a text file is written, without its relation.
    """

    file: TextFile
    columns: Mapping[str, NDArray[Any]]
    opened: Opened | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(self.columns)

    def read(self, names: Sequence[str], numbers: Collection[str] | None = None) -> Columns:
        """Return named columns, of a text file as they are meant."""
        opened = self.opened
        check_names(names, self.names, title=opened is not None and opened.title)
        if opened is None:
            return Columns(tuple(self.columns[name] for name in names))
        columns = {name: self.columns[name] for name in names}
        return _as_meant(self.file, columns, opened, names, numbers)

    @property
    def as_they_stand(self) -> tuple[()] | None:
        """Nothing is a number if the file declares missing texts."""
        return _as_they_stand(self.file)


def file_source(data: str | PathLike[str] | TextFile) -> _File:
    """Find the source for a file, by the kind of file that its name says.

    Raises
    ------
    InputError
        If that is not a kind that can be read.
    """
    file = data if isinstance(data, TextFile) else TextFile(data)
    return _SOURCES[kind_of(file.path)](file)


def read_whole(data: str | PathLike[str] | TextFile) -> WholeFile:
    """Read all columns of a file once, to be asked for as often as needed.

    Raises
    ------
    InputError
        As for `csp.tables.columns.read_columns`.
    """
    return file_source(data).whole()


def _as_meant(
    file: TextFile,
    columns: dict[str, NDArray[Any]],
    opened: Opened,
    names: Sequence[str],
    numbers: Collection[str] | None,
) -> Columns:
    """Columns of a text file where it is known which hold numbers: their signs and gaps."""
    found = opened.file
    columns = without_apostrophes(columns, opened, set(names) - set(numbers or ()))
    if numbers is not None:
        columns = without_missing(columns, opened, set(names) - set(numbers))
        pointed, mark = with_points({n: columns[n] for n in names if n in numbers}, opened)
        columns |= pointed
        found = replace(found, decimal=mark)
    return Columns(tuple(columns[name] for name in names), note=file_note(file, found))


def file_note(asked: TextFile, found: TextFile) -> str:
    """Sentence that says what was not declared and is not the rule."""
    parts = []
    if asked.separator is None and found.separator not in (None, ","):
        parts.append(f"separated by {SEPARATORS[found.separator]}")
    if asked.decimal is None and found.separator not in (None, ","):
        # Which of the two there are may be told by a single value that is not published.
        parts.append("with decimal commas or points")
    if asked.encoding is None and found.encoding != "utf-8":
        parts.append(f"in {encoding_name(found.encoding or '')}")
    return f"Read {str(asked.path)!r} as text {', '.join(parts)}." if parts else ""


def _as_they_stand(file: TextFile) -> tuple[()] | None:
    return None if file.missing is None else ()
