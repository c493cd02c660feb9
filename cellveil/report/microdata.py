"""The report of a microaggregated file: clusters, loss by attribute, sensitive means, larger k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import cellveil
from cellveil.io.files import hashes_of, write_json
from cellveil.report.skeleton import whole_page
from csp.clock import Clock
from csp.errors import InputError
from csp.formats.files import Together, joined
from csp.rules import Rule
from microagg.compliance.result import Compliant
from microagg.partitions.partition import Partition, information_loss
from microagg.records import Records
from microagg.tables.k_curve import k_curve
from microagg.tables.risk import disclosure

__all__ = ["microdata_facts", "microdata_page", "write_microdata_report"]

CURVE = 20_000
"""Records above which no curve is drawn: it would take longer than the work itself."""

WIDTH = 220


def write_microdata_report(
    path: Path,
    records: Records,
    result: Partition | Compliant,
    *,
    rule: Rule | None = None,
    negative: str = "error",
    inputs: Sequence[Path] = (),
    time_limit: float | None = None,
    files: Together | None = None,
) -> None:
    """Write the page of a microaggregated file, and its facts as JSON beside it.

    Parameters
    ----------
    path : Path
        Ends with .html.
    records : Records
        The original ones.
    result : Partition or Compliant
    rule : Rule, optional
        What means must pass.
    negative : str
        How it reads negative values.
    inputs : sequence of Path
        Files whose SHA-256 is told.
    time_limit : float, optional
        Wall seconds for the curve over k, which ends early then.
    files : Together, optional
        Files that are written together or not at all.

    Raises
    ------
    InputError
        If the name does not end with .html, or a file cannot be written.
    """
    if path.suffix != ".html":
        msg = f"{path} must end with .html; the facts are written beside it as .json"
        raise InputError(msg)
    facts = microdata_facts(records, result, rule, negative, Clock.of(time_limit))
    facts["inputs"] = hashes_of(inputs)
    with joined(files) as group:
        with group.writer(path) as out:
            out.write(microdata_page(facts))
        write_json(path.with_suffix(".json"), facts, group)


def microdata_facts(
    records: Records, result: Partition | Compliant, rule: Rule | None, negative: str, clock: Clock
) -> dict[str, Any]:
    """Facts of the report, ready for JSON; no value of a record, and nothing of hidden means.

    How many means were sensitive is told only where none is suppressed: otherwise it would mark
    those that are.
    """
    compliant = result if isinstance(result, Compliant) else None
    partition = result if isinstance(result, Partition) else result.partition
    hidden = None if compliant is None or not compliant.hidden.any() else compliant.hidden
    kept = records if compliant is None else _rows(records, compliant.rows)
    sizes, counts = np.unique(partition.sizes, return_counts=True)
    places = 1 if hidden is not None else 4
    losses = {
        name: round(
            information_loss(
                kept.only([name]), partition.labels, None if hidden is None else hidden[:, [j]]
            ),
            places,
        )
        for j, name in enumerate(partition.names)
    }
    facts: dict[str, Any] = {
        "made_by": f"cellveil {cellveil.__version__}",
        "records": len(partition.labels),
        "left_out": 0 if compliant is None else len(compliant.dropped),
        "k": partition.k,
        "method": partition.method if compliant is None else compliant.method,
        "rule": None if rule is None else str(rule),
        "clusters": dict(zip(map(str, sizes.tolist()), counts.tolist(), strict=True)),
        "information_loss": round(information_loss(kept, partition.labels, hidden), places),
        "loss_by_attribute": losses,
        "means": int(partition.sizes.size * len(partition.names)),
        "suppressed_means": 0 if hidden is None else int(hidden.sum()),
        "inputs": {},
    }
    if rule is not None and hidden is None:
        found = disclosure(kept, partition, rule, negative=negative)
        after = found.sensitive.sum(axis=0).tolist()
        facts["sensitive_means"] = dict(zip(partition.names, after, strict=True))
        if compliant is not None:
            facts["sensitive_before"] = compliant.start_unsafe
        facts["curve"] = []
        if 4 <= records.n <= CURVE:
            curve = k_curve(records, rule, negative=negative, time_limit=clock.seconds)
            facts["curve"] = [
                asdict(replace(point, information_loss=round(point.information_loss, 4)))
                for point in curve
            ]
    return facts


def _rows(records: Records, rows: Any) -> Records:
    return Records(
        records.names, tuple(c[rows] for c in records.columns), records.scale, records.library
    )


def microdata_page(facts: Mapping[str, Any]) -> str:
    """Page of these facts."""
    most = max(map(int, facts["clusters"]))
    lead = (
        f"{facts['records']:,} records in {sum(facts['clusters'].values()):,} clusters of "
        f"{min(map(int, facts['clusters']))} to {most}; information loss "
        f"{facts['information_loss']} %."
    )
    sections = [*_losses(facts), *_means(facts), *_sizes(facts), *_larger(facts), *_made(facts)]
    return whole_page("Microaggregated file", lead, sections)


def _losses(facts: Mapping[str, Any]) -> Iterator[str]:
    losses: dict[str, float] = facts["loss_by_attribute"]
    yield "<section><h2>What each attribute loses</h2>"
    yield (
        '<p class="lead">Share of its variance that the means do not keep, in percent.'
        + (" Suppressed means count." if facts["suppressed_means"] else "")
        + "</p>"
    )
    rows = [(name, f"{loss:g}", loss / 100) for name, loss in losses.items()]
    yield _bars(("attribute", "loss"), rows)
    yield "</section>"


def _means(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield which means a rule calls sensitive, or how many are suppressed."""
    yield "<section><h2>Which means disclose a contribution</h2>"
    if facts["rule"] is None:
        yield "<p>No rule was given, so the means were not judged.</p></section>"
        return
    rule = escape(facts["rule"])
    if facts["suppressed_means"]:
        yield (
            f"<p>{facts['suppressed_means']:,} of {facts['means']:,} means are suppressed; no "
            f"published one is sensitive under {rule}.</p></section>"
        )
        return
    sensitive: dict[str, int] = facts["sensitive_means"]
    now = sum(sensitive.values())
    yield f"<p><strong>{now:,} of {facts['means']:,} means are sensitive under {rule}.</strong>"
    if "sensitive_before" in facts:
        yield f" Before, {facts['sensitive_before']:,} were."
    yield "</p>"
    if now:
        clusters = sum(facts["clusters"].values())
        rows = [(name, f"{count:,}", count / clusters) for name, count in sensitive.items()]
        yield _bars(("attribute", "sensitive means"), rows)
    yield "</section>"


