"""Line figures of the studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from csp.errors import InputError

Series = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes.

    Attributes
    ----------
    title, x, y : str
        What is drawn and along which axes.
    series : mapping of str to (xs, ys)
    log_x, log_y : bool
        Logarithmic axes.
    top : float or None
        Upper end of the y axis.
    """

    title: str
    x: str
    y: str
    series: Mapping[str, Series]
    log_x: bool = False
    log_y: bool = False
    top: float | None = None


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def draw(path: Path, panels: Sequence[Panel], *, columns: int = 2) -> None:
    """Draw panels side by side into a .png file.

    Raises
    ------
    InputError
        If matplotlib is missing.
    """
    if not can_draw():
        msg = "figures need matplotlib; pip install 'cellveil[plot]', or leave them out"
        raise InputError(msg)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.3 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    marks = "os^Dv*<>ph"
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, place + 1)
        for i, (name, (xs, ys)) in enumerate(panel.series.items()):
            axes.plot(xs, ys, marker=marks[i % len(marks)], markersize=3, linewidth=1, label=name)
        axes.set_title(panel.title, fontsize=9)
        axes.set_xlabel(panel.x, fontsize=8)
        axes.set_ylabel(panel.y, fontsize=8)
        axes.tick_params(labelsize=7)
        if panel.log_x:
            axes.set_xscale("log")
        if panel.log_y:
            axes.set_yscale("log")
        if panel.top is not None:
            axes.set_ylim(0, panel.top)
        axes.grid(linewidth=0.3)
        if len(panel.series) > 1:
            axes.legend(fontsize=6)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
