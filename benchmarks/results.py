"""Results on disk: one row per spec and solver, with all that tells whether it is still good.

The file is rewritten after every run, under another name that then replaces it, so that it is
whole whenever it is read, or the power fails.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import metadata
from pathlib import Path

import cellveil
import csp
from benchmarks.own import PREFIX, fingerprint
from benchmarks.peers import Run
from csp.errors import InputError
from csp.formats.files import atomic_writer
from csp.formats.reading import read_text

COLUMNS = (
    "group", "spec", "solver", "method", "time_limit", "digest", "cells", "primary", "scale",
    "outcome", "proven", "value", "bound", "gap", "suppressed", "unsafe", "cpu", "wall", "proof",
    "memory", "session", "versions", "machine",
)  # fmt: skip
"""Columns of results.csv."""

_LIBRARIES = {
    "ours": ("highspy", "numpy", "scipy", "numba"),
    "ilp": ("highspy", "pulp", "numpy"),
    "argus": ("pytauargus",),
    "modular": ("pytauargus",),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One run, and what it was a run of.

    Attributes
    ----------
    group, spec : str
    method : str
        Method of ours that the spec asks for.
    time_limit : float
        Seconds.
    digest : str
        Fingerprint of the problem.
    cells, primary : int
        Numbers of cells.
    scale : int
        Values and bounds are in units of ``10**-scale``.
    session : str
        When the benchmark was started that did this run; times are compared within a session.
    versions : str
        Of what could change the result; see `versions`.
    machine : str
        See `machine`.
    run : Run
    """

    group: str
    spec: str
    method: str
    time_limit: float
    digest: str
    cells: int
    primary: int
    scale: int
    session: str
    versions: str
    machine: str
    run: Run

    @property
    def path(self) -> str:
        """Group and name of the spec."""
        return f"{self.group}/{self.spec}"

    @property
    def key(self) -> tuple[str, str]:
        """What there is one row of: spec and solver."""
        return self.path, self.run.solver

    @property
    def current(self) -> bool:
        """Whether this machine with its present versions made it."""
        return self.machine == machine() and self.versions == versions(self.run.solver)

    def same(self, digest: str, method: str, time_limit: float) -> bool:
        """Whether it answers a question that is asked again, so that it need not be."""
        asked = (self.digest, self.method, self.time_limit)
        return self.current and asked == (digest, method, time_limit)


# ---- what made it --------------------------------------------------------------------------------


def versions(solver: str) -> str:
    """Versions of what could change the results of a solver.

    Our own includes a fingerprint of the sources of `csp`, so that results of other states of the
    code are told apart.
    """
    base = solver.partition(":")[0].replace("without", "ours")
    if base == PREFIX:
        return f"python {platform.python_version()}; {fingerprint(solver)}"
    words = []
    if base in ("ours", "ilp"):
        words = [
            f"python {platform.python_version()}",
            f"cellveil {cellveil.__version__}+{_code()}",
        ]
    return "; ".join([*words, *(f"{name} {_version(name)}" for name in _LIBRARIES[base])])


@cache
def machine() -> str:
    """Processor, cores, memory and system."""
    memory = "memory unknown"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GB"
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    return f"{_processor()}, {os.cpu_count()} cores, {memory}, {system}"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    if facts.is_file():
        for line in facts.read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or "unknown processor"


@cache
def _code() -> str:
    seen = hashlib.sha256()
    house = Path(csp.__file__).parent
    for path in sorted(house.rglob("*.py")):
        seen.update(path.relative_to(house).as_posix().encode() + b"\n")
        seen.update(path.read_bytes())
    return seen.hexdigest()[:8]


@cache
def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


# ---- the file ------------------------------------------------------------------------------------


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write all rows, whole or not at all.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    with atomic_writer(path) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(_fields(row) for row in rows)


def read_rows(path: Path) -> list[Row]:
    """Read what `write_rows` wrote; no rows if there is no file.

    Raises
    ------
    InputError
        If the file holds anything else.
    """
    if not path.exists():
        return []
    lines = list(csv.reader(io.StringIO(read_text(path))))
    advice = "move it away, or name another folder with --out"
    if not lines or tuple(lines[0]) != COLUMNS:
        msg = f"{str(path)!r} is not a file of benchmark results of this version; {advice}"
        raise InputError(msg)
    rows = []
    for number, fields in enumerate(lines[1:], start=2):
        try:
            rows.append(_row(fields))
        except (ValueError, KeyError) as error:
            msg = f"{str(path)!r}, line {number}: no row of benchmark results; {advice}"
            raise InputError(msg) from error
    return rows


def _fields(row: Row) -> list[str]:
    run = row.run
    gap = None if run.gap is None else round(run.gap, 6)
    found = (
        row.group, row.spec, run.solver, row.method, row.time_limit, row.digest, row.cells,
        row.primary, row.scale, run.outcome, "yes" if run.proven else "no", run.value, run.bound,
        gap, run.suppressed, run.unsafe, run.cpu, run.wall, run.proof, run.memory, row.session,
        row.versions, row.machine,
    )  # fmt: skip
    return ["" if item is None else str(item) for item in found]


def _row(fields: Sequence[str]) -> Row:
    said = dict(zip(COLUMNS, fields, strict=True))

    def real(name: str) -> float | None:
        return float(said[name]) if said[name] else None

    def whole(name: str) -> int | None:
        return int(said[name]) if said[name] else None

    run = Run(
        said["solver"], said["outcome"], cpu=real("cpu"), wall=real("wall"), proof=real("proof"),
        value=whole("value"), bound=Fraction(said["bound"]) if said["bound"] else None,
        proven={"yes": True, "no": False}[said["proven"]], suppressed=whole("suppressed"),
        unsafe=whole("unsafe"), memory=real("memory"),
    )  # fmt: skip
    return Row(
        said["group"], said["spec"], said["method"], float(said["time_limit"]), said["digest"],
        int(said["cells"]), int(said["primary"]), int(said["scale"]), said["session"],
        said["versions"], said["machine"], run,
    )  # fmt: skip
