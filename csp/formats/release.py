"""Releases as files: what the public sees of a protected table, complete with its relations.

A release is a JSON file (dimensions, relations, perhaps the mechanism) and, beside it, a CSV file
with one row a cell: its codes, its value (empty where suppressed), its status (s published, x
suppressed, e known to be empty) and the bounds that anybody knows.
"""

from __future__ import annotations

import csv
import io
import json
import os
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.formats.files import atomic_writer, read_plain_or_gz
from csp.mechanism import Mechanism
from csp.numbers import MAX_VALUE, UNBOUNDED, units_text
from csp.release import Release

__all__ = ["read_release", "write_release"]

_FORMAT = "cellveil release 1"
_DIGITS = 40
_EXTRA = ("value", "status", "lower", "upper")


def write_release(
    release: Release, path: str | os.PathLike[str], mechanism: Mechanism | None = None
) -> tuple[Path, Path]:
    """Write a release; no suppressed value gets into either file.

    Parameters
    ----------
    release : Release
    path : path-like
        Of the JSON file; the cells go to a file of the same name with the ending .csv.
    mechanism : Mechanism, optional
        To be published as well.

    Returns
    -------
    tuple of two Path
        JSON and CSV file.

    Raises
    ------
    InputError
        If the name does not end with .json, a dimension is named like another column, a file
        cannot be written, or the mechanism holds a function, which no file can.
    """
    target = Path(path)
    if target.suffix != ".json":
        msg = f"{str(path)!r} must end with .json"
        raise InputError(msg)
    taken = set(_EXTRA) & set(release.names)
    if taken:
        msg = f"dimension {min(taken)!r} has the name of another column of the file; rename it"
        raise InputError(msg)
    cells = target.with_suffix(".csv")
    matrix = release.relations.tocoo()
    facts: dict[str, Any] = {
        "format": _FORMAT,
        "cells": cells.name,
        "names": list(release.names),
        "roots": list(release.roots),
        "scale": release.scale,
        "relations": {
            "count": int(matrix.shape[0]),
            "rows": matrix.coords[0].tolist(),
            "cells": matrix.coords[1].tolist(),
            "coefficients": matrix.data.tolist(),
        },
    }
    if mechanism is not None:
        facts["mechanism"] = mechanism.to_dict()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*release.names, *_EXTRA])
    empty = np.zeros_like(release.pattern) if release.structural is None else release.structural
    for i, label in enumerate(release.labels):
        hidden = bool(release.pattern[i])
        writer.writerow(
            [
                *label,
                "" if hidden else units_text(int(release.published[i]), release.scale),
                "x" if hidden else "e" if empty[i] else "s",
                _bound(int(release.lower[i]), release.scale),
                _bound(int(release.upper[i]), release.scale),
            ]
        )
    with atomic_writer(cells) as file:
        file.write(text.getvalue())
    with atomic_writer(target) as file:
        json.dump(facts, file, ensure_ascii=False, indent=1)
        file.write("\n")
    return target, cells


def read_release(path: str | os.PathLike[str]) -> tuple[Release, Mechanism | None]:
    """Read a release that `write_release` wrote.

    Parameters
    ----------
    path : path-like
        Of the JSON file.

    Returns
    -------
    Release, Mechanism or None
        The mechanism if the file holds it.

    Raises
    ------
    InputError
        If a file cannot be read or is no release; the message names the line or key. Whether the
        published values agree with the relations is left to those who use them.
    """
    facts = _read_json(path)
    relations = _relations(facts, path)
    cells = Path(path).with_name(str(facts["cells"]))
    values, pattern, empty, lower, upper, labels = _read_cells(
        cells, tuple(facts["names"]), facts["scale"]
    )
    n = len(labels)
    if relations["cells"].max(initial=-1) >= n:
        msg = f"{str(path)!r}: a relation speaks of cell {relations['cells'].max() + 1} of {n}"
        raise InputError(msg)
    from scipy.sparse import csr_array

    matrix = csr_array(
        (relations["coefficients"], (relations["rows"], relations["cells"])),
        shape=(facts["relations"]["count"], n),
    )
    release = Release(
        values, pattern, matrix, lower, upper, labels, facts["scale"], tuple(facts["names"]),
        tuple(facts["roots"]), empty if empty.any() else None,
    )  # fmt: skip
    told = facts.get("mechanism")
    return release, None if told is None else Mechanism.from_dict(told)


