"""Results as files, whole or not at all; without a suppressed value unless asked for.

Columns are taken from the release, which holds no suppressed value; the true table is read only
with ``reveal=True``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from cellveil.front import refuse
from csp.errors import InputError
from csp.exact import Bools, end_text, units_text
from csp.formats.files import Together, check_writable, csv_writer, joined
from csp.formats.formulas import without_formula
from csp.mechanism import Protected
from csp.problem.problem import Problem
from csp.release.result_columns import statuses
from csp.tables.codes import Labels
from csp.tables.cross.frames import dimension_columns

KINDS = {
    "-o": (".csv", ".csv.gz", ".parquet"),
    "--summary": (".json",),
    "--report": (".html",),
    "--release": (".json",),
}
"""What the files of an option end with, where a command does not say otherwise."""

_BESIDE = {".html": ("facts", ".json"), "--release": ("cells", ".csv")}
"""What stands beside a page, or the file of an option, and how it ends."""

Columns = dict[str, Sequence[Any]]


def check_outputs(
    outputs: Mapping[str, Path | None],
    inputs: Sequence[Path | None],
    kinds: Mapping[str, tuple[str, ...]] | None = None,
    made: Path | None = None,
) -> None:
    """Check before any work that all results can be written, by their options.

    `kinds` says what each name must end with, or else `KINDS`; `made` is a folder that may be made
    with the results.

    Raises
    ------
    InputError
        If a file cannot be written, has another suffix, is one of the `inputs`, or is named twice.
    """
    known = KINDS | dict(kinds or {})
    read = {os.path.realpath(path) for path in inputs if path is not None}
    taken: dict[str, str] = {}
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in list(given.items()):
        what, suffix = _BESIDE.get(option, _BESIDE.get(path.suffix.lower(), ("", "")))
        if what and path.name:  # '.' is refused below
            given[f"the {what} of {option}"] = path.with_suffix(suffix)
    for option, path in given.items():
        if option in known and not path.name.lower().endswith(known[option]):
            refuse(f"{option} {str(path)!r} must end with {' or '.join(known[option])}")
        if path.name.startswith(".") and not path.suffix:
            refuse(f"{option} {str(path)!r} has no name before its ending")
        target = os.path.realpath(path)
        if target in read:
            refuse(
                f"{option} {str(path)!r} would overwrite a file that is read; choose another name"
            )
        if target in taken:
            other = taken[target]
            beside = [name for name in (other, option) if name.startswith("the ")]
            why = f": {beside[0]} are written beside it under its name" if beside else ""
            refuse(f"{other} and {option} are the same file {str(path)!r}{why}; choose two names")
        taken[target] = option
        if made is None or path.parent != made or made.exists():
            check_writable(path)
    release, cells = given.get("--release"), given.get("the cells of --release")
    if release is not None and cells is not None and cells.exists() and not _names(release, cells):
        refuse(
            f"--release {str(release)!r} would also write its cells to {str(cells)!r}, which is "
            "there and does not belong to that release; choose another name"
        )


def _names(release: Path, cells: Path) -> bool:
    """Whether a file of cells is that of a release: named by its hash, or in its form.

    A run that is killed between the two renames leaves cells that no release names.
    """
    from csp.release_file import is_cells_file

    try:
        facts = json.loads(release.read_bytes())
        named = facts.get("cells_sha256") if isinstance(facts, dict) else None
        if named == hashlib.sha256(cells.read_bytes()).hexdigest():
            return True
    except (OSError, ValueError):
        pass
    return is_cells_file(cells)


# ---- columns -------------------------------------------------------------------------------------


def result_columns(
    protected: Protected, *, reveal: bool = False, intervals: bool = False
) -> Columns:
    """Columns of a protected table: dimensions, value, status, published, perhaps intervals.

    Values are decimal text, so that no digit is lost on the way into a file.
    """
    release, table = protected.release, protected.table
    units, scale = (table.values, table.scale) if reveal else (release.published, release.scale)
    shown = [
        units_text(v, scale) if reveal or not hidden else None
        for v, hidden in zip(units.tolist(), release.pattern.tolist(), strict=True)
    ]
    status = statuses(protected.problem, release.pattern, reveal=reveal)
    columns = dimension_columns(release)
    columns |= {"value": shown, "status": status, "published": (~release.pattern).tolist()}
    if intervals:
        columns |= interval_columns(protected.published_ends, release.scale)
    return columns


def pattern_columns(problem: Problem, pattern: Bools, *, reveal: bool = False) -> Columns:
    """Columns id and status of a pattern for a problem from a JJ file."""
    return {
        "id": Labels.of(problem.table.labels).column(0),
        "status": statuses(problem, pattern, reveal=reveal),
    }


def interval_columns(proved: tuple[NDArray[Any], NDArray[Any]], scale: int) -> Columns:
    """Columns lower and upper: what any outsider can infer; None where that is not proved."""
    low, high = (
        [None if np.isnan(end) else end_text(end, scale) for end in ends.tolist()]
        for ends in proved
    )
    return {"lower": low, "upper": high}


# ---- files ---------------------------------------------------------------------------------------


def write_columns(
    path: Path,
    columns: Mapping[str, Sequence[Any]],
    files: Together | None = None,
    *,
    header: bool = True,
) -> None:
    """Write columns as .csv, .csv.gz or .parquet, by name, perhaps together with other files."""
    with joined(files) as group:
        if path.name.lower().endswith(".parquet"):
            _write_parquet(path, columns, group)
            return
        with group.writer(path) as out:
            write_csv(out, columns, header=header)


def write_csv(out: TextIO, columns: Mapping[str, Sequence[Any]], *, header: bool = True) -> None:
    """Write columns as comma-separated text, with or without a header.

    A text that a spreadsheet would take for a formula gets an apostrophe before it
    (`csp.formats.formulas`).
    """
    writer = csv_writer(out)
    if header:
        writer.writerow(map(without_formula, columns))
    words = {True: "true", False: "false"}
    plain = [
        [
            words[item]
            if isinstance(item, bool)
            else without_formula(item)
            if isinstance(item, str)
            else item
            for item in column
        ]
        for column in columns.values()
    ]
    writer.writerows(zip(*plain, strict=True))


def hashes_of(paths: Iterable[Path]) -> dict[Path, str]:
    """SHA-256 of files."""
    found = {}
    for path in paths:
        with path.open("rb") as raw:
            found[path] = hashlib.file_digest(raw, "sha256").hexdigest()
    return found


def write_json(path: Path, facts: Mapping[str, Any], files: Together | None = None) -> None:
    """Write facts as JSON, perhaps together with other files."""
    with joined(files) as group, group.writer(path) as out:
        json.dump(facts, out, indent=2, ensure_ascii=False)
        out.write("\n")


def check_case(path: Path, names: Iterable[str]) -> None:
    """Refuse columns that are one for readers of a file that do not mind case."""
    folded: dict[str, str] = {}
    for name in names:
        if folded.setdefault(name.lower(), name) != name:
            refuse(
                f"cannot write {str(path)!r}: the columns {folded[name.lower()]!r} and {name!r} "
                f"differ in case only, which readers of {path.suffix} mistake; rename one, or "
                "write .csv"
            )


def _write_parquet(path: Path, columns: Mapping[str, Sequence[Any]], files: Together) -> None:
    import duckdb

    check_case(path, columns)
    arrays = {name: _array(name, column) for name, column in columns.items()}
    with files.path(path) as draft, duckdb.connect() as connection:
        try:
            connection.register("arrays", arrays)
            # Into the private draft itself, not into another file that takes its place.
            name = str(draft).replace("'", "''")
            connection.execute(f"COPY arrays TO '{name}' (FORMAT parquet, USE_TMP_FILE false)")
        except duckdb.IOException as error:
            msg = f"cannot write {str(path)!r}: {str(error).splitlines()[0]}"
            raise InputError(msg) from error


def _array(name: str, column: Sequence[Any]) -> NDArray[Any]:
    if name == "published":
        return np.array(column, dtype=bool)
    there = [item for item in column if item is not None]
    numbers = all(isinstance(item, float) for item in there)
    if not numbers and name not in ("value", "lower", "upper"):
        array = np.empty(len(column), dtype=object)
        array[:] = column
        return array
    kind = np.float64 if numbers or not all(t.lstrip("-").isdigit() for t in there) else np.int64
    gaps = [item is None for item in column]
    return np.ma.array([kind(item or 0) for item in column], mask=gaps, dtype=kind)
