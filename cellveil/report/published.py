"""The audit of a table that somebody else published, as one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

import numpy as np

from attacks.published_findings import PublishedAudit, unavailable_cells
from cellveil.report.skeleton import grid, panels, section, whole_page
from csp.exact import UNBOUNDED, grouped_text
from csp.release.release import Release
from csp.tables.cross.html import CELLS, cell_texts
from csp.tables.cross.layout import cross_table

MOST = 1000
"""Cells in a list of the page; the audit as JSON names all."""


REVEALED = (
    "This page shows withheld values that can be worked out. Tell the office that published the "
    "table before anyone else."
)


def audit_page(found: PublishedAudit, title: str, *, reveal: bool = False) -> str:
    """Page of an audit: what was found, the cells that can be worked out, and the table.

    Parameters
    ----------
    found : PublishedAudit
    title : str
    reveal : bool
        Whether to show the values that can be worked out; the page says so at its top then.

    Returns
    -------
    str
    """
    lead, *others = found.sentences()
    sections = [f"<p>{escape(line)}</p>" for line in others]
    if found.contradictions:
        lines = "".join(f"<li>{escape(one.text())}</li>" for one in found.contradictions[:MOST])
        sections += section("What cannot all be true", f"<ul>{lines}</ul>")
    sections += _worked_out(found, reveal=reveal)
    sections += _mend(found)
    sections += _table(found, reveal=reveal)
    return whole_page(title, lead, sections, internal=REVEALED if reveal else False)


def _cell(release: Release, cell: int) -> str:
    return "".join(f"<th>{escape(code)}</th>" for code in release.labels[cell])


def _worked_out(found: PublishedAudit, *, reveal: bool) -> Iterator[str]:
    """Yield the list of cells that can be worked out, with reasons."""
    if not found.disclosed:
        return
    release = found.release
    rows = []
    for cell in found.disclosed[:MOST]:
        value = f'<td class="number">{escape(found.value_of(cell))}</td>' if reveal else ""
        why = escape(found.reasons.get(cell, ""))
        rows.append(f'<tr>{_cell(release, cell)}{value}<td class="words">{why}</td></tr>')
    heads = [*map(escape, release.names), *(["value"] if reveal else []), "because"]
    yield from section(
        "Cells that can be worked out", grid("known", heads, rows), _left(len(found.disclosed))
    )


def _mend(found: PublishedAudit) -> Iterator[str]:
    if not (found.disclosed and found.mend):
        return
    rows = [f"<tr>{_cell(found.release, cell)}</tr>" for cell in found.mend[:MOST]]
    heads = map(escape, found.release.names)
    yield from section("To be withheld as well", grid("mend", heads, rows), _left(len(found.mend)))


def _left(count: int) -> str:
    return f"<p>… {count - MOST:,} more cells</p>" if count > MOST else ""


def _table(found: PublishedAudit, *, reveal: bool) -> Iterator[str]:
    """Yield the table as it was published, with the cells that can be worked out marked."""
    release = found.release
    if len(release.pattern) > CELLS or not release.names:
        return
    known = {*found.disclosed}
    narrow = set()
    if found.disclosure is not None:
        narrow = {*found.disclosure.cells[found.narrow].tolist()}
    plain, missing = _texts(release), unavailable_cells(release)
    # As it was printed, where it has two sides.
    layout = cross_table(release, *(release.names if len(release.names) == 2 else ()))

    def text(cell: int) -> str:
        return f"× {found.value_of(cell)}" if reveal and cell in known else plain(cell)

    def kind(cell: int) -> str:
        if not release.pattern[cell]:
            return ""
        mark = " primary" if cell in known else " secondary" if cell in narrow else ""
        return "" if missing[cell] else f"suppressed{mark}"

    yield from section(
        "The table as it was read",
        '<p class="lead">× is a withheld cell, – one that is known to be empty, .. one that is not '
        "available.</p>",
        '<p class="key"><span class="primary">can be worked out</span> <span class="secondary">'
        "can be worked out closely</span></p>",
        panels(layout, text, kind),
    )


def _texts(release: Release) -> Callable[[int], str]:
    """Text of each cell as it was published, where a range is one."""
    plain = cell_texts(release.published, release.pattern, release.structural, release.scale)
    given = release.pattern & ((release.lower > 0) | (release.upper < UNBOUNDED))
    absent = np.zeros(len(given), bool) if release.ranged is None else release.ranged & ~given

    missing = unavailable_cells(release)

    def text(cell: int) -> str:
        if missing[cell]:
            return ".."
        if not given[cell]:
            return "" if absent[cell] else plain(cell)
        low, high = int(release.lower[cell]), int(release.upper[cell])
        ends = ["" if abs(end) >= UNBOUNDED else grouped_text(end, release.scale)
                for end in (low, high)]  # fmt: skip
        return " to ".join(ends) if all(ends) else f"{ends[0]} or more" if ends[0] else "…"

    return text
