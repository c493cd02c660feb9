"""Experiments: many tables protected and attacked, in parallel, resumable, seeds on record.

The true tables are known here, so that the primary cells can be counted that an outsider narrows
down below the width promised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.matching_attack import matching
from attacks.algorithm_known.network_enumeration import HULL, MATCHES
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.views.public_view import PublicView
from attacks.fibre.consistent_tables import Fibre
from csp.errors import InputError, Unprotectable
from csp.tables.table import Table
from studies.matching.scenarios import SCENARIOS, draw_table
from studies.stored_trials import load_records, run_missing

_ENDLESS = 2**62
_FULL = 2_000_000
_VERSION = "matching 2"
"""Another number wherever the same arguments of `trial` give another trial."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """One primary cell of a trial.

    Attributes
    ----------
    feasible, width : int
        Width of its feasibility interval, and of its effective one.
    values : int
        Number of values that matches give it.
    verdict : str
    """

    feasible: int
    width: int
    values: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One table of an experiment.

    Attributes
    ----------
    scenario : str
        Name in `studies.matching.scenarios.SCENARIOS`.
    side, index, seed : int
        The table.
    outcome : {"attacked", "undecided", "no primary", "unprotectable"}
    suppressed, dimension : int
        Suppressed cells, and dimension of their kernel.
    fibre : int or None
        Consistent tables.
    tested, matched : int
    attack, solve : float
        CPU seconds of attack and suppression.
    cells : tuple of CellResult
        Primary cells, by label.
    limit : float or None
        Wall seconds that the attack was given.
    """

    scenario: str
    side: int
    index: int
    seed: int
    outcome: str
    suppressed: int = 0
    dimension: int = 0
    fibre: int | None = None
    tested: int = 0
    matched: int = 0
    attack: float = 0.0
    solve: float = 0.0
    cells: tuple[CellResult, ...] = ()
    limit: float | None = None


