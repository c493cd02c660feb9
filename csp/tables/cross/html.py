"""Cross tables in HTML, for notebooks and reports: plain elements, all text escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from csp.exact import Bools, Ints, grouped_text
from csp.tables.cross.layout import CrossTable, Labelled, Panel, cross_table

SUPPRESSED = "×"
"""Shown for suppressed cells."""

EMPTY = "–"
"""Shown for cells that are known to be empty."""

ROWS = 60
"""Rows of a panel in a notebook; those between them and the total are counted."""

PANELS = 5
"""Panels in a notebook."""

CELLS = 200_000
"""Cells above which a notebook shows facts only: a layout of more would be waited for."""


def cell_texts(
    values: Ints, pattern: Bools, structural: Bools | None, scale: int,
) -> Callable[[int], str]:  # fmt: skip
    """Return what is shown of each cell; values of suppressed cells are not looked at."""

    def text(cell: int) -> str:
        if pattern[cell]:
            return SUPPRESSED
        if structural is not None and structural[cell]:
            return EMPTY
        return grouped_text(int(values[cell]), scale)

    return text


def panel_rows(
    layout: CrossTable,
    panel: Panel,
    text: Callable[[int], str],
    *,
    kind: Callable[[int], str] | None = None,
    most: int | None = None,
) -> Iterator[str]:
    """Rows of one panel as `tr` elements, the headers first.

    Parameters
    ----------
    layout : CrossTable
    panel : Panel
    text : callable
        Text of a cell of the table.
    kind : callable, optional
        Class of its element, for a style sheet.
    most : int, optional
        Rows to show; the last one, the total, always is.

    Yields
    ------
    str
    """
    heads = "".join(f'<th scope="col">{escape(c.code)}</th>' for c in layout.columns)
    if layout.across:
        span = len(layout.columns)
        yield f'<tr class="across"><td></td><th colspan="{span}">{escape(layout.across)}</th></tr>'
    yield f'<tr class="codes"><th scope="col">{escape(layout.down)}</th>{heads}</tr>'
    rows = [r for r, cells in enumerate(panel.cells) if (cells >= 0).any()]
    left = 0 if most is None else max(0, len(rows) - most)
    if left:
        rows = [*rows[: len(rows) - left - 1], -1, rows[-1]]
    for r in rows:
        if r < 0:
            width = len(layout.columns) + 1
            yield f'<tr><td colspan="{width}">… {left:,} more rows</td></tr>'
            continue
        head = layout.rows[r]
        cells = "".join(_cell(int(cell), text, kind) for cell in panel.cells[r])
        style = f"padding-left:{1.4 + 1.2 * head.depth:.1f}em;text-align:left"
        total = ' class="total"' if head.total else ""
        name = f"<strong>{escape(head.code)}</strong>" if head.total else escape(head.code)
        yield (
            f'<tr{total} data-depth="{head.depth}"><th scope="row" style="{style}">{name}</th>'
            f"{cells}</tr>"
        )


def _cell(cell: int, text: Callable[[int], str], kind: Callable[[int], str] | None) -> str:
    if cell < 0:
        return "<td></td>"
    name = "" if kind is None else kind(cell)
    start = f'<td class="{name}">' if name else "<td>"
    return f"{start}{escape(text(cell))}</td>"


def notebook_table(
    table: Labelled, text: Callable[[int], str], facts: Sequence[str],
    layout: CrossTable | None = None,
) -> str:  # fmt: skip
    """Facts and the cross table of a table or release, as a notebook shows it."""
    if len(table.labels) > CELLS or not table.names:
        return notebook_facts(facts)
    layout = cross_table(table) if layout is None else layout
    parts = []
    for panel in layout.panels[:PANELS]:
        pairs = zip(layout.further, panel.codes, strict=True)
        title = ", ".join(f"{name} {code}" for name, code in pairs)
        caption = f"<caption>{escape(title)}</caption>" if title else ""
        rows = "".join(panel_rows(layout, panel, text, most=ROWS))
        parts.append(f'<table class="dataframe">{caption}{rows}</table>')
    left = len(layout.panels) - len(parts)
    if left:
        parts.append(f"<p>… {left:,} more panels</p>")
    return notebook_facts(facts, parts)


def notebook_facts(facts: Sequence[str], parts: Iterable[str] = ()) -> str:
    """Lines of facts as a notebook shows them, the first one bold, above parts that are HTML."""
    first, *others = facts
    lines = [f"<strong>{escape(first)}</strong>", *(escape(line) for line in others)]
    return f"<div><p>{'<br>'.join(lines)}</p>{''.join(parts)}</div>"


def notebook_list(facts: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Facts and a plain list, as a notebook shows them; rows beyond `ROWS` are counted."""
    if not rows:
        return notebook_facts(facts)
    lines = ["".join(f"<th>{escape(head)}</th>" for head in heads)]
    lines += ["".join(f"<td>{escape(text)}</td>" for text in row) for row in rows[:ROWS]]
    if len(rows) > ROWS:
        lines.append(f'<td colspan="{len(heads)}">… {len(rows) - ROWS:,} more rows</td>')
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return notebook_facts(facts, [f'<table class="dataframe">{body}</table>'])
