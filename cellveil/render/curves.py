"""Pictures of what protection and safety cost, and of beliefs: the curves of `plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cellveil.render.figures import BLUE, ORANGE, codes_text, new_figure
from csp.errors import InputError, OutOfTime, Unprotectable
from csp.exact import units_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from attacks.bayes.posterior import Posterior
    from csp.mechanism import Mechanism
    from csp.release.release import Release
    from csp.solve import Progress
    from csp.tables.table import Table
    from microagg.tables.k_curve import KPoint


def plot_gap(trace: Sequence[Progress]) -> Figure:
    """Gap over time: how much cheaper a safe pattern may be at most.

    Parameters
    ----------
    trace : sequence of Progress
        What `csp.protect` reported: ``trace = []; csp.protect(..., progress=trace.append)``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If no pattern was reported, or matplotlib is missing.
    """
    steps = [(now.seconds, 100 * now.gap_at_most) for now in trace if now.best is not None]
    if not steps:
        msg = "no pattern was reported; pass the progress of a run that found one"
        raise InputError(msg)
    title = "How much cheaper a safe pattern may be, at most"
    figure, axes = new_figure(6.5, 3.2, title=title, x="seconds", y="gap in percent")
    seconds, gaps = zip(*steps, strict=True)
    axes.step(seconds, gaps, where="post", color=BLUE)
    axes.plot(seconds[-1], gaps[-1], "o", color=BLUE, markersize=5)
    axes.annotate(
        f"{gaps[-1]:g} %", (seconds[-1], gaps[-1]), xytext=(-4, 6), textcoords="offset points",
        ha="right", fontsize=8,
    )  # fmt: skip
    axes.set_ylim(-2, 102)
    axes.set_xlim(left=0)
    return figure


def plot_safety_cost(
    table: Table,
    mechanisms: Mapping[float, Mechanism],
    *,
    reveal: bool = False,
    level: str = "protection level",
    time_limit: float | None = 60.0,
) -> Figure:
    """Cost of safety: cells suppressed against the protection that is asked for.

    Parameters
    ----------
    table : Table
    mechanisms : mapping of number to Mechanism
        By what is drawn along the axis: ``{p: Mechanism(PPercent(p)) for p in (5, 10, 20)}``.
    reveal : bool
        Must be true: how many cells each level costs says more of the values than one release.
    level : str
        What the numbers are.
    time_limit : float, optional
        Wall seconds for each mechanism.

    Returns
    -------
    matplotlib.figure.Figure
        Secondary cells on top of primary ones; open marks where the pattern is not proved to be
        the cheapest, and a word where no pattern was found or there is none.

    Raises
    ------
    InputError
        If there is no mechanism, `reveal` is not said, or matplotlib is missing.
    """
    if not mechanisms:
        msg = "there is no mechanism to draw the cost of"
        raise InputError(msg)
    if not reveal:
        msg = "the cost of each level discloses more than a release does: pass reveal=True"
        raise InputError(msg)
    figure, axes = new_figure(
        6.5, 3.6, title="What protection costs", x=level, y=f"cells, of {table.n_cells}",
        internal=True,
    )  # fmt: skip
    rows = []
    for number, mechanism in sorted(mechanisms.items()):
        try:
            found = mechanism.protect(table, time_limit=time_limit)
        except (Unprotectable, OutOfTime) as error:
            word = (
                "cannot be protected" if isinstance(error, Unprotectable) else "no answer in time"
            )
            axes.annotate(word, (number, 0), rotation=90, fontsize=7, color=ORANGE, ha="center",
                          xytext=(0, 4), textcoords="offset points")  # fmt: skip
            continue
        primary = int(found.problem.primary.sum())
        rows.append((number, primary, int(found.pattern.sum()), found.suppression.proven))
    if rows:
        numbers, primaries, totals, proven = map(np.array, zip(*rows, strict=True))
        axes.fill_between(numbers, primaries, totals, color=BLUE, alpha=0.15)
        axes.plot(numbers, totals, color=BLUE, label="suppressed in all")
        axes.plot(numbers, primaries, color=ORANGE, linestyle="--", marker="s", markersize=4,
                  label="sensitive")  # fmt: skip
        for flags, face, label in ((proven, BLUE, None), (~proven, "white", "not proved cheapest")):
            if flags.any():
                axes.plot(numbers[flags], totals[flags], "o", color=BLUE, markerfacecolor=face,
                          label=label)  # fmt: skip
        axes.legend(fontsize=7)
    low, high = min(mechanisms), max(mechanisms)
    room = 0.05 * (high - low) or 1.0
    axes.set_xlim(low - room, high + room)
    axes.set_ylim(bottom=0)
    return figure


def plot_k_curve(curve: Sequence[KPoint]) -> Figure:
    """Information loss, and the share of sensitive means, against the size of clusters.

    Parameters
    ----------
    curve : sequence of KPoint
        From `microagg.k_curve`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the curve is empty, or matplotlib is missing.
    """
    if not curve:
        msg = "the curve has no point; there are too few records for any k, or no time"
        raise InputError(msg)
    title = "What larger clusters cost, and whether they are safer"
    figure, axes = new_figure(6.5, 3.6, title=title, x="k, least size of a cluster", y="percent")
    ks = [point.k for point in curve]
    axes.plot(ks, [p.information_loss for p in curve], color=BLUE, marker="o", markersize=4,
              label="information loss")  # fmt: skip
    shares = [100 * p.sensitive_means / p.means for p in curve if p.sensitive_means is not None]
    if len(shares) == len(ks):
        axes.plot(ks, shares, color=ORANGE, linestyle="--", marker="s", markersize=4,
                  label="sensitive means")  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    return figure


def plot_posterior(
    found: Posterior, release: Release, cell: int, *, reveal: bool = False
) -> Figure:
    """Probability of each value of a suppressed cell, with and without knowing the algorithm.

    Parameters
    ----------
    found : Posterior
        From `attacks.posterior`.
    release : Release
    cell : int
        One of its suppressed cells.
    reveal : bool
        Must be true: the most probable value may be the suppressed one.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the cell is published, `reveal` is not said, or matplotlib is missing.
    """
    places = np.flatnonzero(found.cells == cell)
    if not len(places):
        msg = f"cell {cell} is not a suppressed cell of this posterior"
        raise InputError(msg)
    if not reveal:
        msg = "the most probable value may be the suppressed one: pass reveal=True"
        raise InputError(msg)
    i = int(places[0])
    figure, axes = new_figure(
        6.5, 3.2, title=codes_text(release.names, release.labels[cell]), x="value of the cell",
        y="probability", internal=True,
    )  # fmt: skip
    values = found.values[i] / 10**release.scale
    step = float(np.diff(values).min()) if len(values) > 1 else 1.0
    axes.bar(values, found.probability[i], width=0.8 * step, color=BLUE, label="algorithm known")
    axes.plot(values, found.naive[i], color=ORANGE, marker="_", linestyle="", markersize=8,
              markeredgewidth=2, label="algorithm unknown")  # fmt: skip
    best = int(np.argmax(found.probability[i]))
    axes.annotate(
        units_text(int(found.values[i][best]), release.scale),
        (values[best], found.probability[i][best]), xytext=(0, 3), textcoords="offset points",
        ha="center", fontsize=8,
    )  # fmt: skip
    axes.legend(fontsize=7)
    return figure
