"""Protected tables and audits as people read them in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table as Grid
from rich.text import Text

from cellveil.render.screen import printable
from csp.audits.audit import Audit
from csp.audits.violations import Violation
from csp.exact import Bools, end_text, grouped_text
from csp.mechanism import Protected
from csp.problem.problem import Problem
from csp.solve import Suppression
from csp.solve.fallback import EVERYTHING
from csp.tables.cross.layout import CrossTable, Panel, cross_table
from csp.tables.table import Table

EMPTY = "-"
"""Shown for cells without contributors."""

ROWS = 100
"""Rows of a panel on screen; what lies between them and the total is counted."""

PANELS = 20
"""Panels on screen."""

PARTS = 12
"""Parts of a cross table that is wider than the screen, beyond which it is a list."""

GUTTER = 2
"""Blanks between two columns."""

SHORTEST = 9
"""Letters of a heading that are kept on one line."""


# ---- tables --------------------------------------------------------------------------------------


def published_grid(
    protected: Protected, console: Console, *, reveal: bool = False, long: bool = False
) -> Group | Grid:
    """Lay out the published table: crossed, with `long` or in many parts one row per cell.

    Suppressed cells are a cross; with `reveal` they show their value in red. Further dimensions
    are panels, that of all totals first; columns that are too many for the screen stand one part
    below the other, each beside the headings of the rows.
    """
    table = protected.table
    shown = _texts(protected, console, reveal=reveal)
    if not long and len(table.names) > 1:
        straight = cross_table(table)
        ways = []
        for layout in (straight, cross_table(table, straight.across, straight.down)):
            ways.append((layout, _parts(layout, shown, console.width)))
            if len(ways[-1][1]) == 1:
                break
        layout, parts = min(ways, key=lambda way: len(way[1]))
        if len(parts) <= PARTS:
            return _stacked(layout, shown, parts)
    grid = _plain(table)
    grid.add_column("value", justify="right", no_wrap=True)
    for label, text in zip(table.labels, shown, strict=True):
        grid.add_row(*map(_plainly, label), text)
    return grid


def _stacked(
    layout: CrossTable, shown: Sequence[Text], parts: Sequence[Sequence[int]]
) -> Group | Grid:
    """Panels one below the other, each with its codes, and how many are not shown."""
    panels = layout.panels[:PANELS]
    below: list[Any] = []
    for panel in panels:
        if layout.further:
            pairs = zip(layout.further, panel.codes, strict=True)
            codes = ", ".join(f"{printable(n)} {printable(c)}" for n, c in pairs)
            below.append(Text(codes, "bold"))
        below += [_crossed(layout, panel, shown, part) for part in parts]
    left = len(layout.panels) - len(panels)
    if left:
        below.append(Text(f"{left} more panels; --layout long or a file has every cell.", "dim"))
    return below[0] if len(below) == 1 else Group(*below)


def intervals_grid(protected: Protected) -> Grid:
    """Lay out what any outsider can infer of each suppressed cell."""
    table, scale = protected.table, protected.release.scale
    grid = _plain(table)
    grid.add_column("at least", justify="right", no_wrap=True)
    grid.add_column("at most", justify="right", no_wrap=True)
    low, high = protected.published_ends
    for i in np.flatnonzero(protected.pattern).tolist():
        ends = (_end(float(low[i]), scale), _end(float(high[i]), scale))
        grid.add_row(*map(_plainly, table.labels[i]), *map(Text, ends))
    return grid


def _kept(panel: Panel) -> list[int]:
    """Rows of a panel that are shown; the last one is the total."""
    rows = [r for r, cells in enumerate(panel.cells) if (cells >= 0).any()]
    return rows if len(rows) <= ROWS else [*rows[: ROWS - 1], rows[-1]]


def _headings(layout: CrossTable) -> list[str]:
    return ["  " * row.depth + printable(row.code) for row in layout.rows]


def _widths(layout: CrossTable, shown: Sequence[Text]) -> list[int]:
    """Widths of the columns of all panels on screen at which no number is broken."""
    widths = [min(len(printable(column.code)), SHORTEST) for column in layout.columns]
    for panel in layout.panels[:PANELS]:
        for row in _kept(panel):
            for c, cell in enumerate(panel.cells[row].tolist()):
                if cell >= 0:
                    widths[c] = max(widths[c], len(shown[cell]))
    return widths


def _parts(layout: CrossTable, shown: Sequence[Text], width: int) -> list[list[int]]:
    """Columns that fit on the screen beside each other; one a part if not even one does."""
    first = max(len(head) for head in (*_headings(layout), printable(layout.down))) + GUTTER
    parts: list[list[int]] = []
    left = 0
    for c, least in enumerate(_widths(layout, shown)):
        if not parts or least + GUTTER > left:
            parts.append([])
            left = width - first
        parts[-1].append(c)
        left -= least + GUTTER
    return parts


def _crossed(
    layout: CrossTable, panel: Panel, shown: Sequence[Text], columns: Sequence[int]
) -> Grid:
    """Cross table of some columns of a panel."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), collapse_padding=True)
    heads, widths = _headings(layout), _widths(layout, shown)
    first = max(len(head) for head in (*heads, printable(layout.down)))
    grid.add_column(_plainly(layout.down), min_width=first, no_wrap=True)
    for c in columns:
        title = _plainly(layout.columns[c].code)
        if layout.columns[c].total:
            title.style = "bold"
        grid.add_column(title, justify="right", min_width=widths[c], overflow="fold")
    kept = _kept(panel)
    unseen = int((panel.cells >= 0).any(axis=1).sum()) - len(kept)
    for place, r in enumerate(kept):
        if unseen > 0 and place == len(kept) - 1:
            grid.add_row(Text(f"... {unseen} more", "dim"))
        line = [shown[cell] if cell >= 0 else Text() for cell in panel.cells[r][columns]]
        grid.add_row(Text(heads[r]), *line, style="bold" if layout.rows[r].total else "")
    return grid


