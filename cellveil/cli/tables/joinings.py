"""Which codes to join where much is sensitive: tried on the data, and said how it was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.io.inputs import read_table
from cellveil.render.screen import manner, printable
from cellveil.requests.source import Source
from csp.clock import Clock
from csp.errors import CellveilError
from csp.formats.recodings import Recoding
from csp.mechanism import Mechanism
from csp.rules.base import as_rule
from csp.tables.codes import Labels
from csp.tables.margins import codes_along
from csp.tables.table import Table

_MUCH, _FEWEST = 0.1, 3
"""Share of the cells, and number of them, from which on joining is tried."""

_LESS = 0.25
"""By which share the sensitive cells must become fewer to be worth saying."""

_BYTES, _CELLS, _PROTECTED = 5_000_000, 10_000, 2_000
"""Sizes of files and tables up to which joining is tried, and up to which both are protected."""

_TRIED, _SECONDS = 60, 10.0
"""How many pairs are tried, and for how long."""


@dataclass(frozen=True, slots=True)
class _Try:
    """A pair of codes of a dimension that become one, and what is sensitive then."""

    name: str
    codes: tuple[str, str]
    recoding: Recoding
    sensitive: int
    table: Table


def joinings(source: Source, rule: str) -> list[str]:
    """Sentences about pairs of codes that are worth joining, the best of each dimension.

    Parameters
    ----------
    source : Source
    rule : str
        What is sensitive. Sensitive cells are counted for each pair of neighbouring codes; small
        tables are protected with the best pair and without.
    """
    if source.data.stat().st_size > _BYTES or source.memory is not None:
        return []
    before = manner.get()
    token = manner.set(replace(before, quiet=True))  # what is said of the data has been said
    try:
        return _sentences(source, rule)
    except CellveilError:  # the table itself has been looked at; nothing to join then
        return []
    finally:
        manner.reset(token)


def _sentences(source: Source, rule: str) -> list[str]:

    table = read_table(source)
    sensitive = int(as_rule(rule)(table).primary.sum())
    if table.n_cells > _CELLS or sensitive < max(_FEWEST, _MUCH * table.n_cells):
        return []
    best: dict[str, _Try] = {}
    for tried in _tries(source, table, rule):
        known = best.get(tried.name)
        if known is None or tried.sensitive < known.sensitive:
            best[tried.name] = tried
    found = []
    for tried in sorted(best.values(), key=lambda one: one.sensitive):
        if tried.sensitive > (1 - _LESS) * sensitive:
            continue
        one, two = map(printable, tried.codes)
        what = f"Joining {one!r} and {two!r} of {printable(tried.name)}"
        how = f"--recode {printable(tried.name)}=FILE with the line {one}+{two}: {one}, {two}"
        counts = _suppressed(table, rule), _suppressed(tried.table, rule)
        if None in counts:
            found.append(
                f"{what} leaves {tried.sensitive:,} of {sensitive:,} sensitive cells under {rule} "
                f"(counted, not protected): {how}."
            )
        else:
            found.append(
                f"{what} saves {counts[0] - counts[1]:,} of {counts[0]:,} suppressed cells under "  # type: ignore[operator]
                f"{rule} (both tables protected): {how}."
            )
    return found


def _tries(source: Source, table: Table, rule: str) -> Iterator[_Try]:
    """Join each pair of neighbouring codes below one code, as long as there is time."""
    clock = Clock.of(_SECONDS)
    for count, (name, one, two) in enumerate(_pairs(table)):
        if clock.over or count >= _TRIED:
            return
        recoding = Recoding(((f"{one}+{two}", ((one, one), (two, two))),), where="joined")
        try:
            found = read_table(source, joins={name: recoding})
            sensitive = int(as_rule(rule)(found).primary.sum())
        except CellveilError:  # this pair cannot be joined
            continue
        yield _Try(name, (one, two), recoding, sensitive, found)


def _pairs(table: Table) -> Iterator[tuple[str, str, str]]:
    """Neighbouring codes that have nothing below them and the same code above."""
    labels = Labels.of(table.labels)
    _, along = codes_along(table.relations, labels.codes)
    for d, name in enumerate(table.names):
        texts, column = labels.categories[d], labels.codes[:, d]
        above = {part: code for code, part in along[d].tolist()}
        tops = {*above.values()}
        used, first = np.unique(column, return_index=True)
        last: dict[Any, int] = {}
        for code in used[np.argsort(first)].tolist():
            if code in tops or code not in above:
                continue
            if (before := last.get(above[code])) is not None:
                yield name, texts[before], texts[code]
            last[above[code]] = code


def _suppressed(table: Table, rule: str) -> int | None:
    """How many cells are suppressed; None if that is not tried, or takes too long."""
    if table.n_cells > _PROTECTED:
        return None
    try:
        done = Mechanism(rule).protect(table, time_limit=_SECONDS)
    except CellveilError:
        return None
    return int(done.pattern.sum())
