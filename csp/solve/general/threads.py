"""One thread for linear algebra on small matrices, whatever else the process does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")

# The limit is one of the process: the first search that needs it sets it, the last one lifts it.
_lock = Lock()
_inside: list[Any] = []


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread.

    Threads that share matrices of a few hundred columns wait for each other: the search of
    subspaces on toy3dsarah takes three times as long with two of them, on a machine that is free
    for both.
    """
    with _lock:
        _inside.append(threadpool_limits(1, "blas") if not _inside else _inside[0])
    try:
        yield
    finally:
        with _lock:
            limits = _inside.pop()
            if not _inside:
                limits.restore_original_limits()


def single_threaded(search: Iterator[T]) -> Iterator[T]:
    """Run a generator on one thread of BLAS, but not what is done with what it yields."""
    while True:
        with one_thread():
            found = next(search, None)
        if found is None:
            return
        yield found
