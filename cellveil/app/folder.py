"""A private folder for all that the page keeps; it goes in any case, now or at a later start."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: what a killed run left is for its owner to delete
    fcntl = None  # type: ignore[assignment]

PREFIX = "cellveil-page-"
LOCK = "lock"
"""File on which a run holds a lock, which the system takes back when it ends in whatever way."""


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make a folder that is its owner's alone, as is every file that is made meanwhile.

    Temporary files go there too. It is removed at the end, which no signal interrupts; folders that
    killed runs of the same user left are removed at the start.
    """
    _remove_dead(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    before, mask = tempfile.tempdir, os.umask(0o077)
    lock = None
    try:
        lock = _locked(folder)
        tempfile.tempdir = str(folder)
        yield folder
    finally:
        tempfile.tempdir = before
        os.umask(mask)
        with _undisturbed():
            shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int:
    """Handle of the lock; it takes its name when it is held, so that no other run finds it free."""
    draft = folder / secrets.token_hex(6)
    handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks: nothing is removed there later
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.rename(folder / LOCK)
    return handle


def _remove_dead(place: Path) -> None:
    """Remove folders of the page whose runs are over: ours, of this user, and of nobody else."""
    if fcntl is None:
        return
    with suppress(OSError):
        for folder in place.glob(f"{PREFIX}*"):
            with suppress(OSError):
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    # What another user left in a shared place under such a name is neither opened nor followed.
    found = folder.lstat()
    if not (stat.S_ISDIR(found.st_mode) and _is_private(found)):
        return
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and _is_private(found):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.getuid() and not found.st_mode & 0o077


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let no signal end what runs inside; signals are heard in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in kept.items():
            if handler is not None:
                signal.signal(number, handler)
