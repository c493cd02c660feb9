"""Options that have no place of their own on the page: made from what requests say of theirs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from typing import Any

from shiny import ui

from cellveil.front import refuse
from cellveil.jobs.keys import SECTIONS, in_keys
from cellveil.requests.option import Field
from cellveil.requests.source import Written

_PREFIX = "further_"

_OWN = {
    *("value", "contributor", "weight", "negative", "missing"),
    *("cost", "margins", "singletons", "time_limit"),
}
"""Fields that the page asks for in words of its own."""

_NOT_HERE = {"memory", "apriori_unknown", *(part.name for part in fields(Written))}
"""The page reads a file once, before anything is said of it, and no a-priori file."""


def _placed() -> dict[str, tuple[str, Field]]:
    """Section and field by the name of the input."""
    return {
        _PREFIX + field.key: (section, field)
        for section in ("data", "rules", "solver")
        for field in SECTIONS[section]
        if field.name not in _OWN | _NOT_HERE and field.kind != "file" and not field.required
    }


def kinds() -> dict[str, str]:
    """Return the kind of value of each input; see `cellveil.app.page.INPUTS`."""
    return {name: kind_of(field) for name, (_, field) in _placed().items()}


def kind_of(field: Field) -> str:
    """Return the kind of value of the input of a field."""
    return field.kind if field.kind in ("flag", "file") else "text"


def further() -> Any:
    """Return the inputs of all options that have no place of their own."""
    return inputs_of({name: field for name, (_, field) in _placed().items()})


def inputs_of(placed: Mapping[str, Field]) -> Any:
    """Return the inputs of fields, by the name of the input; each says what the field says."""
    found = []
    for name, field in placed.items():
        words = in_keys(field.option.words)
        otherwise = field.option.otherwise or (str(field.default) if field.default else "none")
        if field.kind == "flag":
            found.append(ui.input_checkbox(name, words, value=bool(field.default)))
            continue
        label = ui.span(field.key, ui.tags.small(words, class_="tip"))
        if field.kind == "switch" and not field.choices:
            known = {"": otherwise, "true": "yes", "false": "no"}
            found.append(ui.input_select(name, label, known))
        elif field.kind == "file":
            found.append(ui.input_file(name, label, accept=[".csv", ".txt"], width="100%"))
        elif field.choices:
            known = {"": otherwise} | {choice: choice for choice in field.choices}
            found.append(ui.input_select(name, label, known))
        else:
            found.append(ui.input_text(name, label, "", placeholder=otherwise))
    return ui.layout_columns(*found, col_widths={"sm": 12, "md": 6})


def further_sections(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Sections of a job from what was chosen, by the name of the input.

    Raises
    ------
    InputError
        For a text that is not the number it should be.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, (section, field) in _placed().items():
        value = given.get(name)
        if isinstance(value, str):
            value = value.strip()
        if value not in (None, "", field.default):
            found.setdefault(section, {})[field.key] = read_input(field, value)
    return found


def read_input(field: Field, value: Any) -> Any:
    """Value of a field from what its input holds.

    Raises
    ------
    InputError
        For a text that is not the number it should be, and a list with an empty name.
    """
    if field.kind == "switch" and not field.choices:
        return value == "true"
    if field.kind in ("names", "by column"):
        found = [part.strip() for part in value.split(",")]
        if "" in found:
            refuse(f"{field.key}: {value!r} has an empty name; write it like a,b")
        return found
    if field.kind not in ("whole", "number", "amount"):
        return value
    number = r"-?[0-9]{1,18}" if field.kind == "whole" else r"-?[0-9]{1,18}([.][0-9]{1,18})?"
    if not re.fullmatch(number, value):
        refuse(f"{field.key}: {value!r} is not a number, such as {field.option.example}")
    return int(value) if field.kind == "whole" else Decimal(value)
