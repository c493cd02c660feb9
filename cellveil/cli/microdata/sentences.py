"""What ``cellveil microdata microaggregate`` finds, in sentences and as facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from microagg.kept import count_alone
from microagg.partitions.means import range_words

if TYPE_CHECKING:
    from microagg.compliance.result import Compliant
    from microagg.partitions.partition import Partition
    from microagg.records import Records
    from microagg.tables.risk import Disclosure

CODES = 10
"""Most values of an attribute that may be codes of categories."""


def together_words(kept: dict[str, list[str]]) -> Iterator[str]:
    """Say how many records the kept columns tell apart together."""
    together = list(zip(*kept.values(), strict=True))
    alone = count_alone(together)
    if alone:
        yield (
            f"The columns of --keep single out {alone} of {len(together)} records: an attacker who "
            "knows these values of a record finds its means."
        )


def codes_words(records: Records) -> Iterator[str]:
    """Name attributes that look like codes of categories, whose means say nothing."""
    import numpy as np

    found = []
    for name, column in zip(records.names, records.floats.T, strict=True):
        codes = np.unique(column)
        if 1 < len(codes) <= min(CODES, len(column) // 4) and (codes == np.rint(codes)).all():
            found.append(name)
    if found:
        yield (
            f"Few whole numbers only in {', '.join(found)}: if they are codes of categories, their "
            "means say nothing; leave such columns out with --attributes, or publish them with "
            "--keep."
        )


def link_words(facts: dict[str, Any]) -> str:
    """Say how many persons an intruder links rightly."""
    return (
        f"Links by {', '.join(facts['attributes'])}: {facts['expected_right_links']:.4g} of "
        f"{facts['persons']} are expected to be right, {facts['certain_links']} are certain."
    )


def count_kept(columns: dict[str, Any], beside: dict[str, list[Any]]) -> dict[str, int]:
    """Count records whose kept value follows from their cluster: all of it have the same."""
    import microagg

    found = microagg.intruders.homogeneity(columns | beside, list(columns), list(beside))
    counts = found.disclosed.sum(axis=0).tolist()
    return dict(zip(found.names, map(int, counts), strict=True))


def further_facts(
    records: Records, result: Partition | Compliant, columns: dict[str, Any],
    kept: dict[str, list[Any]],
) -> dict[str, Any]:  # fmt: skip
    """Facts of the columns beside the means and of records left out, as the file shows them."""
    either: Any = result
    partition: Partition = getattr(either, "partition", either)
    facts: dict[str, Any] = {}
    if partition.aggregate != "mean":
        facts["aggregate"] = partition.aggregate
    if partition.keys:
        facts["within"] = list(partition.keys)
    if kept:
        facts["kept"] = count_kept(columns, kept)
    if records.kept is not None:
        facts["lacking_records"] = records.kept.given - records.n
    if result.notes:
        facts["notes"] = list(result.notes)
    return facts


def further_words(told: dict[str, Any]) -> Iterator[str]:
    """Say what was left out, and for how many records kept values follow from their cluster."""
    if left := told.get("lacking_records"):
        yield f"{left} records left out: they lack a value."
    if "aggregate" in told:
        yield f"What is published of a cluster is the {told['aggregate']}."
    if "within" in told:
        yield f"Records of a cluster have the same {', '.join(told['within'])} as published."
    known = ", ".join(f"{name} of {count}" for name, count in told.get("kept", {}).items() if count)
    if known:
        yield f"Kept as they are, values follow from their cluster alone: {known} records."


def plain_facts(partition: Partition, judged: Disclosure | None, *, reveal: bool) -> dict[str, Any]:
    """Facts of clusters that were judged, if at all, and not changed."""
    facts: dict[str, Any] = {
        "method": partition.method,
        "k": partition.k,
        "records": len(partition.labels),
        "attributes": list(partition.names),
        "clusters": len(partition.sizes),
        "smallest_cluster": int(partition.sizes.min()),
        "largest_cluster": int(partition.sizes.max()),
    }
    if partition.contributor is not None:
        facts["k_counts"] = "contributors"
    if reveal:
        facts["information_loss"] = partition.information_loss
    if judged is not None and reveal:
        facts["disclosure"] = judged.summary()
    elif judged is not None:
        facts["disclosure"] = {"rule": judged.rule, "cells": judged.cells, "safe": not judged.count}
    return facts


def people_words(partition: Partition) -> Iterator[str]:
    """Say how many contributors each cluster has at least, where they are known."""
    if partition.contributor is not None:
        yield f"Every cluster has records of at least {partition.k} different contributors."


def plain_words(partition: Partition, judged: Disclosure | None, *, reveal: bool) -> list[str]:
    """Say what clusters were made, and which of their means are sensitive."""
    sizes = partition.sizes
    lines = [
        f"{len(partition.labels)} records in {len(sizes)} clusters of {range_words(sizes)} by "
        f"{partition.method}"
        + (f"; information loss {partition.information_loss:.4f} %." if reveal else ".")
    ]
    lines += people_words(partition)
    if judged is None:
        lines.append("The means were not tested; give --rules to find sensitive ones.")
    elif judged.count and not reveal:
        lines.append(
            f"Unsafe: some of {judged.cells} cluster means are sensitive under {judged.rule} "
            "(--reveal counts them)."
        )
    elif judged.count:
        worst = sorted(judged.by_attribute.items(), key=lambda item: -item[1])[:3]
        named = ", ".join(f"{name} {count}" for name, count in worst if count)
        lines.append(
            f"Unsafe: {judged.count} of {judged.cells} cluster means are sensitive under "
            f"{judged.rule} "
            f"({named}{', ...' if sum(c > 0 for c in judged.by_attribute.values()) > 3 else ''})."
        )
    else:
        lines.append(
            f"Safe: none of {judged.cells} cluster means is sensitive under {judged.rule}."
        )
    if judged is not None and judged.vacuous:
        lines.append(
            f"No cluster of {judged.k} can pass {judged.rule}, even with equal values; a larger k "
            "is needed."
        )
    return lines


def compliant_words(found: Compliant, *, reveal: bool) -> list[str]:
    """Say what clusters comply, and with `reveal` what that cost."""
    sizes = found.partition.sizes
    lines = [
        f"{len(found.rows)} records in {len(sizes)} clusters of {range_words(sizes)}"
        f"{_loss_words(found) if reveal else ''}."
    ]
    lines += people_words(found.partition)
    if found.suppressed is not None:
        facts = found.suppressed.summary()
        lines.append(
            f"{facts['suppressed']} means suppressed ({found.suppressed.suppression.quality}), "
            "safe against an attacker who knows all totals"
            + (f" and {'; '.join(facts['identities'])}." if facts["identities"] else ".")
        )
    if found.dropped:
        lines.append(f"{len(found.dropped)} records left out.")
    for name, _, fewest in found.diverse:
        lines.append(f"At least {fewest} different values of {name!r} in every cluster.")
    if found.bound is not None and reveal:
        lines.append(
            f"No compliant clusters lose less than {found.bound:.4f} %."
            if found.bound >= 0.00005
            else "No lower bound on the information loss was found."
        )
    lines.append(f"Safe: no published cluster mean is sensitive under {found.rule}.")
    return lines


def _loss_words(found: Compliant) -> str:
    """Say what was lost, and what clusters were before they complied."""
    loss = found.information_loss if found.suppressed is None else found.published_loss
    return (
        f"; information loss {loss:.4f} % ({found.start_loss:.4f} % and {found.start_unsafe} "
        "sensitive means before)"
    )
