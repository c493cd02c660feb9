"""The folder of a session: what an output checker gets, and what a later session reads again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cellveil.crosstabs.figures import Figures
from cellveil.crosstabs.page import write_crosstab_page
from cellveil.crosstabs.workbook import write_crosstabs
from cellveil.front import folder_for
from cellveil.io.files import write_json
from cellveil.sessions.acro import write_results
from cellveil.sessions.asking import Asked, Decision
from csp.errors import InputError
from csp.formats.files import Together, written_together
from csp.release.release import Release
from csp.release_file import read_release, write_protected

MEMORY = "session.json"
"""File by which a later session knows what was asked and released."""

_RELEASES = "releases"

_OWN = re.compile(
    r"output_\d+_\d+\.csv|checksums/output_\d+_\d+\.csv\.txt|releases/table\d+-\d+\.json", re.ASCII
)
"""Files whose number depends on that of the tables."""


def write(
    folder: Path, tables: Mapping[str, Figures], asked: Mapping[str, Asked],
    decided: Mapping[str, Decision], title: str, options: Mapping[str, Any],
) -> list[Path]:  # fmt: skip
    """Write tables for an output checker, all files or none.

    Parameters
    ----------
    folder : Path
    tables : mapping of str to Figures
    asked, decided : mapping of str to Asked, and to Decision
    title : str
    options : mapping of str to plain data
        What a later session has to say too.

    Returns
    -------
    list of Path

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    before = _files_of(folder)
    for one in (folder, folder / _RELEASES, folder / "checksums"):
        folder_for(one)
    found: list[Path] = []
    with written_together() as group:
        memory: dict[str, Any] = {"version": 1, "options": dict(options), "tables": {}}
        for number, (name, table) in enumerate(tables.items()):
            releases = _write_releases(folder, number, table, group)
            found += [folder / path for path in releases.values()]
            memory["tables"][name] = {
                "asked": asked[name].to_dict(),
                "decision": asdict(decided[name]),
                "releases": releases,
            }
        found += write_results(folder, tables, asked, decided, group)
        page = folder / "report.html"
        write_crosstab_page(page, tables, title, files=group)
        found += [folder / MEMORY, page, page.with_suffix(".json")]
        if find_spec("openpyxl") is not None:
            write_crosstabs(folder / "tables.xlsx", tables, files=group)
            found.append(folder / "tables.xlsx")
        memory["files"] = [path.relative_to(folder).as_posix() for path in found]
        write_json(folder / MEMORY, memory, group)
    for name in before - set(memory["files"]):  # of tables that were rejected since
        (folder / name).unlink(missing_ok=True)
        if name.startswith(_RELEASES):
            (folder / name).with_suffix(".csv").unlink(missing_ok=True)
    return found


def options_of(folder: Path) -> dict[str, Any]:
    """Options of the session that wrote a folder; none if there was none."""
    try:
        told = json.loads((folder / MEMORY).read_text(encoding="utf-8"))["options"]
        return dict(told)
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def clear(folder: Path) -> bool:
    """Take back all that a session wrote; whether there was anything."""
    if not (folder / MEMORY).exists():
        return False
    fixed = {"results.json", "report.html", "report.json", "tables.xlsx", MEMORY}
    for name in _files_of(folder) | fixed | {f"checksums/{one}.txt" for one in fixed}:
        (folder / name).unlink(missing_ok=True)
        if name.startswith(_RELEASES):
            (folder / name).with_suffix(".csv").unlink(missing_ok=True)
    return True


def _files_of(folder: Path) -> set[str]:
    """Files that an earlier session wrote, by names that none but a session gives."""
    try:
        told = json.loads((folder / MEMORY).read_text(encoding="utf-8"))["files"]
        return {name for name in told if _OWN.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _write_releases(folder: Path, number: int, table: Figures, group: Together) -> dict[str, str]:
    """Write the release of each response; their paths below the folder."""
    paths = {}
    for place, (of, one) in enumerate(table.protected.items()):
        paths[of] = f"{_RELEASES}/table{number + 1}-{place + 1}.json"
        write_protected(one, folder / paths[of], files=group)
    return paths


def read(folder: Path) -> dict[str, tuple[Asked, Decision, dict[str, Release]]]:
    """Read what an earlier session wrote: by table what was asked, decided and released.

    Parameters
    ----------
    folder : Path
        Without a session there is none.

    Raises
    ------
    InputError
        If the file is damaged, or a release is not there.
    """
    path = folder / MEMORY
    if not path.exists():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        listed = told["tables"].items()
        found = {}
        for name, one in listed:
            where = f"{str(path)!r}, {name!r}"
            asked = Asked.from_dict(one["asked"], where)
            decision = Decision(**one["decision"])
            releases = {
                of: read_release(_below(folder, place))[0] for of, place in one["releases"].items()
            }
            found[name] = (asked, decision, releases)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        msg = (
            f"{str(path)!r} cannot be read as a session ({type(error).__name__}); take another "
            "folder, or put back the file that a session wrote"
        )
        raise InputError(msg) from error
    return found


def _below(folder: Path, place: str) -> Path:
    """Path of a release, which must lie in the folder of releases."""
    path = folder / place
    if path.parent.resolve() != (folder / _RELEASES).resolve():
        msg = f"{place!r} is not in {str(folder / _RELEASES)!r}; the file of the session is damaged"
        raise InputError(msg)
    return path
