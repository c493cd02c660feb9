"""Frames whose partitions lie with workers: those of Dask and Spark, behind one interface."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from numpy.typing import NDArray

from csp.errors import InputError
from csp.tables.sources.frames import library_of
from csp.tables.sources.source import check_names

_FEW = 8
"""Number of answers of partitions that are joined to one."""

COLUMNS = ("leaf", "amount", "weight", "part", "owner")
"""Records on their way to the others of their contributor."""


def has_workers(data: Any) -> bool:
    """Whether data is a frame of Dask or Spark."""
    _, method = _LIBRARIES.get(library_of(data), (None, ""))
    return type(data).__name__ == "DataFrame" and hasattr(data, method)


def partitioned(data: Any, names: Sequence[str]) -> Frame:
    """Take some columns of a frame that has workers."""
    frame: Frame = _LIBRARIES[library_of(data)][0].of(data, names)
    return frame


def refusing(function: Callable[[Any], Any], frame: Any) -> Any:
    """Return errors as texts: engines wrap an exception in pages of their own."""
    try:
        return function(frame)
    except InputError as error:
        return error.template


class Frame(Protocol):
    """A frame in partitions, its columns c0, c1, ... or `COLUMNS`."""

    def each(
        self, function: Callable[[Any], Any], join: Callable[[Any], Any] | None = None, n: int = 0
    ) -> list[Any]:
        """Ask each of n partitions, in their order; an error is a text.

        With `join`, which makes one answer of several, few answers come back.
        """

    def shuffled(self, function: Callable[[Any], dict[str, NDArray[Any]]], parts: int) -> Frame:
        """Bring records that a function makes of each partition together by their part."""


@dataclass(frozen=True, slots=True)
class _Dask:
    frame: Any

    @classmethod
    def of(cls, data: Any, names: Sequence[str]) -> _Dask:
        places = _columns_of(names, data.columns)
        return cls(data[list(names)].rename(columns=dict(zip(names, places, strict=True))))

    def each(
        self, function: Callable[[Any], Any], join: Callable[[Any], Any] | None = None, n: int = 0
    ) -> list[Any]:
        import dask

        asked = dask.delayed(partial(refusing, function))
        found = [asked(part) for part in self.frame.to_delayed()]
        while join is not None and len(found) > 1:
            asked = dask.delayed(partial(refusing, join))
            found = [asked(found[k : k + _FEW]) for k in range(0, len(found), _FEW)]
        return list(dask.compute(*found))

    def shuffled(self, function: Callable[[Any], dict[str, NDArray[Any]]], parts: int) -> _Dask:
        kinds = {name: "string" if name == "owner" else "int64" for name in COLUMNS}
        made = self.frame.map_partitions(partial(_pandas, function), meta=kinds)
        return _Dask(made.shuffle("part", npartitions=parts))


def _pandas(function: Callable[[Any], dict[str, NDArray[Any]]], frame: Any) -> Any:
    import pandas

    return pandas.DataFrame(function(frame)).astype({"owner": "string"})


@dataclass(frozen=True, slots=True)
class _Spark:
    frame: Any

    @classmethod
    def of(cls, data: Any, names: Sequence[str]) -> _Spark:
        places = _columns_of(names, data.columns)
        # By their place, since Spark takes names that differ in case only for one.
        renamed = data.toDF(*[f"x{i}" for i in range(len(data.columns))])
        kept = [f"x{data.columns.index(name)}" for name in names]
        return cls(renamed.select(*kept).toDF(*places))

    def each(
        self, function: Callable[[Any], Any], join: Callable[[Any], Any] | None = None, n: int = 0
    ) -> list[Any]:
        def asked(frame: Any) -> dict[str, Any]:
            return {"found": [pickle.dumps(refusing(function, frame))]}

        def joined(frame: Any) -> dict[str, Any]:
            assert join is not None
            found = [pickle.loads(one) for one in frame["found"].to_pylist()]
            return {"found": [pickle.dumps(refusing(join, found))]}

        found = self.frame.mapInArrow(_arrow(asked), "found binary")
        while join is not None and n > 1:
            n = -(-n // _FEW)
            found = found.repartition(n).mapInArrow(_arrow(joined), "found binary")
        return [pickle.loads(row[0]) for row in found.collect()]

    def shuffled(self, function: Callable[[Any], dict[str, NDArray[Any]]], parts: int) -> _Spark:
        kinds = [f"{name} {'string' if name == 'owner' else 'bigint'}" for name in COLUMNS]
        made = self.frame.mapInArrow(_arrow(function), ", ".join(kinds))
        return _Spark(made.repartition(parts, "part"))


def _arrow(function: Callable[[Any], Any]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Take a partition as Spark gives it, in batches, all of these at once."""

    def asked(taken: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        found = list(taken)
        if found:  # an empty partition has not even columns
            yield pyarrow.RecordBatch.from_pydict(function(pyarrow.Table.from_batches(found)))

    return asked


def _columns_of(names: Sequence[str], known: Sequence[Any]) -> list[str]:
    """Check names of columns; returns what the columns are called on the workers."""
    check_names(names, known)
    for name in names:
        if list(known).count(name) > 1:
            msg = f"the frame has two columns {name!r}; rename one of them"
            raise InputError(msg)
    return [f"c{i}" for i in range(len(names))]


_LIBRARIES: dict[str, tuple[Any, str]] = {
    "dask": (_Dask, "to_delayed"),
    "dask_expr": (_Dask, "to_delayed"),  # where it was for a while
    "pyspark": (_Spark, "mapInArrow"),
}
"""By library: what a frame becomes, and the method by which it is recognised."""
