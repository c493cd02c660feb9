"""The page about compliant k-anonymity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from studies.microdata.compliance import RULE, Suppressing, Way
from studies.pages import grid, machine, number


def lines(
    found: Sequence[Way],
    uniform: Mapping[str, tuple[int, float] | None],
    hidden: Sequence[Suppressing],
    *,
    command: str,
) -> Iterator[str]:
    """Lines of the page."""
    yield "# Compliant k-anonymity in five ways"
    yield ""
    yield (
        "Torra and Navarro-Arribas (2023) end with a name and an open question: p%-rule compliant "
        "k-anonymity, and how to reach it at little cost. Here are five answers on its files, "
        f"all with the p% rule at 60 % (`{RULE}`), attributes standardised. Every result on this "
        "page was judged again by the rules of tables, which share no code with the searches: "
        "no cell is sensitive."
    )
    yield ""
    yield (
        f"Made by `{command}`. {machine()}. EIA11 is EIA with UTILITYID; EIA and ionosphere are "
        "judged by absolute values."
    )
    yield ""
    yield from _ways(found)
    yield ""
    yield from _uniform(found, uniform)
    yield ""
    yield from _suppression(hidden)


def _ways(found: Sequence[Way]) -> Iterator[str]:
    yield "## Clusters that comply"
    yield ""
    yield (
        "Information loss in percent (CPU seconds in brackets). MDAV is the plain partition, with "
        "its unsafe cells. *merge*: unsafe clusters join others; *moved*: then records move, "
        "change places, and clusters are cut where that saves error. *drop* keeps clusters and "
        "leaves out records (how many); the records of clusters that would fall below k form new "
        "ones or join others. *optimise* is set partitioning by column generation, with the "
        "least loss that any compliant partition can have; for files of more than 1,200 records "
        "it was not asked."
    )
    yield ""
    methods = ("merge", "merge, moved", "grow, moved", "drop", "optimise")
    rows = []
    for data, k in dict.fromkeys((way.data, way.k) for way in found):
        here = {way.method: way for way in found if (way.data, way.k) == (data, k)}
        plain = here["MDAV"]
        row = [data, k, f"{plain.information_loss:.4f} ({plain.unsafe} unsafe)"]
        for method in methods:
            way = here.get(method)
            if way is None:
                row.append("-")
                continue
            extra = f", {way.dropped} dropped" if method == "drop" else ""
            row.append(f"{way.information_loss:.4f}{extra} ({number(way.seconds, 2)} s)")
        best = here.get("optimise")
        if best is None or best.bound is None:
            row.append("-")
        elif best.bound <= 0:
            row.append("none in this time")
        else:
            gap = 1 - best.bound / best.information_loss if best.information_loss else 0.0
            proven = "proven" if gap < 1e-6 else f"gap {100 * gap:.1f} %"
            row.append(f"{best.bound:.4f} ({proven})")
        rows.append(row)
    yield from grid(["file", "k", "MDAV", *methods, "no less than"], rows)
    worst = max((way.unsafe for way in found if way.method != "MDAV"), default=0)
    yield ""
    yield (
        f"Unsafe cells left, over all {sum(way.method != 'MDAV' for way in found)} results: "
        f"{worst}. With moves the loss is often below that of plain MDAV, which is not compliant: "
        "the moves gain more than the rule costs."
    )


def _uniform(
    found: Sequence[Way], uniform: Mapping[str, tuple[int, float] | None]
) -> Iterator[str]:
    yield "## Against a larger k for all"
    yield ""
    yield (
        'The first advice of that paper is "use larger k". Smallest k from 3 on with which plain '
        "MDAV happens to be safe, its information loss, and the best loss above with a guarantee:"
    )
    yield ""
    rows = []
    for name, reached in uniform.items():
        some = [
            w for w in found if w.data == name and w.k == 5 and w.method not in ("MDAV", "drop")
        ]
        best = min((w.information_loss for w in some), default=None)
        rows.append([
            name, "none up to 150" if reached is None else reached[0],
            "-" if reached is None else f"{reached[1]:.2f}",
            "-" if best is None else f"{best:.2f}",
        ])  # fmt: skip
    yield from grid(["file", "least uniform k", "its loss (%)", "compliant, k = 5 (%)"], rows)


def _suppression(hidden: Sequence[Suppressing]) -> Iterator[str]:
    yield "## Suppressing means"
    yield ""
    yield (
        "The second advice is to suppress one safe cell for each unsafe one. Microaggregation "
        "keeps the totals of attributes, so those are known, and so may be identities between "
        "attributes. *Totals only*: fewest secondary cells for an attacker who knows nothing "
        "else; *exposed*: the unsafe cells that an attacker who knows the identities then tells "
        "too closely (exactly, in brackets). *All relations*: fewest secondary cells with every "
        "relation in the table, sums of suppressed cells included, audited. *One for one*: the "
        "paper's remedy, with the smallest safe cells of the same attribute, and the unsafe cells "
        "it leaves exposed."
    )
    yield ""
    header = ["file", "k", "cells", "unsafe", "totals only", "exposed", "all relations",
              "one for one", "exposed", "identities", "CPU s"]  # fmt: skip
    yield from grid(
        header,
        (
            [
                h.data, h.k, h.cells, h.primary, h.blind, f"{h.exposed} ({h.exact})",
                f"{h.secondary} ({'proven' if h.proven else f'gap {100 * h.gap:.0f} %'})",
                h.pairs, h.pairs_exposed,
                h.identities or "none", number(h.seconds, 2),
            ]
            for h in hidden
        ),
    )  # fmt: skip
