"""Files that say which codes of a variable become one: τ-ARGUS's .grc, and two columns of text."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from csp.errors import InputError
from csp.formats.codes import plain_code
from csp.formats.reading import MAX_DESCRIPTION_BYTES, read_text

_TREE = "<TREERECODE>"
_HEADS = frozenset(
    {"old", "new", "code", "from", "to", "group", "recode", "alt", "neu", "von", "nach", "source",
     "target", "before", "after"}
)  # fmt: skip
"""Words of which a line above two columns is made."""


@dataclass(frozen=True, slots=True)
class Recoding:
    """Which codes become one.

    Attributes
    ----------
    groups : tuple of (str, tuple of (str or None, str or None))
        New code, and the first and last old code of each range; None for no end.
    cut : tuple of str
        Codes of a hierarchy below which nothing is told apart.
    level : int or None
        Level of a hierarchy below which nothing is told apart; 1 is the one below the total.
    where : str
        File, for messages.
    """

    groups: tuple[tuple[str, tuple[tuple[str | None, str | None], ...]], ...] = ()
    cut: tuple[str, ...] = ()
    level: int | None = None
    where: str = ""

    def mapping(self, codes: Iterable[str], beside: Iterable[str] = ()) -> dict[str, str]:
        """Return the new code of each code that gets one; codes that no group names stay.

        What is written like a range and is itself a code, such as a band 10-49, is that code. Codes
        `beside` these ones count there too.

        Raises
        ------
        InputError
            If a code is in two groups.
        """
        found: dict[str, str] = {}
        texts = tuple(codes)
        bands = {_ends(code) for code in (*texts, *beside)}
        for code in texts:
            into = [
                new for new, ranges in self.groups if any(_lies(code, r, bands) for r in ranges)
            ]
            if len({*into}) > 1:
                msg = (
                    f"{self.where}: code {code!r} goes to {into[0]!r} and to {into[1]!r}; a code "
                    "can be joined to one group only"
                )
                raise InputError(msg)
            if into:
                found[code] = into[0]
        return found

    def unmatched(self, codes: Collection[str]) -> list[str]:
        """Return old codes, and ranges of them, that are and hold none of these."""
        bands = {_ends(code) for code in codes}
        ranges = dict.fromkeys(ends for _, ranges in self.groups for ends in ranges)
        found = []
        for first, last in ranges:
            if first == last and first not in codes:
                found.append(first or "")
            elif first != last and not any(_lies(code, (first, last), bands) for code in codes):
                found.append(f"{first or ''}-{last or ''}")
        return found


def read_recoding(path: str | PathLike[str]) -> Recoding:
    """Read a file of recodings, or a level of a hierarchy.

    * τ-ARGUS (.grc): a line for each new code, ``small: 1, 2, 5-7``, ranges with one end open
      (``-5``, ``40-``); or, below ``<TREERECODE>``, codes of a hierarchy that are not divided any
      further, one a line. Other lines in angle brackets (missing values, lists of labels) are
      passed over.
    * Two columns: the old code and the new one, with or without a line of names above.
    * A digit in place of a file: that many levels of the hierarchy are kept.

    Raises
    ------
    InputError
        For a file that cannot be read, a line that is none of these, or a code that goes to two
        (line named).

    References
    ----------
    de Wolf et al. (2014), τ-ARGUS version 4.1 user's manual: global recode.
    """
    name = Path(path).name
    if str(path).isdecimal():
        if int(str(path)) < 1:
            msg = f"recoding {str(path)!r}: a level is 1 or more"
            raise InputError(msg)
        return Recoding(level=int(str(path)), where=f"level {path}")
    text = read_text(path, windows=True, most=MAX_DESCRIPTION_BYTES)
    lines = [(i, line.strip(" \t\r\x1a\ufeff")) for i, line in enumerate(text.split("\n"), 1)]
    lines = [(i, line) for i, line in lines if line]
    if not lines:
        msg = f"{name} has no lines; write one such as small: 1, 2"
        raise InputError(msg)
    if lines[0][1].upper() == _TREE:
        return Recoding(cut=tuple(line for _, line in lines[1:]), where=name)
    if name.lower().endswith(".grc") or all(":" in line for _, line in lines if line[0] != "<"):
        return Recoding(_grouped(lines, name), where=name)
    return Recoding(_paired(lines, name), where=name)


def _grouped(
    lines: Sequence[tuple[int, str]], name: str
) -> tuple[tuple[str, tuple[tuple[str | None, str | None], ...]], ...]:
    found = []
    for number, line in lines:
        if line[0] == "<":
            continue
        new, colon, old = (plain_code(part) for part in line.partition(":"))
        if not (new and colon and old):
            msg = f"{name}, line {number}: {line!r} is not like small: 1, 2, 5-7"
            raise InputError(msg)
        ranges = []
        for part in old.split(","):
            ends = _ends(part)
            if not any(ends):
                msg = f"{name}, line {number}: a code is missing beside a comma"
                raise InputError(msg)
            ranges.append(ends)
        found.append((new, tuple(ranges)))
    return tuple(found)


def _paired(
    lines: Sequence[tuple[int, str]], name: str
) -> tuple[tuple[str, tuple[tuple[str | None, str | None], ...]], ...]:
    signs = (";", "\t", ",", "|")
    sign = next((s for s in signs if all(line.count(s) for _, line in lines)), None)
    rows = [] if sign is None else list(csv.reader([line for _, line in lines], delimiter=sign))
    wrong = next((i for i, row in enumerate(rows) if len(row) != 2), 0 if sign is None else None)
    if wrong is not None:
        msg = (
            f"{name}, line {lines[wrong][0]}: {lines[wrong][1]!r} is not an old and a new code, "
            "such as 1,small"
        )
        raise InputError(msg)
    pairs = [(plain_code(old), plain_code(new)) for old, new in rows]
    if {word.casefold() for word in pairs[0]} <= _HEADS:
        pairs = pairs[1:]
    groups: dict[str, list[tuple[str | None, str | None]]] = {}
    known: dict[str, str] = {}
    for old, new in pairs:
        if known.setdefault(old, new) != new:
            msg = f"{name}: code {old!r} goes to {known[old]!r} and to {new!r}; it can go to one"
            raise InputError(msg)
        groups.setdefault(new, []).append((old, old))
    return tuple((new, tuple(ranges)) for new, ranges in groups.items())


def _ends(text: str) -> tuple[str | None, str | None]:
    """First and last code of what is written like a range; one code is both."""
    first, dash, last = (plain_code(end) for end in text.partition("-"))
    return (first or None, last or None) if dash else (first or None, first or None)


def _lies(
    code: str, ends: tuple[str | None, str | None], bands: Collection[tuple[str | None, str | None]]
) -> bool:
    """Whether a code lies in a range, or is the band that is written like it."""
    if ends[0] != ends[1] and ends in bands:
        return _ends(code) == ends
    return _within(code, *ends)


def _within(code: str, first: str | None, last: str | None) -> bool:
    """Whether a code lies in a range: of numbers where its ends are, of texts otherwise."""
    if first == last:
        return code == first
    ends = [end for end in (first, last) if end is not None]
    if all(text.isdecimal() for text in ends):
        low, high = (None if end is None else int(end) for end in (first, last))
        if not code.isdecimal():
            return False
        return (low is None or low <= int(code)) and (high is None or int(code) <= high)
    return (first is None or first <= code) and (last is None or code <= last)
