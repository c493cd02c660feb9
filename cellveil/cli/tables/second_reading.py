"""The second form of ``cellveil audit``: a release beside the records that it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from cellveil.cli.answers import finish
from cellveil.front import refuse
from cellveil.io.files import check_outputs
from cellveil.io.inputs import split_names
from cellveil.render.screen import tell
from cellveil.requests.option import flags_given
from cellveil.requests.outputs import Audited, Facts
from cellveil.requests.publication import Origin
from cellveil.requests.requirements import Guards
from cellveil.requests.source import Source
from csp.audits.second_reading import (
    Columns,
    Rereading,
    by_layout,
    layout_of,
    parents_of,
    reread,
    rows_of,
    statements_of,
)
from csp.audits.second_reading.files import Statement
from csp.release_file import read_release


def read_twice(
    release: Path, source: Source, origin: Origin, guards: Guards, to: Audited
) -> NoReturn:
    """Read the records once more, compare, and say where the two readings differ.

    Parameters
    ----------
    release : path
    source : Source
        The records.
    origin : Origin
    guards : Guards
        Those that the release states by default, as its rules.
    to : Audited
    """
    by = [split_names(text, "--by") for text in origin.by]
    rules, reveal = origin.rules, to.reveal
    check_outputs({"--summary": to.summary}, [release, source.data, source.rda, source.apriori])
    published, told = read_release(release)
    options = asdict(guards)
    if rules is None:
        if told is None:
            refuse("the release does not state its rules; give --rules")
        more = flags_given(guards)
        if more:
            refuse(
                f"{', '.join(more)}: the release states its rules with all that goes with them; to "
                "judge by others give --rules too"
            )
        options, rules = {key: getattr(told, key) for key in options}, str(told.rules)
    data, columns, said = read_again(source, by or [published.names])
    found = reread(published, data, columns, rules, apriori=said, **options)
    facts = facts_of(found, reveal=reveal)
    if reveal:  # how many contributors are alone in a cell
        facts["attackers"] = found.attackers
    finish(
        facts, found.lines(reveal=reveal), safe=found.agree and found.safe, show=lambda: None,
        speak=tell, to=Facts(to.summary),
    )  # fmt: skip


def facts_of(found: Rereading, *, reveal: bool) -> dict[str, Any]:
    """Facts of a second reading for JSON; values that must not be known only with `reveal`."""
    return {
        "agree": found.agree,
        "safe": found.safe,
        "cells": found.cells,
        "findings": [] if found.agree and found.safe else found.lines(reveal=reveal),
        "notes": list(found.notes),
    }


_NOT_HERE = (
    "absent_zero", "tolerance", "memory", "empty", "apriori_unknown", "cross", "recode",
)  # fmt: skip
"""Fields of a source that the second reading does not obey."""


def check_again(source: Source) -> None:
    """Refuse what the second reading does not know."""
    more = flags_given(source, _NOT_HERE)
    if more := [flag for flag in more if flag != "--keep-empty"]:  # it reads so in any case
        refuse(f"the second reading does not know {', '.join(more)}; leave it out")


def read_again(
    source: Source, by: Sequence[tuple[str, ...]]
) -> tuple[dict[str, list[Any]], Columns, list[Statement]]:
    """Read a file by none of the library's readers: its columns, their meaning, what is known.

    Parameters
    ----------
    source : Source
        What was said of the file; none of it has been read.
    by : sequence of tuple of str
        Dimensions of each table.

    Raises
    ------
    InputError
        If something was asked for that this reading does not know.
    """
    check_again(source)
    columns, said = _columns(source, by), list[Any]()
    if source.rda is not None:
        data, columns, said = by_layout(source.data, layout_of(source.rda), columns)
    else:
        written = source.written
        signs = {"tab": "\t", r"\t": "\t"}
        several = (columns.value, columns.weight, columns.shadow, columns.count, *columns.top)
        data = rows_of(
            source.data,
            separator=signs.get(str(written.sep), written.sep),
            encoding=written.encoding or "utf-8-sig",
            decimal=written.decimal,
            na=("",) if written.na is None else written.na,
            sheet=source.sheet,
            numbers=[name for name in several if name is not None],
        )
    if source.apriori is not None:
        said += statements_of(source.apriori, len(columns.names))
    return data, columns, said


def _columns(source: Source, by: Sequence[tuple[str, ...]]) -> Columns:
    """Say what the columns of the file mean."""
    trees: dict[str, list[dict[str, str]]] = {}
    for text in source.hierarchy:
        column, equals, file = text.partition("=")
        if not equals:
            refuse(f"--hierarchy {text!r}: write COLUMN=FILE")
        trees.setdefault(column, []).append(parents_of(file))
    total: dict[str, str] = {}
    for text in source.total:
        column, equals, code = text.rpartition("=")
        total |= {column: code} if equals else {name: code for one in by for name in one}
    return Columns(
        tuple(by), source.value, source.contributor, source.weight, source.shadow,
        "cells" if source.aggregated else "records", source.count, source.top, trees, total,
        source.negative, source.missing, source.decimals, source.missing_values, source.round,
    )  # fmt: skip