def _plain(table: Table) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name in table.names:
        grid.add_column(_plainly(name))
    return grid


def _plainly(label: str) -> Text:
    return Text(printable(label))


def _texts(protected: Protected, console: Console, *, reveal: bool) -> list[Text]:
    table, release = protected.table, protected.release
    cross = cross_for(console)
    empty = np.zeros(table.n_cells, bool) if table.structural is None else table.structural
    shown = []
    for i, hidden in enumerate(release.pattern.tolist()):
        if hidden and not reveal:
            shown.append(Text(cross, style="bold red"))
        elif hidden:
            shown.append(Text(grouped_text(int(table.values[i]), table.scale), style="red"))
        elif empty[i]:
            shown.append(Text(EMPTY))
        else:
            shown.append(Text(grouped_text(int(release.published[i]), release.scale)))
    return shown


def cross_for(console: Console) -> str:
    """Symbol of a suppressed cell that the terminal's encoding can show."""
    return "×" if console.encoding.lower().startswith("utf") else "x"


def ends_words(low: float | None, high: float | None, scale: int) -> str:
    """Interval in words; None stands for no limit."""
    texts = ("no limit" if end is None else _end(end, scale) for end in (low, high))
    return "from {} to {}".format(*texts)


def _end(end: float, scale: int) -> str:
    if np.isnan(end):
        return "not proved in time"
    if np.isinf(end):
        return "no limit"
    if end == int(end):
        return grouped_text(int(end), scale)
    text = end_text(end, scale)
    return f"{float(text):,.{scale + 2}f}"


# ---- words ---------------------------------------------------------------------------------------


def sizes(problem: Problem, pattern: Bools, *, reveal: bool = False) -> str:
    """How many cells are published and suppressed; with `reveal`, how many are sensitive.

    Where no cell is secondary, the count would mark every suppressed cell as sensitive.
    """
    table, hidden = problem.table, int(pattern.sum())
    by = "" if table.names == ("cell",) else f" by {' x '.join(table.names)}"
    line = f"{table.n_cells} cells{by}: {table.n_cells - hidden} published, {hidden} suppressed"
    if not reveal:
        return f"{line} (--reveal counts the sensitive ones)." if hidden else f"{line}."
    primary = int(problem.primary.sum())
    return f"{line} ({primary} primary, {hidden - primary} secondary)."


def quality(run: Suppression, cost: str, *, reveal: bool = False) -> str:
    """How good a pattern is, and why the search ended.

    Of a limited run one thing is said, whatever became of it, unless with `reveal`.
    """
    if run.limited and not reveal:
        return (
            "How near this is to the cheapest safe pattern is not stated, since the search could "
            "end before a proof (--reveal tells)."
        )
    ended = {
        "time": "The time limit ended the search. ",
        "interrupt": "Interrupted: this is the best audited pattern so far. ",
    }.get(run.stopped, "")
    if EVERYTHING in run.notes:
        return f"{ended}No other pattern was found, so everything is suppressed that may be."
    if run.proven:
        tie = "" if run.canonical else " (equally cheap patterns were not compared)"
        return f"{ended}Proven optimum: no safe pattern costs less, where {cost}{tie}."
    if not reveal:
        return f"{ended}Not proved optimal."
    return (
        f"{ended}Not proved optimal: the cheapest safe pattern costs at most "
        f"{100 * run.gap:.4g} % less, where {cost}."
    )


