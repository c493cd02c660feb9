"""Tables of a session in the form of ACRO, for viewers of its results.

References
----------
AI-SDC, ACRO 1.0, ``acro.record.Records.finalise_json``: results.json, a CSV file of each table, and
a file with the SHA-256 of each in the folder ``checksums``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import cellveil
from cellveil.crosstabs.figures import Figures
from cellveil.io.files import write_json
from cellveil.sessions.asking import Asked, Decision
from csp.formats.files import Together
from csp.tables.cross.html import SUPPRESSED

_STATUS = {"accepted": "pass", "open": "review", "rejected": "fail"}
_NONE = ("negative", "missing", "threshold", "p-ratio", "nk-rule", "all-values-are-same")
"""Findings of ACRO, of which a protected table has none left."""


def write_results(
    folder: Path, tables: Mapping[str, Figures], asked: Mapping[str, Asked],
    decided: Mapping[str, Decision], files: Together,
) -> list[Path]:  # fmt: skip
    """Write results.json, the CSV file of each figure, and their checksums.

    A table that nobody has decided on has the status "review", one that was accepted "pass". Which
    suppressed cells are sensitive is not told.

    Parameters
    ----------
    folder : Path
        With a folder ``checksums``.
    tables, asked, decided : mappings by the names of tables
    files : Together

    Returns
    -------
    list of Path
        In which order they were written.
    """
    found: list[Path] = []
    results = {}
    for number, (name, table) in enumerate(tables.items()):
        uid = f"output_{number}"
        own = []
        for k, text in enumerate(_texts(table)):
            path = folder / f"{uid}_{k}.csv"
            with files.writer(path) as out:
                out.write(text)
            own.append(path)
        hidden = int(table.pattern.sum())
        decision = decided[name]
        sdc = {"summary": {"suppressed": hidden > 0, **dict.fromkeys(_NONE, 0)},
               "cells": {one: [] for one in _NONE}}  # fmt: skip
        comments = [c for c in (name, table.comment, *table.notes, decision.reason) if c]
        results[uid] = {
            "uid": uid,
            "status": _STATUS[decision.verdict],
            "type": "table",
            "properties": {"method": "crosstab"},
            "files": [{"name": path.name, "sdc": sdc} for path in own],
            "outcome": {},
            "command": asked[name].call(name),
            "summary": f"{_STATUS[decision.verdict]}; {hidden} of {len(table.pattern)} cells are "
            f"suppressed, audited safe by {asked[name].rules}; ",
            "timestamp": "",
            "comments": comments,
            "exception": decision.by and f"{decision.verdict} by {decision.by}",
            "fair": {},
        }
        found += own
    tool = {
        "@type": "SoftwareApplication", "name": "Cellveil",
        "url": "https://pypi.org/project/cellveil/", "version": cellveil.__version__,
    }  # fmt: skip
    write_json(
        folder / "results.json", {"version": "1.0.2", "tool": tool, "results": results}, files
    )
    found.append(folder / "results.json")
    for path in list(found):
        sums = folder / "checksums" / f"{path.name}.txt"
        with files.writer(sums) as out:
            out.write(files.sha256(path))
        found.append(sums)
    return found


def _texts(table: Figures) -> list[str]:
    """CSV of each figure: rows by columns, with a cross in suppressed cells."""
    down, right, grids = table.grids(SUPPRESSED)
    texts = []
    for response, grid in zip(table.responses, grids, strict=True):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        heads = [" | ".join(codes) for codes in right] if table.columns else [str(response)]
        writer.writerow([*table.index, *heads])
        for codes, row in zip(down, grid, strict=True):
            writer.writerow([*codes, *("" if item is None else item for item in row)])
        texts.append(out.getvalue())
    return texts
