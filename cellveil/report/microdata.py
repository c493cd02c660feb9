"""The report of a microaggregated file: clusters, loss by attribute, sensitive means, larger k."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from html import escape
from typing import Any

import numpy as np

import cellveil
from cellveil.report.skeleton import listed, origin, section, shares, whole_page
from csp.clock import Clock
from csp.exact import Bools
from csp.rules import Rule
from microagg.compliance.result import Compliant
from microagg.partitions.aggregated import loss_of_values
from microagg.partitions.means import range_words
from microagg.partitions.partition import Partition, information_loss
from microagg.records import Records
from microagg.tables.k_curve import k_curve
from microagg.tables.risk import disclosure

CURVE = 20_000
"""Records above which no curve is drawn: it would take longer than the work itself."""


def microdata_facts(
    records: Records,
    result: Partition | Compliant,
    rule: Rule | None,
    negative: str,
    clock: Clock,
    *,
    reveal: bool = False,
) -> dict[str, Any]:
    """Facts of the report, ready for JSON; no value of a record, and nothing of hidden means.

    With `reveal` they hold what the original values decide: the loss, the sensitive means before,
    and a curve over k, which ends early where `clock` does.
    """
    compliant = result if isinstance(result, Compliant) else None
    partition = result if isinstance(result, Partition) else result.partition
    hidden = None if compliant is None or not compliant.hidden.any() else compliant.hidden
    sizes, counts = np.unique(partition.sizes, return_counts=True)
    facts: dict[str, Any] = {
        "made_by": f"cellveil {cellveil.__version__}",
        "reveals_original_values": reveal,
        "records": len(partition.labels),
        "left_out": 0 if compliant is None else len(compliant.dropped),
        "k": partition.k,
        "method": partition.method if compliant is None else compliant.method,
        "rule": None if rule is None else str(rule),
        "clusters": dict(zip(map(str, sizes.tolist()), counts.tolist(), strict=True)),
        "means": int(partition.sizes.size * len(partition.names)),
        "suppressed_means": 0 if hidden is None else int(hidden.sum()),
    }
    kept = records if compliant is None else records.at(compliant.rows)
    if rule is not None and hidden is None:
        found = disclosure(kept, partition, rule, negative=negative)
        facts["safe"] = not found.count
        if reveal or facts["safe"]:
            after = found.sensitive.sum(axis=0).tolist()
            facts["sensitive_means"] = dict(zip(partition.names, after, strict=True))
    if reveal:
        facts |= _losses_of(kept, partition, hidden)
        if compliant is not None:
            facts["sensitive_before"] = compliant.start_unsafe
        if rule is not None and 4 <= records.n <= CURVE:
            curve = k_curve(records, rule, negative=negative, time_limit=clock.seconds)
            facts["curve"] = [asdict(point) for point in curve]
    return facts


def _losses_of(records: Records, partition: Partition, hidden: Bools | None) -> dict[str, Any]:
    """Information loss of the file and of each attribute, in percent."""
    if partition.aggregate != "mean":
        values = partition.centroids
        return {
            "information_loss": partition.information_loss,
            "loss_by_attribute": {
                name: loss_of_values(records.only([name]), partition, values[:, [j]])
                for j, name in enumerate(partition.names)
            },
        }
    return {
        "information_loss": information_loss(records, partition.labels, hidden),
        "loss_by_attribute": {
            name: information_loss(
                records.only([name]), partition.labels, None if hidden is None else hidden[:, [j]]
            )
            for j, name in enumerate(partition.names)
        },
    }


def microdata_page(facts: Mapping[str, Any]) -> str:
    """Page of these facts."""
    internal = bool(facts["reveals_original_values"])
    lead = (
        f"{facts['records']:,} records in {sum(facts['clusters'].values()):,} clusters of "
        f"{range_words([*map(int, facts['clusters'])])}"
        + (f"; information loss {facts['information_loss']:.4f} %." if internal else ".")
    )
    parts = (_losses, _means, _kept, _sizes, _larger, _made)
    sections = [line for part in parts for line in part(facts)]
    return whole_page("Microaggregated file", lead, sections, internal=internal)


def _losses(facts: Mapping[str, Any]) -> Iterator[str]:
    losses: dict[str, float] = facts.get("loss_by_attribute", {})
    if not losses:
        return
    counted = " Suppressed means count." if facts["suppressed_means"] else ""
    rows = [(name, f"{loss:.4f}", loss / 100) for name, loss in losses.items()]
    yield from section(
        "What each attribute loses",
        '<p class="lead">Share of its variance that the means do not keep, in percent.'
        f"{counted}</p>",
        shares(("attribute", "loss"), rows),
    )


def _means(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield which means a rule calls sensitive, or how many are suppressed."""
    rows: list[tuple[Any, ...]] = []
    if facts["rule"] is None:
        words = "No rule was given, so the means were not judged."
    elif facts["suppressed_means"]:
        words = (
            f"{facts['suppressed_means']:,} of {facts['means']:,} means are suppressed; no "
            f"published one is sensitive under {escape(facts['rule'])}."
        )
    elif "sensitive_means" not in facts:
        words = f"<strong>Some means are sensitive under {escape(facts['rule'])}.</strong>"
    else:
        sensitive: dict[str, int] = facts["sensitive_means"]
        now, clusters = sum(sensitive.values()), sum(facts["clusters"].values())
        words = (
            f"<strong>{now:,} of {facts['means']:,} means are sensitive under "
            f"{escape(facts['rule'])}.</strong>"
        )
        if "sensitive_before" in facts:
            words += f" Before, {facts['sensitive_before']:,} were."
        if now:
            rows = [(name, f"{count:,}", count / clusters) for name, count in sensitive.items()]
    yield from section(
        "Which means disclose a contribution",
        f"<p>{words}</p>",
        shares(("attribute", "sensitive means"), rows) if rows else "",
    )


