"""How a code is written: without blanks around it, and in one form of Unicode."""

from __future__ import annotations

from unicodedata import normalize


def plain_code(item: object) -> str:
    """Return the text of a code: two that look alike are one, whatever form an accent has.

    The form is NFC, in which letter and accent are one sign where there is such a one: files from
    one system have it, from another they have both apart.
    """
    text = str(item).strip()
    return text if text.isascii() else normalize("NFC", text)