def cost_words(cost: object) -> str:
    """Say what a secondary cell costs."""
    return {"unit": "each cell costs 1", "value": "each cell costs its value"}.get(
        str(cost), "cells cost what the mechanism says"
    )


def guarantee(
    audit: Audit, floor: str, *, options: bool = True, singletons: bool = False,
    defended: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Say what the audit, which is safe, proved and what it did not look at.

    `floor` is what no interval falls below, such as "its protection levels"; `options` names the
    options that would look further. `singletons` says whether contributors who know their own cell
    were asked for (the audit does not say so where the table has none), `defended` whether a
    defence answers for what the choice of the pattern discloses.
    """
    singletons = singletons or "singletons" in audit.guards
    whole = ", that every cell is a whole number of units" if audit.integer else ""
    yield (
        "Audited safe: an outsider who knows every published cell, which cells are missing, how "
        f"cells add up, what bounds them beforehand (such as zero){whole}, cannot narrow the "
        f"interval of any sensitive cell below {floor}. Proved in exact arithmetic, without the "
        "optimiser."
    )
    if singletons:
        yield "The same holds for the only contributor of another cell, who knows that cell."
    if "unions" in audit.guards:
        yield "Sums of suppressed cells that the published totals disclose pass the rules too."
    further = (
        ("a contributor who is alone in a cell and subtracts it", "--singletons", singletons),
        ("sensitive sums of suppressed cells", "--unions", "unions" in audit.guards),
        ("an attacker who knows that cells are whole units", "--integer", audit.integer),
    )
    missed = [
        f"{words} ({option})" if options else words for words, option, done in further if not done
    ]
    if not defended:
        words = "what the choice of this pattern may disclose"
        missed.append(f"{words} (--defence)" if options else words)
    if missed:
        yield f"Not considered: {'; '.join(missed)}."


def promises(protected: Protected, *, options: bool = True) -> Iterator[str]:
    """Say the same of a protected table, which knows what was asked for."""
    asked = str(protected.mechanism.rules)
    if protected.mechanism.width is not None:
        asked += f" at width {protected.mechanism.width}"
    return guarantee(
        protected.audit, f"what {asked} requires", options=options,
        singletons="singletons" in protected.guards, defended=protected.guarantee is not None,
    )  # fmt: skip


def violation_words(
    problem: Problem, violations: Iterable[Violation], *, reveal: bool = False
) -> list[str]:
    """Say which promises are broken for which cells, one line per cell; amounts only with `reveal`.

    Amounts are left out because they tell the cell: the room below it, down to zero, is its
    value, and a required level is a known share of it.
    """
    if reveal:
        return [_plain_name(v.words) for v in violations]
    sides: dict[tuple[int, ...], list[str]] = {}
    lines: list[str] = []
    for v in violations:
        if v.kind in ("published", "suppressed", "union"):
            lines.append(v.words)  # holds no amounts
        elif v.kind == "sliding" and v.attained == 0:
            sides[v.cells] = ["can be worked out exactly"]
        elif sides.get(v.cells) != ["can be worked out exactly"]:
            sides.setdefault(v.cells, []).append(_SIDES.get(v.kind, _SIDES["sliding"]))
    for cells, found in sides.items():
        who = problem.table.cell(cells[0])
        by = f" by the contributor of cell {problem.table.cell(cells[1])}" if cells[1:] else ""
        if {_SIDES["lower"], _SIDES["upper"]} <= set(found):
            found = ["can be bounded too closely from both sides"]
        what = " and ".join(dict.fromkeys(found))
        lines.append(f"cell {who} {what}{by}")
    return [_plain_name(line) for line in lines]


_SIDES = {
    "lower": "can be bounded too closely from below",
    "upper": "can be bounded too closely from above",
    "sliding": "can be narrowed down too far",
}


def _plain_name(words: str) -> str:
    """Cells of JJ files have nothing but an id: "cell 7", not "cell (cell=7)"."""
    return re.sub(r"\(cell=(\d+)\)", r"\1", words)
