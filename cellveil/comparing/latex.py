"""LaTeX tables of studies: plain ``tabular``, which needs no package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Say = Callable[[Any], str]

_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
})  # fmt: skip


def tabular(columns: Mapping[str, Sequence[Any]], heads: Mapping[str, tuple[str, Say]]) -> str:
    r"""Write columns as a ``tabular``, texts on the left and numbers on the right.

    Parameters
    ----------
    columns : mapping of str to sequence
    heads : mapping of str to (words, function)
        Columns to show, those of them that there are: what stands above each, and how its values
        are said.
    """
    shown = {name: head for name, head in heads.items() if name in columns}
    left = sum(say is _text for _, say in shown.values())
    fields = [[say(value) for value in columns[name]] for name, (_, say) in shown.items()]
    lines = [
        rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(shown) - left)}}}", r"\hline",
        " & ".join(words for words, _ in shown.values()) + r" \\", r"\hline",
        *(" & ".join(row) + r" \\" for row in zip(*fields, strict=True)),
        r"\hline", r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _text(value: object) -> str:
    return str(value).translate(_LATEX)


def _whole(value: float | None) -> str:
    return "--" if value is None else f"{value:.15g}"


def _decimal(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"


def _short(value: float | None) -> str:
    return "--" if value is None else f"{value:.2g}"


def _percent(value: float | None) -> str:
    return "--" if value is None else f"{100 * value:.1f}"


def _yes(value: bool | None) -> str:  # noqa: FBT001 (a cell of the table)
    return "--" if value is None else "yes" if value else "no"


_ATTACKED = {
    "attacked_primary": ("attacked", _whole),
    "unsafe_primary": ("unsafe", _whole),
    "undecided": ("undecided", _whole),
}
BY_METHOD: dict[str, tuple[str, Say]] = {
    "method": ("method", _text),
    "tables": ("tables", _whole),
    "safe": ("safe", _whole),
    "cost_mean": ("cost", _decimal),
    "gap_mean": (r"gap (\%)", _percent),
    "cheapest": ("cheapest", _whole),
    "cpu_mean": ("CPU (s)", _short),
    **_ATTACKED,
}
BY_TABLE: dict[str, tuple[str, Say]] = {
    "table": ("table", _text),
    "method": ("method", _text),
    "cells": ("cells", _whole),
    "primary": ("primary", _whole),
    "secondary": ("secondary", _whole),
    "cost": ("cost", _whole),
    "gap": (r"gap (\%)", _percent),
    "safe": ("safe", _yes),
    "cpu": ("CPU (s)", _short),
    **_ATTACKED,
}
