"""The report of a protected table or of a release as one HTML file: no network, no foreign script.

Everything shown but the table itself is made of the facts that are written beside the page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from cellveil.report.skeleton import (
    WIDTH,
    bar,
    box,
    grid,
    listed,
    origin,
    panels,
    section,
    whole_page,
)
from csp.exact import Ints, grouped_text
from csp.mechanism import Protected
from csp.release.release import Release
from csp.solve import Progress
from csp.tables.cross.html import cell_texts
from csp.tables.cross.layout import CrossTable, cross_table
from csp.tables.table import Table

Part = tuple[str, Table, Ints]
"""One of linked tables: its name, the table, and which cell of the whole each of its cells is."""

ATTACKS = {
    "disclosed": "relations and bounds",
    "disclosed_sums": "sums of suppressed cells",
    "insiders": "contributors",
    "smallest_coalition": "coalitions of contributors",
    "differencing": "other releases",
    "matching": "matching attack (algorithm known)",
    "posterior": "probabilities (algorithm known)",
}
"""Attacks by the names of their functions, in plain words."""

LEAST = 1.5
"""Width of the box of an interval at least, so that it is seen."""

_ARGUMENT = re.compile(r" \(\w+=\)")


def report_page(
    shown: Protected | Release,
    facts: Mapping[str, Any],
    *,
    trace: Sequence[Progress] = (),
    parts: Sequence[Part] = (),
) -> str:
    """Page of a protected table, or of a release from public knowledge only.

    Its facts, from `report_facts` or `release_facts`, say whether suppressed values are shown, and
    so whether what was reported while the pattern was looked for (`trace`) is drawn: its steps are
    functions of suppressed values. Linked tables (`parts`) are shown one by one.
    """
    internal = facts["reveals_suppressed_values"]
    inside = shown if internal and isinstance(shown, Protected) else None
    release = shown.release if isinstance(shown, Protected) else shown
    sections = [*_published(release, inside, parts), *inferred(facts["suppressed_cells"])]
    if isinstance(shown, Protected):
        proved = (f"<p>{escape(line)}</p>" for line in facts["guarantee"])
        sections += [
            *section("What is proved", proved),
            *_attacked(facts),
            *_found(facts, trace if internal else ()),
            *made(facts),
        ]
    else:
        told = facts["mechanism"]
        known = {"rules": told.get("rules"), "width": told.get("width")}
        known |= {"algorithm": "told by the release" if told else "not told"} | origin(facts)
        sections += [*_attacked(facts), *section("How it was made", listed(known))]
    return whole_page(str(facts["title"]), str(facts["size"]), sections, internal=internal)


def _published(release: Release, inside: Protected | None, parts: Sequence[Part]) -> Iterator[str]:
    """Yield the cross table, or that of each of linked tables.

    `inside` is what is shown beyond the release: suppressed values, primary and secondary cells.
    """
    primary = None if inside is None else inside.problem.primary
    if inside is not None:
        release = Release.of(inside.table, release.pattern, scale=inside.table.scale)
    values = release.published if inside is None else inside.table.values
    shown = [("", release, values, primary)]
    if parts:
        shown = [
            (name, Release.of(table, release.pattern[rows], scale=release.scale), table.values,
             None if primary is None else primary[rows])
            for name, table, rows in parts
        ]  # fmt: skip
    layouts = [cross_table(one) for _, one, _, _ in shown]
    folds = any(layout.further or any(row.depth for row in layout.rows) for layout in layouts)
    key = (
        '<p class="key"><span class="primary">sensitive (primary)</span> '
        '<span class="secondary">suppressed to protect others (secondary)</span></p>'
    )
    tools = (
        '<div class="tools"><button type="button" data-fold="all">Fold all</button>'
        '<button type="button" data-fold="none">Unfold all</button></div>'
    )
    yield from section(
        "The table as published",
        '<p class="lead">× is a suppressed cell, – one that is known to be empty.</p>',
        "" if inside is None else key,
        tools if folds else "",
        *(
            [f"<h3>{escape(name)}</h3>" if name else "", *_panels(layout, one, values, told)]
            for layout, (name, one, values, told) in zip(layouts, shown, strict=True)
        ),
    )


def _panels(
    layout: CrossTable, release: Release, values: Any, primary: Any | None
) -> Iterator[str]:
    """Yield a cross table, a panel for each code of further dimensions.

    Suppressed values, and what is primary, are shown where `primary` is given.
    """
    text = cell_texts(release.published, release.pattern, release.structural, release.scale)

    def kind(cell: int) -> str:
        if not release.pattern[cell]:
            return ""
        if primary is None:
            return "suppressed"
        return f"suppressed {'primary' if primary[cell] else 'secondary'}"

    def shown(cell: int) -> str:
        if release.pattern[cell] and primary is not None:
            return f"× {grouped_text(int(values[cell]), release.scale)}"
        return text(cell)

    yield from panels(layout, shown, kind)


def inferred(cells: Sequence[Mapping[str, Any]], about: str = "") -> Iterator[str]:
    """Yield the list of suppressed cells with their intervals; `about` ends the heading."""
    if not cells:
        return
    revealed = "value" in cells[0]
    extra = ["kind", "value"] if revealed else []
    heads = [*cells[0]["cell"], "at least", "at most", *extra]
    buttons = [f'<button type="button">{escape(head)}</button>' for head in heads]
    place = _scale(cells)
    rows = []
    for cell in cells:
        codes = "".join(f"<td>{escape(code)}</td>" for code in cell["cell"].values())
        ends = "".join(_number_cell(cell[end]) for end in ("lower", "upper"))
        if cell["lower"] is None and cell["known_exactly"]:
            ends = '<td class="number" data-sort="">known exactly</td>' * 2
        more = f"<td>{cell['kind']}</td>{_number_cell(cell['value'])}" if revealed else ""
        rows.append(f"<tr>{codes}{ends}{more}<td>{_bar(cell, place)}</td></tr>")
    key = " The box is what the rule requires, the line the true value." if revealed else ""
    yield from section(
        f"What anyone can infer of the suppressed cells{about}",
        '<p class="lead">From the published cells, how cells add up, and what bounds them '
        f"beforehand. Bars are on one logarithmic scale for all cells.{key}</p>",
        ""
        if about
        else '<div class="tools"><label for="filter">Filter</label>'
        '<input id="filter" type="search" autocomplete="off">'
        f'<output id="shown" for="filter">{len(cells)} of {len(cells)} shown</output></div>',
        grid("intervals", [*buttons, "interval"], rows),
    )


def _number_cell(text: str | None) -> str:
    if text is None:
        return '<td class="number" data-sort="">not proved in time</td>'
    value = float(text)
    key = ("-" if value < 0 else "") + "1e999" if math.isinf(value) else text
    return f'<td class="number" data-sort="{key}">{escape(_end_words(text))}</td>'


def _end_words(text: str | None) -> str:
    if text is None:
        return "not proved in time"
    if text in ("inf", "-inf"):
        return "no limit"
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.lstrip("-").isdigit() and whole != "-0" else text


def _scale(cells: Sequence[Mapping[str, Any]]) -> Callable[[float], float]:
    """Place of a number on the bars: logarithmic on both sides of zero."""
    ends = [float(c[end]) for c in cells for end in ("lower", "upper") if c[end] is not None]
    known = [math.copysign(math.log1p(abs(e)), e) for e in ends if not math.isinf(e)]
    low, high = min([0.0, *known]), max([1.0, *known])

    def place(value: float) -> float:
        if math.isinf(value):
            return WIDTH if value > 0 else 0.0
        at = math.copysign(math.log1p(abs(value)), value)
        return round(min(max((at - low) / (high - low), 0.0), 1.0) * WIDTH, 1)

    return place


def _bar(cell: Mapping[str, Any], place: Callable[[float], float]) -> str:
    low, high = cell["lower"], cell["upper"]
    label = f"from {_end_words(low)} to {_end_words(high)}"
    if low is None and cell["known_exactly"]:
        label = "known exactly"
    parts = []
    if low is not None and high is not None:
        left, right = place(float(low)), place(float(high))
        parts.append(box("range", left, max(right, left + LEAST)))
    if "must_reach_down_to" in cell:
        left, right = (place(float(cell[f"must_reach_{end}_to"])) for end in ("down", "up"))
        parts.append(box("needed", left, max(right, left + LEAST), 1.5, 13))
    if "value" in cell:
        at = place(float(cell["value"]))
        parts.append(f'<line class="value" x1="{at}" x2="{at}" y1="0" y2="16"/>')
    return bar(parts, label)


def _attacked(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the verdict of each attack in words."""
    found = facts["attacks"]
    if not found:
        return
    rows = []
    for one in found["attacks"]:
        said = " ".join(part for part in (one["verdict"], one["reason"]) if part)
        said = _ARGUMENT.sub("", said)  # a word of Python, which readers of a page need not know
        name = ATTACKS.get(one["attack"], one["attack"])
        rows.append(
            f"<tr><td>{escape(name)}</td><td>{escape(one['status'])}</td>"
            f'<td class="words">{escape(said)}</td></tr>'
        )
    why = [
        f"<li>{escape(line[0].upper() + line[1:])}.</li>"
        for one in facts["explanations"]
        for line in one["why"]
    ]
    head = "<details><summary>Why cells are known from the release alone</summary><ul>"
    yield from section(
        "Attacks on the release",
        f"<p><strong>Suppressed cells that some attack exposes: {len(found['exposed'])} of "
        f"{found['suppressed']}.</strong>"
        f"{'' if found['complete'] else ' Not every attack came to its end.'}</p>",
        grid("verdicts", ("attack", "status", "what it found"), rows),
        [head, *why, "</ul></details>"] if why else (),
    )


