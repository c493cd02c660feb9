"""What can go wrong, as a tree: catch ``CellveilError`` for all of it.

Every message says what is wrong, where (row, cell label, code or line), by how much, and how to
mend it. No message carries the value of a cell that may be suppressed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container
from fractions import Fraction

# Noncharacters of Unicode, for internal use: they occur in no text of the data.
_PHRASE = re.compile("\ufdd0([^\ufdd0-\ufdd2]*)\ufdd1([^\ufdd0-\ufdd2]*)\ufdd2")
_OPTION = re.compile(r"(?<![\w=-])--?[A-Za-z][\w-]*")


def phrase(python: str, command: str) -> str:
    """Words of a message that differ between Python and the command line.

    Parameters
    ----------
    python : str
        What ``str(error)`` says.
    command : str
        What a command says that has all options named here.
    """
    return f"\ufdd0{python}\ufdd1{command}\ufdd2"


def argument(name: str, value: object = ..., *, option: str = "") -> str:
    """Name an argument in a message: ``width=`` in Python, ``--width`` on the command line.

    Parameters
    ----------
    name : str
    value : object, optional
        What it should be: ``negative='abs'``, ``--negative abs``. A boolean is a flag on the
        command line: ``--integer``, ``--no-integer``.
    option : str, optional
        The option and its value, where they are not the argument's.
    """
    dashed = name.replace("_", "-")
    if value is ...:
        return phrase(f"{name}=", option or f"--{dashed}")
    if isinstance(value, bool):
        flag = f"--{dashed}" if value else f"--no-{dashed}"
    else:
        flag = f"--{dashed} {shlex.quote(str(value))}"
    return phrase(f"{name}={value!r}", option or flag)


def subject(name: str, written: str = "") -> str:
    """Name an argument that a sentence is about: ``width`` in Python, ``--width`` in commands.

    Parameters
    ----------
    name : str
        Returned as it is if it is an option, or says both already.
    written : str, optional
        The option, where it is not the argument's.
    """
    if name.startswith("-") or _PHRASE.search(name):
        return name
    return phrase(name, written or f"--{name.replace('_', '-')}")


class CellveilError(Exception):
    """Root of all errors that this project raises on purpose.

    Attributes
    ----------
    template : str
        The message with its `phrase` and `argument` marks, to be quoted in another message.
    """

    def __init__(self, message: str = "", *rest: object) -> None:
        message = shortened(message)
        super().__init__(_PHRASE.sub(r"\1", message), *rest)
        self.template = message

    def in_options(self, options: Container[str]) -> str:
        """Message for the command line.

        Parameters
        ----------
        options : container of str
            Options of the command, such as ``--width``.
        """

        def chosen(found: re.Match[str]) -> str:
            python, command = found.groups()
            known = all(option in options for option in _OPTION.findall(command))
            return command if known else python

        return _PHRASE.sub(chosen, self.template)


_LONG = re.compile(
    r"[^\s\ufdd0-\ufdd2]{161,}|'[^'\ufdd0-\ufdd2]{161,}'|\"[^\"\ufdd0-\ufdd2]{161,}\""
)
"""A word or a quoted field that is too long to be read."""

_MOST = 3000
"""Letters of a message: more than any that this project writes, and no more than a screen."""


def shortened(message: str) -> str:
    """Cut out of a message what a field of the data made too long; its ends say what and how."""
    message = _LONG.sub(lambda found: f"{found[0][:80]}...{found[0][-20:]}", message)
    if len(message) <= _MOST:
        return message
    plain = _PHRASE.sub(r"\1", message)  # half of a mark would be shown as it is
    return f"{plain[: 2 * _MOST // 3]} ... {plain[-_MOST // 4 :]}"


class InputError(CellveilError, ValueError):
    """The input breaks a documented rule; nothing has been computed or written."""


class NotAdditive(InputError):
    """A relation of the table does not hold; the message names its cells.

    Attributes
    ----------
    difference : str
        Parts less total, as a decimal number. It can tell a cell, so the message leaves it out.
    """

    def __init__(self, message: str, *, difference: str = "") -> None:
        super().__init__(message)
        self.difference = difference


class NoContributors(InputError):
    """A rule looks at contributors or their number, and the table does not know them."""


class SolverError(CellveilError, RuntimeError):
    """A solver stopped without an answer that can be used."""


class OutOfTime(SolverError):
    """The time limit passed before there was an answer; allow more time."""


class CertificateError(CellveilError, RuntimeError):
    """A claim could not be proved in exact arithmetic, so it is not made."""


class Unprotectable(CellveilError):
    """A primary cell cannot reach its protection level even with everything suppressed.

    Attributes
    ----------
    cell : tuple of str
        Label of the cell.
    index : int or None
        Its position in the table that was given.
    interval : tuple
        Feasibility interval attained when every suppressible cell is suppressed, in table units.
        It surrounds the true value, so it is an attribute and not part of the message.
    need, attained : int, Fraction
        Width or distance required and attained, in units; not in the message either, since a
        level is a share of the value.
    relations : tuple of str
        The relations that block it, in words.
    """

    def __init__(
        self,
        message: str,
        *,
        cell: tuple[str, ...] = (),
        index: int | None = None,
        interval: tuple[object, object] | None = None,
        need: int = 0,
        attained: Fraction | None = None,
        relations: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.cell = cell
        self.index = index
        self.interval = interval
        self.need = need
        self.attained = attained
        self.relations = relations


class Unroundable(CellveilError):
    """No additive table of multiples of the base is near enough to the table."""
