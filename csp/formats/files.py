"""Files written whole or not at all, plain or gzipped, alone or together."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from csp.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: drafts of dead runs are left for their owner to delete
    fcntl = None  # type: ignore[assignment]

names_taken: ContextVar[list[str] | None] = ContextVar("names_taken", default=None)
"""Collects the files that took their names, for a program that says what an interrupt left."""

_DRAFT = re.compile(r"\..+\.[0-9a-f]{12}\.part", re.DOTALL)
_YOUNG = 60.0
"""Seconds in which a draft may still be on its way to its lock."""


@contextmanager
def written_together() -> Iterator[Together]:
    """Write several files that appear under their names together, when all are complete.

    Each file goes to a private draft in its own folder. At the end of the ``with`` block all
    drafts are on the disk, and only then take their names, one right after the other; if the
    block raises or a draft cannot be completed, nothing has changed. A machine that stops in the
    midst of the renaming, or a name that is taken away just then, may leave some of the files new
    and some old; each of them is whole.

    Yields
    ------
    Together

    Raises
    ------
    InputError
        If a file cannot be written: no such folder, no permission, a full disk, or a name that
        belongs to something else than a file.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with written_together() as files:
    ...     for name in ("one.txt", "two.txt"):
    ...         with files.writer(os.path.join(folder, name)) as out:
    ...             _ = out.write("text")
    >>> sorted(os.listdir(folder))
    ['one.txt', 'two.txt']
    """
    files = Together()
    try:
        yield files
        files._finish()
    finally:
        files._clean()


def joined(files: Together | None) -> AbstractContextManager[Together]:
    """Return the block that a caller has opened, or one of its own that ends with the ``with``."""
    return written_together() if files is None else nullcontext(files)


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open one text file that appears under its name only when it is complete.

    As `written_together` and its `writer`, for a file of its own.
    """
    with written_together() as files, files.writer(path) as out:
        yield out


