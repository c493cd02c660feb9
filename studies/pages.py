"""Pages of results: rows as files and as tables, the versions behind them."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any


def machine() -> str:
    """Versions that results depend on."""
    import highspy
    import numba
    import numpy as np

    return (
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}, "
        f"HiGHS {highspy.Highs().version()}, {platform.system()} {platform.machine()}"
    )


def grid(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Lines of a markdown table."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number to the given number of significant digits, or nothing."""
    if value is None:
        return ""
    if value and abs(value) >= 10**digits:
        return f"{value:.0f}"
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text else text


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as a .csv file."""
    from cellveil.io.files import write_columns

    write_columns(path, {name: [row[name] for row in rows] for name in rows[0]})


def write_page(path: Path, lines: Iterable[str]) -> None:
    """Write a page."""
    from csp.formats.files import atomic_writer

    with atomic_writer(path) as out:
        out.write("\n".join(lines) + "\n")
