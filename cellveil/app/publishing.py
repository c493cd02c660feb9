"""How a published table is to be read, as it is chosen on the page: no browser, no state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from cellveil.app.further import kind_of, read_input
from cellveil.front import refuse
from cellveil.requests.option import Field, fields_of, made
from cellveil.requests.publication import Publication, Signs
from csp.errors import InputError

FOUND = ("prefix", "found")
"""Hierarchies that need no file."""

_PREFIX = "published_"


@lru_cache
def placed() -> dict[str, Field]:
    """Field by the name of its input, with the choices that a published table allows."""
    return {_PREFIX + field.name: _allowed(field) for field in fields_of(Publication)}


def _allowed(field: Field) -> Field:
    def fits(choice: str) -> bool:
        try:
            made(Publication, {field.name: choice})
        except InputError:
            return False
        return True

    if field.kind != "choice":
        return field
    return replace(field, choices=tuple(filter(fits, field.choices)))


def published_kinds() -> dict[str, str]:
    """Return the kind of value of each input; see `cellveil.app.page.INPUTS`."""
    return {name: kind_of(field) for name, field in placed().items()}


def publication(given: Mapping[str, Any], files: Mapping[str, Path]) -> Publication:
    """Request of what was chosen, by the name of the input.

    Parameters
    ----------
    given : mapping of str to object
    files : mapping of str to Path
        Files that were uploaded, by their names there; the file of a field by its input.

    Raises
    ------
    InputError
        For a text that is not the number it should be, and a hierarchy whose file is not here: no
        other file of this machine is opened.
    """
    fields: dict[str, Any] = {}
    for name, field in placed().items():
        value = files.get(name) if field.kind == "file" else given.get(name)
        if isinstance(value, str):
            value = value.strip()
        if value in (None, "", field.default):
            continue
        found = value if field.kind == "file" else read_input(field, value)
        if field.kind == "amount":
            found = str(found)
        fields[field.name] = tuple(found) if isinstance(found, list) else found
    trees = fields.get("hierarchy", ())
    fields["hierarchy"] = tuple(_tree(text, files) for text in trees)
    signs = made(Signs, fields)
    return replace(made(Publication, fields), signs=signs)


def _tree(text: str, files: Mapping[str, Path]) -> str:
    name, sign, told = (part.strip() for part in text.partition("="))
    if told in FOUND:
        return f"{name}={told}"
    if not sign or told not in files:
        refuse(
            f"hierarchy: {text!r} must be COLUMN=prefix, COLUMN=found, or COLUMN=FILE with the "
            "name of a file that was uploaded below"
        )
    return f"{name}={files[told]}"