def trial(scenario: str, side: int, index: int, seed: int, limit: float | None = None) -> Trial:
    """Draw, protect and attack one table.

    Parameters
    ----------
    scenario : str
        Name in `studies.matching.scenarios.SCENARIOS`.
    side, index, seed : int
        See `studies.matching.scenarios.draw_table`.
    limit : float, optional
        Wall seconds for the attack.

    Returns
    -------
    Trial

    Raises
    ------
    InputError
        For an unknown scenario.
    """
    if scenario not in SCENARIOS:
        msg = f"scenario {scenario!r} is not one of {', '.join(SCENARIOS)}"
        raise InputError(msg)
    _warm()
    setup = SCENARIOS[scenario]
    table = draw_table(setup, side, index, seed)
    mechanism = setup.mechanism
    began = time.process_time()
    try:
        protected = mechanism.protect(table)
    except Unprotectable:
        return Trial(scenario, side, index, seed, "unprotectable", limit=limit)
    solved = time.process_time()
    if not protected.pattern.any():
        return Trial(scenario, side, index, seed, "no primary", solve=solved - began, limit=limit)
    found = matching(protected.release, mechanism, method="values", time_limit=limit)
    ended = time.process_time()
    bounds = found.feasible_lower, found.feasible_upper
    fibre = Fibre(protected.release, table, bounds=bounds)
    assert found.values is not None
    primary = np.flatnonzero(protected.problem.primary[found.cells]).tolist()
    return Trial(
        scenario, side, index, seed,
        "attacked" if found.complete else "undecided",
        suppressed=len(found.cells),
        dimension=fibre.dimension,
        fibre=fibre.count(time_limit=limit),
        tested=found.tested,
        matched=found.matched,
        attack=ended - solved,
        solve=solved - began,
        cells=tuple(
            CellResult(
                int(found.feasible_upper[e] - found.feasible_lower[e]),
                int(found.width[e]),
                len(found.values[e]),
                str(found.verdict[e]),
            )
            for e in primary
        ),
        limit=limit,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timing:
    """CPU seconds of one attack by several methods.

    Attributes
    ----------
    side, index, seed : int
        The table, drawn under the scenario "plain".
    outcome : str
        As for a trial.
    setup, hull, every : float
        To read the release; then the network search (hulls), and the search that lists
        every match.
    full : float or None
        To list the whole fibre another way (`attacks.fibre.kernel_walk`) and judge each table by
        itself; None if more than two million are consistent.
    agree : bool
        Whether hulls and matches of these are the same.
    """

    side: int
    index: int
    seed: int
    outcome: str
    setup: float = 0.0
    hull: float = 0.0
    every: float = 0.0
    full: float | None = None
    agree: bool = True


def timing(side: int, index: int, seed: int) -> Timing:
    """Time an attack after everything is compiled.

    Parameters
    ----------
    side, index, seed : int
        See `studies.matching.scenarios.draw_table`.
    """
    setup = SCENARIOS["plain"]
    mechanism = setup.mechanism
    try:
        release = mechanism.protect(draw_table(setup, side, index, seed)).release
    except Unprotectable:
        return Timing(side, index, seed, "unprotectable")
    if not release.pattern.any():
        return Timing(side, index, seed, "no primary")
    _warm()
    began = time.process_time()
    view = PublicView.of(release, mechanism)
    hull = NetworkSearch(view, HULL)
    read = time.process_time()
    while not hull.step(_ENDLESS):
        pass
    hulled = time.process_time()
    every = NetworkSearch(view, MATCHES)
    ready = time.process_time()
    matches = []
    over = False
    while not over:
        over = every.step(_ENDLESS)
        matches.append(every.taken())
    listed = time.process_time() - ready
    found = np.vstack(matches)
    agree = bool(
        (found.min(axis=0) - view.lower == np.argmax(hull.seen, axis=1)).all()
        and (found.max(axis=0) - view.lower + 1 == _last(hull.seen)).all()
    )
    full, same = _test_each(view, found)
    return Timing(
        side, index, seed, "attacked", read - began, hulled - read, listed, full, agree and same
    )


@cache
def _warm() -> None:
    """Compile what is compiled at its first call, so that it is not timed."""
    mechanism = SCENARIOS["plain"].mechanism
    protected = mechanism.protect(Table.from_array([[3, 20, 30], [20, 25, 40], [21, 29, 19]]))
    for method in ("hull", "values", "all"):
        matching(protected.release, mechanism, method=method)
    Fibre(protected.release).count()


def _last(seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """One more than the last position that is true in each row."""
    return np.asarray(seen.shape[1] - np.argmax(seen[:, ::-1], axis=1))


def _test_each(view: PublicView, matches: NDArray[np.int64]) -> tuple[float | None, bool]:
    """Seconds to judge every table of the fibre, and whether the matches are these."""
    fibre = Fibre(view.release, view.table)
    count = fibre.count()
    if count is None or count > _FULL:
        return None, True
    search = NetworkSearch(view, MATCHES)
    began = time.process_time()
    found = [block[search.test(block)] for block in fibre.blocks()]
    spent = time.process_time() - began
    return spent, {*map(tuple, np.vstack(found).tolist())} == {*map(tuple, matches.tolist())}


def run_trials(
    store: Path,
    *,
    scenarios: Sequence[str],
    sides: Sequence[int],
    tables: int,
    seed: int = 0,
    limit: float | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """Run the trials that a file does not hold yet, and add them to it.

    Parameters
    ----------
    store : Path
        One trial a line (JSON). Each is written as soon as it is there, so that an interrupted
        experiment goes on where it stopped.
    scenarios : sequence of str
    sides : sequence of int
    tables : int
        For each scenario and side.
    seed : int
    limit : float, optional
        Wall seconds for each attack.
    jobs : int
        Trials at one time, by joblib: processes of its own by default; any other backend of
        joblib's (dask, ray) by its own switch ``joblib.parallel_config``.
    progress : callable, optional
        Called with trials done and trials wanted.

    Returns
    -------
    list of Trial
        All that were asked for, in order.

    Raises
    ------
    InputError
        For numbers out of range, unknown scenarios, a file that holds something else, and one that
        another process writes.
    """
    _check(scenarios, sides, tables)
    wanted = [
        {"scenario": scenario, "side": side, "index": index, "seed": seed, "limit": limit}
        for scenario in scenarios for side in sides for index in range(tables)
    ]  # fmt: skip
    return run_missing(
        store, wanted, trial, _trial_of, version=_VERSION, jobs=jobs, progress=progress
    )


def _check(scenarios: Sequence[str], sides: Sequence[int], tables: int) -> None:
    unknown = [name for name in scenarios if name not in SCENARIOS]
    if unknown:
        msg = f"scenario {unknown[0]!r} is not one of {', '.join(SCENARIOS)}"
        raise InputError(msg)
    for name, numbers, least in (("side", sides, 2), ("tables", [tables], 1)):
        if min(numbers, default=0) < least:
            msg = f"{name} {min(numbers, default=0)} is below {least}"
            raise InputError(msg)


def load_trials(store: Path) -> list[Trial]:
    """Read trials from a file; none if it does not exist.

    A last line that was cut off is left out, and so are trials of other versions.

    Parameters
    ----------
    store : Path

    Raises
    ------
    InputError
        If a line is not a trial (line named).
    """
    return load_records(store, _trial_of, _VERSION)


def _trial_of(facts: dict[str, Any]) -> Trial:
    cells = tuple(CellResult(**cell) for cell in facts.pop("cells"))
    return Trial(**facts, cells=cells)
