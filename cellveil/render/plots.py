"""Pictures of results, for papers and slides, by matplotlib (``pip install "cellveil[plot]"``).

Colours are told apart by people who are colour-blind (Okabe and Ito 2008) and never stand alone: a
shape, a hatch or a word says the same. Without `reveal` a picture shows what anyone can work
out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from csp.errors import InputError, OutOfTime, Unprotectable
from csp.exact import units_text
from csp.tables.cross.layout import cross_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from attacks.bayes.posterior import Posterior
    from csp.formats.files import Together
    from csp.mechanism import Mechanism
    from csp.protection import Protected
    from csp.release.release import Release
    from csp.solve import Progress
    from csp.tables.table import Table
    from microagg.tables.k_curve import KPoint

__all__ = [
    "needs_matplotlib",
    "plot_gap",
    "plot_intervals",
    "plot_k_curve",
    "plot_map",
    "plot_posterior",
    "plot_safety_cost",
    "save",
]

BLUE, ORANGE, GREEN, GREY, LIGHT = "#0072b2", "#d55e00", "#009e73", "#57606a", "#e6e9ec"

MOST_BARS = 60
"""Suppressed cells that still have a readable line of their own on a page."""

MOST_ROWS = 120
"""Rows and columns of a map that are still seen apart."""


def needs_matplotlib() -> None:
    """Refuse to draw where matplotlib is missing.

    Raises
    ------
    InputError
        That says how to install it.
    """
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        msg = "pictures need matplotlib; pip install 'cellveil[plot]', or leave them out"
        raise InputError(msg)


def save(figure: Figure, path: Path, files: Together | None = None) -> None:
    """Write a figure: .svg, .pdf or .png, the same bytes each time.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : Path
    files : Together, optional
        Files that are written together or not at all.

    Raises
    ------
    InputError
        If the name ends otherwise, or the file cannot be written.
    """
    import io

    import matplotlib as mpl

    from csp.formats.files import joined

    kind = path.suffix.lower()
    if kind not in (".svg", ".pdf", ".png"):
        msg = f"{str(path)!r} must end with .svg, .pdf or .png"
        raise InputError(msg)
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {"Software": None}}
    drawn = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "cellveil", "svg.fonttype": "none"}):
        figure.savefig(drawn, format=kind[1:], dpi=150, metadata=undated[kind])
    with joined(files) as group, group.path(path) as draft:
        draft.write_bytes(drawn.getvalue())


def plot_intervals(
    result: Protected | Release, *, reveal: bool = False, most: int = MOST_BARS
) -> Figure:
    """Feasibility interval of each suppressed cell as a bar, widest uncertainty last.

    Parameters
    ----------
    result : Protected or Release
        Of a release the intervals are worked out; a protected table has those of its audit.
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
    release, inside = _release_of(result, reveal=reveal)
    cells = np.flatnonzero(release.pattern)
    if not len(cells):
        msg = "nothing is suppressed, so there is no interval to draw"
        raise InputError(msg)
    low, high = (ends[cells] / 10**release.scale for ends in _ends(result, release))
    with np.errstate(invalid="ignore"):  # an end that is not there makes a width of no size
        size = (high - low) / np.maximum(np.abs(low + high) / 2, 1e-9)
    kept = np.sort(np.argsort(size, kind="stable")[:most])
    finite = np.concatenate([low[kept], high[kept]])
    finite = finite[np.isfinite(finite)]
    edge = 1.05 * float(finite.max(initial=1.0))
    floor = min(0.0, 1.05 * float(finite.min(initial=0.0)))
    figure, axes = _figure(7.5, 1.3 + 0.22 * len(kept))
    for row, i in enumerate(kept.tolist()):
        left = floor if np.isneginf(low[i]) else low[i]
        right = edge if np.isposinf(high[i]) else high[i]
        if np.isnan(left) or np.isnan(right):
            axes.text(floor, row, "not proved in time", va="center", fontsize=7, color=GREY)
            continue
        if left == right and inside is None:  # the place of the bar would be the value
            axes.text(floor, row, "known exactly", va="center", fontsize=7, color=ORANGE)
            continue
        axes.plot([left, right], [row, row], color=BLUE, linewidth=4, solid_capstyle="butt")
        if np.isposinf(high[i]):
            axes.plot(right, row, marker=">", color=BLUE, markersize=6, clip_on=False)
    if inside is not None:
        _needed(axes, inside, cells[kept], release.scale)
    axes.set_yticks(range(len(kept)), [", ".join(release.labels[c]) for c in cells[kept].tolist()])
    axes.set_ylim(len(kept) - 0.4, -0.6)
    axes.set_xlim(floor, edge)
    axes.set_xlabel("what anyone can infer (bar from least to largest value)")
    left_out = len(cells) - len(kept)
    head = f"{len(cells)} suppressed cells"
    axes.set_title(head + (f", the {len(kept)} narrowest for their size" if left_out else ""))
    return _internal(figure, internal=reveal)


