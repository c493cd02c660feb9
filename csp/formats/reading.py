"""The one door through which files are read: only what was named, bounded, whole, and decoded.

A name is a name: it is never a pattern, an address or a shell's abbreviation. Whatever is wrong
with a file is an `InputError` that names it. The bounds below are defaults far above real files;
assign to them to read more.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from csp.errors import InputError, argument
from csp.exact import read_whole

MAX_BYTES = 2**30
"""Most bytes, after unpacking, of a file that is read as a whole (JJ, asc, a release and its
cells): 20 million cells, the most that a table may have, take less."""

MAX_DATA_BYTES = 2**33
"""Most bytes, after unpacking, of microdata as text: some 300 million short records. More do not
fit into memory; a .parquet file holds them in a fraction of the space."""

MAX_DESCRIPTION_BYTES = 2**26
"""Most bytes of a file that people write: a hierarchy, a record layout, a mechanism. The largest
classifications in use, with some 100,000 codes, take a tenth of it."""

_RATIO = 200
_CHUNK = 2**20
_PACKED = 2**16
_GZIP = b"\x1f\x8b"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def regular_file(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of an ordinary file, links followed.

    Raises
    ------
    InputError
        If there is none of this name, or it is a folder, a pipe or a device.
    """
    with _opened(path):
        return Path(os.path.realpath(path))


def chunks(
    path: str | os.PathLike[str], most: int | None = None, *, packed: bool = True
) -> Iterator[bytes]:
    """Yield the content of a file in pieces, unpacked if its first bytes are those of gzip.

    Parameters
    ----------
    path : path-like
    most : int, optional
        Most bytes after unpacking; `MAX_BYTES` by default.
    packed : bool
        Whether the file may be gzipped; if not, it is read as it is.

    Raises
    ------
    InputError
        If the file is not an ordinary one, cannot be read, is larger than `most`, or its gzip
        stream is broken (the checksum does not match, or bytes are missing or left over).
    """
    limit = MAX_BYTES if most is None else most
    total = 0
    with _opened(path) as file:
        start = file.read(2)
        file.seek(0)
        packed = packed and start == _GZIP
        if not packed:
            _check_size(os.fstat(file.fileno()).st_size, limit, path)
        for piece in _unpacked(file, path) if packed else iter(lambda: file.read(_CHUNK), b""):
            total += len(piece)
            _check_size(total, limit, path)
            yield piece


def read_bytes(
    path: str | os.PathLike[str], most: int | None = None, *, packed: bool = True
) -> bytes:
    """Content of a file, unpacked if it is gzipped.

    Raises
    ------
    InputError
        As for `chunks`, and if it unpacks to more than `_RATIO` times its size: no table does.
    """
    pieces, total = [], 0
    largest = max(MAX_DESCRIPTION_BYTES, _RATIO * regular_file(path).stat().st_size)
    try:
        for piece in chunks(path, most, packed=packed):
            total += len(piece)
            if total > largest:
                msg = f"{str(path)!r} unpacks to more than {_RATIO} times its size; unpack it first"
                raise InputError(msg)
            pieces.append(piece)
        return b"".join(pieces)
    except MemoryError as error:
        msg = f"{str(path)!r} does not fit into memory; read it on a larger machine"
        raise InputError(msg) from error


def read_text(
    path: str | os.PathLike[str],
    *,
    windows: bool = False,
    most: int | None = None,
) -> str:
    """Text of a file with line feeds as its only line ends.

    It is UTF-8, or UTF-16 where the file begins with its mark.

    Parameters
    ----------
    path : path-like
    windows : bool
        Read what is not UTF-8 as Windows-1252: τ-ARGUS writes the code page of its system.
    most : int, optional
        As for `chunks`.

    Raises
    ------
    InputError
        As for `chunks`, and if the bytes are not text (line named) or hold a NUL.
    """
    text = decoded(read_bytes(path, most), path, windows=windows)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def other_encoding(encoding: str | None) -> str:
    """Say how to mend a table that is not text in the encoding that was declared, if any was."""
    if encoding is not None:
        return f"declare another {argument('encoding')}"
    return (
        f"declare its encoding ({argument('encoding', 'cp1252')} for Windows in western Europe), "
        "or save it as UTF-8"
    )


def decoded(
    raw: bytes, path: str | os.PathLike[str], *, windows: bool = False, encoding: str | None = None,
    mend: str = "save the file as UTF-8",
) -> str:  # fmt: skip
    """Text of the content of a file, with its own line ends.

    Parameters and errors are those of `read_text`; an `encoding` is one that was declared, and
    `mend` what is said where it is another.
    """
    found = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    found = encoding or found
    try:
        text = raw.decode(found)
    except UnicodeError as error:
        text = ""
        if windows:
            with suppress(UnicodeDecodeError):
                text = raw.decode("cp1252")
        if not text:
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            line = len(re.findall(rb"\r\n?|\n", raw[:start])) + 1
            kinds = "neither UTF-8 nor Windows-1252" if windows else f"not {encoding_name(found)}"
            msg = f"{str(path)!r}, line {line}: {kinds} text; {mend}"
            raise InputError(msg) from error
    if "\0" in text:
        line = len(re.findall(r"\r\n?|\n", text[: text.index("\0")])) + 1
        msg = f"{str(path)!r}, line {line}: a NUL character; the file is damaged or is not text"
        raise InputError(msg)
    return text


