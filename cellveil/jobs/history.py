"""The releases of all runs of a job: what stays suppressed, what changed, what all of them tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cellveil.io.kept import Kept, keep_again, kept_from
from cellveil.jobs.job import Job
from cellveil.jobs.together import attacked_together, cells_words, differ, places_of
from csp.clock import Clock
from csp.formats.files import Together
from csp.mechanism import Protected
from csp.release.release import Release
from csp.release_file import read_release, write_protected
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
        OutOfTime
            If the time did not suffice to see.
        """
        past = self.of_group(names)
        if not past:
            return ["The first release of the history."] if self.folder is not None else []
        releases = [read_release(path)[0] for path in past]
        whose = [path.name for path in past]
        return [
            *_changes(releases[-1], new, whose[-1]),
            *attacked_together(releases, whose, new, clock),
        ]

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


def _same(old: Release, new: Release) -> bool:
    at = places_of(old, new)
    if at is None or (at < 0).any() or len(at) != len(old.pattern):
        return False
    return bool((old.pattern[at] == new.pattern).all()) and not differ(old, new, at).any()


def _changes(old: Release, new: Release, what: str) -> list[str]:
    at = places_of(old, new)
    if at is None:
        return [f"{what} is by {', '.join(old.names)}; it is not compared."]
    there = np.where(at >= 0, at, 0)
    counts = {
        "suppressed now and published then": (at >= 0) & new.pattern & ~old.pattern[there],
        "published now and suppressed then": (at >= 0) & ~new.pattern & old.pattern[there],
        "with other values": differ(old, new, at),
        "new": at < 0,
    }
    found = [
        f"{cells_words(int(cells.sum()))} {words}" for words, cells in counts.items() if cells.any()
    ]
    gone = len(old.pattern) - int((at >= 0).sum())
    found += [f"{cells_words(gone)} gone"] if gone else []
    if not found:
        return [f"Since {what} nothing changed."]
    return [f"Since {what}: {'; '.join(found)}."]
