"""Ways to publish one table, beside each other, as one HTML page for the office."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.report.skeleton import WIDTH, bar, box, grid, row, section, whole_page

if TYPE_CHECKING:
    from cellveil.comparing.side_by_side import Comparison

_HEADS = {
    "withheld": "withheld", "changed": "changed", "mean_error": "mean error",
    "largest_error": "largest error", "sensitive": "sensitive",
    "short": "below their levels", "short_inside": "below, to lone contributors too",
    "known": "known exactly", "narrowest": "closest call: width", "wanted": "asked for",
    "proven": "proved best",
}  # fmt: skip

_MOST = 10.0
"""Room over the room asked for at which a bar is full."""


def ways_page(found: Comparison, title: str) -> str:
    """Page of a comparison: facts by method, errors by level, what knowing the method tells.

    Parameters
    ----------
    found : Comparison
    title : str

    Returns
    -------
    str
    """
    facts = found.summary()
    lead = (
        f"{found.table.n_cells:,} cells, published in {len(facts)} ways and judged by one audit. "
        "Which is best depends on what readers need."
    )
    sections = [
        *section("Side by side", _facts(facts)),
        *section(
            "Sensitive cells",
            '<p class="lead">Room that is left to the sensitive cell that has least, over the room '
            f"asked for; a full bar is {_MOST:g} times as much, and one below the line is too "
            "little.</p>",
            _rooms(found),
        ),
        *section("Errors by level", _levels(found)),
        *section("An attacker who knows the method", _told(facts)),
    ]
    return whole_page(title, lead, sections, internal=True)


def _facts(facts: dict[str, dict[str, Any]]) -> str:
    rows = []
    for method, one in facts.items():
        if one["reason"]:
            why = f'<td class="words" colspan="{len(_HEADS)}">{escape(one["reason"])}</td>'
            rows.append(row(method, more=why))
        else:
            rows.append(row(method, [_number(one[name]) for name in _HEADS]))
    return grid("bars", ["method", *map(escape, _HEADS.values())], rows)


def _rooms(found: Comparison) -> str:
    rows = []
    for way in found.ways:
        if way.reason or not len(way.rooms):
            continue
        least = float(np.min(way.rooms))
        reach = round(min(least / _MOST, 1.0) * WIDTH, 1)
        mark = f'<line class="axis" x1="{WIDTH / _MOST}" x2="{WIDTH / _MOST}" y1="0" y2="16"/>'
        drawn = bar([box("range", 0, reach), mark])
        rows.append(row(way.method, [_number(least)], f"<td>{drawn}</td>"))
    return grid("bars", ["method", "least room", ""], rows)


def _levels(found: Comparison) -> Iterator[str]:
    columns = found.levels()
    names = ("level", "cells", "withheld", "changed", "mean_error", "largest_error")
    most = max([one for one in columns["mean_error"] if one is not None], default=0.0) or 1.0
    rows = []
    for i, method in enumerate(columns["method"]):
        numbers = [_number(columns[name][i]) for name in names]
        share = (columns["mean_error"][i] or 0.0) / most
        drawn = bar([box("range", 0, round(share * WIDTH, 1))])
        rows.append(row(method, numbers, f"<td>{drawn}</td>"))
    heads = ["method", *(escape(name.replace("_", " ")) for name in names), ""]
    yield grid("bars", heads, rows)


def _told(facts: dict[str, dict[str, Any]]) -> str:
    names = ("method_short", "method_known", "tables", "left")
    rows = []
    for method, one in facts.items():
        words = f'<td class="words">{escape(one["method_words"] or "")}</td>'
        rows.append(row(method, [_number(one[name]) for name in names], words))
    heads = ["method", "below their levels", "known exactly", "consistent tables", "left", ""]
    return grid("bars", heads, rows)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "endless" if np.isinf(value) else f"{value:,.6g}"
