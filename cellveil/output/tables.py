"""Protected tables and audits as people read them in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cellveil.output.files import end_text
from cellveil.output.screen import printable
from csp.audits.audit import Audit
from csp.audits.violations import Violation
from csp.exact import units_text
from csp.problem.problem import Problem
from csp.protection import Protected
from csp.solve import Suppression
from csp.solve.fallback import EVERYTHING
from csp.tables.table import Table

__all__ = [
    "cross_for",
    "ends_words",
    "guarantee",
    "intervals_grid",
    "outline",
    "published_grid",
    "quality",
    "sizes",
    "violation_words",
]

EMPTY = "-"
"""Shown for cells without contributors."""

GUTTER = 3
"""Blanks between two columns."""

SHORTEST = 9
"""Letters of a heading that are kept on one line."""


# ---- tables --------------------------------------------------------------------------------------


def published_grid(protected: Protected, console: Console, *, reveal: bool = False) -> Grid:
    """Lay out the published table: crossed if it has two dimensions and fits, else a row a cell.

    Suppressed cells are a cross; with `reveal` they show their value in red.
    """
    table = protected.table
    shown = _texts(protected, console, reveal=reveal)
    if len(table.names) == 2 and table.n_cells == np.prod([len(_codes(table, d)) for d in (0, 1)]):
        for down, across in ((0, 1), (1, 0)):
            grid, least = _crossed(table, shown, down, across)
            if least <= console.width:
                return grid
    grid = _plain(table)
    grid.add_column("value", justify="right", no_wrap=True)
    for label, text in zip(table.labels, shown, strict=True):
        grid.add_row(*map(_plainly, label), text)
    return grid


def intervals_grid(protected: Protected) -> Grid:
    """Lay out what any outsider can infer of each suppressed cell."""
    table, audit = protected.table, protected.audit
    grid = _plain(table)
    grid.add_column("at least", justify="right", no_wrap=True)
    grid.add_column("at most", justify="right", no_wrap=True)
    low, high = audit.proved
    for i in np.flatnonzero(protected.pattern).tolist():
        ends = (_end(float(low[i]), table.scale), _end(float(high[i]), table.scale))
        grid.add_row(*map(_plainly, table.labels[i]), *map(Text, ends))
    return grid


def outline(table: Table, d: int) -> list[tuple[str, int]]:
    """Codes of a dimension with their depth: parents before their children, the total last."""
    parents = _parents(table, d)
    codes = _codes(table, d)
    root = table.roots[d]
    below: dict[str, list[str]] = {}
    for code in codes:
        below.setdefault(parents.get(code, ""), []).append(code)
    tops = [code for code in below.get("", []) if code != root]
    tops += below.get(root, []) if root else []
    ordered: list[tuple[str, int]] = []
    stack = [(code, 0) for code in reversed(tops)]
    while stack:
        code, depth = stack.pop()
        ordered.append((code, depth))
        stack.extend((child, depth + 1) for child in reversed(below.get(code, [])))
    return [*ordered, *([(root, 0)] if root in codes else [])]


def _codes(table: Table, d: int) -> list[str]:
    return list(dict.fromkeys(label[d] for label in table.labels))


def _parents(table: Table, d: int) -> dict[str, str]:
    """Parent of each code, read from the relations that run along one dimension only."""
    parents: dict[str, str] = {}
    relations = table.relations
    for row in range(relations.shape[0]):
        span = slice(relations.indptr[row], relations.indptr[row + 1])
        cells, signs = relations.indices[span], relations.data[span]
        totals = cells[signs < 0]
        if len(totals) != 1:
            continue
        total = table.labels[int(totals[0])]
        for cell in cells[signs > 0].tolist():
            label = table.labels[cell]
            if [k for k in range(len(label)) if label[k] != total[k]] == [d]:
                parents[label[d]] = total[d]
    return parents


def _crossed(table: Table, shown: Sequence[Text], down: int, across: int) -> tuple[Grid, int]:
    """Cross table, and the least width at which no number is broken."""
    place = {label: i for i, label in enumerate(table.labels)}
    rows, columns = outline(table, down), outline(table, across)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    heads = ["  " * depth + printable(code) for code, depth in rows]
    first = max(len(head) for head in (*heads, printable(table.names[down])))
    grid.add_column(_plainly(table.names[down]), min_width=first, no_wrap=True)
    least = first + GUTTER
    body: list[list[Text]] = [[] for _ in rows]
    for column, _ in columns:
        for line, (code, _) in zip(body, rows, strict=True):
            label = (code, column) if down == 0 else (column, code)
            line.append(shown[place[label]])
        title = _plainly(column)
        width = max(min(len(title), SHORTEST), *(len(line[-1]) for line in body))
        if column == table.roots[across] or _has_children(columns, column):
            title.style = "bold"
        grid.add_column(title, justify="right", min_width=width, overflow="fold")
        least += width + GUTTER
    for head, (code, _), line in zip(heads, rows, body, strict=True):
        total = code == table.roots[down] or _has_children(rows, code)
        grid.add_row(Text(head), *line, style="bold" if total else "")
    return grid, least


def _has_children(codes: Sequence[tuple[str, int]], code: str) -> bool:
    at = next(i for i, (name, _) in enumerate(codes) if name == code)
    return at + 1 < len(codes) and codes[at + 1][1] > codes[at][1]


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
            shown.append(Text(_number(int(table.values[i]), table.scale), style="red"))
        elif empty[i]:
            shown.append(Text(EMPTY))
        else:
            shown.append(Text(_number(int(release.published[i]), release.scale)))
    return shown


def cross_for(console: Console) -> str:
    """Symbol of a suppressed cell that the terminal's encoding can show."""
    return "×" if console.encoding.lower().startswith("utf") else "x"


