"""The second form of ``cellveil audit``: a release beside the records that it was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from cellveil.cli.answers import finish
from cellveil.front import refuse
from cellveil.render.screen import tell

__all__ = ["read_twice"]


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
    from csp.audits.second_reading import reread, rows_of
    from csp.release_file import read_release

    check_outputs({"--summary": summary}, [release, records])
    published, told = read_release(release)
    options: dict[str, Any] = {
        key: asked[key] for key in ("rules", "width", "strict", "margins", "singletons", "integer")
    }
    if options["rules"] is None:
        if told is None:
            refuse("the release does not state its rules; give --rules")
        options |= {key: getattr(told, key) for key in options} | {"rules": str(told.rules)}
    signs = {"tab": "\t", r"\t": "\t"}
    data = rows_of(
        records,
        separator=signs.get(asked["sep"], asked["sep"]),
        encoding=asked["encoding"] or "utf-8-sig",
        decimal=asked["decimal"] or ".",
        na=tuple((asked["na"] or "").split(",")),
    )
    columns = _columns(asked, published.names)
    found = reread(published, data, columns, options.pop("rules"), **options)
    facts: dict[str, Any] = {
        "agree": found.agree,
        "safe": found.safe,
        "cells": found.cells,
        "findings": [] if found.agree and found.safe else found.lines(reveal=reveal),
        "notes": list(found.notes),
    }
    if reveal:  # how many contributors are alone in a cell
        facts["attackers"] = found.attackers
    finish(
        facts, found.lines(reveal=reveal), safe=found.agree and found.safe, show=lambda: None,
        speak=tell, summary=summary,
    )  # fmt: skip


def _columns(asked: Mapping[str, Any], names: Sequence[str]) -> Any:
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
