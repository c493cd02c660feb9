"""Releases as files: what the public sees of a protected table, complete with its relations.

A release is a JSON file (dimensions, relations, perhaps the mechanism) and, beside it, a CSV file
with one row per cell: its codes, its value (empty where suppressed), its status (s published, x
suppressed, e known to be empty) and the public bounds. The JSON file holds the SHA-256
of the CSV file, so that files of two releases cannot be mistaken for one.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import Any, TextIO

import numpy as np

from csp.errors import InputError
from csp.exact import MAX_VALUE, UNBOUNDED, Bools, Ints, read_decimal, units_text
from csp.formats.files import Together, csv_writer, joined
from csp.formats.reading import as_object, decoded, read_bytes, read_json
from csp.mechanism import Mechanism, Protected
from csp.release.release import Release

_FORMAT = "cellveil release 2"
_OLD = "cellveil release 1"
_EXTRA = ("value", "status", "lower", "upper")
_PLAIN = re.compile(r"(-?[0-9]{1,18})(?:\.([0-9]{1,30}))?", re.ASCII)
_MOST_DECIMALS = 30
"""Decimals of values and of weights, 15 each."""

_KEYS = {
    "format": True, "cells": True, "cells_sha256": False, "names": True, "roots": True,
    "scale": True, "relations": True, "mechanism": False, "of_counts": False,
}  # fmt: skip


def write_release(
    release: Release,
    path: str | os.PathLike[str],
    mechanism: Mechanism | None = None,
    *,
    files: Together | None = None,
) -> tuple[Path, Path]:
    """Write a release; no suppressed value gets into either file.

    Parameters
    ----------
    release : Release
    path : path-like
        Of the JSON file; the cells go to a file of the same name with the ending .csv.
    mechanism : Mechanism, optional
        To be published as well.
    files : Together, optional
        To appear together with other files of a `csp.formats.files.written_together` block; the
        two files of the release appear together in any case.

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
        msg = (
            f"{str(path)!r} must end with .json: it is what attacks and later releases read; the "
            "published table is given by to_frame() and to_excel()"
        )
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
    facts["of_counts"] = release.of_counts
    if mechanism is not None:
        facts["mechanism"] = mechanism.to_dict()
    with joined(files) as group:
        with group.writer(cells) as file:
            _write_cells(release, file)
        facts["cells_sha256"] = group.sha256(cells)
        with group.writer(target) as file:
            json.dump(facts, file, ensure_ascii=False, indent=1)
            file.write("\n")
    return target, cells


def write_protected(
    protected: Protected, path: str | os.PathLike[str], *, files: Together | None = None
) -> bool:
    """Write the release of a result, with its mechanism where that can be told.

    Returns
    -------
    bool
        Whether it could: rules that are functions or name single cells are left out.
    """
    told = True
    try:
        protected.mechanism.to_dict()
    except InputError:
        told = False
    write_release(protected.release, path, protected.mechanism if told else None, files=files)
    return told


def _write_cells(release: Release, file: TextIO) -> None:
    writer = csv_writer(file)
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


def is_cells_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file has the columns that the cells of a release have."""
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file), [])
    except (OSError, ValueError, csv.Error):
        return False
    return len(header) > len(_EXTRA) and tuple(header[-len(_EXTRA) :]) == tuple(_EXTRA)


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
        If a file cannot be read or is not a release, or the two files do not belong together; the
        message names the line or key. Whether the published values agree with the relations is
        left to those who use them.
    """
    facts = _read_facts(path)
    relations = _relations(facts, path)
    cells = Path(path).with_name(facts["cells"])
    raw = read_bytes(cells)
    if facts["format"] != _OLD and hashlib.sha256(raw).hexdigest() != facts.get("cells_sha256"):
        msg = (
            f"{str(path)!r} and {str(cells)!r} do not belong together: the cells have another "
            "SHA-256 than the key 'cells_sha256' says; take both files from the same run"
        )
        raise InputError(msg)
    values, pattern, empty, lower, upper, labels = _read_cells(
        decoded(raw, cells), cells, tuple(facts["names"]), facts["scale"]
    )
    n = len(labels)
    if relations["cells"].max(initial=-1) >= n:
        msg = f"{str(path)!r}: a relation names cell {relations['cells'].max() + 1} of {n}"
        raise InputError(msg)
    from scipy.sparse import csr_array

    matrix = csr_array(
        (relations["coefficients"], (relations["rows"], relations["cells"])),
        shape=(facts["relations"]["count"], n),
    )
    release = Release(
        values, pattern, matrix, lower, upper, labels, facts["scale"], tuple(facts["names"]),
        tuple(facts["roots"]), empty if empty.any() else None,
        of_counts=facts.get("of_counts"),  # earlier builds did not say it
    )  # fmt: skip
    told = facts.get("mechanism")
    try:
        return release, None if told is None else Mechanism.from_dict(told)
    except InputError as error:
        msg = f"{str(path)!r}, key 'mechanism': {error}"
        raise InputError(msg) from error


