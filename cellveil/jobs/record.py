"""The internal record of a run: what it read and wrote by hash, and how near it came to an optimum.

It is kept beside the job and is not for publication: the hash of confidential data tells whether a
guess at them is right, and costs and gaps are functions of suppressed values.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import cellveil
from cellveil.front import refuse
from cellveil.io.files import hashes_of
from csp.formats.files import Together
from csp.formats.reading import read_json, regular_file

SUFFIX = ".internal.json"
"""What the name of a record ends with."""

_WARNING = "this record holds hashes of confidential data; keep it where the data are kept"

_HEAD = "NOT FOR PUBLICATION"
"""Key of the first line of a record."""


def record_path(job: Path) -> Path:
    """Where the record of a job is kept: beside the job, never among its results."""
    return job.with_name(f"{job.stem}{SUFFIX}")


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files that a run reads, as they were when it began.

    Attributes
    ----------
    hashes : mapping of Path to str
        SHA-256 of each.
    """

    hashes: Mapping[Path, str]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Inputs:
        """Hash files before they are read.

        Raises
        ------
        InputError
            If one cannot be read.
        """
        paths = list(paths)
        for path in paths:
            regular_file(path)
        return cls(hashes_of(paths))

    def check(self) -> None:
        """Refuse a result of files that changed while the run lasted.

        Raises
        ------
        InputError
        """
        for path, known in hashes_of(self.hashes).items():
            if known != self.hashes[path]:
                refuse(f"{str(path)!r} changed while it was read; run the job again")


def versions() -> dict[str, str]:
    """Name what a result depends on."""
    libraries = {name: metadata.version(name) for name in ("highspy", "numpy", "pulp")}
    return {"cellveil": cellveil.__version__, "python": platform.python_version()} | libraries


def record_facts(
    record: Path,
    job: Path,
    inputs: Inputs,
    outputs: Mapping[str, str],
    tables: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Facts of the record of a run, ready for JSON; files are named as seen from the record.

    `outputs` are the files that were written, by name, with their SHA-256; `tables` what is known
    of each, with what only the office may know.
    """
    folder = record.parent
    return {
        _HEAD: _WARNING,
        "job": os.path.relpath(job, folder),
        "versions": versions(),
        "inputs": {os.path.relpath(path, folder): sha for path, sha in inputs.hashes.items()},
        "outputs": dict(outputs),
        "tables": list(tables),
    }


def write_record(path: Path, facts: Mapping[str, Any], files: Together) -> None:
    """Write a record, for its owner only from the first byte on."""
    head, warning = json.dumps(_HEAD), json.dumps(facts[_HEAD])
    rest = {name: fact for name, fact in facts.items() if name != _HEAD}
    with files.writer(path, private=True) as out:
        out.write(f"{{{head}: {warning},\n{json.dumps(rest, indent=2, ensure_ascii=False)[2:]}\n")


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of a run.

    Raises
    ------
    InputError
        If the file is not a record.
    """
    facts = read_json(path, "a record of a run")
    parts = {"job": str, "versions": dict, "inputs": dict, "outputs": dict}
    if _HEAD not in facts or any(not isinstance(facts.get(n), t) for n, t in parts.items()):
        refuse(f"{str(path)!r} is not the record of a run: NAME{SUFFIX}, beside a job that was run")
    return facts
