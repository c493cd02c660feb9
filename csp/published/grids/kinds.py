"""What a text of a cross table is: a number, a sign in place of one, a range, or a label."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from csp.published.entries import Convention, Entry, read_entry
from csp.published.marks import EVERY_OFFICE, OFFICES

SIGNS = frozenset(sign for marks in (EVERY_OFFICE, *OFFICES.values()) for sign in marks.signs)
"""Texts that stand for numbers somewhere; others with a letter in them are labels."""

_SOURCE = re.compile(
    r"[\s(\[*]*(?:source|sources|quellen?|datenquelle|note|notes|anmerkung|fu\u00dfnote|footnote|"
    r"stand|as at|as of|last updated?|erstellt|copyright|\u00a9|fuente|fonte|bron|forr\u00e1s)\b",
    re.IGNORECASE,
)
"""How a line begins that belongs to the table and is not a row of it."""


_KEYS = re.compile(
    r"\b(?:codes?|id|key|nuts|nace|naics|isic|sic|wz|fips|ags|isco|cpa|lfd|rank|ranking|rang|"
    r"platz|kennziffer|kennzahl|postcode|zip|plz)\b|schl\u00fcssel|[\s.-](?:nr|no)\.?$|"
    r"[- ]nummer$|\blaufende nummer|\b(?:area|ward|district|county|region|municipality|serial|line|"
    r"ref|reference)[ -](?:number|no)\b",
    re.IGNORECASE,
)
"""Headers of columns that name rows in numbers: codes, keys, ranks."""

_FEW = 2
"""Different letters among numbers up to which they are signs; codes of industries are more."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Says what texts are.

    Attributes
    ----------
    signs : frozenset of str
        What stands for numbers, where the caller says it: everything else is a text.
    letters : frozenset of str
        Letters that stand among numbers here, where he does not: they are signs.
    """

    signs: frozenset[str] = frozenset()
    letters: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]], signs: Collection[str]) -> Kinds:
        """Find letters that are signs of some office and stand in columns of numbers."""
        if signs:
            return cls(frozenset(signs))
        letters: set[str] = set()
        texts = [row for i, row in enumerate(texts) if not _above_header(texts, i)]
        first = next((i for i, row in enumerate(texts) if i and _is_row(row)), len(texts))
        for j in range(1, max(map(len, texts), default=0)):
            column = [row[j] for row in texts if j < len(row) and row[j]]
            start = next((i for i, text in enumerate(column) if is_number(text)), len(column))
            if start < len(column):
                # Cells of a row whose numbers are in other columns count from there; a column
                # without any number has labels.
                start = min(start, sum(j < len(row) and bool(row[j]) for row in texts[:first]))
            words = {text for text in column[start:] if text.isalnum() and not is_number(text)}
            codes = any(text[0] == "0" and text.isdecimal() and text[1:] for text in column)
            if words <= SIGNS and len(words) <= _FEW and not codes:
                letters |= words
        return cls(letters=frozenset(letters))

    def kind(self, text: str) -> str:
        """Return "number", "sign", "text", or "" for nothing; a range is a number."""
        if not text:
            return ""
        if is_number(text):
            return "number"
        if self.signs:
            return "sign" if text in self.signs else "text"
        plain = not text.isalnum() or text in ("x", "X") or text in EVERY_OFFICE.withheld
        return "sign" if text in self.letters or (plain and _is_sign(text)) else "text"

    def are_labels(self, column: Sequence[str]) -> bool:
        """Whether a column behind the first one holds labels: texts, longer than signs."""
        texts = [text for text in column if self.kind(text) == "text"]
        if self.signs:
            return 2 * len(texts) > len(column) > 0
        if not any(self.kind(text) == "number" for text in column):
            # Letters that differ are codes, even if some of them are signs elsewhere.
            texts = [text for text in column if Kinds().kind(text) == "text"]
            return 2 * len(texts) > len(column) > 0 and not (
                len({*column}) == 1 and column[0] in SIGNS
            )
        return 2 * len(texts) > len(column) and not {*texts} <= SIGNS


def _is_row(row: Sequence[str]) -> bool:
    """Whether a row has a label and a number that cannot be a year or a step of a header."""
    plain = [t for t in row[1:] if is_number(t) and not read_entry(t, Convention()).ranged]
    least = 10 if len(plain) > 1 else 0
    small = [t.isdecimal() and (1500 <= int(t) <= 2200 or int(t) < least) for t in plain]
    return bool(row and row[0]) and not all(small)


def _above_header(texts: Sequence[Sequence[str]], i: int) -> bool:
    """Whether a row of years stands above one of names, such as f and m, which are then labels."""
    numbers = [text for text in texts[i][1:] if text]
    if not numbers or not all(t.isdecimal() and 1500 <= int(t) <= 2200 for t in numbers):
        return False
    below = next((row for row in texts[i + 1 :] if any(row)), [])
    names = [text for text in below[1:] if text]
    return len(names) > 1 and len({*names}) > 1 and not any(map(is_number, names))


def _is_sign(text: str) -> bool:
    # ":" with flags behind it is Eurostat's.
    return text in SIGNS or (text.startswith(":") and len(text) <= 4)


def holds_cells(column: Sequence[str], signs: Collection[str]) -> bool:
    """Whether all entries of a column are numbers or signs in place of them."""
    kinds = Kinds(frozenset(signs))
    found = {kinds.kind(text) for text in {*column} if text}
    return bool(found) and "text" not in found


@lru_cache(maxsize=2**16)
def is_number(text: str) -> bool:
    """Whether a text is a number or a range of numbers, with either decimal mark."""
    return any((one := read_entry(text, Convention(mark))).is_number or one.ranged for mark in ".,")


def is_scale(texts: Sequence[str]) -> bool:
    """Whether texts are the steps of a scale, such as ages: ranges that follow each other.

    A scale may come back from its start, once for each group. Single numbers ("0", "85") may stand
    among two ranges or more.
    """
    read = [one for text in texts if text and (one := _step(text)) is not None]
    ranges = {entry.sign for entry in read if entry.ranged}
    if len(ranges) < 2 or 2 * len(ranges) < len({e.sign or str(e.low) for e in read}):
        return False
    ends = [
        (
            float("-inf") if entry.low is None else float(entry.low),
            float("inf") if entry.high is None else float(entry.high),
        )
        for entry in read
    ]
    start = ends[0]
    return all(b in (start, a) or b[0] >= a[1] for a, b in pairwise(ends))


def _step(text: str) -> Entry | None:
    entry = read_entry(text, Convention("."))
    return entry if entry.ranged or entry.is_number else None


def are_keys(head: str) -> bool:
    """Whether a header says that whole numbers below it are codes, keys or ranks of the rows."""
    return bool(_KEYS.search(head))


def is_source(row: Sequence[str]) -> bool:
    """Whether a row names a source or a date, and its numbers are years at most."""
    first, *others = [text for text in row if text] or [""]
    numbers = [text for text in others if is_number(text)]
    plain = len(numbers) < 2 and all(t.isdecimal() and 1900 <= int(t) <= 2100 for t in numbers)
    return plain and bool(_SOURCE.match(first))