def _sizes(facts: Mapping[str, Any]) -> Iterator[str]:
    clusters: dict[str, int] = facts["clusters"]
    largest = max(clusters.values())
    yield "<section><h2>How large clusters are</h2>"
    rows = [(size, f"{count:,}", count / largest) for size, count in clusters.items()]
    yield _bars(("records", "clusters"), rows)
    yield "</section>"


def _larger(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield loss and sensitive means of plain MDAV over k."""
    curve: list[dict[str, Any]] = facts.get("curve", [])
    if len(curve) < 2:
        return
    yield "<section><h2>Would a larger k do?</h2>"
    yield (
        '<p class="lead">Plain MDAV with other k: the bar is the share of means that the rule '
        "calls sensitive. More records in a cluster lose more, and need not be safer.</p>"
    )
    rows = [
        (
            str(one["k"]),
            f"{one['sensitive_means']:,}",
            one["sensitive_means"] / one["means"],
            f"{one['information_loss']:g}",
        )
        for one in curve
    ]
    yield _bars(("k", "sensitive means", "loss in percent"), rows)
    yield "</section>"


def _made(facts: Mapping[str, Any]) -> Iterator[str]:
    told = {
        "method": facts["method"],
        "least cluster": facts["k"],
        "rule": facts["rule"],
        "records left out": facts["left_out"] or None,
        "made by": facts["made_by"],
    } | {f"SHA-256 of {name}": value for name, value in facts["inputs"].items()}
    yield "<section><h2>How it was made</h2><dl>"
    for name, value in told.items():
        if value is not None:
            yield f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
    yield "</dl></section>"


def _bars(heads: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """Lay out a list: a name, a number, a share from 0 to 1 as a bar, perhaps another number."""
    columns = "".join(f'<th scope="col">{escape(head)}</th>' for head in (heads[0], heads[1], ""))
    columns += "".join(f'<th scope="col">{escape(head)}</th>' for head in heads[2:])
    lines = []
    for name, number, share, *more in rows:
        width = round(min(max(share, 0.0), 1.0) * WIDTH, 1)
        bar = (
            f'<svg class="bar" viewBox="0 0 {WIDTH} 16" preserveAspectRatio="none" '
            f'aria-hidden="true"><line class="axis" x1="0" x2="{WIDTH}" y1="8" y2="8"/>'
            f'<rect class="range" x="0" y="4" width="{width}" height="8"/></svg>'
        )
        further = "".join(f'<td class="number">{escape(text)}</td>' for text in more)
        lines.append(
            f'<tr><th scope="row">{escape(str(name))}</th><td class="number">{escape(number)}</td>'
            f"<td>{bar}</td>{further}</tr>"
        )
    body = "".join(lines)
    return (
        f'<div class="scroll"><table class="cells bars"><thead><tr>{columns}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
