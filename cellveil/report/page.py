"""The report as one HTML file: no network, and no script but its own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cellveil.io.files import hashes_of, write_json
from cellveil.report.facts import release_facts, report_facts
from cellveil.report.skeleton import whole_page
from csp.errors import InputError
from csp.exact import grouped_text
from csp.formats.files import Together, joined
from csp.protection import Protected
from csp.release.release import Release
from csp.solve import Progress
from csp.tables.cross.html import cell_texts, panel_rows
from csp.tables.cross.layout import CrossTable, cross_table
from csp.tables.table import Table

if TYPE_CHECKING:
    from attacks import AttackReport
    from csp.mechanism import Mechanism

__all__ = ["release_page", "report_page", "write_release_report", "write_report"]

Part = tuple[str, Table, NDArray[np.int64]]

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

_ARGUMENT = re.compile(r" \(\w+=\)")

WIDTH = 220
"""Width of a bar, in units of its drawing."""


def write_report(
    path: Path,
    protected: Protected,
    *,
    title: str = "",
    attacks: AttackReport | None = None,
    inputs: Sequence[Path] = (),
    trace: Sequence[Progress] = (),
    parts: Sequence[Part] = (),
    reveal: bool = False,
    files: Together | None = None,
) -> None:
    """Write the page of a protected table, and its facts as JSON beside it.

    Parameters
    ----------
    path : Path
        Ends with .html; the facts get the same name with .json.
    protected : Protected
    title : str
        The dimensions by default.
    attacks : AttackReport, optional
        On the release, from `attacks.report`.
    inputs : sequence of Path
        Files that the table was made of; their SHA-256 is told.
    trace : sequence of Progress
        What was reported while the pattern was looked for. It is drawn on the page only: it has
        times, and the JSON is the same whenever it is made.
    parts : sequence of (str, Table, (m,) int array), optional
        Tables that were linked; see `report_page`.
    reveal : bool
        Show suppressed values, and tell primary from secondary cells: for internal use.
    files : Together, optional
        Files that are written together or not at all.

    Raises
    ------
    InputError
        If the name does not end with .html, or a file cannot be written.
    OSError
        If an input cannot be read any more.
    """
    if path.suffix != ".html":
        msg = f"{path} must end with .html; the facts are written beside it as .json"
        raise InputError(msg)
    facts = report_facts(
        protected, title=title, attacks=attacks, inputs=hashes_of(inputs), reveal=reveal
    )
    with joined(files) as group:
        with group.writer(path) as out:
            out.write(report_page(protected, facts, trace=trace, parts=parts, reveal=reveal))
        write_json(path.with_suffix(".json"), facts, group)


def write_release_report(
    path: Path,
    release: Release,
    *,
    mechanism: Mechanism | None = None,
    title: str = "",
    attacks: AttackReport | None = None,
    inputs: Sequence[Path] = (),
    time_limit: float | None = None,
    reveal: bool = False,
) -> None:
    """Write the page of a release, from public knowledge only, and its facts as JSON beside it.

    Parameters
    ----------
    path : Path
        Ends with .html.
    release : Release
    mechanism : Mechanism, optional
        As the release tells it.
    title : str
    attacks : AttackReport, optional
    inputs : sequence of Path
        Files whose SHA-256 is told.
    time_limit : float, optional
        Wall seconds for the intervals; ends that are not proved by then are left empty.
    reveal : bool
        Show values of suppressed cells that follow from the release.

    Raises
    ------
    InputError
        If a file cannot be written, or no table is consistent with the release.
    """
    facts = release_facts(
        release, mechanism=mechanism, title=title, attacks=attacks, inputs=hashes_of(inputs),
        time_limit=time_limit, reveal=reveal,
    )  # fmt: skip
    with joined(None) as group:
        with group.writer(path) as out:
            out.write(release_page(release, facts))
        write_json(path.with_suffix(".json"), facts, group)


def report_page(
    protected: Protected,
    facts: Mapping[str, Any],
    *,
    trace: Sequence[Progress] = (),
    parts: Sequence[Part] = (),
    reveal: bool = False,
) -> str:
    """Page of a protected table.

    Parameters
    ----------
    protected : Protected
    facts : mapping
        From `cellveil.report.facts.report_facts`, with the same `reveal`.
    trace : sequence of Progress, optional
        What was reported while the pattern was looked for.
    parts : sequence of (str, Table, (m,) int array), optional
        Tables that were linked: name, table, and which cell of the whole each of its cells is.
        They are shown one by one.
    reveal : bool
        Show suppressed values, and tell primary from secondary cells.

    Returns
    -------
    str
    """
    sections = [
        *_published(protected.release, protected if reveal else None, parts),
        *_inferred(facts, reveal=reveal),
        *_proved(facts),
        *_attacked(facts),
        *_found(facts, trace),
        *_made(facts),
    ]
    return whole_page(str(facts["title"]), str(facts["size"]), sections, internal=reveal)


def release_page(release: Release, facts: Mapping[str, Any]) -> str:
    """Page of a release, from public knowledge only.

    Parameters
    ----------
    release : Release
    facts : mapping
        From `cellveil.report.facts.release_facts`.

    Returns
    -------
    str
    """
    sections = [
        *_published(release),
        *_inferred(facts, reveal=False),
        *_attacked(facts),
        *_known(facts),
    ]
    internal = facts["reveals_suppressed_values"]
    return whole_page(str(facts["title"]), str(facts["size"]), sections, internal=internal)


def _known(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a release comes from, as far as it tells."""
    told = {
        "rules": facts["mechanism"].get("rules"),
        "width": facts["mechanism"].get("width"),
        "algorithm": "told by the release" if facts["mechanism"] else "not told",
        "made by": facts["made_by"],
    } | {f"SHA-256 of {name}": value for name, value in facts["inputs"].items()}
    yield from _listed("How it was made", told)