def _read_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    facts = read_json(path, "a release")

    def need(key: str, holds: bool, wanted: str) -> None:  # noqa: FBT001
        if not holds:
            msg = f"{str(path)!r}: the key {key!r} must be {wanted}"
            raise InputError(msg)

    if facts.get("format") not in (_FORMAT, _OLD):
        msg = f"{str(path)!r} is not a release: its key 'format' must be {_FORMAT!r}"
        raise InputError(msg)
    as_object(facts, _KEYS, f"the release {str(path)!r}")
    cells, names, roots, scale = (facts[key] for key in ("cells", "names", "roots", "scale"))
    plain = isinstance(cells, str) and Path(cells).name == cells and "\0" not in cells
    need("cells", plain and cells not in ("", ".."), "the name of a file in the same folder")
    texts = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
    need("names", texts and len({*names, *_EXTRA}) == len(names) + len(_EXTRA) > len(_EXTRA),
         f"a list of different texts, none of them {', '.join(_EXTRA)}")  # fmt: skip
    texts = isinstance(roots, list) and all(isinstance(root, str) for root in roots)
    need("roots", texts and len(roots) == len(names), f"a list of {len(names)} texts, one a name")
    whole = type(scale) is int and 0 <= scale <= _MOST_DECIMALS
    need("scale", whole, f"a whole number from 0 to {_MOST_DECIMALS}")
    need("of_counts", type(facts.get("of_counts")) in (bool, NoneType), "true, false or null")
    need("relations", isinstance(facts["relations"], dict), "an object")
    return facts


def _relations(facts: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Ints]:
    lists = ("rows", "cells", "coefficients")
    given = as_object(
        facts["relations"], dict.fromkeys(("count", *lists), True), f"{str(path)!r}, 'relations',"
    )
    out = {}
    for key in lists:
        numbers = given[key]
        # Sums of relations must stay exact.
        whole = isinstance(numbers, list) and all(
            type(v) is int and abs(v) <= MAX_VALUE for v in numbers
        )
        if not whole:
            msg = f"{str(path)!r}: 'relations' needs a list of whole numbers {key!r} up to 2**53"
            raise InputError(msg)
        out[key] = np.array(numbers, dtype=np.int64)
    count = given["count"]
    # Every relation has a member, so that a number alone asks for no memory.
    fits = type(count) is int and len({len(array) for array in out.values()}) == 1
    fits = fits and 0 <= count <= len(out["rows"]) and out["cells"].min(initial=0) >= 0
    if not fits or not np.array_equal(np.unique(out["rows"]), np.arange(count)):
        msg = (
            f"{str(path)!r}: the lists of 'relations' disagree; each needs one entry for each "
            "member of a relation, and 'rows' every number below 'count'"
        )
        raise InputError(msg)
    order = np.lexsort((out["cells"], out["rows"]))
    rows, cells = out["rows"][order], out["cells"][order]
    twice = (rows[1:] == rows[:-1]) & (cells[1:] == cells[:-1])
    if twice.any() or not out["coefficients"].all():
        msg = f"{str(path)!r}: a relation names a cell twice, or with the coefficient 0"
        raise InputError(msg)
    return out


def _read_cells(
    text: str, path: Path, names: tuple[str, ...], scale: int,
) -> tuple[Ints, Bools, Bools, Ints, Ints, tuple[tuple[str, ...], ...]]:  # fmt: skip
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        msg = f"{str(path)!r}, line {reader.line_num}: cannot be read as CSV ({error})"
        raise InputError(msg) from error
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
        where = f"{str(path)!r}, line {line}"
        if len(row) != len(header):
            msg = f"{where}: {len(row)} columns in place of {len(header)}"
            raise InputError(msg)
        value, word, low, high = row[len(names) :]
        if word not in ("s", "x", "e") or (word == "x") != (value == ""):
            msg = f"{where}: status must be s or e with a value, or x without one"
            raise InputError(msg)
        if not all(row[: len(names)]):
            msg = f"{where}: a code is empty; every cell has one of each dimension"
            raise InputError(msg)
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
    crossed = array[:, 1] > array[:, 2]
    if crossed.any():
        msg = f"{str(path)!r}, line {int(np.argmax(crossed)) + 2}: lower is above upper"
        raise InputError(msg)
    words = np.array(status)
    return array[:, 0], words == "x", words == "e", array[:, 1], array[:, 2], tuple(labels)


def _units(text: str, scale: int, where: str) -> int:
    plain = _PLAIN.fullmatch(text)
    rest = 1
    if plain and len(plain[2] or "") <= scale:
        units: int = int(plain[1] + (plain[2] or "")) * 10 ** (scale - len(plain[2] or ""))
    else:
        try:
            number = Fraction(read_decimal(text)) * 10**scale
        except InputError as error:
            msg = f"{where}: {error}"
            raise InputError(msg) from error
        units, rest = number.numerator, number.denominator
    if rest != 1 or abs(units) > MAX_VALUE:
        msg = f"{where}: {text[:40]!r} is not a whole number of units of 10**-{scale}, or too large"
        raise InputError(msg)
    return units


def _bound(units: int, scale: int) -> str:
    return "" if abs(units) >= UNBOUNDED else units_text(units, scale)
