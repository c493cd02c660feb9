"""Text that is safe to show on a terminal, and saying it."""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TextIO

import typer

_KEPT = frozenset({"\u200c", "\u200d"})
"""Joiners, without which Persian, Hindi and others are misspelt; they move no other text."""


def printable(text: str) -> str:
    r"""Replace control characters by their escapes, so that a label cannot command a terminal.

    Control codes (C0 and C1, line ends among them), marks that turn the direction of writing, and
    halves of surrogate pairs are written like ``\x1b``.

    Examples
    --------
    >>> print(printable("North\x1b[2J"))
    North\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(
        repr(sign)[1:-1] if unicodedata.category(sign) in _CONTROLS and sign not in _KEPT else sign
        for sign in text
    )


_CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Manner:
    """How a command speaks.

    Quiet, it puts nothing on stderr but errors, neither words nor progress. With `json`, facts on
    stdout take the place of tables and sentences.
    """

    quiet: bool = False
    json: bool = False


manner: ContextVar[Manner] = ContextVar("manner", default=Manner())  # noqa: B039 (frozen)
"""Manner of the command that runs, as its switches say."""


def say(line: str) -> None:
    """Speak to the person at the terminal, apart from the result on stdout; not if quiet."""
    if manner.get().quiet and not line.startswith("Error: "):
        return
    # Words that cannot arrive, as on a full disk, are lost; the result and its exit code are not.
    with suppress(OSError):
        typer.echo(_wrapped(line, sys.stderr), err=True)


def tell(line: str) -> None:
    """Write a line of the result; not where facts are written as JSON."""
    if manner.get().json:
        return
    typer.echo(_wrapped(line, sys.stdout))


def _wrapped(line: str, stream: TextIO) -> str:
    line = printable(line)
    if not stream.isatty():
        return line  # one message, one line: easy to search in a log
    width = shutil.get_terminal_size().columns
    return textwrap.fill(
        line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