def _kept(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the columns beside the means, and of how many records a value follows."""
    kept: dict[str, int] = facts.get("kept", {})
    keys: list[str] = facts.get("within", [])
    if not (kept or keys or facts.get("notes")):
        return
    words = []
    if keys:
        words.append(
            f"Clusters were made inside strata of equal {escape(', '.join(keys))}; all records of "
            "a cluster are published with the same."
        )
    if any(kept.values()):
        words.append(
            "<strong>Where all records of a cluster have the same value of a kept column, an "
            "intruder who finds the cluster of a person learns it.</strong>"
        )
    elif kept:
        words.append("No value of a kept column follows from a cluster alone.")
    n = facts["records"]
    rows = [(name, f"{count:,}", count / n) for name, count in kept.items()]
    yield from section(
        "Which columns stand beside the means",
        *(f"<p>{sentence}</p>" for sentence in words),
        shares(("kept as it is", "records whose value follows"), rows) if rows else "",
        *(f"<p>{escape(note)}.</p>" for note in facts.get("notes", [])),
    )


def _sizes(facts: Mapping[str, Any]) -> Iterator[str]:
    clusters: dict[str, int] = facts["clusters"]
    largest = max(clusters.values())
    rows = [(size, f"{count:,}", count / largest) for size, count in clusters.items()]
    yield from section("How large clusters are", shares(("records", "clusters"), rows))


def _larger(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield loss and sensitive means of plain MDAV over k."""
    curve: list[dict[str, Any]] = facts.get("curve", [])
    if len(curve) < 2:
        return
    rows = [
        (
            str(one["k"]),
            f"{one['sensitive_means']:,}",
            one["sensitive_means"] / one["means"],
            f"{one['information_loss']:.4g}",
        )
        for one in curve
    ]
    yield from section(
        "Would a larger k do?",
        '<p class="lead">Plain MDAV with other k: the bar is the share of means that the rule '
        "calls sensitive. More records in a cluster lose more, and need not be safer.</p>",
        shares(("k", "sensitive means", "loss in percent"), rows),
    )


def _made(facts: Mapping[str, Any]) -> Iterator[str]:
    told = {
        "method": facts["method"],
        "published of a cluster": facts.get("aggregate"),
        "least cluster": facts["k"],
        "rule": facts["rule"],
        "records left out": facts["left_out"] or None,
        "records left out that lack a value": facts.get("lacking_records"),
    }
    yield from section("How it was made", listed(told | origin(facts)))
