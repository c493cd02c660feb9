"""Figures without a display, and how they are written: the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cellveil.render.screen import printable
from csp.errors import InputError
from csp.formats.files import Together, joined

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, LIGHT = "#0072b2", "#d55e00", "#57606a", "#e6e9ec"


def needs_matplotlib() -> None:
    """Refuse to draw where matplotlib is missing, and say how to install it."""
    if find_spec("matplotlib") is None:
        msg = "pictures need matplotlib; pip install 'cellveil[plot]', or leave them out"
        raise InputError(msg)


def new_figure(
    width: float, height: float, *, title: str = "", x: str = "", y: str = "",
    internal: bool = False,
) -> tuple[Figure, Axes]:  # fmt: skip
    """Axes that need no display and leave no state behind.

    What is `internal` says on the picture itself that it must not leave the office.
    """
    needs_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    if internal:
        figure.suptitle("Internal: shows what is suppressed", color="#c1121f", fontsize=9)
    axes = figure.add_subplot()
    axes.tick_params(labelsize=8)
    axes.set_title(title)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def plain(text: str) -> str:
    r"""Text of the data, to be drawn as it stands.

    Between two dollars matplotlib sees a formula, of which ``\$0 - \$9`` is none, and a picture
    with a control character in it cannot be opened.
    """
    return printable(text).replace("$", r"\$")


def codes_text(names: Sequence[str], codes: Sequence[str]) -> str:
    """Codes of a cell or a panel with their dimensions, to be drawn."""
    return plain(", ".join(f"{name} {code}" for name, code in zip(names, codes, strict=True)))


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
    import matplotlib as mpl

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
