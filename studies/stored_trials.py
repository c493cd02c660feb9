"""Trials of an experiment in a file, one a line, so that an interrupted experiment goes on.

A line holds the trial and all it was made with: the arguments, and the version of the experiment.
A trial is taken from the file only if both are the same. One process at a time writes; a line that
was cut off is left out by readers, and the next writer replaces the file as a whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from csp.errors import InputError
from csp.formats.files import atomic_writer

try:
    import fcntl
except ImportError:  # Windows: two processes on one file are not told apart
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")


def load_records(store: Path, read: Callable[[dict[str, Any]], T], version: str) -> list[T]:
    """Read the trials of one version from a file, which is not changed; none if there is no file.

    Parameters
    ----------
    store : Path
    read : callable
        Makes a trial of plain data, or raises ValueError, KeyError or TypeError.
    version : str
        Of the experiment; trials of others are left out.

    Raises
    ------
    InputError
        If a line is not a trial (line named).
    """
    if not store.exists():
        return []
    return list(_records(store, store.read_bytes(), read, version).values())


def _records(
    store: Path, text: bytes, read: Callable[[dict[str, Any]], T], version: str
) -> dict[str, T]:
    """Trials of one version by key; what follows the last line feed was cut off."""
    found = {}
    for number, line in enumerate(text.rpartition(b"\n")[0].splitlines(), start=1):
        try:
            facts = json.loads(line)
            if facts["version"] == version:
                found[_key(facts["made_with"])] = read(facts["trial"])
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{str(store)!r}, line {number}: no trial; give a new folder"
            raise InputError(msg) from error
    return found


def _key(made_with: Mapping[str, Any]) -> str:
    return json.dumps(made_with, sort_keys=True)


def run_missing(
    store: Path, wanted: Sequence[Mapping[str, Any]], run: Callable[..., T],
    read: Callable[[dict[str, Any]], T], *, version: str, jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[T]:  # fmt: skip
    """Run the trials that a file does not hold yet, and add each to it as soon as it is there.

    Parameters
    ----------
    store : Path
    wanted : sequence of mapping
        Arguments of each trial, in order; plain data.
    run : callable
        Takes the arguments by name; returns a dataclass.
    read : callable
        See `load_records`.
    version : str
        Of the experiment: another one wherever the same arguments may give another trial.
    jobs : int
        Trials at one time, by joblib: processes of its own by default; any other backend of
        joblib's (dask, ray) by its own switch ``joblib.parallel_config``.
    progress : callable, optional
        Called with trials done and trials wanted.

    Returns
    -------
    list
        All that were wanted, in order.

    Raises
    ------
    InputError
        If `jobs` is 0, or another process writes the file.
    """
    if jobs == 0:
        msg = "jobs 0 runs nothing; give the number of processes, or -1 for all cores"
        raise InputError(msg)
    keys = [_key(made_with) for made_with in wanted]
    with _writable(store) as (file, text):
        done = _records(store, text, read, version)
        todo = [i for i, key in enumerate(keys) if key not in done]
        count = len(keys) - len(todo)
        if progress is not None:
            progress(count, len(keys))
        found = _in_parallel([wanted[i] for i in todo], run, jobs)
        for i, one in zip(todo, found, strict=True):
            trial = asdict(one)  # type: ignore[call-overload]
            facts = {"version": version, "made_with": wanted[i], "trial": trial}
            file.write(json.dumps(facts).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            done[keys[i]] = one
            count += 1
            if progress is not None:
                progress(count, len(keys))
    return [done[key] for key in keys]


@contextmanager
def _writable(store: Path) -> Iterator[tuple[BinaryIO, bytes]]:
    """Open a file at its end for this process alone, and read it; whole lines only.

    Raises
    ------
    InputError
        If another process has it.
    """
    while True:
        with store.open("a+b") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    msg = (
                        f"another run writes {str(store)!r}; wait until it has ended, or give "
                        "another folder"
                    )
                    raise InputError(msg) from None
            file.seek(0)
            text = file.read()
            if not os.path.samestat(os.fstat(file.fileno()), store.stat()):
                continue  # it was replaced before it was ours
            whole, end, cut_off = text.rpartition(b"\n")
            if not cut_off:
                yield file, text
                return
            with atomic_writer(store) as out:
                out.write((whole + end).decode())


def _in_parallel(
    arguments: Iterable[Mapping[str, Any]], run: Callable[..., T], jobs: int
) -> Iterable[T]:
    if jobs == 1:
        for given in arguments:
            yield run(**given)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(run)(**a) for a in arguments)