def _number(units: int, scale: int) -> str:
    whole, point, rest = units_text(units, scale).partition(".")
    return f"{int(whole):,}{point}{rest}" if whole not in ("-0", "") else whole + point + rest


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
        return _number(int(end), scale)
    text = end_text(end, scale)
    return f"{float(text):,.{scale + 2}f}"


# ---- words ---------------------------------------------------------------------------------------


def sizes(problem: Problem, pattern: NDArray[np.bool_], *, reveal: bool = False) -> str:
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
    """How good a pattern is, and why the search ended."""
    ended = {
        "time": "The time limit ended the search. ",
        "interrupt": "Interrupted: this is the best audited pattern so far. ",
    }.get(run.stopped, "")
    if EVERYTHING in run.notes:
        return f"{ended}No pattern was found in time, so everything is suppressed that may be."
    if run.proven:
        tie = "" if run.canonical else " (equally cheap patterns were not compared)"
        return f"{ended}Proven optimum: no safe pattern costs less, where {cost}{tie}."
    gap = run.gap if reveal else run.gap_at_most
    if gap == 1:
        return f"{ended}Not proved optimal."
    return (
        f"{ended}Not proved optimal: the cheapest safe pattern costs at most "
        f"{100 * gap:.4g} % less, where {cost}."
    )


def guarantee(
    audit: Audit, floor: str, *, options: bool = True, singletons: bool = False,
    defended: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Say what the audit proved and what it did not look at.

    Parameters
    ----------
    audit : Audit
        Safe.
    floor : str
        What no interval falls below, such as "its protection levels".
    options : bool
        Whether to name the options that would look further.
    singletons : bool
        Whether contributors who know their own cell were asked for; the audit does not say so
        where the table has none.
    defended : bool
        Whether a defence answers for what the choice of the pattern discloses.
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


def violation_words(
    problem: Problem, violations: Iterable[Violation], *, reveal: bool = False
) -> list[str]:
    """Say which promises are broken for which cells, a line a cell; amounts only with `reveal`.

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