class Together:
    """Files of one `written_together` block."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._whole: list[_Draft] = []

    @contextmanager
    def writer(self, path: str | os.PathLike[str], *, private: bool = False) -> Iterator[TextIO]:
        """Open a text file.

        Parameters
        ----------
        path : path-like
            UTF-8 with plain line feeds; gzipped (without a time stamp, so that the same text
            gives the same bytes) if the name ends with .gz.
        private : bool
            Only its owner may read it, whatever the umask and the file that was there.

        Yields
        ------
        text file

        Raises
        ------
        InputError
            As for `written_together`.
        """
        with self.path(path, private=private) as draft, draft.open("r+b") as raw:
            gz = Path(os.path.realpath(path)).suffix == ".gz"
            packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if gz else raw
            with packed, io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text:
                yield text

    @contextmanager
    def path(self, path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
        """Name of a draft, for libraries that write a file by its name.

        Yields
        ------
        Path
            An empty file that only its owner may read, to be written into.

        Raises
        ------
        InputError
            As for `written_together`.
        """
        with _explained(path):
            draft = _Draft.new(path, private=private)
            self._drafts.append(draft)
        with _explained(path, draft):
            yield draft.name
            draft.complete()
        self._whole.append(draft)

    def sha256(self, path: str | os.PathLike[str]) -> str:
        """SHA-256 of a file of this block that is complete, as hexadecimal digits.

        For another file of the block that names it, so that readers see which belong together.

        Parameters
        ----------
        path : path-like
            As it was given to `writer` or `path`.
        """
        target = Path(os.path.realpath(path))
        draft = next(draft for draft in reversed(self._whole) if draft.target == target)
        with draft.name.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _finish(self) -> None:
        """Give complete drafts their names; take back the new ones if one cannot be had."""
        renamed: list[_Draft] = []
        taken = names_taken.get()
        try:
            for draft in self._whole:
                with _explained(draft.path, draft):
                    draft.name.replace(draft.target)
                renamed.append(draft)
                if taken is not None:
                    taken.append(str(draft.path))
        except InputError:
            for draft in renamed:
                if draft.mode is None:
                    draft.target.unlink(missing_ok=True)
            if taken is not None:
                del taken[len(taken) - len(renamed) :]
            raise
        for folder in {draft.target.parent for draft in self._whole}:
            _sync(folder)

    def _clean(self) -> None:
        for draft in self._drafts:
            with suppress(OSError):
                draft.name.unlink()
            if draft.lock is not None:
                os.close(draft.lock)
        self._drafts.clear()


@dataclass(slots=True)
class _Draft:
    """A file on its way to its name.

    Attributes
    ----------
    path : path-like
        As the caller wrote it, for messages.
    target : Path
        Where it will stand: a link is followed, so that it survives and the file behind it is
        replaced.
    name : Path
        The draft.
    mode : int or None
        Permissions of the file; None for those that the umask gives.
    lock : int or None
        Descriptor that holds the lock by which others see that this run is alive.
    """

    path: str | os.PathLike[str]
    target: Path
    name: Path
    mode: int | None
    lock: int | None = None

    @classmethod
    def new(cls, path: str | os.PathLike[str], *, private: bool = False) -> _Draft:
        target = Path(os.path.realpath(path))
        mode = _mode(target, path)
        if private:
            mode = 0o600
        _remove_stale(target.parent)
        name = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if fcntl is None:
            os.close(handle)
            return cls(path, target, name, mode)
        with suppress(OSError):  # without locks no run removes drafts either
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(path, target, name, mode, handle)

    def complete(self) -> None:
        """Bring the draft to the disk and give it the permissions of the final file."""
        with self.name.open("r+b") as file:
            os.fsync(file.fileno())
        self.name.chmod(0o666 & ~_umask() if self.mode is None else self.mode)


@contextmanager
def _explained(path: str | os.PathLike[str], draft: _Draft | None = None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # An error with another file's name comes from the caller's block.
        ours = (None,) if draft is None else (None, str(draft.name), str(draft.target))
        if draft is not None and error.filename not in ours:
            raise
        folder = Path(path).parent
        why = error.strerror or str(error)
        if isinstance(error, FileNotFoundError) and not folder.is_dir():
            why = f"there is no folder {str(folder)!r}; make it first"
        msg = f"cannot write {str(path)!r}: {why}"
        raise InputError(msg) from error


def csv_writer(out: TextIO) -> Any:
    r"""Return a `csv.writer` of lines that end with ``\n``, with every line end inside quoted.

    The standard one leaves ``\r`` bare then, which readers take for the end of a line.
    """
    return csv.writer(_Lines(out), lineterminator="\r\n")


@dataclass(frozen=True, slots=True)
class _Lines:
    out: TextIO

    def write(self, line: str) -> int:
        return self.out.write(line.removesuffix("\r\n") + "\n")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Find out before long work whether a file can be written; changes nothing.

    Raises
    ------
    InputError
        As `written_together`, except for a disk that is full by then.
    """
    with _explained(path):
        draft = _Draft.new(path)
        if draft.lock is not None:
            os.close(draft.lock)
        draft.name.unlink()


def _remove_stale(folder: Path) -> None:
    """Remove drafts of runs that were killed.

    A run holds a lock on each of its drafts, which the system takes back when the run ends in
    whatever way. A draft that is older than a minute and can be locked belongs to no run.
    """
    if fcntl is None:
        return
    with suppress(OSError):
        for path in folder.iterdir():
            if not _DRAFT.fullmatch(path.name):
                continue
            with suppress(OSError):
                handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    found = os.fstat(handle)
                    if stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime > _YOUNG:
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        path.unlink()
                finally:
                    os.close(handle)


def _mode(target: Path, path: str | os.PathLike[str]) -> int | None:
    """Permissions of the file to be replaced; None if there is none yet."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        msg = f"cannot write {str(path)!r}: it exists and is not a file; choose another name"
        raise InputError(msg)
    return stat.S_IMODE(found)


def _umask() -> int:
    """Return the process's mask; it can only be read by setting it, here to the strictest."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
