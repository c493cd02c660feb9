"""One page for cross tables: what is published, what is proved, and what anyone can infer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellveil.report.facts import report_facts
from cellveil.report.page import inferred, made
from cellveil.report.skeleton import panels, section, whole_page, write_page
from csp.formats.files import Together

if TYPE_CHECKING:
    from cellveil.crosstabs.figures import Figures


def write_crosstab_page(
    path: Path, tables: Mapping[str, Figures], title: str = "", *, files: Together | None = None
) -> None:
    """Write a page of cross tables, and its facts beside it as .json.

    Parameters
    ----------
    path : Path
        ``.html``.
    tables : mapping of str to Figures
        By their headings; "" for none.
    title : str, optional
    files : Together, optional
        Other files that are written or left with it.

    Raises
    ------
    InputError
        If the path has another ending, or a file cannot be written.
    """
    facts = _facts(tables, title)
    write_page(path, crosstab_page(tables, facts), facts, files)


def crosstab_page(tables: Mapping[str, Figures], facts: Mapping[str, Any]) -> str:
    """Return the page of cross tables; `facts` are those that are written beside it."""
    sections: list[str] = []
    for name, table in tables.items():
        sections += _published(name, table)
        for of, told in facts["tables"][name]["protected"].items():
            about = f": {of}" if len(table.protected) > 1 else ""
            proved = (f"<p>{escape(line)}</p>" for line in told["guarantee"])
            sections += section(f"What is proved{about}", proved)
            sections += inferred(told["suppressed_cells"], about)
    first = next(iter(next(iter(facts["tables"].values()))["protected"].values()))
    sections += made(first)
    return whole_page(facts["title"], facts["size"], sections)


def _facts(tables: Mapping[str, Figures], title: str) -> dict[str, Any]:
    told = {
        name: table.summary()
        | {"protected": {of: report_facts(one) for of, one in table.protected.items()}}
        for name, table in tables.items()
    }
    for one in told.values():
        del one["tables"]
    words = "; ".join(
        f"{', '.join(map(str, table.responses))} by {' x '.join([*table.index, *table.columns])}"
        for table in tables.values()
    )
    cells = sum(len(table.pattern) for table in tables.values())
    hidden = sum(int(table.pattern.sum()) for table in tables.values())
    return {
        "title": title or words[:1].upper() + words[1:],
        "size": f"{cells:,} cells, {hidden:,} of them suppressed.",
        "tables": told,
    }


def _published(name: str, table: Figures) -> Iterator[str]:
    """Yield the cross table of each figure, with notes and the comment."""
    parts: list[str] = ['<p class="lead">× is a suppressed cell, – one without any record.</p>']
    if table.comment:
        parts.append(f"<p>{escape(table.comment)}</p>")
    layout = table.layout
    for k, one in enumerate(table.shown):
        parts.append(f"<h3>{escape(str(one.response))}</h3>")
        parts += panels(layout, table.texts(k).__getitem__, one.kind)
    parts += [f"<p>{escape(note[:1].upper() + note[1:])}.</p>" for note in table.notes]
    yield from section(name or "The table as published", *parts)
