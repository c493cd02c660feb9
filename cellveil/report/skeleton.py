"""A page of a report: style and script inside, nothing from elsewhere, and what all pages show."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from cellveil.front import refuse
from cellveil.io.files import write_json
from csp.formats.files import Together, joined
from csp.tables.cross.html import panel_rows
from csp.tables.cross.layout import CrossTable

INTERNAL = (
    "Internal. This page shows what is not published: suppressed values and sensitive cells, or "
    "what the original records decide. It must not leave the office."
)

WIDTH = 220
"""Width of a bar, in units of its drawing."""


def write_page(
    path: Path, page: str, facts: Mapping[str, Any], files: Together | None = None
) -> None:
    """Write a page, and beside it its facts as .json; an `InputError` if that fails."""
    if path.suffix.lower() != ".html":
        refuse(f"{path} must end with .html; the facts are written beside it as .json")
    with joined(files) as group:
        with group.writer(path) as out:
            out.write(page)
        write_json(path.with_suffix(".json"), facts, group)


def whole_page(
    title: str, lead: str, sections: Iterable[str], *, internal: bool | str = False
) -> str:
    """Put sections, which are HTML already, below a heading and a sentence.

    `internal` says at the top, in red, that the page holds what must not be published, in words of
    its own where it is a text. The page allows no request and no script but its own.
    """
    warned = INTERNAL if internal is True else internal or ""
    style, script = (
        resources.files("cellveil.report").joinpath(name).read_text(encoding="utf-8")
        for name in ("style.css", "script.js")
    )
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{style}</style></head><body>",
        f'<p class="internal" role="alert">{escape(warned)}</p>' if warned else "",
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(lead)}</p>',
        *sections,
        f"<script>{script}</script></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


# ---- parts of pages ------------------------------------------------------------------------------


def section(head: str, *parts: str | Iterable[str]) -> Iterator[str]:
    """Yield a section: its heading, then parts that are HTML already."""
    yield f"<section><h2>{escape(head)}</h2>"
    for part in parts:
        yield from [part] if isinstance(part, str) else part
    yield "</section>"


def panels(
    layout: CrossTable, text: Callable[[int], str], kind: Callable[[int], str]
) -> Iterator[str]:
    """Yield a cross table, a panel for each code of further dimensions; see `panel_rows`."""
    for number, panel in enumerate(layout.panels):
        rows = "".join(panel_rows(layout, panel, text, kind=kind))
        whole = f'<div class="scroll"><table class="panel">{rows}</table></div>'
        if not layout.further:
            yield whole
            continue
        pairs = zip(layout.further, panel.codes, strict=True)
        name = escape(", ".join(f"{n} {c}" for n, c in pairs))
        opened = " open" if number == 0 else ""
        part = "" if number == 0 else ' class="part"'
        yield f"<details{part}{opened}><summary>{name}</summary>{whole}</details>"


def grid(kind: str, heads: Iterable[str], rows: Iterable[str]) -> str:
    """Lay out a table of a class; heads and rows are HTML already."""
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return (
        f'<div class="scroll"><table class="cells {kind}"><thead><tr>{columns}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def row(head: str, numbers: Iterable[str] = (), more: str = "") -> str:
    """Lay out a row of a table: its head, numbers, and more cells, which are HTML already."""
    cells = "".join(f'<td class="number">{escape(number)}</td>' for number in numbers)
    return f'<tr><th scope="row">{escape(head)}</th>{cells}{more}</tr>'


def listed(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield a list of names and what they stand for; what is None is left out."""
    yield "<dl>"
    for name, value in told.items():
        if value is not None:
            yield f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
    yield "</dl>"


def origin(facts: Mapping[str, Any]) -> dict[str, str]:
    """Say which program made a page, of which files."""
    hashes = {f"SHA-256 of {name}": value for name, value in facts.get("inputs", {}).items()}
    return {"made by": facts["made_by"], **hashes}


def bar(parts: Sequence[str], label: str = "") -> str:
    """Draw a bar; without a label it is not read aloud."""
    aloud = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return (
        f'<svg class="bar" viewBox="0 0 {WIDTH} 16" preserveAspectRatio="none" {aloud}>'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="8" y2="8"/>{"".join(parts)}</svg>'
    )


def box(name: str, left: float, right: float, top: float = 4, height: float = 8) -> str:
    """Draw a part of a bar."""
    width = round(right - left, 1)
    return f'<rect class="{name}" x="{left}" y="{top}" width="{width}" height="{height}"/>'


def shares(heads: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """Lay out a list: a name, a number, a share from 0 to 1 as a bar, perhaps another number."""
    lines = []
    for name, number, share, *more in rows:
        drawn = bar([box("range", 0, round(min(max(share, 0.0), 1.0) * WIDTH, 1))])
        further = "".join(f'<td class="number">{escape(text)}</td>' for text in more)
        lines.append(row(str(name), [number], f"<td>{drawn}</td>{further}"))
    return grid("bars", [*map(escape, heads[:2]), "", *map(escape, heads[2:])], lines)
