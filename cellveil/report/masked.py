"""The report of a masked file of any tool: checks, attacks, and what it is still good for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

import cellveil
from cellveil.report.skeleton import grid, listed, origin, row, section, shares, whole_page

if TYPE_CHECKING:
    from microagg.masked_reports import MaskedReport

SIZES = 25
"""Most sizes of classes that are drawn; larger ones stand together."""


def masked_facts(found: MaskedReport, *, reveal: bool = False) -> dict[str, Any]:
    """Facts of the report, ready for JSON; without `reveal` those of the masked file alone."""
    sizes, counts = np.unique(found.anonymity.sizes, return_counts=True)
    return {
        "made_by": f"cellveil {cellveil.__version__}",
        **found.summary(reveal=reveal),
        "class_sizes": dict(zip(map(str, sizes.tolist()), counts.tolist(), strict=True)),
    }


def masked_page(facts: Mapping[str, Any]) -> str:
    """Page of these facts."""
    told = facts["anonymity"]
    people = " contributors" if told["k_counts"] == "contributors" else ""
    lead = (
        f"{told['records']:,} records in {told['classes']:,} classes that are published alike in "
        f"{', '.join(told['quasi_identifiers'])}; the smallest has {told['k']:,}{people}: the file "
        f"is {told['k']}-anonymous."
    )
    parts = (_sizes, _diversity, _homogeneity, _links, _columns, _correlations, _made)
    sections = [line for part in parts for line in part(facts)]
    internal = bool(facts["reveals_original_values"])
    return whole_page("Masked file", lead, sections, internal=internal)


def _sizes(facts: Mapping[str, Any]) -> Iterator[str]:
    told, sizes = facts["anonymity"], facts["class_sizes"]
    rest = list(sizes.items())[SIZES:]
    rows = list(sizes.items())[:SIZES]
    if rest:
        rows.append((f"{rest[0][0]} and more", sum(count for _, count in rest)))
    most = max(count for _, count in rows)
    missing = (
        f"<p>{told['incomplete_records']:,} records lack a quasi-identifier; missing values were "
        f"read as {escape(told['missing'])!r}.</p>"
        if told["incomplete_records"]
        else ""
    )
    yield from section(
        "How large classes are",
        shares(
            ("records", "classes"), [(size, f"{count:,}", count / most) for size, count in rows]
        ),
        missing,
        *(f"<p>{escape(note)}</p>" for note in told["notes"]),
    )


def _diversity(facts: Mapping[str, Any]) -> Iterator[str]:
    confidential = facts["anonymity"]["confidential"]
    if not confidential:
        return
    rows = [
        row(
            one["attribute"],
            (
                f"{one['p']:,}",
                f"{one['entropy_l']:.4g}",
                f"({one['recursive_c']}, {one['recursive_l']})",
                "" if one["t"] is None else f"{one['t']:.4g}",
            ),
        )
        for one in confidential
    ]
    heads = ("confidential", "values", "entropy l", "recursive (c, l)", "t")
    yield from section(
        "How confidential values differ within a class",
        '<p class="lead">The least over all classes: different values (p-sensitivity, distinct '
        "l-diversity), entropy and recursive l-diversity; and the largest distance of a class "
        "from the file (t-closeness).</p>",
        grid("diversity", heads, rows),
    )


def _homogeneity(facts: Mapping[str, Any]) -> Iterator[str]:
    found = facts.get("homogeneity")
    if found is None:
        return
    others = set(facts["other_columns"])
    rows = []
    for one in found["confidential"]:
        name = one["attribute"]
        kept = " (kept)" if name in others else ""
        rows.append(
            (f"{name}{kept}", f"{one['disclosed']:,}", one["share"],
             f"{found['homogeneous_classes'][name]:,}")
        )  # fmt: skip
    words = (
        "All records of some classes have the same value: an intruder who finds the class of a "
        "person learns it."
        if any(one["disclosed"] for one in found["confidential"])
        else "No value follows from a class alone."
    )
    yield from section(
        "What follows from a class alone",
        f"<p>{words}</p>",
        shares(("column", "records whose value follows", "classes"), rows),
    )


def _links(facts: Mapping[str, Any]) -> Iterator[str]:
    if "linkage" not in facts:
        return
    found = facts["linkage"]
    if found is None:
        yield from section("Links of persons", f"<p>Not tried: {escape(facts['unlinked'])}.</p>")
        return
    yield from section(
        "Links of persons",
        f"<p>An intruder who knows {escape(', '.join(found['attributes']))} of "
        f"{found['persons']:,} persons links each to the nearest masked record. "
        f"{found['expected_right_links']:,.1f} links are expected to be right "
        f"({100 * found['expected_right_share']:.2f} %), {found['certain_links']:,} are certain; "
        f"the best chance of a single one is {found['highest_chance']:.4g}.</p>",
    )


def _columns(facts: Mapping[str, Any]) -> Iterator[str]:
    figures = facts.get("utility")
    if figures is None:
        return
    shown = ("mean", "sd", "median")
    rows = []
    for one in figures["columns"]:
        figures_of = [f"{word}_{which}" for word in shown for which in ("original", "masked")]
        numbers = [_number(one[name]) for name in (*figures_of, "ks_distance")]
        rows.append(row(one["attribute"], numbers))
    heads = ["column"]
    heads += [f"{word}, {which}" for word in shown for which in ("original", "masked")]
    score = figures.get("propensity")
    yield from section(
        "What the file is still good for",
        grid("utility", [*heads, "distance"], rows),
        '<p class="lead">The distance is the largest one of the distribution functions.</p>',
        f"<p>Propensity score mean squared error {score['pmse']:.4g}, {score['ratio']:.4g} times "
        "what is expected of a right model.</p>"
        if score
        else "",
    )


def _correlations(facts: Mapping[str, Any]) -> Iterator[str]:
    pairs = facts.get("utility", {}).get("correlations", [])
    if not pairs:
        return
    rows = [
        row(
            f"{one['attribute']}, {one['other']}",
            [_number(one["original"]), _number(one["masked"])],
        )
        for one in pairs
    ]
    yield from section(
        "Correlations", grid("correlations", ("columns", "original", "masked"), rows)
    )


def _made(facts: Mapping[str, Any]) -> Iterator[str]:
    told = facts["anonymity"]
    yield from section(
        "What was judged",
        listed(
            {
                "quasi-identifiers": ", ".join(told["quasi_identifiers"]),
                "confidential": ", ".join(one["attribute"] for one in told["confidential"]) or None,
                "kept beside them": ", ".join(facts["other_columns"]) or None,
                "k counts": told["k_counts"],
                "missing quasi-identifiers": told["missing"],
            }
            | origin(facts)
        ),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"
