"""What a report says, as plain data: no times, so that the same run gives the same bytes.

Without `reveal` everything is made of the release and of what anyone can infer from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import cellveil
from cellveil.io.files import hashes_of
from cellveil.io.results import timeless
from cellveil.render.tables import cost_words, promises, quality, sizes
from csp.audits.intervals import intervals
from csp.clock import Clock
from csp.errors import OutOfTime
from csp.exact import end_text, units_text
from csp.mechanism import Mechanism, Protected
from csp.release.completion import complete
from csp.release.release import Release

if TYPE_CHECKING:
    from attacks import AttackReport

EXPLAINED = 20
"""Cells whose explanation is on the page; `cellveil attack explain` has those of all."""

_SOLVERS = ("highspy", "pulp", "numpy")


def report_facts(
    protected: Protected,
    *,
    title: str = "",
    attacks: AttackReport | None = None,
    reveal: bool = False,
) -> dict[str, Any]:
    """Facts of a report on a protected table, ready for JSON.

    `title` names the dimensions by default, `attacks` are on the release. `reveal` adds values,
    required levels, and which cells are primary.
    """
    defended, cost = protected.guarantee is not None, cost_words(protected.mechanism.cost)
    size = sizes(protected.problem, protected.pattern, reveal=reveal)
    title = title or f"Table by {' x '.join(protected.table.names)}"
    return _shared(protected.release, title, attacks, reveal=reveal) | {
        "size": size.replace(" (--reveal counts the sensitive ones)", ""),
        "quality": "" if defended else quality(protected.suppression, cost),
        "guarantee": list(promises(protected, options=False)),
        "summary": timeless(protected, reveal=reveal),
        "suppressed_cells": _cells(protected, reveal=reveal),
        "versions": {name: metadata.version(name) for name in _SOLVERS},
    }


def release_facts(
    release: Release,
    *,
    mechanism: Mechanism | None = None,
    title: str = "",
    attacks: AttackReport | None = None,
    inputs: Iterable[Path] = (),
    time_limit: float | None = None,
    reveal: bool = False,
) -> dict[str, Any]:
    """Facts of the report on a release, ready for JSON: from public knowledge only.

    `inputs` are the files of the release. `mechanism` is as the release tells it, and says whether
    cells are known to be whole units. Ends of intervals that are not proved after `time_limit`
    seconds are left out. `reveal` adds the values of cells that are known exactly, and what else
    attacks tell of values.

    Raises
    ------
    InputError
        If no table is consistent with the release.
    """
    n, hidden = len(release.pattern), int(release.pattern.sum())
    cells: list[dict[str, Any]] = []
    if hidden:
        table = complete(release, time_limit=time_limit)
        integer = mechanism is not None and mechanism.attacker_is_integer(table)
        ends = np.full((2, n), np.nan)
        with suppress(OutOfTime):
            found = intervals(table, release.pattern, integer=integer, time_limit=time_limit)
            ends = np.where(found.exact.T, [found.lower, found.upper], np.nan)
        cells = [
            {"cell": dict(zip(release.names, release.labels[i], strict=True))}
            | _interval(float(ends[0, i]), float(ends[1, i]), release.scale, reveal=reveal)
            for i in np.flatnonzero(release.pattern).tolist()
        ]
    by = " x ".join(release.names)
    return _shared(release, title or f"Release by {by}", attacks, reveal=reveal) | {
        "inputs": {path.name: sha for path, sha in hashes_of(inputs).items()},
        "size": f"{n} cells by {by}: {n - hidden} published, {hidden} suppressed. This page is "
        "made of the release alone.",
        "mechanism": {} if mechanism is None else mechanism.to_dict(),
        "suppressed_cells": cells,
    }


def _shared(
    release: Release,
    title: str,
    attacks: AttackReport | None,
    *,
    reveal: bool,
) -> dict[str, Any]:
    """Facts that both reports have."""
    return {
        "made_by": f"cellveil {cellveil.__version__}",
        "title": title,
        "reveals_suppressed_values": reveal,
        "attacks": {} if attacks is None else attacks.summary(reveal=reveal),
        "explanations": _explanations(release, attacks, reveal=reveal),
    }


def attacked(protected: Protected, clock: Clock) -> AttackReport | None:
    """Attack what would be published, in the time that is left and a second at least.

    The attacker knows the mechanism, and whether it guarded against lone contributors; it is run
    again where it alone makes this pattern.
    """
    if not protected.pattern.any():
        return None
    from attacks import report

    guarded = "singletons" in protected.guards
    known = replace(protected.mechanism, singletons=guarded)
    return report(
        protected.release, known, repeats=protected.repeatable, time_limit=max(clock.left, 1.0)
    )


def _explanations(
    release: Release, attacks: AttackReport | None, *, reveal: bool
) -> list[dict[str, Any]]:
    """Why suppressed cells are known from the release alone, if an attack found any."""
    if attacks is None:
        return []
    from attacks import explain

    exposed = list(attacks["disclosed"].exposed or ())[:EXPLAINED]
    return [
        {
            "cell": dict(zip(release.names, release.labels[cell], strict=True)),
            "why": explain(release, cell).text(reveal=reveal).splitlines(),
        }
        for cell in exposed
    ]


def _cells(protected: Protected, *, reveal: bool) -> list[dict[str, Any]]:
    """Suppressed cells with what anyone can infer; ends that are not proved are null."""
    table, problem = protected.table, protected.problem
    scale = protected.release.scale
    low, high = protected.proved_ends
    found = []
    for i in np.flatnonzero(protected.pattern).tolist():
        cell: dict[str, Any] = {"cell": dict(zip(table.names, table.labels[i], strict=True))}
        cell |= _interval(float(low[i]), float(high[i]), scale, reveal=reveal)
        if reveal:
            value = int(table.values[i])
            cell["value"] = units_text(value, table.scale)
            cell["kind"] = "primary" if problem.primary[i] else "secondary"
            if problem.primary[i]:
                cell["must_reach_down_to"] = units_text(value - int(problem.lpl[i]), table.scale)
                cell["must_reach_up_to"] = units_text(value + int(problem.upl[i]), table.scale)
                cell["least_width"] = units_text(int(problem.spl[i]), table.scale)
        found.append(cell)
    return found


def _interval(low: float, high: float, scale: int, *, reveal: bool) -> dict[str, Any]:
    """Tell the ends of an interval; a single value only if it may be revealed."""
    if low == high and not reveal:
        return {"lower": None, "upper": None, "known_exactly": True}
    return {"lower": _end(low, scale), "upper": _end(high, scale), "known_exactly": low == high}


def _end(end: float, scale: int) -> str | None:
    return None if np.isnan(end) else end_text(end, scale)
