"""What can go wrong, as a tree: catch ``CellveilError`` for all of it.

Every message says what is wrong, where (row, cell label, code or line), by how much, and how to
mend it. No message carries the value of a cell that may be suppressed.
"""

from __future__ import annotations

from fractions import Fraction

__all__ = [
    "CellveilError",
    "CertificateError",
    "InputError",
    "NotAdditive",
    "OutOfTime",
    "SolverError",
    "Unprotectable",
]


class CellveilError(Exception):
    """Root of all errors that this project raises on purpose."""


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
