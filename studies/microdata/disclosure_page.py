"""The page and the figures about attribute disclosure (Torra and Navarro-Arribas 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from studies.figures import Panel, draw
from studies.microdata.disclosure import SETS, Count
from studies.pages import grid, machine, number

SHOWN = (3, 5, 8, 10, 25, 50, 100, 125)
"""Values of k in the table of shares."""

Rows = Sequence[dict[str, Any]]


def lines(
    table: Rows, found: Sequence[Count], *, command: str, figures: Sequence[str]
) -> Iterator[str]:
    """Lines of the page."""
    yield (
        "# Attribute disclosure in microaggregated files: Torra and Navarro-Arribas (2023) "
        "reproduced"
    )
    yield ""
    yield (
        "Torra and Navarro-Arribas, *Attribute disclosure risk for k-anonymity: the case of "
        "numerical data* (2023), judge the cluster means of a microaggregated file like the cells "
        "of a table. This page says which of their results are reproduced, and how."
    )
    yield ""
    yield f"Made by `{command}`. {machine()}."
    yield ""
    if table:
        yield from _table_2(table)
        yield ""
    yield from _shares(found)
    yield ""
    yield from _rises(found)
    if figures:
        yield ""
        yield "## Figures 1 to 5"
        for name in figures:
            yield ""
            yield f"![{name}]({name})"


def _table_2(rows: Rows) -> Iterator[str]:
    exact = sum(
        row[f"{word}_printed"] == row[f"{word}_exact"]
        for row in rows
        for word in ("dominance", "p")
    )
    by_float = sum(
        row[f"{word}_printed"] == row[f"{word}_float"]
        for row in rows
        for word in ("dominance", "p")
    )
    total = 2 * len(rows)
    yield "## Table 2"
    yield ""
    yield (
        f"Of {total} counts, {by_float} come out as printed when floats decide, and {exact} in "
        "exact arithmetic. What it takes: the heads of the printed columns are swapped (750 = 150 "
        'x 5 cells is iris); its "dominance rule" is (2, 0.6), not (1, 0.6) as stated, which '
        "would give the last column; attributes are divided by their variance before distances are "
        "taken, and rules judge the original values; the iris file is that of UCI with its two "
        "known errors; abalone's sex is M = 1, F = 2, I = 3."
    )
    yield ""
    yield from _not_reproduced(rows)
    yield (
        "Where exact arithmetic and floats differ, the printed count is wrong: a cell that lies "
        "exactly on the threshold is not beyond it, but rounding may put it there (`0.1 + 0.2 > "
        "0.3` as floats). The floats here are `(x1 + x2) / T > 0.6` and `(T - x1 - x2) / x1 < 0.6` "
        "with the total summed from the largest value downwards; other orders of the same sums "
        "give other counts."
    )
    yield ""
    header = ["file", "k", "cells", "(2, 0.6): printed", "exact", "float", "p%: printed", "exact",
              "float", "(1, 0.6), exact"]  # fmt: skip
    keys = ["data", "k", "cells", "dominance_printed", "dominance_exact", "dominance_float",
            "p_printed", "p_exact", "p_float", "dominance_1"]  # fmt: skip
    yield from grid(header, ([row[key] for key in keys] for row in rows))
    yield ""
    yield (
        "A rule can be vacuous: (2, 0.6)-dominance calls three equal values sensitive, since two "
        "of three are more than 0.6 of the sum, so that the counts up to k = 3 say nothing of the "
        "data. `microagg.disclosure` says so (`vacuous`), and `microagg.comply` refuses such a "
        "rule."
    )


def _not_reproduced(rows: Rows) -> Iterator[str]:
    """Say where the paper leaves its Equation 2: the p% rule at k = 1."""
    alone = [row for row in rows if row["k"] == 1 and row["p_exact"] != row["p_printed"]]
    if alone:
        counts = " and ".join(f"{row['p_exact']} cells of {row['data']}" for row in alone)
        yield (
            "Not reproduced is the p% rule at k = 1, where the paper prints 0. In a cell with one "
            "contributor the sum over the third and further ones in Equation 2 is empty, and 0 < p "
            f"c1 for every c1 > 0: {counts} are sensitive. The paper does not give the reason for "
            "its 0. Probably its program asks for a second contributor, whose estimate of the "
            "largest the rule stands for; but the mean of a single record is its value, which "
            "needs no estimate."
        )
        yield ""


def _shares(found: Sequence[Count]) -> Iterator[str]:
    yield "## Share of sensitive cells"
    yield ""
    yield (
        "Percent of the cells by (1, 0.6)-dominance / (2, 0.6)-dominance / the p% rule with "
        "66.6 %, in exact arithmetic; MDAV first, then Mondrian (balanced halves across the widest "
        "range). Ionosphere has negative values: once judged by absolute values, once by Equations "
        "1 and 2 as printed, signs and all, which mean little where the sum of a cell is near 0 or "
        "negative (a cell with a sum of 0 is not sensitive by Equation 1, which divides by it). "
        "The printed results are curves only, so there is nothing to compare number by number."
    )
    yield ""
    here = {
        (c.data, c.algorithm, c.k, c.rule, c.negative): 100 * c.sensitive / c.cells for c in found
    }
    ks = [k for k in SHOWN if any(key[2] == k for key in here)]
    rows = []
    for name in dict.fromkeys(key[0] for key in here):
        modes = list(dict.fromkeys(key[4] for key in here if key[0] == name))
        for mode in modes:
            for algorithm in ("MDAV", "Mondrian"):
                label = name if mode == "error" else f"{name} ({mode})"
                row = [label, algorithm]
                for k in ks:
                    shown = (
                        here.get((name, algorithm, k, rule, mode))
                        for rule in ("NK(1,60)", "NK(2,60)", "P(66.6,1)")
                    )
                    row.append(" / ".join("-" if v is None else number(v, 2) for v in shown))
                rows.append(row)
    yield from grid(["file", "algorithm", *(f"k = {k}" for k in ks)], rows)


def _rises(found: Sequence[Count]) -> Iterator[str]:
    """Where a larger k leaves a larger share."""
    yield "## A larger k is not a guarantee"
    yield ""
    rising = []
    for name in dict.fromkeys(c.data for c in found):
        curve = {
            c.k: c.sensitive / c.cells
            for c in found
            if c.data == name and c.algorithm == "MDAV" and c.rule == "NK(1,60)"
            and c.negative != "raw"
        }  # fmt: skip
        steps = [
            (a, b) for a, b in zip(sorted(curve), sorted(curve)[1:], strict=False)
            if a >= 3 and curve[b] > curve[a]
        ]  # fmt: skip
        safe = [k for k in sorted(curve) if k > 1 and curve[k] == 0]
        lasting = [k for k in safe if all(curve[j] == 0 for j in curve if j >= k)]
        rising.append([
            name, len(steps), f"{100 * max(curve.get(3, 0), 0):.2g}",
            f"{100 * max((v for k, v in curve.items() if k > 5), default=0):.2g}",
            safe[0] if safe else "none", lasting[0] if lasting else "none",
        ])  # fmt: skip
    yield (
        "The papers conclude that a larger k has a smaller risk. With (1, 0.6)-dominance and MDAV "
        "it often has not: the share of sensitive cells can rise with k, and files with many zeros "
        "(adult, with its capital gains) never become safe on this grid. Compliance has to be "
        "checked, and cannot be read off k."
    )
    yield ""
    header = ["file", "steps of the grid from k = 3 on where the share rises", "share at k = 3 (%)",
              "largest share beyond k = 5 (%)", "first safe k", "safe from k on"]  # fmt: skip
    yield from grid(header, rising)


def draw_figures(found: Sequence[Count], narrow: Sequence[Count], folder: Path) -> tuple[str, ...]:
    """Draw Figures 1 to 5; return their names relative to the folder of the page."""
    from microagg.tables.risk import corresponding_p

    def curve(
        data: str, rule: str, *, algorithm: str = "MDAV", share: bool = True, attributes: int = 0
    ) -> tuple[list[float], list[float]]:
        some = sorted(
            (c.k, c.sensitive / c.cells if share else c.sensitive)
            for c in (narrow if attributes else found)
            if c.data == data and c.rule == rule and c.algorithm == algorithm
            and c.negative != "raw" and (not attributes or c.attributes == attributes)
        )  # fmt: skip
        return [float(k) for k, _ in some], [float(v) for _, v in some]

    def panel(
        title: str, series: dict[str, Any], *, share: bool, top: float | None = None
    ) -> Panel:
        return Panel(title, "k", "share of cells" if share else "cells", series, top=top)

    rs = [0.5 + i / 100 for i in range(51)]
    shares = [float(corresponding_p(repr(round(r, 2)))) for r in rs]
    names = []

    def save(number: int, panels: Sequence[Panel]) -> None:
        name = f"figures/disclosure-{number}.png"
        draw(folder / name, panels)
        names.append(name)

    here = [name for name in SETS if any(c.data == name for c in found)]
    save(1, [Panel("p that asks as much as (2, r)", "r", "p", {"(1 - r) / r": (rs, shares)})])
    save(2, [
        panel(f"{rule}, {'share' if share else 'count'}",
              {name: curve(name, rule, share=share) for name in here}, share=share)
        for share in (False, True) for rule in ("NK(1,60)", "P(66.6,1)")
    ])  # fmt: skip
    if "adult" in here:
        save(3, [
            panel(f"adult, {'share' if share else 'count'}",
                  {rule: curve("adult", rule, share=share) for rule in pair}, share=share)
            for share in (False, True)
            for pair in (("NK(1,60)", "NK(2,60)"), ("P(60,1)", "P(66,1)"))
        ])  # fmt: skip
    wide = {c.data: max(d.attributes for d in narrow if d.data == c.data) for c in narrow}
    if wide:
        save(4, [
            panel(f"{name}, {rule}",
                  {f"{w} attributes": curve(name, rule, attributes=w)
                   for w in range(1, wide[name] + 1, 2)}, share=True, top=0.2)
            for name in wide for rule in ("NK(1,60)", "P(66,1)")
        ])  # fmt: skip
    both = [name for name in ("abalone", "ionosphere") if name in here]
    if both:
        save(5, [
            panel(f"{name}, {rule}",
                  {a: curve(name, rule, algorithm=a) for a in ("MDAV", "Mondrian")}, share=True)
            for name in both for rule in ("NK(1,60)", "P(66,1)")
        ])  # fmt: skip
    return tuple(names)
