"""Results of an experiment as files: tables, cells, figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cellveil.io.files import write_columns, write_json
from studies.matching.tables import (
    PAPER,
    candidates_by_dimension,
    ratios,
    tidy,
    unsafe,
    width_counts,
)
from studies.matching.trials import Trial


def by_scenario(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Trials of each scenario, in the order in which scenarios occur."""
    out: dict[str, list[Trial]] = {}
    for one in trials:
        out.setdefault(one.scenario, []).append(one)
    return out


def write_results(folder: Path, trials: Sequence[Trial], *, plots: bool) -> list[str]:
    """Write tables and cells as CSV, Parquet and JSON, and the figures.

    Parameters
    ----------
    folder : Path
    trials : sequence of Trial
    plots : bool

    Returns
    -------
    list of str
        Names of the figures; none if matplotlib is missing.
    """
    for name, columns in zip(("tables", "cells"), tidy(trials), strict=True):
        for ending in (".csv", ".parquet"):
            write_columns(folder / (name + ending), columns)
        write_json(folder / f"{name}.json", {"columns": columns})
    return _figures(folder, by_scenario(trials)) if plots else []


def _figures(folder: Path, groups: dict[str, list[Trial]]) -> list[str]:
    try:
        import matplotlib
    except ImportError:
        return []
    mpl: Any = matplotlib
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    # As many colours as there are scenarios.
    shades = [mpl.colormaps["tab20"](i) for i in range(20)]
    mpl.rcParams["axes.prop_cycle"] = mpl.rcsetup.cycler("color", shades)

    names = []
    for number, draw in ((6, _figure_6), (7, _figure_7), (8, _figure_8)):
        figure = draw(plt, groups)
        if figure is None:
            continue
        name = f"figure-{number}.png"
        figure.savefig(folder / name, dpi=110, metadata={"Software": None})
        plt.close(figure)
        names.append(name)
    return names


def _figure_6(plt: Any, groups: dict[str, list[Trial]]) -> Any:
    """Share of unsafe cells by size, one line per scenario, the paper's in black."""
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    for name, trials in groups.items():
        found = {c: u / p for c, (u, p) in ratios(trials).items() if p}
        axes.plot(list(found), list(found.values()), marker=".", linewidth=1, label=name)
    paper = {c: u / p for c, (u, p) in PAPER["ratios"].items()}
    axes.plot(list(paper), list(paper.values()), "ks-", linewidth=2, label="paper")
    axes.set(xlabel="cells of a table", ylabel="unsafe primary cells (share)", ylim=(0, 1))
    axes.set_xticks(sorted({*paper, *(c for t in groups.values() for c in ratios(t))}))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=7, ncols=2)
    return figure


def _figure_7(plt: Any, groups: dict[str, list[Trial]]) -> Any:
    """Candidate tables by dimension of the kernel, one panel a size (first scenario)."""
    trials = next(iter(groups.values()))
    found = {c: rows for c, rows in candidates_by_dimension(trials).items() if rows}
    if not found:
        return None
    figure, panels = plt.subplots(
        1, len(found), figsize=(2.4 * len(found) + 1, 3.6), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, (cells, rows) in zip(panels[0], found.items(), strict=True):
        axes.boxplot(list(rows.values()), positions=range(len(rows)))
        axes.set_xticks(range(len(rows)), list(map(str, rows)))
        axes.set(title=f"{cells} cells", xlabel="dimension", yscale="log")
        axes.grid(visible=True, axis="y", alpha=0.3)
    panels[0][0].set_ylabel(f"candidate tables ({next(iter(groups))})")
    return figure


def _figure_8(plt: Any, groups: dict[str, list[Trial]]) -> Any:
    """Widths of effective intervals of unsafe cells, as shares, at sizes that the paper has."""
    sizes = [c for c in PAPER["widths"] if any(c in width_counts(t) for t in groups.values())]
    if not sizes:
        return None
    figure, panels = plt.subplots(
        1, len(sizes), figsize=(2.6 * len(sizes) + 1.6, 3.6), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axes, cells in zip(panels[0], sizes, strict=True):
        for name, trials in groups.items():
            tally = width_counts(trials).get(cells)
            if tally and sum(tally):
                axes.plot([n / sum(tally) for n in tally], linewidth=1, label=name)
        paper = PAPER["widths"][cells]
        axes.plot([n / sum(paper) for n in paper], "k-", linewidth=2.5, label="paper")
        axes.set(title=f"{cells} cells", xlabel="width")
        axes.grid(visible=True, alpha=0.3)
    panels[0][0].set_ylabel("share of unsafe cells")
    panels[0][-1].legend(fontsize=6)
    return figure


def unsafe_share(trials: Sequence[Trial]) -> float:
    """Share of unsafe cells; NaN if there are no primary cells."""
    primary = sum(len(t.cells) for t in trials)
    return sum(map(unsafe, trials)) / primary if primary else float("nan")
