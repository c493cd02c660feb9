"""The releases of all runs of a job: what stays suppressed, what changed, what all of them tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attacks.release_alone.several_releases import differencing
from cellveil.front import refuse
from cellveil.io.kept import Kept, keep_again, kept_from
from cellveil.jobs.job import Job
from csp.clock import Clock
from csp.errors import InputError, OutOfTime
from csp.formats.files import Together
from csp.mechanism import Protected
from csp.release.release import Release
from csp.release_file import read_release, write_protected
from csp.tables.codes import Labels, cell_name
from csp.tables.table import Table

__all__ = ["Archive"]

_NUMBERED = re.compile(r"\.([0-9]{3,9})\.json")


@dataclass(frozen=True, slots=True)
class Archive:
    """Releases of earlier runs, the oldest first, by the names of the tables they are of.

    Attributes
    ----------
    folder : Path or None
        None where the job keeps no history.
    past : tuple of Path
    store : bool
        Whether the release of this run is put there.
    """

    folder: Path | None
    past: tuple[Path, ...] = ()
    store: bool = True

    @classmethod
    def of(cls, job: Job) -> Archive:
        """History of a job as it lies in its folder."""
        if job.output.history is None:
            return cls(None)
        folder = job.path.parent / job.output.history
        return cls(folder, tuple(sorted(folder.glob("*.json"))) if folder.is_dir() else ())

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read."""
        return tuple(file for path in self.past for file in (path, path.with_suffix(".csv")))

    def of_group(self, names: Sequence[str]) -> list[Path]:
        """Releases of a group of tables, in the order of the runs."""
        head = "+".join(names)
        found = [path for path in self.past if _NUMBERED.fullmatch(path.name.removeprefix(head))]
        return sorted(found, key=lambda path: int(_NUMBERED.fullmatch(path.name[len(head) :])[1]))  # type: ignore[index]

    def kept(self, job: Job, names: Sequence[str], table: Table, recode: Sequence[str]) -> Kept:
        """Cells that stay suppressed: those of the last run, and of the file that the job names."""
        asked = job.asked.earlier
        marks, told = np.zeros(table.n_cells, bool), list[str]()
        named = kept_from(asked, table, recode)
        found = [] if named is None else [named]
        if past := self.of_group(names):
            last, _ = read_release(past[-1])
            found.append(keep_again(last, table, asked, past[-1].name, recode))
        for one in found:
            marks |= one.cells
            told += one.told
        return Kept(marks, tuple(told))

    def told(self, names: Sequence[str], new: Release, clock: Clock) -> list[str]:
        """Say what changed since the last run, and what all releases tell together.

        Raises
        ------
        InputError
            If a cell that is suppressed can be worked out from several releases.
        """
        past = self.of_group(names)
        if not past:
            return ["The first release of the history."] if self.folder is not None else []
        releases = [read_release(path)[0] for path in past]
        return [*_changes(releases[-1], new, past[-1].name), *_together(releases, new, clock)]

    def add(self, names: Sequence[str], protected: Protected, files: Together) -> list[Path]:
        """Put the release of this run there, unless it is that of the last one again."""
        past = self.of_group(names)
        if self.folder is None or not self.store:
            return []
        if past and _same(read_release(past[-1])[0], protected.release):
            return []
        self.folder.mkdir(parents=True, exist_ok=True)
        number = 1
        if past:
            number += int(_NUMBERED.fullmatch(past[-1].name[len("+".join(names)) :])[1])  # type: ignore[index]
        path = self.folder / f"{'+'.join(names)}.{number:03d}.json"
        write_protected(protected, path, files=files)
        return [path]


def _places(old: Release, new: Release) -> NDArray[np.int64] | None:
    """Place of each cell of a new release in an old one, -1 for none; None for other dimensions."""
    if sorted(old.names) != sorted(new.names):
        return None
    turned = Labels.of(new.labels).turned([new.names.index(name) for name in old.names])
    return Labels.of(old.labels).places(turned)


def _differ(old: Release, new: Release, at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Cells of a new release that both publish, with different values."""
    there = np.where(at >= 0, at, 0)
    both = (at >= 0) & ~new.pattern & ~old.pattern[there]
    scale = max(old.scale, new.scale)
    one = old.published[there] * 10 ** (scale - old.scale)
    return np.asarray(both & (one != new.published * 10 ** (scale - new.scale)), bool)


def _same(old: Release, new: Release) -> bool:
    at = _places(old, new)
    if at is None or (at < 0).any() or len(at) != len(old.pattern):
        return False
    return bool((old.pattern[at] == new.pattern).all()) and not _differ(old, new, at).any()


def _cells(count: int) -> str:
    return f"{count:,} {'cell' if count == 1 else 'cells'}"


def _changes(old: Release, new: Release, what: str) -> list[str]:
    at = _places(old, new)
    if at is None:
        return [f"{what} is by {', '.join(old.names)}; it is not compared."]
    there = np.where(at >= 0, at, 0)
    counts = {
        "suppressed now and published then": (at >= 0) & new.pattern & ~old.pattern[there],
        "published now and suppressed then": (at >= 0) & ~new.pattern & old.pattern[there],
        "with other values": _differ(old, new, at),
        "new": at < 0,
    }
    found = [
        f"{_cells(int(cells.sum()))} {words}" for words, cells in counts.items() if cells.any()
    ]
    gone = len(old.pattern) - int((at >= 0).sum())
    found += [f"{_cells(gone)} gone"] if gone else []
    if not found:
        return [f"Since {what} nothing changed."]
    return [f"Since {what}: {'; '.join(found)}."]


def _together(past: Sequence[Release], new: Release, clock: Clock) -> list[str]:
    """Attack the releases of the same data together; those of other data tell nothing of it."""
    alike = []
    for old in past:
        at = _places(old, new)
        if at is not None and (at >= 0).any() and not _differ(old, new, at).any():
            alike.append(old)
    others = len(past) - len(alike)
    lines = []
    if others:
        few = "release is" if others == 1 else "releases are"
        lines.append(
            f"{others} earlier {few} of other data or codes: values that both publish differ, so "
            "nothing follows from both."
        )
    if not alike or not any(one.pattern.any() for one in (*alike, new)):
        return lines
    few = "release" if len(alike) == 1 else f"{len(alike)} releases"
    try:
        found = differencing([*alike, new], time_limit=clock.seconds)
    except (InputError, OutOfTime) as error:
        return [*lines, f"Not attacked together with the earlier {few} of the same data: {error}."]
    known = found.lower == found.upper
    shown = np.array([bool(one) for one in found.publishers], bool)
    mine = np.isin(found.cells, found.places[-1][np.flatnonzero(new.pattern)])
    # What follows from one release alone is no news: its own audit has judged it.
    alone = (found.alone_lower == found.alone_upper).any(axis=0)
    worked_out = known & ~shown & ~alone & mine
    if worked_out.any():
        union = found.release
        cell = cell_name(union.names, union.labels[int(found.cells[np.argmax(worked_out)])])
        refuse(
            f"together with the earlier {few}, {int(worked_out.sum())} suppressed cells can be "
            f"worked out, the first {cell}; nothing is published. Name them in by_hand with MAN "
            "among the rules, or withdraw the earlier release"
        )
    before = int((shown & mine).sum())
    words = f"The earlier {few} of the same data and this one disclose nothing more together"
    if before:
        words += (
            "; 1 cell that is suppressed now was published before" if before == 1
            else f"; {before:,} cells that are suppressed now were published before"
        )  # fmt: skip
    return [*lines, f"{words}."]
