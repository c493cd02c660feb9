"""Which texts are one code, and which names one dimension: those that look alike."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

from csp.errors import InputError


def plain_code(item: object) -> str:
    """Return the text of a code: two that look alike are one, whatever form an accent has.

    The form is NFC, in which letter and accent are one sign where there is such a one: files from
    one system have it, from another they have both apart.
    """
    text = str(item).strip()
    return text if text.isascii() else normalize("NFC", text)


def names_alike(several: Sequence[Sequence[str]], what: str = "table") -> list[tuple[str, ...]]:
    """Names of the dimensions of several tables; those that look alike are one.

    Under two names a dimension would be two, and what the tables share would not be protected
    together. A name that all tables write alike stays as it is, for columns are found by it.

    Raises
    ------
    InputError
        If two dimensions of one table look alike; `what` names it.
    """
    written: dict[str, set[str]] = {}
    for number, names in enumerate(several, start=1):
        forms = [normalize("NFC", name) for name in names]
        twice = next((form for form in forms if forms.count(form) > 1), None)
        if twice is not None:
            msg = f"{what} {number} has two dimensions with the name {twice!r}; rename one of them"
            raise InputError(msg)
        for form, name in zip(forms, names, strict=True):
            written.setdefault(form, set()).add(name)
    other = {name: form for form, those in written.items() if len(those) > 1 for name in those}
    return [tuple(other.get(name, name) for name in names) for names in several]
