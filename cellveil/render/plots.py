"""Pictures of results, for papers and slides, by matplotlib (``pip install "cellveil[plot]"``).

Colours are told apart by people who are colour-blind (Okabe and Ito 2008) and never stand alone: a
shape, a hatch or a word says the same. Without `reveal` a picture shows what anyone can work
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.render.curves import plot_gap, plot_k_curve, plot_posterior, plot_safety_cost
from cellveil.render.figures import BLUE, GREY, LIGHT, ORANGE, codes_text, new_figure, plain, save
from csp.errors import InputError
from csp.tables.cross.layout import cross_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attacks.algorithm_known.matching_results import Matching
    from csp.mechanism import Protected
    from csp.release.release import Release

__all__ = [
    "plot_gap",
    "plot_intervals",
    "plot_k_curve",
    "plot_map",
    "plot_posterior",
    "plot_safety_cost",
    "save",
]

MOST_BARS = 60
"""Suppressed cells that still have a readable line of their own on a page."""

MOST_ROWS = 120
"""Rows and columns of a map that are still seen apart."""


def plot_intervals(
    result: Protected | Release | Matching, *, reveal: bool = False, most: int = MOST_BARS
) -> Figure:
    """Feasibility interval of each suppressed cell as a bar, widest uncertainty last.

    Parameters
    ----------
    result : Protected, Release or Matching
        Of a release the intervals are worked out; a protected table has those of its audit. Of a
        matching attack: what is left once the algorithm is known, on a thin bar of what the
        relations alone leave.
    reveal : bool
        Of a protected table: also the true value and the protection level that is required, for
        internal use.
    most : int
        Bars at most; the cells whose intervals are narrowest for their size are kept.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If nothing is suppressed, matplotlib is missing, or there is nothing to reveal.

    See Also
    --------
    csp.intervals : The numbers.
    """
    from attacks.algorithm_known.matching_results import Matching

    attacked = result if isinstance(result, Matching) else None
    shown = result.release if isinstance(result, Matching) else result
    release, inside = _release_of(shown, reveal=reveal)
    cells = np.flatnonzero(release.pattern)
    if not len(cells):
        msg = "nothing is suppressed, so there is no interval to draw"
        raise InputError(msg)
    if attacked is None:
        low, high = (ends[cells] / 10**release.scale for ends in _ends(shown, release))
        outer = (low, high)
    else:
        low, high = (end / 10**release.scale for end in (attacked.lower, attacked.upper))
        outer = (
            attacked.feasible_lower / 10**release.scale,
            attacked.feasible_upper / 10**release.scale,
        )
    with np.errstate(invalid="ignore"):  # an end that is not there makes a width of no size
        size = (high - low) / np.maximum(np.abs(low + high) / 2, 1e-9)
    kept = np.sort(np.argsort(size, kind="stable")[:most])
    finite = np.concatenate([end[kept] for end in outer])
    finite = finite[np.isfinite(finite)]
    edge = 1.05 * float(finite.max(initial=1.0))
    floor = min(0.0, 1.05 * float(finite.min(initial=0.0)))
    left_out = len(cells) > len(kept)
    figure, axes = new_figure(
        7.5, 1.3 + 0.22 * len(kept), internal=reveal,
        title=f"{len(cells)} suppressed cells"
        + (f", the {len(kept)} narrowest for their size" if left_out else ""),
        x="what anyone can infer (bar from least to largest value)" if attacked is None
        else "by relations (thin), and once the algorithm is known (thick)",
    )  # fmt: skip
    for row, i in enumerate(kept.tolist()):
        left = floor if np.isneginf(low[i]) else low[i]
        right = edge if np.isposinf(high[i]) else high[i]
        if np.isnan(left) or np.isnan(right):
            axes.text(floor, row, "not proved in time", va="center", fontsize=7, color=GREY)
            continue
        if attacked is not None:
            axes.plot([outer[0][i], outer[1][i]], [row, row], color=GREY, linewidth=1)
        if left == right and inside is None:  # the place of the bar would be the value
            axes.text(floor, row, "known exactly", va="center", fontsize=7, color=ORANGE)
            continue
        axes.plot([left, right], [row, row], color=BLUE, linewidth=4, solid_capstyle="butt")
        if np.isposinf(high[i]):
            axes.plot(right, row, marker=">", color=BLUE, markersize=6, clip_on=False)
    if inside is not None:
        _needed(axes, inside, cells[kept], inside.table.scale)
    named = [plain(", ".join(release.labels[c])) for c in cells[kept].tolist()]
    axes.set_yticks(range(len(kept)), named)
    axes.set_ylim(len(kept) - 0.4, -0.6)
    axes.set_xlim(floor, edge)
    return figure


def _needed(axes: Axes, inside: Protected, cells: Any, scale: int) -> None:
    """Draw required levels as brackets and true values as ticks."""
    problem, unit = inside.problem, 10**scale
    labels = {"level": "must reach at least so far", "value": "true value"}  # once each
    for row, c in enumerate(cells.tolist()):
        value = int(problem.table.values[c])
        if problem.primary[c]:
            ends = [(value - int(problem.lpl[c])) / unit, (value + int(problem.upl[c])) / unit]
            axes.plot(ends, [row, row], color=ORANGE, linewidth=1, marker="|", markersize=9,
                      label=labels.pop("level", None))  # fmt: skip
        axes.plot(value / unit, row, color="black", marker="d", markersize=4,
                  label=labels.pop("value", None))  # fmt: skip
    axes.figure.legend(fontsize=7, loc="outside lower center", ncols=2)


def plot_map(result: Protected | Release, *, reveal: bool = False, panel: int = 0) -> Figure:
    """Suppression map: which cells of a cross table are suppressed.

    Parameters
    ----------
    result : Protected or Release
    reveal : bool
        Of a protected table: tell sensitive (primary) from secondary cells.
    panel : int
        Of a table of more than two dimensions: number of the panel, that of all totals first.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the panel does not exist, is larger than 120 rows or columns, matplotlib is missing, or
        there is nothing to reveal.
    """
    release, inside = _release_of(result, reveal=reveal)
    layout = cross_table(release)
    if not 0 <= panel < len(layout.panels):
        msg = f"panel {panel} does not exist; there are {len(layout.panels)}, from 0"
        raise InputError(msg)
    cells = layout.panels[panel].cells
    if max(cells.shape) > MOST_ROWS:
        msg = (
            f"a map of {cells.shape[0]} x {cells.shape[1]} cells cannot be seen; draw tables of up "
            f"to {MOST_ROWS} rows and columns"
        )
        raise InputError(msg)
    there = cells >= 0
    hidden = there & release.pattern[np.where(there, cells, 0)]
    rows, columns = cells.shape
    figure, axes = new_figure(
        1.8 + 0.28 * columns, 1.6 + 0.24 * rows, x=plain(layout.across), y=plain(layout.down),
        internal=reveal,
        title=codes_text(layout.further, layout.panels[panel].codes),
    )  # fmt: skip
    primary = np.zeros_like(hidden)
    if inside is not None:
        primary = hidden & inside.problem.primary[np.where(there, cells, 0)]
    kinds = [
        ("published", there & ~hidden, LIGHT, ""),
        ("suppressed", hidden & ~primary, BLUE, ""),
        ("sensitive", primary, ORANGE, "////"),
    ]
    if inside is not None:
        kinds[1] = ("suppressed to protect others", *kinds[1][1:])
    from matplotlib.patches import Patch, Rectangle

    for _, flags, colour, hatch in kinds:
        for row, column in np.argwhere(flags).tolist():
            box = Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, facecolor=colour, hatch=hatch,
                            edgecolor="white", linewidth=0)  # fmt: skip
            axes.add_patch(box)
            if hatch == "" and colour == BLUE:
                axes.text(column, row, "×", color="white", ha="center", va="center", fontsize=8)
    axes.set_xlim(-0.6, columns - 0.4)
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_aspect("equal")
    heads = [plain(heading.code) for heading in layout.columns]
    axes.set_xticks(range(columns), heads, rotation=90 if max(map(len, heads)) > 3 else 0)
    axes.set_yticks(range(rows), [plain(heading.code) for heading in layout.rows])
    for heading, name in zip(layout.rows, axes.get_yticklabels(), strict=True):
        name.set_fontweight("bold" if heading.total else "normal")
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    shown = [
        Patch(
            facecolor=colour, hatch=hatch, edgecolor="white", label=f"{word} ({int(flags.sum())})"
        )
        for word, flags, colour, hatch in kinds
        if flags.any()
    ]
    figure.legend(handles=shown, fontsize=7, loc="outside lower center", ncols=1 + (columns > 9))
    return figure


def _release_of(result: Protected | Release, *, reveal: bool) -> tuple[Release, Protected | None]:
    """Release of a result, and the result itself if its inside may be shown."""
    from csp.mechanism import Protected

    if isinstance(result, Protected):
        return result.release, result if reveal else None
    if reveal:
        msg = "a release holds nothing to reveal; pass the protected table"
        raise InputError(msg)
    return result, None


def _ends(result: Protected | Release, release: Release) -> tuple[Any, Any]:
    """Proved ends of intervals, in units; NaN where they are not proved."""
    from csp.audits.intervals import intervals
    from csp.mechanism import Protected
    from csp.release.completion import complete

    if isinstance(result, Protected):
        return result.proved_ends
    low, high = intervals(complete(release), release.pattern)
    return low, high
