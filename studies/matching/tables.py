"""Tables 2 to 5 of Minami and Abe (2019) from our own trials, with their sampling error.

A primary cell counts as unsafe if its effective interval is narrower than 8, whatever the scenario:
that is how the paper counts (Section 4.2). Tables that a time limit left undecided are not counted:
their intervals are inner bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from studies.matching.scenarios import WIDTH
from studies.matching.trials import Trial

PAPER: dict[str, Any] = {
    # cells: unsafe, primary (Table 2)
    "ratios": {16: (48, 104), 25: (117, 170), 36: (190, 230), 49: (226, 271)},
    # cells: ratio of unsafe cells by dimension of the null space (Table 3)
    "by_dimension": {
        16: {1: 0.83, 2: 0.42, 3: 0.17},
        25: {1: 1.00, 2: 0.71, 3: 0.57, 4: 0.83},
        36: {1: 1.00, 2: 0.87, 3: 0.78, 4: 0.82},
        49: {2: 0.81, 3: 0.89, 4: 0.73},
    },
    # cells: unsafe cells by width 0 to 7 (Table 4)
    "widths": {
        16: (6, 6, 7, 20, 1, 0, 4, 4),
        25: (16, 22, 23, 41, 6, 3, 5, 1),
        36: (75, 33, 45, 31, 5, 0, 1, 0),
        49: (92, 33, 28, 57, 4, 4, 5, 3),
    },
    # cells: seconds (Table 5)
    "latency": {16: 1.412, 25: 102.2, 36: 538.9},
}
"""Figures printed in Algorithms 2019, 12(8), 165; 50 tables of each size."""


def unsafe(one: Trial) -> int:
    """Count the primary cells whose effective interval is narrower than 8."""
    return sum(cell.width < WIDTH for cell in one.cells)


def ratios(trials: Sequence[Trial]) -> dict[int, tuple[int, int]]:
    """Unsafe and primary cells by number of cells (Table 2).

    Parameters
    ----------
    trials : sequence of Trial
        Of one scenario.

    Returns
    -------
    dict of int to (int, int)
    """
    return {
        side * side: (sum(map(unsafe, group)), sum(len(t.cells) for t in group))
        for side, group in _sizes(trials).items()
    }


def by_dimension(trials: Sequence[Trial]) -> dict[int, dict[int, tuple[int, int]]]:
    """Unsafe and primary cells by number of cells and dimension of the kernel (Table 3)."""
    out: dict[int, dict[int, tuple[int, int]]] = {}
    for side, group in _sizes(trials).items():
        rows = out.setdefault(side * side, {})
        for dimension in sorted({t.dimension for t in group if t.cells}):
            some = [t for t in group if t.cells and t.dimension == dimension]
            rows[dimension] = (sum(map(unsafe, some)), sum(len(t.cells) for t in some))
    return out


def width_counts(trials: Sequence[Trial]) -> dict[int, tuple[int, ...]]:
    """Unsafe cells by width 0 to 7 of the effective interval (Table 4)."""
    return {
        side * side: tuple(
            int(n)
            for n in np.bincount(
                [c.width for t in group for c in t.cells if c.width < WIDTH], minlength=WIDTH
            )
        )
        for side, group in _sizes(trials).items()
    }


def latency(trials: Sequence[Trial]) -> dict[int, dict[str, float]]:
    """CPU seconds of an attack by number of cells (Table 5): mean, median, largest."""
    out = {}
    for side, group in _sizes(trials).items():
        seconds = [t.attack for t in group if t.outcome == "attacked"]
        if seconds:
            out[side * side] = {
                "mean": float(np.mean(seconds)),
                "median": float(np.median(seconds)),
                "largest": max(seconds),
            }
    return out


def candidates_by_dimension(trials: Sequence[Trial]) -> dict[int, dict[int, list[int]]]:
    """Sizes of fibres by number of cells and dimension of the kernel (Figure 7)."""
    out: dict[int, dict[int, list[int]]] = {}
    for side, group in _sizes(trials).items():
        rows = out.setdefault(side * side, {})
        for one in group:
            if one.fibre is not None:
                rows.setdefault(one.dimension, []).append(one.fibre)
    return {cells: dict(sorted(rows.items())) for cells, rows in out.items()}


def spread(
    trials: Sequence[Trial],
    statistic: Callable[[Sequence[Trial]], float],
    *,
    size: int = 50,
    draws: int = 400,
    seed: int = 0,
) -> float:
    """Estimate the standard deviation of a statistic over experiments of `size` tables.

    Tables, not cells, are drawn with replacement: cells of one table are attacked together.

    Parameters
    ----------
    trials : sequence of Trial
        Of one scenario and size.
    statistic : callable
        Of such a sequence; NaN counts as missing.
    size, draws, seed : int

    Returns
    -------
    float
    """
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(trials), (draws, size))
    found = [statistic([trials[i] for i in row]) for row in picks.tolist()]
    known = [value for value in found if not math.isnan(value)]
    return float(np.std(known)) if known else 0.0


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Total variation distance between the shapes of two tallies, from 0 (equal) to 1."""
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    return float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)


def tidy(trials: Sequence[Trial]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Columns with one row per table, and with one row per primary cell.

    Returns
    -------
    tables, cells : dict of str to list
    """
    key = ("scenario", "side", "index", "seed")
    facts = (*key, "outcome", "suppressed", "dimension", "fibre", "tested", "matched", "attack",
             "solve")  # fmt: skip
    tables = {name: [getattr(t, name) for t in trials] for name in facts}
    tables["primary"] = [len(t.cells) for t in trials]
    tables["unsafe"] = [unsafe(t) for t in trials]
    rows = [(t, cell) for t in trials for cell in t.cells]
    cells: dict[str, list[Any]] = {name: [getattr(t, name) for t, _ in rows] for name in key}
    for name in ("feasible", "width", "values", "verdict"):
        cells[name] = [getattr(cell, name) for _, cell in rows]
    return tables, cells


def _sizes(trials: Sequence[Trial]) -> dict[int, list[Trial]]:
    out: dict[int, list[Trial]] = {}
    for one in trials:
        if one.outcome != "undecided":
            out.setdefault(one.side, []).append(one)
    return dict(sorted(out.items()))
