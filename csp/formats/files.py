"""Files written whole or not at all, plain or gzipped, and read back."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from csp.errors import InputError

__all__ = ["atomic_path", "atomic_writer", "check_writable", "read_plain_or_gz"]


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text file that appears under its name only when it is complete.

    The text goes to a new file in the same folder, which replaces the old one at the end of the
    ``with`` block; if the block raises, nothing has changed.

    Parameters
    ----------
    path : path-like
        UTF-8 with plain line feeds; gzipped (without a time stamp, so that the same text gives
        the same bytes) if the name ends with .gz.

    Yields
    ------
    text file

    Raises
    ------
    InputError
        If the file cannot be written: no such folder, no permission, a full disk, or a name that
        belongs to something else than a file.
    """
    gz = Path(os.path.realpath(path)).suffix == ".gz"
    with atomic_path(path) as draft, draft.open("xb") as raw:
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if gz else raw
        with packed, io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text:
            yield text


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Name of a new file to fill, which replaces `path` at the end of the ``with`` block.

    For libraries that write a file by its name; `atomic_writer` is the one for text.

    Yields
    ------
    Path
        In the same folder; the file does not exist yet.

    Raises
    ------
    InputError
        As `atomic_writer`.
    """
    # A link is followed, so that the link survives and the file behind it is replaced.
    target = Path(os.path.realpath(path))
    draft = _draft(target)
    mode = _mode(target, path)
    try:
        yield draft
        if mode is not None:
            draft.chmod(mode)
        draft.replace(target)
    except OSError as error:
        # An error with another file's name comes from the caller's block.
        if error.filename not in (None, str(draft), str(target)):
            raise
        msg = f"cannot write {str(path)!r}: {error.strerror or error}"
        raise InputError(msg) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Find out before long work whether a file can be written; changes nothing.

    Raises
    ------
    InputError
        As `atomic_writer`, except for a disk that is full by then.
    """
    target = Path(os.path.realpath(path))
    _mode(target, path)
    draft = _draft(target)
    try:
        draft.open("xb").close()
    except OSError as error:
        msg = f"cannot write {str(path)!r}: {error.strerror or error}"
        raise InputError(msg) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _draft(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")


def _mode(target: Path, path: str | os.PathLike[str]) -> int | None:
    """Permissions of the file to be replaced; None if there is none yet."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        msg = f"cannot write {str(path)!r}: {error.strerror or error}"
        raise InputError(msg) from error
    if not stat.S_ISREG(found):
        msg = f"cannot write {str(path)!r}: it exists and is not a file; choose another name"
        raise InputError(msg)
    return stat.S_IMODE(found)


def read_plain_or_gz(path: str | os.PathLike[str], *, windows: bool = False) -> str:
    """Text of a UTF-8 file that may be gzipped, told by its first bytes.

    Parameters
    ----------
    path : path-like
    windows : bool
        Read what is not UTF-8 as Windows-1252: τ-ARGUS writes the code page of its system.

    Raises
    ------
    InputError
        If the file cannot be read, its gzip stream is broken, or it is text of neither kind.
    """
    try:
        raw = Path(path).read_bytes()
        if raw.startswith(b"\x1f\x8b"):
            raw = gzip.decompress(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        msg = f"{str(path)!r} is a broken or truncated gzip file; copy it again"
        raise InputError(msg) from error
    except OSError as error:
        msg = f"cannot read {str(path)!r}: {error.strerror or error}"
        raise InputError(msg) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if windows:
            with suppress(UnicodeDecodeError):
                return raw.decode("cp1252")
        line = raw.count(b"\n", 0, error.start) + 1
        kinds = "neither UTF-8 nor Windows-1252" if windows else "not UTF-8"
        msg = f"{str(path)!r}, line {line}: {kinds} text; save the file as UTF-8"
        raise InputError(msg) from error
