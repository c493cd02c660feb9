"""Each public function reads each column of a file once, and runs a lazy frame once."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import polars as pl
import pytest

import microagg
from microagg import aggregates, checks, intruders

PAY = [10, 11, 12, 13, 40, 41, 43, 44, 95]
FILE = {
    "pay": PAY,
    "rent": [5, 6, 5, 4, 9, 8, 9, 7, 11],
    "firm": list("abcdefghi"),
    "branch": list("xyzxyzxyz"),
}
ATTRIBUTES = ["pay", "rent"]
RECORDS = microagg.read_records(FILE, ATTRIBUTES)
MASKED = microagg.mdav(RECORDS, 3)
GENERAL = aggregates.aggregate_anonymise(RECORDS, 2, "sum")

FILES = ("X", "data", "original", "masked", "lies")
"""Parameters that take a file."""

GIVEN: dict[str, Any] = {
    "k": 3, "p": 1, "l": 1, "t": 1, "rule": "P(1)", "partition": MASKED, "labels": MASKED.labels,
    "attributes": ATTRIBUTES, "published": GENERAL, "quasi_identifiers": ["pay"],
    "confidential": ["rent"], "owned": [0], "attribute": "pay", "ks": [2, 3],
    "diverse": {"branch": 2},
}  # fmt: skip
"""What else a function asks for, by the name of its parameter."""


class Counted(Mapping[str, Any]):
    """Columns that count how often each is read."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns, self.read = dict(columns), Counter[str]()

    def __getitem__(self, name: str) -> Any:
        self.read[name] += 1
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def calls() -> Iterator[tuple[Any, ...]]:
    """Every public function that takes a file, alone and with whom a record belongs to."""
    for package in (microagg, aggregates, checks, intruders):
        for name in package.__all__:
            function = getattr(package, name)
            if inspect.isclass(function) or not callable(function):
                continue
            known = inspect.signature(function).parameters
            files = [each for each in FILES if each in known]
            if not files:
                continue
            some = {each: GIVEN[each] for each in known if each in GIVEN}
            if package is aggregates or "published" in known:
                some.pop("attributes", None)
            yield pytest.param(function, files, some, id=f"{package.__name__}.{name}")
            if "contributor" in known:
                some = some | {"contributor": "firm"}
                yield pytest.param(function, files, some, id=f"{package.__name__}.{name} of firms")


def columns_for(function: Callable[..., Any], some: Mapping[str, Any]) -> dict[str, Any]:
    """All columns, or those with a part where the function takes each for an attribute."""
    chosen = {"attributes", "quasi_identifiers", "partition"} & set(some)
    part = {*ATTRIBUTES, *some.get("diverse", ()), some.get("contributor")}
    return {name: column for name, column in FILE.items() if chosen or name in part}


def test_the_functions_are_found() -> None:
    found = {each.id for each in calls()}
    assert len(found) > 40
    assert {"microagg.mdav", "microagg.comply of firms", "microagg.intruders.homogeneity"} <= found


@pytest.mark.parametrize(("function", "files", "some"), list(calls()))
def test_each_column_is_read_once(
    function: Callable[..., Any], files: list[str], some: dict[str, Any]
) -> None:
    given = {name: Counted(columns_for(function, some)) for name in files}
    function(**given, **some)
    for file in given.values():
        assert max(file.read.values()) == 1, file.read


@pytest.mark.parametrize(("function", "files", "some"), list(calls()))
def test_a_lazy_frame_is_run_once(
    function: Callable[..., Any], files: list[str], some: dict[str, Any]
) -> None:
    runs: list[str] = []

    def counted(name: str, frame: pl.DataFrame) -> pl.DataFrame:
        runs.append(name)
        return frame

    whole = pl.DataFrame(columns_for(function, some)).lazy()
    given = {name: whole.map_batches(partial(counted, name)) for name in files}
    function(**given, **some)
    assert sorted(runs) == sorted(files)