def _published(
    release: Release, inside: Protected | None = None, parts: Sequence[Part] = ()
) -> Iterator[str]:
    """Yield the cross table, or that of each of linked tables.

    `inside` is what is shown beyond the release: suppressed values, primary and secondary cells.
    """
    yield "<section><h2>The table as published</h2>"
    yield '<p class="lead">× is a suppressed cell, – one that is known to be empty.</p>'
    if inside is not None:
        yield (
            '<p class="key"><span class="primary">sensitive (primary)</span> '
            '<span class="secondary">suppressed to protect others (secondary)</span></p>'
        )
    primary = None if inside is None else inside.problem.primary
    if parts:
        shown = [
            (name, Release.of(table, release.pattern[rows]), table.values,
             None if primary is None else primary[rows])
            for name, table, rows in parts
        ]  # fmt: skip
    else:
        values = release.published if inside is None else inside.table.values
        shown = [("", release, values, primary)]
    layouts = [cross_table(one) for _, one, _, _ in shown]
    if any(layout.further or any(row.depth for row in layout.rows) for layout in layouts):
        yield (
            '<div class="tools"><button type="button" data-fold="all">Fold all</button>'
            '<button type="button" data-fold="none">Unfold all</button></div>'
        )
    for layout, (name, one, values, told) in zip(layouts, shown, strict=True):
        if name:
            yield f"<h3>{escape(name)}</h3>"
        yield from _panels(layout, one, values, told)
    yield "</section>"


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

    for number, panel in enumerate(layout.panels):
        rows = "".join(panel_rows(layout, panel, shown, kind=kind))
        whole = f'<div class="scroll"><table class="panel">{rows}</table></div>'
        if not layout.further:
            yield whole
            continue
        pairs = zip(layout.further, panel.codes, strict=True)
        name = escape(", ".join(f"{n} {c}" for n, c in pairs))
        opened = " open" if number == 0 else ""
        part = "" if number == 0 else ' class="part"'
        yield f"<details{part}{opened}><summary>{name}</summary>{whole}</details>"


