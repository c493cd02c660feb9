"""Trials of an experiment in a file, one a line, so that an interrupted experiment goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from csp.errors import InputError

__all__ = ["load_records", "run_missing"]

K = TypeVar("K")
T = TypeVar("T")


def load_records(store: Path, read: Callable[[dict[str, Any]], T]) -> list[T]:
    """Read trials from a file; none if it does not exist.

    A last line that was cut off is dropped from the file.

    Parameters
    ----------
    store : Path
    read : callable
        Makes a trial of plain data, or raises ValueError, KeyError or TypeError.

    Raises
    ------
    InputError
        If a line is no trial (line named).
    """
    if not store.exists():
        return []
    text = store.read_text(encoding="utf-8")
    whole, _, rest = text.rpartition("\n")
    if rest:
        store.write_text(whole + "\n" if whole else "", encoding="utf-8")
    records = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            records.append(read(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{str(store)!r}, line {number}: no trial; give a new folder"
            raise InputError(msg) from error
    return records


def run_missing(
    store: Path, wanted: Mapping[K, tuple[Any, ...]], run: Callable[..., T],
    known: Mapping[K, T], *, jobs: int = 1, progress: Callable[[int, int], None] | None = None,
) -> list[T]:  # fmt: skip
    """Run the trials that are not known yet, and add each to the file as soon as it is there.

    Parameters
    ----------
    store : Path
    wanted : mapping
        Arguments of each trial by its key, in order.
    run : callable
        Takes the arguments; returns a dataclass.
    known : mapping
        Trials by key.
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
        If `jobs` is 0.
    """
    if jobs == 0:
        msg = "jobs 0 runs nothing; give the number of processes, or -1 for all cores"
        raise InputError(msg)
    done = dict(known)
    todo = [key for key in wanted if key not in done]
    count = len(wanted) - len(todo)
    if progress is not None:
        progress(count, len(wanted))
    found = _in_parallel([wanted[key] for key in todo], run, jobs)
    with store.open("a", encoding="utf-8") as file:
        for key, one in zip(todo, found, strict=True):
            file.write(json.dumps(asdict(one)) + "\n")  # type: ignore[call-overload]
            file.flush()
            done[key] = one
            count += 1
            if progress is not None:
                progress(count, len(wanted))
    return [done[key] for key in wanted]


def _in_parallel(
    arguments: Iterable[tuple[Any, ...]], run: Callable[..., T], jobs: int
) -> Iterable[T]:
    if jobs == 1:
        for given in arguments:
            yield run(*given)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(run)(*a) for a in arguments)