def _needed(axes: Axes, inside: Protected, cells: Any, scale: int) -> None:
    """Draw required levels as brackets and true values as ticks."""
    problem, unit = inside.problem, 10**scale
    named = set()
    for row, c in enumerate(cells.tolist()):
        value = int(problem.table.values[c])
        if problem.primary[c]:
            ends = [(value - int(problem.lpl[c])) / unit, (value + int(problem.upl[c])) / unit]
            label = None if "level" in named else "must reach at least so far"
            axes.plot(
                ends, [row, row], color=ORANGE, linewidth=1, marker="|", markersize=9, label=label
            )
            named.add("level")
        label = None if "value" in named else "true value"
        axes.plot(value / unit, row, color="black", marker="d", markersize=4, label=label)
        named.add("value")
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
    figure, axes = _figure(1.8 + 0.28 * columns, 1.6 + 0.24 * rows)
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
    heads = [heading.code for heading in layout.columns]
    axes.set_xticks(range(columns), heads, rotation=90 if max(map(len, heads)) > 3 else 0)
    axes.set_yticks(range(rows), [heading.code for heading in layout.rows])
    for heading, name in zip(layout.rows, axes.get_yticklabels(), strict=True):
        name.set_fontweight("bold" if heading.total else "normal")
    axes.set_xlabel(layout.across)
    axes.set_ylabel(layout.down)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    pairs = zip(layout.further, layout.panels[panel].codes, strict=True)
    axes.set_title(", ".join(f"{name} {code}" for name, code in pairs))
    shown = [
        Patch(
            facecolor=colour, hatch=hatch, edgecolor="white", label=f"{word} ({int(flags.sum())})"
        )
        for word, flags, colour, hatch in kinds
        if flags.any()
    ]
    figure.legend(handles=shown, fontsize=7, loc="outside lower center", ncols=1 + (columns > 9))
    return _internal(figure, internal=reveal)


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
    figure, axes = _figure(6.5, 3.2)
    seconds, gaps = zip(*steps, strict=True)
    axes.step(seconds, gaps, where="post", color=BLUE)
    axes.plot(seconds[-1], gaps[-1], "o", color=BLUE, markersize=5)
    axes.annotate(
        f"{gaps[-1]:g} %", (seconds[-1], gaps[-1]), xytext=(-4, 6), textcoords="offset points",
        ha="right", fontsize=8,
    )  # fmt: skip
    axes.set_ylim(-2, 102)
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("gap in percent")
    axes.set_title("How much cheaper a safe pattern may be, at most")
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
    figure, axes = _figure(6.5, 3.6)
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
    axes.set_xlim(*_around(list(mechanisms)))
    axes.set_ylim(bottom=0)
    axes.set_xlabel(level)
    axes.set_ylabel(f"cells, of {table.n_cells}")
    axes.set_title("What protection costs")
    return _internal(figure, internal=True)


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
    figure, axes = _figure(6.5, 3.6)
    ks = [point.k for point in curve]
    axes.plot(ks, [p.information_loss for p in curve], color=BLUE, marker="o", markersize=4,
              label="information loss")  # fmt: skip
    shares = [100 * p.sensitive_means / p.means for p in curve if p.sensitive_means is not None]
    if len(shares) == len(ks):
        axes.plot(ks, shares, color=ORANGE, linestyle="--", marker="s", markersize=4,
                  label="sensitive means")  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_xlabel("k, least size of a cluster")
    axes.set_ylabel("percent")
    axes.set_title("What larger clusters cost, and whether they are safer")
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
    figure, axes = _figure(6.5, 3.2)
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
    pairs = zip(release.names, release.labels[cell], strict=True)
    axes.set_title(", ".join(f"{name} {code}" for name, code in pairs))
    axes.set_xlabel("value of the cell")
    axes.set_ylabel("probability")
    axes.legend(fontsize=7)
    return _internal(figure, internal=True)


# ---- what all share ------------------------------------------------------------------------------


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Axes that need no display and leave no state behind."""
    needs_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.tick_params(labelsize=8)
    axes.title.set_fontsize(10)
    axes.xaxis.label.set_fontsize(9)
    axes.yaxis.label.set_fontsize(9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _internal(figure: Figure, *, internal: bool) -> Figure:
    """Say on the picture itself that it must not leave the office."""
    if internal:
        figure.suptitle("Internal: shows what is suppressed", color="#c1121f", fontsize=9)
    return figure


def _release_of(result: Protected | Release, *, reveal: bool) -> tuple[Release, Protected | None]:
    """Release of a result, and the result itself if its inside may be shown."""
    from csp.protection import Protected

    if isinstance(result, Protected):
        return result.release, result if reveal else None
    if reveal:
        msg = "a release holds nothing to reveal; pass the protected table"
        raise InputError(msg)
    return result, None


def _ends(result: Protected | Release, release: Release) -> tuple[Any, Any]:
    """Proved ends of intervals, in units; NaN where they are not proved."""
    from csp.audits.intervals import intervals
    from csp.protection import Protected
    from csp.release.completion import complete

    if isinstance(result, Protected):
        return result.audit.proved
    low, high = intervals(complete(release), release.pattern)
    return low, high


def _around(numbers: Sequence[float]) -> tuple[float, float]:
    low, high = min(numbers), max(numbers)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room