def _found(facts: Mapping[str, Any], trace: Sequence[Progress]) -> Iterator[str]:
    """Yield how good the pattern is, and how it became so."""
    summary = facts["summary"]
    share = 100 * summary["suppressed"] / summary["cells"]
    words = f"{summary['suppressed']:,} of {summary['cells']:,} cells suppressed ({share:.1f} %)."
    if "share_suppressed" in summary:
        words += f" They hold {100 * summary['share_suppressed']:.1f} % of all values added up."
    steps = [(now.seconds, now.gap_at_most) for now in trace if now.best is not None]
    yield from section(
        "What protection costs",
        f"<p>{words}</p>",
        f"<p>{escape(facts['quality'])}</p>" if facts["quality"] else "",
        _trace(steps) if len(steps) > 1 else (),
    )


def _trace(steps: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Yield the gap over time as a staircase."""
    end = max(seconds for seconds, _ in steps) or 1.0
    path, last = [], None
    for seconds, gap in steps:
        x, y = 40 + 440 * seconds / end, 10 + 120 * (1 - gap)
        path.append(f"M{x:.1f} {y:.1f}" if last is None else f"H{x:.1f}V{y:.1f}")
        last = y
    words = f"gap from {100 * steps[0][1]:.0f} % to {100 * steps[-1][1]:.0f} % in {end:.1f} seconds"
    yield (
        f'<svg class="trace" viewBox="0 0 500 150" role="img" aria-label="{words}">'
        '<line class="axis" x1="40" x2="480" y1="130" y2="130"/>'
        '<text x="0" y="16">100 %</text><text x="14" y="134">0 %</text>'
        f'<text x="400" y="146">{end:.1f} seconds</text><path d="{"".join(path)}"/></svg>'
    )
    yield '<p class="lead">How much cheaper a safe pattern may be, at most, over time.</p>'


def made(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield parameters, versions and hashes."""
    summary = facts["summary"]
    margins = {"publish": "published", "suppress": "may be suppressed"}
    told = {
        "rules": summary["rules"],
        "width": summary["width"],
        "strictly wider": "yes" if summary["strict"] else "no",
        "margins": margins.get(summary["margins"], summary["margins"]),
        "guards against": ", ".join(summary["guards"]),
        "method": summary.get("method"),
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    }
    notes = (f"<p>{escape(note)}</p>" for note in summary.get("notes", ()))
    yield from section("How it was made", listed(told | origin(facts)), notes)