def _read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        facts = json.loads(read_plain_or_gz(path))
    except json.JSONDecodeError as error:
        msg = f"{str(path)!r}, line {error.lineno}: no JSON ({error.msg})"
        raise InputError(msg) from error
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        msg = f"{str(path)!r} is no release: its key 'format' must be {_FORMAT!r}"
        raise InputError(msg)
    wanted = {"cells": str, "names": list, "roots": list, "scale": int, "relations": dict}
    for key, kind in wanted.items():
        if not isinstance(facts.get(key), kind):
            msg = f"{str(path)!r}: key {key!r} is missing or no {kind.__name__}"
            raise InputError(msg)
    if Path(facts["cells"]).name != facts["cells"]:
        msg = f"{str(path)!r}: key 'cells' must name a file in the same folder"
        raise InputError(msg)
    if len(facts["roots"]) != len(facts["names"]):
        msg = f"{str(path)!r}: {len(facts['roots'])} roots for {len(facts['names'])} names"
        raise InputError(msg)
    return facts


def _relations(facts: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, NDArray[np.int64]]:
    given = facts["relations"]
    out = {}
    for key in ("rows", "cells", "coefficients"):
        numbers = given.get(key)
        whole = isinstance(numbers, list) and all(
            type(v) is int and abs(v) < UNBOUNDED for v in numbers
        )
        if not whole:
            msg = f"{str(path)!r}: 'relations' needs a list of whole numbers {key!r}"
            raise InputError(msg)
        out[key] = np.array(numbers, dtype=np.int64)
    count = given.get("count")
    sizes = {len(array) for array in out.values()}
    outside = out["rows"].max(initial=-1) >= (count if isinstance(count, int) else 0)
    negative = out["rows"].min(initial=0) < 0 or out["cells"].min(initial=0) < 0
    if not isinstance(count, int) or len(sizes) != 1 or (outside and len(out["rows"])) or negative:
        msg = f"{str(path)!r}: the lists of 'relations' do not fit together"
        raise InputError(msg)
    return out


def _read_cells(
    path: Path, names: tuple[str, ...], scale: int
) -> tuple[
    NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64],
    NDArray[np.int64], tuple[tuple[str, ...], ...],
]:  # fmt: skip
    rows = list(csv.reader(io.StringIO(read_plain_or_gz(path))))
    header = [*names, *_EXTRA]
    if not rows or rows[0] != header:
        msg = f"{str(path)!r}, line 1: the columns must be {', '.join(header)}"
        raise InputError(msg)
    if len(rows) == 1:
        msg = f"{str(path)!r} has no cells"
        raise InputError(msg)
    numbers: list[list[int]] = []
    status, labels = [], []
    for line, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            msg = f"{str(path)!r}, line {line}: {len(row)} columns in place of {len(header)}"
            raise InputError(msg)
        value, word, low, high = row[len(names) :]
        if word not in ("s", "x", "e") or (word == "x") != (value == ""):
            msg = (
                f"{str(path)!r}, line {line}: status must be s or e with a value, or x without one"
            )
            raise InputError(msg)
        where = f"{str(path)!r}, line {line}"
        numbers.append(
            [
                0 if word == "x" else _units(value, scale, f"{where}, column value"),
                _units(low, scale, f"{where}, column lower") if low else -UNBOUNDED,
                _units(high, scale, f"{where}, column upper") if high else UNBOUNDED,
            ]
        )
        status.append(word)
        labels.append(tuple(row[: len(names)]))
    lines: dict[tuple[str, ...], int] = {}
    for line, label in enumerate(labels, start=2):
        if lines.setdefault(label, line) != line:
            msg = f"{str(path)!r}, line {line}: cell {label} was in line {lines[label]} already"
            raise InputError(msg)
    array = np.array(numbers, dtype=np.int64)
    words = np.array(status)
    return array[:, 0], words == "x", words == "e", array[:, 1], array[:, 2], tuple(labels)


def _units(text: str, scale: int, where: str) -> int:
    try:
        number = Fraction(Decimal(text)) if Decimal(text).adjusted() < _DIGITS else None
    except (InvalidOperation, ValueError, OverflowError) as error:
        msg = f"{where}: {text!r} is no number"
        raise InputError(msg) from error
    units = None if number is None else number * 10**scale
    if units is None or units.denominator != 1 or abs(units) > MAX_VALUE:
        msg = f"{where}: {text!r} is no whole number of units of 10**-{scale}, or too large"
        raise InputError(msg)
    return int(units)


def _bound(units: int, scale: int) -> str:
    return "" if abs(units) >= UNBOUNDED else units_text(units, scale)
