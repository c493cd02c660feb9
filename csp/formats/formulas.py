"""Texts that a spreadsheet would take for formulas, written so that it does not, and read again."""

from __future__ import annotations

import re

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
