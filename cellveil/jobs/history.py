"""The releases of all runs of a job: what stays suppressed, what changed, what all of them tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cellveil.io.kept import Kept, keep_again, kept_from
from cellveil.jobs.job import Job
from cellveil.jobs.together import Required, attacked_together, cells_words, differ, places_of
from csp.clock import Clock
from csp.formats.codes import names_alike
from csp.formats.files import Together
from csp.mechanism import Protected
from csp.release.release import Release
from csp.release_file import read_release, write_protected
from csp.tables.codes import Labels
from csp.tables.table import Table

_NUMBERED = re.compile(r"(.+)\.([0-9]{3,9})\.json")


@dataclass(frozen=True, slots=True)
class Archive:
    """Releases of earlier runs, by the names of the tables they are of.

    Attributes
    ----------
    folder : Path or None
        None where the job keeps no history.
    past : tuple of Path
    store : bool
        Whether the release of this run is put there.
    tables : tuple of str
        Names of all tables of the job.
    """

    folder: Path | None
    past: tuple[Path, ...] = ()
    store: bool = True
    tables: tuple[str, ...] = ()

    @classmethod
    def of(cls, job: Job) -> Archive:
        """History of a job as it lies in its folder."""
        if job.output.history is None:
            return cls(None)
        folder = job.path.parent / job.output.history
        past = sorted(path for path in folder.glob("*.json") if _NUMBERED.fullmatch(path.name))
        return cls(folder, tuple(past), tables=tuple(table.name for table in job.tables))

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read."""
        return tuple(file for path in self.past for file in (path, path.with_suffix(".csv")))

    def of_group(self, names: Sequence[str], now: Table | Release) -> list[Path]:
        """Releases of a group of tables, in the order of the runs.

        These have one of its tables in their name. Those that have none of any table of the job,
        since tables were renamed, are of the group if their dimensions and most codes are.
        """
        found = [
            path for path in self.past
            if _has(path, names) or (not _has(path, self.tables) and _alike(path, now))
        ]  # fmt: skip
        return sorted(found, key=_number)

    def attacked(self, names: Sequence[str], now: Table | Release) -> list[Path]:
        """Releases that are attacked together with the new one of a group, its own last."""
        return [*self._gone(names, now), *self.of_group(names, now)]

    def _gone(self, names: Sequence[str], now: Table | Release) -> list[Path]:
        """Releases of tables that the job does not have any more, which a group does not continue.

        They may be of its data all the same: what they publish of shared totals counts.
        """
        mine = {*self.of_group(names, now)}
        gone = [path for path in self.past if path not in mine and not _has(path, self.tables)]
        return sorted(gone, key=_number)

    def kept(
        self, job: Job, names: Sequence[str], table: Table, recode: Sequence[str],
        hierarchies: Sequence[str],
    ) -> Kept:  # fmt: skip
        """Cells that stay suppressed: those of last runs, and of the file that the job names."""
        asked = job.asked.earlier
        marks, told = np.zeros(table.n_cells, bool), list[str]()
        named = kept_from(asked, table, recode, hierarchies)
        found = [] if named is None else [named]
        past = self.of_group(names, table)
        # The newest of each table and of all; where tables were renamed, of each old name.
        last = {name: path for path in past for name in names if _has(path, [name])}
        if not last:
            last = {_head(path): path for path in past}
        last |= {_head(path): path for path in past[-1:]}
        found += [
            keep_again(read_release(path)[0], table, asked, path.name, recode, hierarchies)
            for path in sorted({*last.values()}, key=_number)
        ]
        for one in found:
            marks |= one.cells
            told += one.told
        return Kept(marks, tuple(told))

    def told(self, names: Sequence[str], protected: Protected, clock: Clock) -> list[str]:
        """Say what changed since the last run, and what all releases tell together.

        Raises
        ------
        InputError
            If a cell that is suppressed can be worked out from several releases, or a sensitive
            one narrowed below what the rules require.
        OutOfTime
            If the time did not suffice to see.
        """
        new = protected.release
        if self.folder is None:
            return []
        if not self.past:
            return ["The first release of the history."]
        past, gone = self.of_group(names, new), self._gone(names, new)
        lines = _changes(read_release(past[-1])[0], new, past[-1].name) if past else []
        lines += _of_others(gone if past else self.past, gone)
        together = self.attacked(names, new)
        if not together:
            return lines
        releases = [read_release(path)[0] for path in together]
        whose = [path.name for path in together]
        required = Required.of(protected)
        return [*lines, *attacked_together(releases, whose, new, clock, required)]

    def add(self, names: Sequence[str], protected: Protected, files: Together) -> list[Path]:
        """Put the release of this run there, unless it is that of the last one again."""
        if self.folder is None or not self.store:
            return []
        past = self.of_group(names, protected.release)
        if past and _same(read_release(past[-1])[0], protected.release):
            return []
        self.folder.mkdir(parents=True, exist_ok=True)
        # Higher than any, so that the newest is known if tables are replaced and come back.
        number = 1 + max((_number(path)[0] for path in self.past), default=0)
        path = self.folder / f"{'+'.join(names)}.{number:03d}.json"
        write_protected(protected, path, files=files)
        return [path]


def _of_others(others: Sequence[Path], gone: Sequence[Path]) -> list[str]:
    """Say what is done about releases of other tables, some of which the job had (`gone`)."""
    if not others:
        return []
    n = len(others)
    few = "1 release in the history is" if n == 1 else f"{n} releases in the history are"
    done = ", and they are not attacked together with this one"
    if gone:
        done = (
            f"; those of tables that the job does not have any more ({_heads(gone)}) are attacked "
            "together with this one, as far as they have cells in common"
        )
    return [f"{few} of other tables: {_heads(others)}. Nothing that they suppress is kept{done}."]


def _heads(paths: Sequence[Path]) -> str:
    return ", ".join(dict.fromkeys(map(_head, paths)))


def _head(path: Path) -> str:
    return path.name.rsplit(".", 2)[0]


def _number(path: Path) -> tuple[int, str]:
    return int(path.name.rsplit(".", 2)[1]), path.name


def _has(path: Path, names: Sequence[str]) -> bool:
    """Whether a release is of one of some tables; their names may have a + themselves."""
    return any(f"+{name}+" in f"+{_head(path)}+" for name in names)


def _alike(path: Path, now: Table | Release) -> bool:
    """Whether a release has the dimensions of another, and most of its codes."""
    old = read_release(path)[0]
    names, mine = names_alike([old.names, now.names], "release")
    if sorted(names) != sorted(mine):
        return False
    then, here = (Labels.of(one.labels).unused_dropped().categories for one in (old, now))
    for name, codes in zip(names, then, strict=True):
        others = here[mine.index(name)]
        if 2 * len({*codes} & {*others}) <= max(len(codes), len(others)):
            return False
    return True


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
