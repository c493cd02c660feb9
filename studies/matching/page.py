"""The page about the experiments of Minami and Abe (2019), from trials alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from studies.matching.results import by_scenario, unsafe_share
from studies.matching.scenarios import SCENARIOS, WIDTH
from studies.matching.tables import (
    PAPER,
    by_dimension,
    distance,
    latency,
    ratios,
    spread,
    width_counts,
)
from studies.matching.trials import Timing, Trial
from studies.pages import grid, machine

_FEW_DRAWS = 100


def page(
    trials: Sequence[Trial], *, timings: Sequence[Timing], command: str, figures: Sequence[str]
) -> str:
    """Markdown page: scenarios side by side, Tables 2 to 5, sampling error.

    Parameters
    ----------
    trials : sequence of Trial
    timings : sequence of Timing
    command : str
        What makes the same trials.
    figures : sequence of str
        File names.

    Returns
    -------
    str
    """
    return "\n".join(_lines(by_scenario(trials), timings, command, figures)) + "\n"


def _lines(
    groups: dict[str, list[Trial]], timings: Sequence[Timing], command: str, figures: Sequence[str]
) -> Iterator[str]:
    some = next(iter(groups.values()))
    sizes = sorted({t.side**2 for t in some})
    each = sum(t.side**2 == sizes[0] for t in some)
    yield "# The matching attack: the experiments of Minami and Abe (2019) under every scenario"
    yield ""
    yield (
        "Minami and Abe, Algorithms 2019, 12(8), 165, Section 4. Their 200 tables are not public, "
        f"so these are tables of our own: {each} for each scenario and size, drawn as the paper "
        "says. A scenario settles what the paper leaves open. The attack is exact and never sees "
        "the true table."
    )
    yield ""
    yield f"Made by `{command}`. {machine()}."
    yield ""
    yield "## Table 2: unsafe primary cells"
    yield ""
    yield (
        "Share of primary cells whose effective interval is narrower than 8, and primary cells "
        "in 50 tables. The number after ± is the standard deviation of an experiment of 50 "
        "tables, by drawing tables with replacement: the paper's figures carry an error of that "
        "size."
    )
    yield ""
    yield from grid(
        ["scenario", "set-up", *(f"{c} cells" for c in sizes)], _ratio_rows(groups, sizes)
    )
    yield ""
    yield "## Table 4: widths of effective intervals of unsafe cells"
    yield ""
    yield (
        "Unsafe cells by width 0, 1, ..., 7, scaled to 50 tables, and in brackets the distance "
        "of the shape from the paper's (total variation, 0 to 1; sampling alone makes about 0.1)."
    )
    yield ""
    yield from grid(["scenario", *(f"{c} cells" for c in sizes)], _width_rows(groups, sizes))
    yield ""
    yield "## Which scenario fits"
    yield ""
    yield (
        "Differences from the paper in standard deviations of an experiment of 50 tables (share "
        "of unsafe cells; number of primary cells), and the mean distance of Table 4's shape. "
        "Best fit first."
    )
    yield ""
    yield from grid(
        ["scenario", *(f"{c}: unsafe; primary" for c in sizes), "mean distance", "sum of squares"],
        _fit_rows(groups, sizes),
    )
    yield ""
    yield "## Exact disclosures"
    yield ""
    yield (
        "Share of unsafe cells whose effective interval is one value (Table 4, width 0), with the "
        "standard deviation of an experiment of 50 tables. Which of several cheapest patterns is "
        "published decides much of it: the share is not a property of cell suppression alone."
    )
    yield ""
    yield from grid(["scenario", *(f"{c} cells" for c in sizes)], _exact_rows(groups, sizes))
    yield ""
    yield "## Table 3: unsafe cells by dimension of the kernel"
    yield ""
    yield (
        "The paper's steep fall with the dimension at 16 cells rests on very few tables; compare "
        "the standard deviations."
    )
    yield ""
    yield from _dimension_section(groups, sizes)
    yield ""
    yield "## Hidden by the hull"
    yield ""
    yield (
        "An effective interval may have gaps: values between its ends that no match has. Share "
        "of primary cells with fewer than 9 surviving values, beside the share by width."
    )
    yield ""
    yield from grid(["scenario", *(f"{c} cells" for c in sizes)], _gap_rows(groups, sizes))
    yield ""
    yield "## Table 5: time of an attack"
    yield ""
    yield (
        "CPU of one attack, all surviving values included, after compilation: mean, median and "
        "largest. The paper's program (R) took "
        + ", ".join(f"{s:g} s at {c} cells" for c, s in PAPER["latency"].items())
        + " on another machine."
    )
    yield ""
    yield from grid(["scenario", *(f"{c} cells" for c in sizes)], _time_rows(groups, sizes))
    if timings:
        yield ""
        yield "## Time by method"
        yield ""
        yield (
            'Scenario "plain"; CPU milliseconds after compilation, mean / median / largest: to '
            "read the release, then the network search (exact hulls), the search that lists "
            "every match, and the whole fibre listed another way with each table judged by itself "
            f"(up to two million). They agree on {sum(t.agree for t in timings)} of {len(timings)} "
            "tables."
        )
        yield ""
        yield from grid(
            [
                *("cells", "attacked", "reading the release"),
                *("network search", "every match", "full list"),
            ],
            _timing_rows(timings),
        )
    yield ""
    yield "## What was drawn"
    yield ""
    yield from grid(
        ["scenario", "tables", "no primary cell", "cannot be protected", "undecided"],
        _outcome_rows(groups),
    )
    if figures:
        yield ""
        yield "## Figures 6, 7 and 8"
        for name in figures:
            yield ""
            yield f"![{name}]({name})"


def _of_size(trials: Sequence[Trial], cells: int) -> list[Trial]:
    return [t for t in trials if t.side**2 == cells and t.outcome != "undecided"]


def _primaries(trials: Sequence[Trial]) -> float:
    return float(sum(len(t.cells) for t in trials))


def _per_50(number: float, trials: Sequence[Trial]) -> float:
    return 50 * number / max(1, len(trials))


def _ratio_rows(groups: dict[str, list[Trial]], sizes: Sequence[int]) -> Iterator[list[str]]:
    paper = PAPER["ratios"]
    yield ["**paper**", "", *(
        f"**{paper[c][0] / paper[c][1]:.2f}** ({paper[c][1]})" if c in paper else "" for c in sizes
    )]  # fmt: skip
    for name, trials in groups.items():
        row = [name, SCENARIOS[name].words]
        for c in sizes:
            some = _of_size(trials, c)
            u, p = ratios(some).get(c, (0, 0))
            if not p:
                row.append("-")
                continue
            error = spread(some, unsafe_share)
            row.append(f"{u / p:.2f} ± {error:.2f} ({_per_50(p, some):.0f})")
        yield row


def _width_rows(groups: dict[str, list[Trial]], sizes: Sequence[int]) -> Iterator[list[str]]:
    paper = PAPER["widths"]
    yield ["**paper**", *(" ".join(map(str, paper[c])) if c in paper else "" for c in sizes)]
    for name, trials in groups.items():
        row = [name]
        for c in sizes:
            some = _of_size(trials, c)
            tally = width_counts(some).get(c, ())
            text = " ".join(f"{_per_50(n, some):.0f}" for n in tally)
            if c in paper and any(tally):
                text += f" ({distance(tally, paper[c]):.2f})"
            row.append(text)
        yield row


def _fit_rows(groups: dict[str, list[Trial]], sizes: Sequence[int]) -> Iterator[list[str]]:
    known = [c for c in sizes if c in PAPER["ratios"]]
    rows = []
    for name, trials in groups.items():
        row, squares, shapes = [name], 0.0, []
        for c in sizes:
            some = _of_size(trials, c)
            if c not in known or not _primaries(some):
                row.append("")
                continue
            u, p = PAPER["ratios"][c]
            share = (u / p - unsafe_share(some)) / max(spread(some, unsafe_share), 1e-9)
            count = (p - _per_50(_primaries(some), some)) / max(spread(some, _primaries), 1e-9)
            row.append(f"{share:+.1f}; {count:+.1f}")
            squares += share**2 + count**2
            tally = width_counts(some)[c]
            if sum(tally):
                shapes.append(distance(tally, PAPER["widths"][c]))
        mean = sum(shapes) / max(1, len(shapes))
        rows.append((squares, [*row, f"{mean:.2f}", f"{squares:.1f}"]))
    for _, row in sorted(rows, key=lambda pair: pair[0]):
        yield row


def _dimension_section(groups: dict[str, list[Trial]], sizes: Sequence[int]) -> Iterator[str]:
    dimensions = sorted(
        {d for trials in groups.values() for rows in by_dimension(trials).values() for d in rows}
    )
    for c in sizes:
        yield f"{c} cells; share of unsafe cells (primary cells in brackets):"
        yield ""
        yield from grid(
            ["scenario", *(f"dimension {d}" for d in dimensions)],
            _dimension_rows(groups, c, dimensions),
        )
        yield ""


def _exact_share(trials: Sequence[Trial]) -> float:
    widths = [c.width for t in trials for c in t.cells if c.width < WIDTH]
    return widths.count(0) / len(widths) if widths else float("nan")


def _exact_rows(groups: dict[str, list[Trial]], sizes: Sequence[int]) -> Iterator[list[str]]:
    paper = PAPER["widths"]
    yield [
        "**paper**",
        *(f"**{paper[c][0] / sum(paper[c]):.2f}**" if c in paper else "" for c in sizes),
    ]
    for name, trials in groups.items():
        row = [name]
        for c in sizes:
            some = _of_size(trials, c)
            share = _exact_share(some)
            error = spread(some, _exact_share) if not math.isnan(share) else 0.0
            row.append(f"{share:.2f} ± {error:.2f}" if not math.isnan(share) else "-")
        yield row


def _share_at(dimension: int) -> Callable[[Sequence[Trial]], float]:
    def share(trials: Sequence[Trial]) -> float:
        return unsafe_share([t for t in trials if t.dimension == dimension])

    return share


def _dimension_rows(
    groups: dict[str, list[Trial]], cells: int, dimensions: Sequence[int]
) -> Iterator[list[str]]:
    paper = PAPER["by_dimension"].get(cells, {})
    yield ["**paper**", *(f"**{paper[d]:.2f}**" if d in paper else "" for d in dimensions)]
    for name, trials in groups.items():
        some = _of_size(trials, cells)
        rows = by_dimension(some).get(cells, {})
        row = [name]
        for d in dimensions:
            if d not in rows:
                row.append("")
                continue
            bad, primary = rows[d]
            error = spread(some, _share_at(d), draws=_FEW_DRAWS)
            row.append(f"{bad / primary:.2f} ± {error:.2f} ({primary})")
        yield row


def _gap_rows(groups: dict[str, list[Trial]], sizes: Sequence[int]) -> Iterator[list[str]]:
    for name, trials in groups.items():
        row = [name]
        for c in sizes:
            found = [cell for t in _of_size(trials, c) for cell in t.cells]
            if not found:
                row.append("-")
                continue
            few = sum(cell.values < 9 for cell in found) / len(found)
            narrow = sum(cell.width < 8 for cell in found) / len(found)
            row.append(f"{few:.2f} ({narrow:.2f})")
        yield row


def _time_rows(groups: dict[str, list[Trial]], sizes: Sequence[int]) -> Iterator[list[str]]:
    for name, trials in groups.items():
        found = latency(trials)
        row = [name]
        for c in sizes:
            keys = ("mean", "median", "largest") if c in found else ()
            row.append(" / ".join(f"{1000 * found[c][key]:.0f}" for key in keys) + " ms")
        yield row


def _timing_rows(timings: Sequence[Timing]) -> Iterator[list[str]]:
    for side in sorted({t.side for t in timings}):
        some = [t for t in timings if t.side == side and t.outcome == "attacked"]
        row = [str(side * side), str(len(some))]
        for name in ("setup", "hull", "every", "full"):
            found = sorted(1000 * v for t in some if (v := getattr(t, name)) is not None)
            if not found:
                row.append("-")
                continue
            middle = found[len(found) // 2]
            left = f" ({len(found)} tables)" if len(found) < len(some) else ""
            row.append(f"{sum(found) / len(found):.2f} / {middle:.2f} / {found[-1]:.1f}{left}")
        yield row


def _outcome_rows(groups: dict[str, list[Trial]]) -> Iterator[list[str]]:
    for name, trials in groups.items():
        yield [
            name, str(len(trials)),
            *(
                str(sum(t.outcome == word for t in trials))
                for word in ("no primary", "unprotectable", "undecided")
            ),
        ]  # fmt: skip
