"""Entries of a published table: numbers, ranges and signs, as offices print them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from csp.errors import InputError, argument
from csp.exact import read_decimal
from csp.formats.codes import plain_code
from csp.formats.formulas import as_meant

_BLANKS = "\u00a0\u202f\u2009\u2007"
_MINUS = str.maketrans("\u2212\u2013\u2010\u2011", "----")
_NUMBER = re.compile(r"[+-]?[0-9](?:[0-9 .,'\u2019]*[0-9])?|[+-]?[.,][0-9]+")
_AFTER = re.compile(
    r"(?P<number>[+-]?[0-9](?:[0-9 .,'\u2019]*[0-9])?)\s*"
    r"(?P<note>(?:(?<= )[0-9]{1,2}\)|[a-z]\)|"
    r"[*\u2020\u2021\u00b9\u00b2\u00b3\u2070-\u2079]+|\[[a-z0-9]{1,3}\]|\([a-z0-9]{1,3}\)|"
    r"(?<![A-Za-z])[A-Za-z]{1,2}(?![A-Za-z]))+)"
)
_BETWEEN = re.compile(
    r"(?P<low>[^<>=]*?[0-9])\s*(?:-|\u2013|\bto\b|\bbis\b|\u2026)\s*(?P<high>[0-9].*)"
)
_BELOW = re.compile(
    r"(?P<sign><=|\u2264|<|under|unter|less than|fewer than)\s*(?P<end>[0-9].*)", re.I
)
_ABOVE = re.compile(
    r"(?:(?P<sign>>=|\u2265|>|over|\u00fcber|more than|at least)\s*(?P<end>[0-9].*)|"
    r"(?P<more>[0-9][0-9 .,'\u2019]*)\s*(?:\+|or more|und mehr|and over))", re.I
)  # fmt: skip
_GROUPS = {
    mark: re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:{re.escape(mark)}[0-9]{{3}})+") for mark in ".,"
}
_SCALES = frozenset({"k", "m", "mn", "bn", "b", "t", "td"})
"""Letters that multiply a number: to leave them out would change it."""


@dataclass(frozen=True, slots=True)
class Convention:
    """How numbers are written.

    Attributes
    ----------
    decimal : {".", ","}
    note : str
        What was guessed, as a sentence; "" if there was nothing to guess.
    """

    decimal: str = "."
    note: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What an entry says: a number, a range, or a sign.

    Attributes
    ----------
    low, high : Decimal or None
        The number twice; the ends of a range, None where it has none.
    sign : str
        What stands in place of a number; "" where there is one.
    ranged : bool
    strict : (bool, bool)
        Whether the ends themselves are left out: "<5".
    note : str
        What stands behind the number.
    """

    low: Decimal | None = None
    high: Decimal | None = None
    sign: str = ""
    ranged: bool = False
    strict: tuple[bool, bool] = (False, False)
    note: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it is one number."""
        return self.low is not None and not self.ranged


def sign_of(item: Any) -> str:
    """Text of an entry without blanks around it; "" for a missing one."""
    if item is None or (isinstance(item, float) and item != item):
        return ""
    text = str(item)
    for blank in _BLANKS:
        text = text.replace(blank, " ")
    return as_meant(plain_code(text))


def convention_of(texts: Sequence[str], decimal: str | None = None) -> Convention:
    """Find which mark is decimal and which separates thousands.

    Parameters
    ----------
    texts : sequence of str
        Entries; those that are not numbers say nothing.
    decimal : {".", ","}, optional
        As the caller says.

    Raises
    ------
    InputError
        If a mark may be either.
    """
    if decimal is not None:
        return Convention(decimal)
    numbers = [m[0] for m in map(_NUMBER.match, texts) if m]
    marked = {mark: [t for t in numbers if mark in t] for mark in ".,"}
    if not marked["."] and not marked[","]:
        return Convention()
    for text in numbers:  # the last of two different marks is decimal
        if "." in text and "," in text:
            return Convention("," if text.rindex(",") > text.rindex(".") else ".")
    for mark, other in (".,", ",."):
        clear = [t for t in marked[mark] if not _GROUPS[mark].fullmatch(t)]
        if clear and not any(t.count(mark) > 1 for t in clear):
            return Convention(mark)
        if any(t.count(mark) > 1 for t in marked[mark]):
            return Convention(other)
    if marked["."] and marked[","]:
        return Convention("," if len(marked["."]) > len(marked[","]) else ".")
    mark, other = (".", ",") if marked["."] else (",", ".")
    plain = [t for t in numbers if mark not in t]
    if plain and not any(len(t.lstrip("+-").replace(" ", "")) > 3 for t in plain):
        word = {".": "points", ",": "commas"}[mark]
        return Convention(other, f"{word} in numbers are read as separators of thousands")
    msg = (
        f"{marked[mark][0].strip()!r} may be a decimal number or one of thousands; say "
        f"{argument('decimal', '.')} or {argument('decimal', ',')}"
    )
    raise InputError(msg)


def read_entry(text: str, convention: Convention) -> Entry:
    """Read an entry: "1 234", "1.234,5 r", "20-99", "<5", or a sign such as "[c]".

    Parameters
    ----------
    text : str
        As `sign_of` returns it.
    convention : Convention
    """
    plain = text.translate(_MINUS)
    if (number := _number(plain, convention)) is not None:
        return Entry(number, number)
    after = _AFTER.fullmatch(plain)
    noted = after is not None and after["note"].casefold() not in _SCALES
    if after and noted and (number := _number(after["number"], convention)) is not None:
        return Entry(number, number, note=after["note"])
    below = _BELOW.fullmatch(plain)
    if below and (number := _number(below["end"], convention)) is not None:
        strict = below["sign"].lower() not in ("<=", "\u2264")
        return Entry(None, number, ranged=True, strict=(False, strict), sign=text)
    above = _ABOVE.fullmatch(plain)
    if above and (number := _number(above["end"] or above["more"], convention)) is not None:
        strict = (above["sign"] or ">=").lower() in (">", "over", "\u00fcber", "more than")
        return Entry(number, None, ranged=True, strict=(strict, False), sign=text)
    between = _BETWEEN.fullmatch(plain)
    if between:
        low, high = (_number(between[end], convention) for end in ("low", "high"))
        if low is not None and high is not None and low <= high:
            return Entry(low, high, ranged=True, sign=text)
    return Entry(sign=text)


def _number(text: str, convention: Convention) -> Decimal | None:
    text = text.strip()
    if text.startswith("(") and text.endswith(")") and _NUMBER.fullmatch(text[1:-1]):
        return None
    if not _NUMBER.fullmatch(text):
        return None
    thousands = "," if convention.decimal == "." else "."
    whole, mark, fraction = text.partition(convention.decimal)
    digits = re.split(rf"[ '\u2019{re.escape(thousands)}]", whole.lstrip("+-"))
    if len(digits) > 1 and not (0 < len(digits[0]) <= 3 and all(len(d) == 3 for d in digits[1:])):
        return None
    if fraction and not fraction.isdecimal():
        return None
    sign = "-" if whole.startswith("-") else ""
    return read_decimal(f"{sign}{''.join(digits) or '0'}{'.' if mark else ''}{fraction}")
