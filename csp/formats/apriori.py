"""A-priori files (.hst): what is known of single cells before a table is protected."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from os import PathLike
from pathlib import Path

from csp.errors import InputError
from csp.exact import read_decimal
from csp.formats.codes import plain_code
from csp.formats.files import Together, joined
from csp.formats.reading import MAX_BYTES, read_text

WORDS = {
    "s": ("safe, whatever the rules say", 0),
    "u": ("unsafe: sensitive, and so suppressed and protected", 0),
    "p": ("must be published", 0),
    "m": ("suppressed, and not protected for itself", 0),
    "c": ("cost of suppressing it", 1),
    "pl": ("lower and upper protection level", 2),
}
"""What may be said of a cell, and how many numbers follow."""

ALIASES = {"ml": "m", "w": "c"}
"""Other spellings. A status that a table took over from a linked one is "ml" there."""

SEPARATORS = (";", ",", "\t", "|")


@dataclass(frozen=True, slots=True)
class Statement:
    """One line: a cell, and what is known of it.

    Attributes
    ----------
    codes : tuple of str
        A code for each dimension; "" for the total.
    word : {"s", "u", "p", "m", "c", "pl"}
        Safe, unsafe, published, suppressed, cost, protection levels.
    numbers : tuple of Decimal
        One cost, or the lower and the upper level, as numbers of the measure.
    where : str
        File and line, for messages.
    """

    codes: tuple[str, ...]
    word: str
    numbers: tuple[Decimal, ...] = ()
    where: str = ""


def read_apriori(
    path: str | PathLike[str], dimensions: int, separator: str | None = None
) -> tuple[Statement, ...]:
    r"""Read a τ-ARGUS a-priori file.

    A line holds a code for each dimension of the table, a word, and the numbers of that word:
    ``North,A,u`` (unsafe), ``s`` (safe), ``p`` (must be published), ``m`` or ``ml`` (suppressed),
    ``c,5`` or ``w,5`` (cost), ``pl,10,20`` (protection levels). Case does not matter, blank lines
    are skipped.

    Parameters
    ----------
    path : path-like
    dimensions : int
        How many codes a line begins with.
    separator : str, optional
        By default the first of semicolon, comma, tab and bar that makes enough fields of line 1.

    Returns
    -------
    tuple of Statement
        In the order of the file.

    Raises
    ------
    InputError
        For a file that cannot be read, too few fields, an unknown word, a wrong number of numbers,
        or numbers that mean nothing (line named).

    References
    ----------
    de Wolf et al. (2014), τ-ARGUS version 4.1 user's manual: a-priori information. The words are
    those that ``APriori.java`` of sdcTools/tauargus knows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cells.hst"
    >>> _ = path.write_text("North;A;u\nNorth;A;pl;10;2,5\n;B;w;7\n")
    >>> [(s.codes, s.word, *map(str, s.numbers)) for s in read_apriori(path, 2)]
    [(('North', 'A'), 'u'), (('North', 'A'), 'pl', '10', '2.5'), (('', 'B'), 'c', '7')]
    """
    name = Path(path).name
    text = read_text(path, windows=True, most=MAX_BYTES)
    lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip(" \t\x1a")]
    if not lines:
        return ()
    sign = _separator(lines[0][1], dimensions, name) if separator is None else separator
    return tuple(_statement(line, dimensions, sign, f"{name}, line {i}") for i, line in lines)


def write_apriori(
    path: str | PathLike[str],
    statements: Iterable[Statement],
    *,
    separator: str = ",",
    files: Together | None = None,
) -> None:
    """Write an a-priori file, whole or not at all.

    Parameters
    ----------
    path : path-like
    statements : iterable of Statement
    separator : {",", ";", tab, "|"}
        A comma is what rtauargus writes.
    files : Together, optional
        To appear together with other files of a `csp.formats.files.written_together` block.

    Raises
    ------
    InputError
        If the file cannot be written, or a code holds the separator, a quote or a line end: the
        format has no way to quote them.
    """
    with joined(files) as group, group.writer(path) as out:
        for statement in statements:
            for code in statement.codes:
                if any(sign in code for sign in (separator, '"', "\n", "\r")):
                    msg = (
                        f"{str(path)!r}: code {code!r} holds the separator {separator!r}, a quote "
                        "or a line end, which an a-priori file cannot hold; rename it"
                    )
                    raise InputError(msg)
            numbers = (f"{number:f}" for number in statement.numbers)
            out.write(separator.join([*statement.codes, statement.word, *numbers]) + "\n")


def _separator(line: str, dimensions: int, name: str) -> str:
    for sign in SEPARATORS:
        fields = _fields(line, sign)
        if len(fields) > dimensions and _word(fields[dimensions]) in WORDS:
            return sign
    for sign in SEPARATORS:
        if line.count(sign) >= dimensions:
            return sign
    msg = (
        f"{name}, line 1: no semicolon, comma, tab or bar divides it into {dimensions} "
        f"{'code' if dimensions == 1 else 'codes'} and a word such as u; write it like "
        + ";".join(["code"] * dimensions + ["u"])
    )
    raise InputError(msg)


def _fields(line: str, separator: str) -> list[str]:
    try:
        (fields,) = csv.reader([line], delimiter=separator, skipinitialspace=True)
    except (csv.Error, ValueError):
        fields = line.split(separator)
    return [plain_code(field) for field in fields]


def _word(text: str) -> str:
    return ALIASES.get(text.lower(), text.lower())


def _statement(line: str, dimensions: int, separator: str, where: str) -> Statement:
    fields = _fields(line, separator)
    while len(fields) > dimensions + 1 and not fields[-1]:
        fields.pop()  # τ-ARGUS leaves fields without a number empty
    if len(fields) <= dimensions:
        msg = (
            f"{where}: {len(fields)} fields; a cell of this table needs {dimensions} codes, then "
            f"a word ({', '.join(WORDS)})"
        )
        raise InputError(msg)
    word = _word(fields[dimensions])
    if word == "ab":
        msg = (
            f"{where}: ab (what an outsider knows of a cell) is not read; set lower and upper of "
            "the table in Python, or take the line out"
        )
        raise InputError(msg)
    if word not in WORDS:
        known = "; ".join(f"{key} {means}" for key, (means, _) in WORDS.items())
        msg = (
            f"{where}: {fields[dimensions]!r} after {dimensions} codes is not a word of an "
            f"a-priori file ({known})"
        )
        raise InputError(msg)
    given = fields[dimensions + 1 :]
    if len(given) != WORDS[word][1]:
        msg = f"{where}: {word} takes {WORDS[word][1]} numbers, but {len(given)} follow it"
        raise InputError(msg)
    numbers = tuple(read_amount(text, word, where) for text in given)
    if word == "c" and not numbers[0]:
        msg = f"{where}: a cost of 0, which τ-ARGUS takes for 1; write the cost that is meant"
        raise InputError(msg)
    return Statement(tuple(fields[:dimensions]), word, numbers, where)


def read_amount(text: str, what: str, where: str) -> Decimal:
    """Cost or protection level, also with a decimal comma.

    Raises
    ------
    InputError
        If it is not a number of at least 0.
    """
    try:
        number = read_decimal(text.replace(",", "."))
    except InputError as error:
        msg = f"{where}: {error}"
        raise InputError(msg) from error
    if number < 0:
        more = "a number above 0" if what in ("c", "the cost") else "0 or more"
        msg = f"{where}: {what} is negative; give {more}"
        raise InputError(msg)
    return number