def _inferred(facts: Mapping[str, Any], *, reveal: bool) -> Iterator[str]:
    """Yield the list of suppressed cells with their intervals."""
    cells: list[dict[str, Any]] = facts["suppressed_cells"]
    if not cells:
        return
    names = list(cells[0]["cell"])
    extra = ["kind", "value"] if reveal else []
    heads = [*names, "at least", "at most", *extra]
    buttons = "".join(
        f'<th scope="col"><button type="button">{escape(head)}</button></th>' for head in heads
    )
    place = _scale(cells)
    yield "<section><h2>What anyone can infer of the suppressed cells</h2>"
    yield (
        '<p class="lead">From the published cells, how cells add up, and what bounds them '
        "beforehand. Bars are on one logarithmic scale for all cells."
        + (" The box is what the rule requires, the line the true value." if reveal else "")
        + "</p>"
    )
    yield (
        '<div class="tools"><label for="filter">Filter</label>'
        '<input id="filter" type="search" autocomplete="off">'
        f'<output id="shown" for="filter">{len(cells)} of {len(cells)} shown</output></div>'
    )
    yield (
        f'<div class="scroll"><table class="cells intervals"><thead><tr>{buttons}'
        '<th scope="col">interval</th></tr></thead><tbody>'
    )
    for cell in cells:
        codes = "".join(f"<td>{escape(code)}</td>" for code in cell["cell"].values())
        ends = "".join(_number_cell(cell[end]) for end in ("lower", "upper"))
        if cell["lower"] is None and cell["known_exactly"]:
            ends = '<td class="number" data-sort="">known exactly</td>' * 2
        more = ""
        if reveal:
            more = f"<td>{cell['kind']}</td>{_number_cell(cell['value'])}"
        yield f"<tr>{codes}{ends}{more}<td>{_bar(cell, place)}</td></tr>"
    yield "</tbody></table></div></section>"


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
    parts = [f'<line class="axis" x1="0" x2="{WIDTH}" y1="8" y2="8"/>']
    if low is not None and high is not None:
        parts.append(_box("range", place(float(low)), place(float(high)), 4, 8))
    if "must_reach_down_to" in cell:
        left, right = cell["must_reach_down_to"], cell["must_reach_up_to"]
        parts.append(_box("needed", place(float(left)), place(float(right)), 1.5, 13))
    if "value" in cell:
        at = place(float(cell["value"]))
        parts.append(f'<line class="value" x1="{at}" x2="{at}" y1="0" y2="16"/>')
    return (
        f'<svg class="bar" viewBox="0 0 {WIDTH} 16" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _box(name: str, left: float, right: float, top: float, height: float) -> str:
    width = max(right - left, 1.5)
    return f'<rect class="{name}" x="{left}" y="{top}" width="{width:.1f}" height="{height}"/>'


def _proved(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "<section><h2>What is proved</h2>"
    for line in facts["guarantee"]:
        yield f"<p>{escape(line)}</p>"
    yield "</section>"


def _attacked(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the verdict of each attack in words."""
    found = facts["attacks"]
    if not found:
        return
    yield "<section><h2>Attacks on the release</h2>"
    exposed = len(found["exposed"])
    yield (
        f"<p><strong>{exposed} of {found['suppressed']} suppressed cells are exposed by some "
        f"attack.</strong>{'' if found['complete'] else ' Not every attack came to its end.'}</p>"
    )
    yield '<div class="scroll"><table class="cells verdicts"><thead><tr>'
    yield "".join(f'<th scope="col">{head}</th>' for head in ("attack", "status", "what it found"))
    yield "</tr></thead><tbody>"
    for one in found["attacks"]:
        said = " ".join(part for part in (one["verdict"], one["reason"]) if part)
        said = _ARGUMENT.sub("", said)  # a word of Python, which readers of a page need not know
        name = ATTACKS.get(one["attack"], one["attack"])
        yield (
            f"<tr><td>{escape(name)}</td><td>{escape(one['status'])}</td>"
            f'<td class="words">{escape(said)}</td></tr>'
        )
    yield "</tbody></table></div>"
    if facts["explanations"]:
        yield "<details><summary>Why cells are known from the release alone</summary><ul>"
        for one in facts["explanations"]:
            for line in one["why"]:
                yield f"<li>{escape(line[0].upper() + line[1:])}.</li>"
        yield "</ul></details>"
    yield "</section>"


def _found(facts: Mapping[str, Any], trace: Sequence[Progress]) -> Iterator[str]:
    """Yield how good the pattern is, and how it became so."""
    summary = facts["summary"]
    yield "<section><h2>What protection costs</h2>"
    share = 100 * summary["suppressed"] / summary["cells"]
    yield f"<p>{summary['suppressed']:,} of {summary['cells']:,} cells suppressed ({share:.1f} %)."
    if "share_suppressed" in summary:
        yield f" They hold {100 * summary['share_suppressed']:.1f} % of all values added up."
    yield "</p>"
    if facts["quality"]:
        yield f"<p>{escape(facts['quality'])}</p>"
    steps = [(now.seconds, now.gap_at_most) for now in trace if now.best is not None]
    if len(steps) > 1:
        yield from _trace(steps)
    yield "</section>"


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


def _made(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield parameters, versions and hashes."""
    summary = facts["summary"]
    told = {
        "rules": summary["rules"],
        "width": summary["width"],
        "strictly wider": "yes" if summary["strict"] else "no",
        "margins": {"publish": "published", "suppress": "may be suppressed"}.get(
            summary["margins"], summary["margins"]
        ),
        "guards against": ", ".join(summary["guards"]),
        "method": summary.get("method"),
        "made by": facts["made_by"],
        "versions": ", ".join(f"{name} {version}" for name, version in facts["versions"].items()),
    } | {f"SHA-256 of {name}": value for name, value in facts["inputs"].items()}
    yield from _listed("How it was made", told, summary.get("notes", ()))


def _listed(head: str, told: Mapping[str, Any], notes: Iterable[str] = ()) -> Iterator[str]:
    """Yield a section of names and what they stand for."""
    yield f"<section><h2>{escape(head)}</h2><dl>"
    for name, value in told.items():
        if value is not None:
            yield f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
    yield "</dl>"
    for note in notes:
        yield f"<p>{escape(note)}</p>"
    yield "</section>"
