"""Picture of ways to publish one table, for `cellveil.comparing.side_by_side.Comparison.plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cellveil.render.figures import BLUE, GREY, LIGHT, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", GREY, "#56b4e9", "#e69f00")
_HATCHES = ("", "///", "xx", "--", "\\\\", "||", "++")


def plot_ways(levels: Mapping[str, Sequence[Any]], rooms: Mapping[str, ArrayLike]) -> Figure:
    """Draw a comparison: errors and blanks by level, and the room of sensitive cells.

    Parameters
    ----------
    levels : mapping of str to sequence
        Columns as `Comparison.levels` has them.
    rooms : mapping of method to (p,) float
        Room that each sensitive cell has, over the room that it must have; infinite ones are left
        out.

    Returns
    -------
    matplotlib.figure.Figure
        It shows what true values decide, and says that it is internal.

    Raises
    ------
    InputError
        If matplotlib is missing.
    """
    figure, left = new_figure(
        9.0, 3.4, title="Mean error of published numbers", x="level, from the total down",
        internal=True,
    )  # fmt: skip
    places = figure.add_gridspec(1, 2)
    left.set_subplotspec(places[0])
    _errors(left, levels)
    right = figure.add_subplot(places[1])
    right.set_title("Sensitive cells: room left over the room asked for", fontsize=10)
    left.title.set_fontsize(10)
    for number, found in enumerate(rooms.values()):
        given = np.asarray(found, dtype=float)
        share = np.sort(given[np.isfinite(given)])
        right.scatter(
            share, np.full(len(share), number) + np.linspace(-0.25, 0.25, len(share)), s=10,
            color=_COLOURS[number % len(_COLOURS)], alpha=0.8, linewidths=0,
        )  # fmt: skip
    right.axvline(1.0, color=GREY, linewidth=1, linestyle="--")
    right.set_xscale("symlog", linthresh=1.0)
    right.set_xlim(left=0)
    right.set_yticks(range(len(rooms)), list(rooms), fontsize=8)
    right.set_ylim(len(rooms) - 0.5, -0.5)
    right.tick_params(labelsize=8)
    for side in ("top", "right"):
        right.spines[side].set_visible(False)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=min(5, len(rooms)))
    return figure


def _errors(axes: Axes, columns: Mapping[str, Sequence[Any]]) -> None:
    """Bars of mean errors by level, and the number of cells that have no number at all."""
    methods = list(dict.fromkeys(columns["method"]))
    levels = sorted(set(columns["level"]))
    width = 0.8 / max(1, len(methods))
    rows = {
        (method, level): i
        for i, (method, level) in enumerate(zip(columns["method"], columns["level"], strict=True))
    }
    for number, method in enumerate(methods):
        places = np.arange(len(levels)) + (number - (len(methods) - 1) / 2) * width
        which = [rows[method, level] for level in levels]
        axes.bar(
            places, [columns["mean_error"][i] or 0.0 for i in which], width=width, label=method,
            color=_COLOURS[number % len(_COLOURS)], hatch=_HATCHES[number % len(_HATCHES)],
            edgecolor=LIGHT, linewidth=0.3,
        )  # fmt: skip
        for place, i in zip(places.tolist(), which, strict=True):
            if columns["mean_error"][i] is None or (
                columns["withheld"][i] and not columns["changed"][i]
            ):
                axes.text(
                    place, 0, f"{columns['withheld'][i]} blank", rotation=90, fontsize=7,
                    ha="center", va="bottom",
                )  # fmt: skip
    cells = {level: columns["cells"][rows[methods[0], level]] for level in levels} if rows else {}
    axes.set_xticks(
        range(len(levels)), [f"{level} ({cells[level]:,})" for level in levels], fontsize=8
    )
    axes.set_xlabel("level, from the total down (cells)", fontsize=9)
