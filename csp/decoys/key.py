"""A secret key: it answers with coins and shows itself nowhere."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from csp.errors import InputError
from csp.formats.reading import read_bytes

SHORTEST_KEY = 16
"""Bytes that a key has at least."""

_BYTES_OF_A_NEW_KEY = 32
_FEWEST_DISTINCT = 8
_LIKE_A_KEY = 32
_LARGEST_FILE = 2**16


def _check_private(path: str | os.PathLike[str]) -> None:
    """Refuse a key that is not secret on this machine, as ssh does with its keys."""
    mode = Path(path).stat().st_mode
    if os.name == "posix" and mode & 0o027:
        msg = (
            f"the key file {str(path)!r} can be read or changed by others (mode "
            f"{stat.S_IMODE(mode):o}); make it private (chmod 600), and make a new key if others "
            "may have read it"
        )
        raise InputError(msg)


class Key:
    """Secret behind a keyed pseudo-random function (HMAC-SHA256, RFC 2104).

    A key has no text form, cannot be pickled, and compares in constant time. A file may hold it as
    any bytes; hexadecimal digits are taken as they stand.

    Parameters
    ----------
    secret : bytes
        At least 16 bytes, of at least 8 different values; better 32 bytes of `Key.new`.

    Raises
    ------
    InputError
        If it is shorter, or a text, or repeats a few bytes only. The message holds none of it.

    Examples
    --------
    >>> from csp import Key
    >>> Key(bytes(range(32)))
    Key(32 bytes)
    """

    __slots__ = ("__secret",)

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, (bytes, bytearray, memoryview)):
            msg = f"a key must be bytes, got a {type(secret).__name__}; use Key.new() or b'...'"
            raise InputError(msg)
        held = bytes(secret)
        if len(held) < SHORTEST_KEY:
            msg = (
                f"the key has {len(held)} bytes and needs at least {SHORTEST_KEY}; make one with "
                "Key.create(path) or 'cellveil key FILE'"
            )
            raise InputError(msg)
        if len(set(held)) < _FEWEST_DISTINCT:
            msg = (
                f"the key repeats {len(set(held))} different bytes, so it can be guessed; make one "
                "with Key.create(path) or 'cellveil key FILE'"
            )
            raise InputError(msg)
        self.__secret = held

    @classmethod
    def new(cls) -> Key:
        """Draw a key of 32 bytes from the system's source of randomness."""
        while True:
            drawn = secrets.token_bytes(_BYTES_OF_A_NEW_KEY)
            if len(set(drawn)) >= _FEWEST_DISTINCT:
                return cls(drawn)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Key:
        """Read a key from a file; line ends behind it are not part of it.

        Raises
        ------
        InputError
            If the file cannot be read, others than its owner and its group may read it or others
            than its owner may write it, or what it holds is not a key.
        """
        try:
            held = read_bytes(path, _LARGEST_FILE, packed=False)
        except InputError as error:
            # What looks like a key in place of a file is not quoted.
            shown = f": {error}" if len(Path(path).name) < _LIKE_A_KEY else " named"
            msg = f"cannot read the key file{shown}; make one with 'cellveil key FILE'"
            raise InputError(msg) from None
        _check_private(path)
        try:
            return cls(held.rstrip(b"\r\n"))
        except InputError as error:
            msg = f"key file {str(path)!r}: {error}"
            raise InputError(msg) from None

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Key:
        """Make a new key file, which only its owner may read, and return its key.

        Raises
        ------
        InputError
            If the file exists already (a key that is overwritten is lost) or cannot be written;
            no empty file is left then.
        """
        digits = secrets.token_hex(_BYTES_OF_A_NEW_KEY)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(digits + "\n")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                Path(path).unlink()
                raise
        except OSError as error:
            msg = f"cannot write the key file {str(path)!r}: {error.strerror or error}"
            raise InputError(msg) from error
        return cls(digits.encode("ascii"))

    def draw(self, words: Sequence[str]) -> bytes:
        """Return 32 pseudo-random bytes for a sequence of words; other words give others.

        Parameters
        ----------
        words : sequence of str
            Each goes in with its length, so that ("ab", "c") and ("a", "bc") differ.
        """
        message = bytearray()
        for word in words:
            text = word.encode("utf-8", "surrogatepass")
            message += len(text).to_bytes(8, "big") + text
        return hmac.new(self.__secret, bytes(message), hashlib.sha256).digest()

    def __repr__(self) -> str:
        return f"Key({len(self.__secret)} bytes)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        return hmac.compare_digest(self.__secret, other.__secret)

    def __hash__(self) -> int:
        # The same for all keys, so that no hash tells one from another.
        return hash(Key)

    def __copy__(self) -> Key:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Key:
        return self

    def __reduce__(self) -> NoReturn:
        msg = "a key cannot be pickled, since the pickle would hold it; read its file again instead"
        raise InputError(msg)
