"""Large neighbourhoods: subspaces in which all primary cells move at once, round the best pattern.

For tables that are not networks (`csp.solve.general.neighbourhood`). Exchanges of witnesses gain
nothing that programs over parts do not gain sooner.
"""

from __future__ import annotations

from dataclasses import replace

from csp.clock import UNLIMITED, Clock, now
from csp.solve.exact.heuristics.construction import take
from csp.solve.exact.state import Run
from csp.solve.general.threads import single_threaded

PATIENCE = 25

# Number of cells from which subspaces are searched, and from which this is done before anything is
# known of the bound; how many of their (quick) steps count as one of patience.
_LARGE = 400
VERY_LARGE = 1800
_STEPS = 8

# Their number of cells times dimensions (at least) up to which subspaces are searched.
_MOST_ENTRIES = 12_000_000

# Time for what completes the last pattern, in times of that of the search.
_FINISH_SHARE = 0.25

# Share of the time that a search of subspaces gets once it has found better patterns; before that
# it gets half of it, where it has failed the rest of this share, and where rooms are tight none,
# because programs over parts gain more from there (table3).
LEADING = 0.8


def takes_subspaces(run: Run) -> bool:
    """Whether subspaces in which all primary cells move are worth a search."""
    if run.net is not None or run.problem.table.n_cells < _LARGE:
        return False
    return entries(run) <= _MOST_ENTRIES


def entries(run: Run) -> int:
    """Return the number of cells times dimensions, at least: the size of a tableau."""
    dimensions = int(run.arrays.open.sum()) - run.arrays.relations.shape[0]
    return run.problem.table.n_cells * dimensions


def subspaces_lead(run: Run) -> bool:
    """Whether subspaces give the better patterns, on a very large table."""
    return run.problem.table.n_cells >= VERY_LARGE and run.subspace_share == LEADING


def subspaces_fail(run: Run) -> bool:
    """Whether rooms are too tight for subspaces to give better patterns than other searches."""
    return run.subspace_share == 0


def search_subspaces(run: Run, until: Clock, patience: int | None) -> bool:
    """Search subspaces for a while and offer what is found; say if there was time for it."""
    if until.over:
        return False  # to set the search up takes a while of its own
    finish = (
        replace(until, end=until.end + _FINISH_SHARE * (until.end - now()))
        if until < UNLIMITED
        else until
    )
    steps = None if patience is None else _STEPS * patience
    search = run.neighbourhood.run(clock=until, finish=finish, start=run.best, patience=steps)
    for book in single_threaded(search):
        take(run, book)
        run.report("improved")
        if run.close_enough or until.over:
            break
    return True


def improve(run: Run, until: Clock, patience: int | None = PATIENCE) -> None:
    """Search subspaces round the best pattern; for tables that are not networks.

    The search ends after `patience` steps without gain; with None it goes on while there is time.
    """
    if not takes_subspaces(run) or subspaces_fail(run):
        return
    before = run.best_cost
    search_subspaces(run, min(until, run.clock).part(run.subspace_share), patience)
    if run.best_cost != before:
        run.subspace_share = LEADING
    run.subspaces_rest = run.subspace_share != LEADING
    if run.best_cost == before and patience is None:
        run.parts_rest = False
    run.fix_by_reduced_cost(run.master.relax())
