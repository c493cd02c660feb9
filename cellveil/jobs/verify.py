"""Repeat a run from its internal record, and say whether the same files come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cellveil.front import refuse
from cellveil.io.files import hashes_of
from cellveil.jobs.history import Archive
from cellveil.jobs.job import read_job
from cellveil.jobs.record import read_record, versions
from cellveil.jobs.run import run_job


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a run that was repeated.

    Attributes
    ----------
    outputs : mapping of str to bool
        Files that were written, by name, and whether they came out byte for byte the same.
    versions : mapping of str to (str, str)
        Versions that differ: then and now.
    """

    outputs: Mapping[str, bool]
    versions: Mapping[str, tuple[str, str]]

    @property
    def same(self) -> bool:
        """Whether every file came out the same."""
        return all(self.outputs.values())

    @property
    def words(self) -> list[str]:
        """Say it."""
        other = [name for name, same in self.outputs.items() if not same]
        n = len(self.outputs)
        line = f"Reproduced: all {n} files came out byte for byte the same."
        if other:
            line = f"Not reproduced: {len(other)} of {n} files differ: {', '.join(other)}."
        changed = self.versions.items()
        return [
            line,
            *(f"{name} was {then} then and is {now} now." for name, (then, now) in changed),
        ]


def verify(path: Path, **watched: object) -> Verdict:
    """Repeat the run of a record in a folder of its own, and compare what it writes.

    Parameters
    ----------
    path : Path
        Of the record.
    **watched
        `phase` and `progress` of `run_job`.

    Raises
    ------
    InputError
        If the file is not a record, or a file that the run read is not what it was (named).
    """
    facts, folder = read_record(path), path.parent
    for name, then in facts["inputs"].items():
        file = folder / name
        if not file.is_file():
            refuse(f"{str(file)!r}, which the run read, is not there any more")
        if hashes_of([file])[file] != then:
            refuse(f"{str(file)!r} is not the file that the run read: its content has changed")
    job = read_job(folder / facts["job"], anywhere=True)
    with TemporaryDirectory(prefix="cellveil-") as made:
        place = Path(made)
        inside = replace(job.output, folder=str(place / "published"))
        known = {(folder / name).resolve() for name in facts["inputs"]}
        archive = Archive.of(job)
        then = tuple(path for path in archive.past if path.resolve() in known)
        again = replace(archive, past=then, store=False)
        once_more = replace(job, output=inside, record=place / "record")
        run_job(once_more, archive=again, **watched)  # type: ignore[arg-type]
        found = hashes_of(path for path in (place / "published").iterdir())
        now = {path.name: sha for path, sha in found.items()}
    current = versions()
    return Verdict(
        {name: now.get(name) == then for name, then in facts["outputs"].items()},
        {
            name: (then, current.get(name, "missing"))
            for name, then in facts["versions"].items()
            if current.get(name) != then
        },
    )
