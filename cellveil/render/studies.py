"""Pictures of methods compared over many tables, for `cellveil.comparing.results.Study.plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cellveil.render.figures import BLUE, GREY, ORANGE, new_figure
from csp.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito (2008); lines and marks differ as well.
_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", GREY, "#56b4e9", "#e69f00")
_LINES = ("-", "--", ":", "-.")
_MARKS = ("o", "s", "^", "D", "v", "x", "P")

MOST_BINS = 30


def plot_performance(ratios: Mapping[str, ArrayLike], *, internal: bool = False) -> Figure:
    """Draw on what share of tables a method is within a factor of the cheapest.

    Parameters
    ----------
    ratios : mapping of method to (t,) float
        Cost over that of the cheapest safe pattern of each table; infinite where the method has
        no safe pattern.
    internal : bool
        Whether costs are sums of suppressed values.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If no method has a safe pattern.

    References
    ----------
    Performance profiles of Dolan and Moré (2002).
    """
    arrays = {name: np.sort(np.asarray(found, float)) for name, found in ratios.items()}
    finite = [found[np.isfinite(found)] for found in arrays.values()]
    largest = max((float(found[-1]) for found in finite if len(found)), default=0.0)
    if not largest:
        msg = "no method found a safe pattern, so there is no cost to compare"
        raise InputError(msg)
    end = 1.0 + 1.08 * max(largest - 1.0, 0.1)
    figure, axes = new_figure(
        6.5, 3.6, title="Safe patterns within a factor of the cheapest", internal=internal,
        x="cost, as a multiple of the cheapest safe pattern", y="share of tables",
    )  # fmt: skip
    for i, (name, found) in enumerate(arrays.items()):
        reached = found[np.isfinite(found)]
        steps = np.concatenate([[1.0], reached, [end]])
        share = np.concatenate([[0.0], np.arange(1, len(reached) + 1), [len(reached)]]) / len(found)
        axes.step(
            steps, share, where="post", label=name, color=_COLOURS[i % len(_COLOURS)],
            linestyle=_LINES[i % len(_LINES)],
        )  # fmt: skip
    axes.set_xlim(1.0, end)
    axes.set_ylim(0.0, 1.03)
    figure.legend(fontsize=8, loc="outside lower center", ncols=min(4, len(arrays)))
    return figure


def plot_unsafe_shares(counts: Mapping[str, Sequence[tuple[int, int, int]]]) -> Figure:
    """Draw the share of sensitive cells that an attack proves unsafe, by the size of a table.

    Parameters
    ----------
    counts : mapping of method to sequence of (cells, attacked, unsafe)
        Of each table: its cells, and its sensitive cells that were attacked and proved unsafe.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If nothing was attacked.
    """
    if not any(attacked for rows in counts.values() for _, attacked, _ in rows):
        msg = "no sensitive cell was attacked; make the study with attack='matching'"
        raise InputError(msg)
    figure, axes = new_figure(
        6.5, 3.6, title="Sensitive cells that the matching attack proves unsafe",
        x="cells of the table", y="share of sensitive cells",
    )  # fmt: skip
    for i, (name, rows) in enumerate(counts.items()):
        sizes = sorted({cells for cells, attacked, _ in rows if attacked})
        share = [
            sum(unsafe for cells, _, unsafe in rows if cells == size)
            / sum(attacked for cells, attacked, _ in rows if cells == size)
            for size in sizes
        ]
        axes.plot(
            sizes, share, label=name, color=_COLOURS[i % len(_COLOURS)],
            marker=_MARKS[i % len(_MARKS)], linestyle=_LINES[i % len(_LINES)],
        )  # fmt: skip
    axes.set_ylim(0.0, max(0.05, 1.05 * axes.get_ylim()[1]))
    axes.set_xlim(left=0)
    figure.legend(fontsize=8, loc="outside lower center", ncols=min(4, len(counts)))
    return figure


def plot_widths(widths: Mapping[str, ArrayLike], *, known: bool) -> Figure:
    """Draw a histogram of the widths of intervals of sensitive cells.

    Parameters
    ----------
    widths : mapping of method to (p,) float
        Infinite and unknown ones are left out.
    known : bool
        Whether they are what an attacker with the method is left with.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If there is no width.
    """
    arrays = {name: np.asarray(found, float) for name, found in widths.items()}
    arrays = {name: found[np.isfinite(found)] for name, found in arrays.items()}
    everything = np.concatenate(list(arrays.values()))
    if not len(everything):
        msg = "no interval of a sensitive cell has a known width"
        raise InputError(msg)
    top = float(everything.max())
    whole = bool((everything == np.floor(everything)).all())
    step = max(1.0, np.ceil((top + 1) / MOST_BINS)) if whole else max(top, 1e-9) / MOST_BINS
    edges = np.arange(0.0, top + 2 * step, step)
    told = "with the method known" if known else "from the release alone"
    figure, axes = new_figure(
        6.5, 3.6, title=f"Width of intervals of sensitive cells, {told}",
        x="width", y="sensitive cells",
    )  # fmt: skip
    for i, (name, found) in enumerate(arrays.items()):
        axes.hist(
            found, bins=edges.tolist(), histtype="step", label=name,
            color=_COLOURS[i % len(_COLOURS)], linestyle=_LINES[i % len(_LINES)], linewidth=1.4,
        )  # fmt: skip
    axes.set_xlim(left=0)
    figure.legend(fontsize=8, loc="outside lower center", ncols=min(4, len(arrays)))
    return figure
