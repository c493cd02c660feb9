"""Texts that a spreadsheet would take for formulas, written so that it does not, and read again."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+|inf)")


def without_formula(text: str) -> str:
    """Text with an apostrophe before it, if a spreadsheet would take it for a formula.

    That is one that begins with =, +, -, @, a tab or a line end, and is not a number. One that
    begins with apostrophes and then looks like that gets one more, so that `as_meant` gives every
    text back.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_meant(text: str) -> str:
    """Text without the apostrophe that keeps spreadsheets from taking it for a formula.

    Of numbers too: others put one before these.
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def kept_from_formulas(texts: Iterable[str]) -> bool:
    """Whether the codes of a column have apostrophes that keep spreadsheets from formulas.

    Some have one before what looks like a formula. Where another looks like one as it stands, the
    program that wrote them puts none there, and an apostrophe is part of its code. So it is where a
    number stands with and without one: these are two codes, which must not become one.
    """
    like = {text for text in texts if _FORMULA.match(text)}
    bare = {text for text in like if not text.startswith("'")}
    marked = like - bare
    return bool(marked) and all(_NUMBER.fullmatch(t) and f"'{t}" not in marked for t in bare)
