"""τ-ARGUS batch files (.arb) as jobs: one set of rules, costs and outputs for all their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cellveil.front import refuse
from cellveil.jobs.batch_lines import Batch, read_lines
from cellveil.jobs.keys import OPTIONS, in_keys
from csp.errors import InputError
from csp.formats.layout import read_metadata
from csp.rules.parse import parse_rules

MANUAL = 20
"""Percent that τ-ARGUS keeps cells apart that are unsafe by hand, if no MAN says otherwise."""


def read_batch(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read a batch file as the sections of a job, and what is done otherwise than it says.

    All tables of the file are protected together, whether their suppression is linked or not, by
    the exact method: GH, MOD, NET and OPT alike find a safe pattern, which is audited. Paths are
    seen from the folder of the batch file; files that are named with a folder of another machine
    are looked for beside it.

    Raises
    ------
    InputError
        For a verb or an argument that is unknown or cannot be obeyed (file, line and verb named,
        with what to do), verbs out of order, and tables that ask for different rules or costs.

    References
    ----------
    de Wolf et al. (2014), τ-ARGUS version 4.1 user's manual: batch processing; ``batch.java`` of
    sdcTools/tauargus.
    """
    batch = read_lines(path)
    return _sections(batch), tuple(batch.notes)


def _sections(batch: Batch) -> dict[str, Any]:
    name = batch.path.name
    if not (batch.tables and batch.read):
        lacking = "<READMICRODATA> or <READTABLE>" if batch.tables else "<SPECIFYTABLE>"
        refuse(f"{name} has no {lacking}; nothing would be protected")
    if not batch.suppressed:
        refuse(
            f"{name} has no <SUPPRESS>, and a table is published suppressed or not at all; add it"
        )
    done = {number for number, _ in batch.suppressed}
    left = [i for i in range(1, len(batch.tables) + 1) if i not in done and 0 not in done]
    if left:
        refuse(f"{name}: table {left[0]} is not suppressed; add <SUPPRESS> OPT({left[0]},10)")
    if len(batch.tables) > 1 and 0 not in done:
        batch.notes.append(f"{name}: tables of the same response are protected together, as linked")
    if len(batch.folders) > 1:
        refuse(f"{name}: tables go to the folders {', '.join(batch.folders)}; name one for all")
    layout = read_metadata(batch.path.parent / batch.data["layout"])
    frequency = layout.flagged("FREQUENCY")
    rules, weighted = _rules(batch, stated=bool(layout.flagged("STATUS")))
    if weighted:
        weight = layout.flagged("WEIGHT")
        if not weight:
            refuse(f"{name}: WGT(1), but the layout has no <WEIGHT>")
        batch.data["weight"] = weight[0]
    tables = []
    for number, table in enumerate(batch.tables, 1):
        keys: dict[str, Any] = {"name": f"table{number}"} | table.keys | {"by": table.by}
        counted = table.value.lower() == "<freq>" or table.value in frequency
        if not counted:
            keys["value"] = table.value
        elif batch.kind == "table":
            if not frequency:
                refuse(f"{table.where}: frequencies, but the layout has no <FREQUENCY>")
            keys["value"] = frequency[0]
        tables.append(keys)
    section: dict[str, Any] = {
        "data": batch.data, "table": tables,
        "rules": {"sensitive": rules, "cost": _cost(batch)}, "output": {},
    }  # fmt: skip
    if recode := _recodings(batch):
        section["recode"] = recode
    singles = {flag for _, flag in batch.suppressed if flag is not None}
    if len(singles) > 1:
        refuse(f"{name}: singletons are guarded in some tables only; write the same for all")
    if singles == {False}:
        section["rules"]["singletons"] = False
    if batch.time_limit is not None:
        section["solver"] = {"time_limit": batch.time_limit}
    if batch.folders:
        section["output"] = {"folder": next(iter(batch.folders)), "format": list(batch.forms)}
    return section


def _recodings(batch: Batch) -> dict[str, str]:
    """File or level for each variable that is recoded: in all of its tables alike, or in none."""
    found: dict[str, str] = {}
    for table in batch.tables:
        for name in table.by:
            if found.setdefault(name, table.recode.get(name, "")) != table.recode.get(name, ""):
                refuse(
                    f"{table.where}: {name!r} is recoded otherwise than in a table before; tables "
                    "of the same records are linked by their codes: recode it in all of them alike"
                )
    return {name: file for name, file in found.items() if file}


def _rules(batch: Batch, *, stated: bool) -> tuple[str, bool]:
    """Rules of all tables, and whether weights are used."""
    found: dict[tuple[str, bool], str] = {}
    for table in batch.tables:
        parts = [part for part in (table.rules or "").split("|") if part]
        weighted = "WGT(1)" in parts
        parts = [part for part in parts if part not in ("WGT(1)", "WGT(0)", "MIS(0)")]
        named = stated or any("apriori" in other.keys for other in batch.tables)
        if named and not any(part.startswith("MAN") for part in parts):
            parts.append(f"MAN({MANUAL})")
        if not parts:
            refuse(f"{table.where}: no rule says what is sensitive; add <SAFETYRULE> P(10,1)")
        by_hand = any(part.startswith("MAN") for part in parts)
        try:  # a job with rules that cannot be read would fail only when it runs
            parse_rules("|".join(parts), manual=[("",)] if by_hand else ())
        except InputError as error:
            refuse(f"{table.where}: {in_keys(error.in_options(OPTIONS))}")
        found.setdefault(("|".join(parts), weighted), table.where)
    if len(found) > 1:
        (one, first), (two, second) = list(found.items())[:2]
        refuse(
            f"{first} and {second} have different rules, {one[0]} and {two[0]}; a job has one set: "
            "write a batch file for each"
        )
    return next(iter(found))


def _cost(batch: Batch) -> str:
    """Cost of all tables."""
    found: dict[str, str] = {}
    for table in batch.tables:
        kind = {"": "value", table.value: "value", "-2": "unit"}.get(table.cost)
        if kind is None and batch.kind == "table":
            layout = read_metadata(batch.path.parent / batch.data["layout"])
            if "COSTVAR" in layout.variable(table.cost).flags:
                kind = "value"  # of cells without one; the layout names the column of the others
        if kind is None:
            refuse(
                f"{table.where}: cost {table.cost!r} is not known; leave it empty for the value, "
                "write -2 for 1 a cell, or give costs in an a-priori file"
            )
        found.setdefault(kind, table.where)
    if len(found) > 1:
        refuse(f"{' and '.join(found.values())} have different costs; write the same for all")
    return next(iter(found))
