"""The second form of ``cellveil audit``: a release beside the records that it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from cellveil.cli.answers import finish
from cellveil.front import refuse
from cellveil.render.screen import tell

if TYPE_CHECKING:
    from csp.audits.second_reading import Columns, Rereading
    from csp.audits.second_reading.files import Statement

__all__ = ["facts_of", "read_again", "read_twice"]


def read_twice(
    release: Path,
    records: Path,
    asked: Mapping[str, Any],
    *,
    summary: Path | None = None,
    reveal: bool = False,
) -> NoReturn:
    """Read the records once more, compare, and say where the two readings differ.

    Parameters
    ----------
    release, records, summary : path
    asked : mapping
        Other options of the command by the names of its arguments.
    reveal : bool
    """
    from cellveil.io.files import check_outputs
    from csp.audits.second_reading import reread
    from csp.release_file import read_release

    read = [asked["rda"], asked["apriori"]]
    check_outputs({"--summary": summary}, [release, records, *read])
    published, told = read_release(release)
    options: dict[str, Any] = {
        key: asked[key] for key in ("rules", "width", "strict", "margins", "singletons", "integer")
    }
    if options["rules"] is None:
        if told is None:
            refuse("the release does not state its rules; give --rules")
        options |= {key: getattr(told, key) for key in options} | {"rules": str(told.rules)}
    data, columns, said = read_again(records, asked, published.names)
    found = reread(published, data, columns, options.pop("rules"), apriori=said, **options)
    facts = facts_of(found, reveal=reveal)
    if reveal:  # how many contributors are alone in a cell
        facts["attackers"] = found.attackers
    finish(
        facts, found.lines(reveal=reveal), safe=found.agree and found.safe, show=lambda: None,
        speak=tell, summary=summary,
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


def read_again(
    path: Path, asked: Mapping[str, Any], names: Sequence[str]
) -> tuple[dict[str, list[Any]], Columns, list[Statement]]:
    """Read a file by none of the library's readers: its columns, their meaning, what is known.

    Parameters
    ----------
    path : path
    asked : mapping
        Options of the command by the names of its arguments.
    names : sequence of str
        Dimensions, where `asked` has none.
    """
    from csp.audits.second_reading import by_layout, layout_of, rows_of, statements_of

    columns, said = _columns(asked, names), list[Any]()
    if asked["rda"] is not None:
        data, columns, said = by_layout(path, layout_of(asked["rda"]), columns)
    else:
        signs = {"tab": "\t", r"\t": "\t"}
        data = rows_of(
            path,
            separator=signs.get(asked["sep"], asked["sep"]),
            encoding=asked["encoding"] or "utf-8-sig",
            decimal=asked["decimal"],
            na=tuple((asked["na"] or "").split(",")),
            sheet=asked["sheet"],
            numbers=[
                name
                for name in (
                    columns.value,
                    columns.weight,
                    columns.shadow,
                    columns.count,
                    *columns.top,
                )
                if name is not None
            ],
        )
    if asked["apriori"] is not None:
        said += statements_of(asked["apriori"], len(columns.names))
    return data, columns, said


def _columns(asked: Mapping[str, Any], names: Sequence[str]) -> Columns:
    """Say what the columns of the file mean, from the options."""
    from csp.audits.second_reading import Columns, parents_of

    trees: dict[str, list[dict[str, str]]] = {}
    for text in asked["hierarchy"] or ():
        column, equals, file = text.partition("=")
        if not equals:
            refuse(f"--hierarchy {text!r}: write COLUMN=FILE")
        trees.setdefault(column, []).append(parents_of(file))
    by = [tuple(n.strip() for n in text.split(",")) for text in asked["by"] or ()] or [tuple(names)]
    total: dict[str, str] = {}
    for text in asked["total"] or ():
        column, equals, code = text.rpartition("=")
        total |= {column: code} if equals else {name: code for one in by for name in one}
    return Columns(
        tuple(by), asked["value"], asked["contributor"], asked["weight"], asked["shadow"],
        "cells" if asked["aggregated"] else "records", asked["count"],
        tuple(asked["top"].split(",")) if asked["top"] else (), trees, total, asked["negative"],
        asked["missing"], asked["decimals"],
    )  # fmt: skip
