"""Suppression with random decoys: every suppressed cell wide, any exact or heuristic method.

What the theorem needs of this procedure (docs/decoys.md) is little: a set of required cells that
protects all its cells is published as it stands, and nothing is published that does not. How the
way there is found plays no part, so every method keeps the promise, also when it is cut short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from csp.audits.audit import Audit, follow, judge
from csp.clock import UNLIMITED, Clock, now
from csp.decoys.decoys import Decoys
from csp.decoys.guarantee import Guarantee
from csp.decoys.width import Wide
from csp.errors import Unprotectable
from csp.exact import Bools
from csp.problem.problem import Problem
from csp.solve import Suppression, suppress
from csp.solve.result import in_measure


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Defended:
    """A pattern with decoys.

    Attributes
    ----------
    problem : Problem
        As solved in the end: decoys stand beside the primary cells, costs have the key's factors.
        Not for publication.
    suppression : Suppression
        Of that problem.
    audit : Audit
        Every suppressed cell judged as a primary one; always safe.
    required : (n,) bool
        Cells suppressed because they are primary, decoys, or were found too narrow as secondary
        ones. Not for publication.
    guarantee : Guarantee
    """

    problem: Problem
    suppression: Suppression
    audit: Audit
    required: Bools
    guarantee: Guarantee

    @property
    def pattern(self) -> Bools:
        """Suppressed cells, shape (n,)."""
        return self.suppression.pattern

    def __repr__(self) -> str:
        # How many cells are primary or decoys is not for the public.
        return f"Defended({self.guarantee.suppressed} cells suppressed)"

    def facts(self, problem: Problem, *, reveal: bool = False) -> dict[str, Any]:
        """Facts about the pattern as plain data, ready for JSON.

        Parameters
        ----------
        problem : Problem
            Without the decoys.
        reveal : bool
            Add what the release does not tell: how many cells are primary, required as decoys, and
            secondary, the cost of all cells that are not primary, and how the run went. (A run
            that has nothing to search for tells that all cells were required.)
        """
        told = self.suppression.facts(problem, reveal=reveal)
        if not reveal:
            return {name: told[name] for name in ("cells", "relations", "published", "suppressed")}
        others = self.pattern & ~problem.primary
        return told | {
            "decoys": int((others & self.required).sum()),
            "secondary": int((others & ~self.required).sum()),
            "cost": in_measure(sum(problem.cost[others].tolist()), problem),
        }


def defend(
    problem: Problem,
    decoys: Decoys,
    *,
    integer: bool = False,
    width: int = 0,
    complete: bool = False,
    time_limit: float | None = None,
    **options: Any,
) -> Defended:
    """Suppress with random decoys.

    Cells whose coin says so are protected like primary ones. A pattern in which some suppressed
    cell is not wide enough is suppressed again with all of its cells as required ones, until every
    cell is.

    Parameters
    ----------
    problem : Problem
        Costs and levels; JJ files too.
    decoys : Decoys
    integer : bool
        As for `csp.suppress`.
    width : int
        Least width of every suppressed cell in units, if `decoys` asks for none or less.
    complete : bool
        Whether `width` is all that is ever asked of a sensitive cell: then the guarantee holds for
        every consistent table (`csp.Mechanism` knows).
    time_limit : float, optional
        Wall seconds for all rounds together.
    **options
        method, gap, seed and progress of `csp.suppress`.

    Returns
    -------
    Defended

    Raises
    ------
    Unprotectable
        If a primary cell misses its levels, or cannot do with wide cells only.
    InputError
        If the decoys have no key or no width, or the defence does not take the problem.
    OutOfTime
        If the time passed before every suppressed cell was wide.

    Examples
    --------
    >>> from csp import Decoys, Key, Problem, Table
    >>> from csp.decoys.suppress import defend
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> problem = Problem.of(table, table.values < 10, spl=10, publish=table.margins)
    >>> defend(problem, Decoys(0.2, Key(bytes(range(32)))), width=10).audit.safe
    True
    """
    clock = Clock.of(time_limit)
    asked = Wide.of(problem, decoys, width)
    keyed = replace(problem, cost=decoys.costs(problem.table, problem.cost))
    fixed = problem.status == "z"
    drawn = decoys.coins(problem.table, fixed, asked.units) & problem.free
    drawn &= asked.holds(
        problem, problem.free | problem.forced, drawn, integer=integer, clock=clock
    )
    return settle(
        keyed, drawn, asked, integer=integer, clock=clock,
        guarantee=lambda pattern: Guarantee.of(
            decoys.rates(problem.table, fixed, asked.units), problem, pattern, complete=complete,
            width=asked.words(problem.table),
        ),
        **options,
    )  # fmt: skip


def settle(
    problem: Problem,
    drawn: Bools,
    asked: Wide,
    *,
    guarantee: Callable[[Bools], Guarantee],
    integer: bool = False,
    clock: Clock = UNLIMITED,
    **options: Any,
) -> Defended:
    """Suppress until every suppressed cell is wide, for coins that have fallen.

    Parameters
    ----------
    problem : Problem
        With the costs that the key made.
    drawn : (n,) bool
        Decoys, each of which could be wide.
    asked : Wide
    guarantee : callable
        What is promised of a pattern.
    clock : Clock
    integer, **options
        See `defend`.

    Returns
    -------
    Defended

    Raises
    ------
    Unprotectable, OutOfTime
        As for `defend`.
    """
    began = now()
    table, forced = problem.table, problem.forced
    may = problem.free | forced
    required = forced | drawn
    closed = np.zeros(table.n_cells, dtype=bool)
    while True:
        posed = asked.posed(problem, required, closed)
        run = _nothing_added(required)
        strict = asked.strict(problem, required, integer=integer, clock=clock)
        checked = judge(strict, required, integer=integer, clock=clock)
        if not checked.safe:
            clock.check("every suppressed cell was wide")
            try:
                run = suppress(posed, integer=integer, time_limit=clock.seconds, **options)
            except Unprotectable as error:
                narrow = np.zeros(table.n_cells, dtype=bool)
                if error.index is not None:
                    narrow[error.index] = True
                else:
                    # Some methods, and sums of cells, name no cell: look for cells that are never
                    # wide, or else do without decoys.
                    narrow |= required & ~asked.holds(
                        problem, may & ~closed, required, integer=integer, clock=clock
                    )
                    if not narrow.any() and drawn.any():
                        drawn = np.zeros(table.n_cells, dtype=bool)
                        required = forced.copy()
                        continue
                if (narrow & forced).any() or not narrow.any():
                    raise _explained(error, closed) from None
                closed, required = _without(narrow, closed, forced | drawn)
                continue
            strict = asked.strict(problem, run.pattern, integer=integer, clock=clock)
            checked = judge(strict, run.pattern, integer=integer, clock=clock)
        if checked.safe:
            checked = follow(strict, checked, clock=clock, interruptible=True)
            run = replace(run, seconds=now() - began)
            return Defended(posed, run, checked, required, guarantee(run.pattern))
        if (run.pattern & ~required).any():
            required = run.pattern
            continue
        # Nothing more to require, so the cells that are too narrow have to be published.
        narrow = np.zeros(table.n_cells, dtype=bool)
        narrow[[cell for violation in checked.violations for cell in violation.cells[:1]]] = True
        if not (narrow & ~forced).any():
            raise _too_narrow(problem, narrow)
        closed, required = _without(narrow & ~forced, closed, forced | drawn)


def _nothing_added(required: Bools) -> Suppression:
    """Take what is required as it stands: nothing can be cheaper."""
    pattern = required.copy()
    pattern.flags.writeable = False
    return Suppression(pattern, 0, 0, canonical=True, seconds=0.0, method="none")


def _without(narrow: Bools, closed: Bools, wanted: Bools) -> tuple[Bools, Bools]:
    """Publish more cells, and begin again with what is required of the others."""
    closed = closed | narrow
    return closed, wanted & ~closed


def _explained(error: Unprotectable, closed: Bools) -> Unprotectable:
    """Say what the defence had to do with it."""
    count = int(closed.sum())
    if not count:
        return error
    message = (
        f"{error}; the defence published {count} cells that can never be as wide as every "
        "suppressed cell must be: lower the width of the decoys"
    )
    return Unprotectable(
        message, cell=error.cell, index=error.index, interval=error.interval, need=error.need,
        attained=error.attained, relations=error.relations,
    )  # fmt: skip


def _too_narrow(problem: Problem, narrow: Bools) -> Unprotectable:
    i = int(np.argmax(narrow))
    message = (
        f"cell {problem.table.cell(i)} must be suppressed and cannot be as wide as the defence "
        "wants every suppressed cell; lower the width of the decoys"
    )
    return Unprotectable(message, cell=problem.table.labels[i], index=i)