def encoding_name(encoding: str) -> str:
    """Name of an encoding as people write it."""
    return {"utf-8-sig": "UTF-8", "utf-8": "UTF-8", "utf-16": "UTF-16"}.get(encoding, encoding)


def read_json(path: str | os.PathLike[str], what: str, most: int | None = None) -> dict[str, Any]:
    """Object of a JSON file.

    Parameters
    ----------
    path : path-like
    what : str
        What the file should be, for messages: "a release".
    most : int, optional
        As for `chunks`.

    Raises
    ------
    InputError
        If the file cannot be read, is not JSON (line named), is nested too deeply, has a key
        twice, a number that is not finite or has hundreds of digits, or holds no object.
    """

    def fail(why: str) -> NoReturn:
        msg = f"{str(path)!r} is not {what}: {why}"
        raise InputError(msg)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            key = next(key for i, key in enumerate(keys) if key in keys[:i])
            fail(f"the key {key!r} stands there twice; keep one of them")
        return found

    def finite(text: str) -> float:
        if abs(float(text)) < float("inf"):
            return float(text)
        fail(f"the number {text[:20]} is too large")

    def constant(text: str) -> float:
        fail(f"{text} is not a number in JSON")

    text = read_text(path, most=most)
    try:
        found = json.loads(
            text,
            object_pairs_hook=once,
            parse_int=lambda digits: int(digits) if len(digits) < 19 else read_whole(digits),
            parse_float=finite,
            parse_constant=constant,
        )
    except json.JSONDecodeError as error:
        msg = f"{str(path)!r}, line {error.lineno}: not JSON ({error.msg}); {what} is expected"
        raise InputError(msg) from error
    except RecursionError:
        fail("its brackets are nested too deeply")
    if not isinstance(found, dict):
        fail("it must hold an object in braces")
    return found


def as_object(data: Any, keys: dict[str, bool], what: str) -> dict[str, Any]:
    """Check that data is a mapping with known keys only.

    Parameters
    ----------
    data
    keys : dict of str to bool
        Known keys, and whether each must be there.
    what : str
        What the data describes, for messages: "a mechanism".

    Raises
    ------
    InputError
        Naming the key that is unknown or missing.
    """
    listed = ", ".join(sorted(keys))
    if not isinstance(data, Mapping):
        msg = f"{what} is an object with the keys {listed}, not {_json_kind(data)}"
        raise InputError(msg)
    for key in data:
        if key not in keys:
            msg = f"{what} has the unknown key {key!r}; the keys are {listed}"
            raise InputError(msg)
    for key, needed in keys.items():
        if needed and key not in data:
            msg = f"{what} needs the key {key!r}; the keys are {listed}"
            raise InputError(msg)
    return dict(data)


def _json_kind(data: Any) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(data), "a number" if isinstance(data, (int, float)) else "something else")


# ---- opening -------------------------------------------------------------------------------------


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open an ordinary file; a pipe is refused rather than waited for."""
    shown = str(path)
    try:
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        _check_kind(os.stat(path).st_mode, shown)  # noqa: PTH116 (Path("") is a folder)
        file = os.fdopen(os.open(path, flags), "rb")
    except InputError:
        raise
    except FileNotFoundError as error:
        hint = ""
        if _ADDRESS.match(shown):
            hint = "; addresses are not read: download the file first"
        elif shown == "-":
            hint = "; standard input is not read: save it as a file first"
        msg = f"there is no file {shown!r}{hint}"
        raise InputError(msg) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"cannot read {shown!r}: {why}"
        raise InputError(msg) from error
    with file:
        try:
            _check_kind(os.fstat(file.fileno()).st_mode, shown)
            yield file
        except OSError as error:
            msg = f"cannot read {shown!r}: {error.strerror or error}"
            raise InputError(msg) from error


def _check_kind(mode: int, shown: str) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "not a file")
        msg = f"{shown!r} is {kind}; give the name of an ordinary file"
        raise InputError(msg)


def _check_size(size: int, most: int, path: str | os.PathLike[str]) -> None:
    if size > most:
        msg = (
            f"{str(path)!r} has more than {most} bytes (unpacked), the most that is read of such "
            "a file; if it is not damaged, raise the bound in csp.formats.reading"
        )
        raise InputError(msg)


def _unpacked(file: BinaryIO, path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield the pieces of a gzip stream of one or more members; zlib checks their sums."""
    why = "it ends too early"
    engine = zlib.decompressobj(wbits=31)
    rest = file.read(_PACKED)
    try:
        while True:
            piece = engine.decompress(rest, _CHUNK)
            yield piece
            if engine.eof:
                rest = engine.unused_data.lstrip(b"\0")  # padding between members is allowed
                while not rest:
                    if not (more := file.read(_PACKED)):
                        return
                    rest = more.lstrip(b"\0")
                engine = zlib.decompressobj(wbits=31)
                continue
            rest = engine.unconsumed_tail or file.read(_PACKED)
            if not rest and not piece:
                break
    except zlib.error:
        why = "its checksum or its content is wrong"
    msg = f"{str(path)!r} is a damaged gzip file ({why}); copy it again"
    raise InputError(msg)
