"""The matching attack: tables that the mechanism would have published otherwise are ruled out.

Minami and Abe (2019, Section 3): an adversary who knows the deterministic suppression algorithm
runs it on every completion of the release; only those that reproduce the pattern remain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.attack_run import OPEN, SAFE, UNSAFE, AttackRun
from attacks.algorithm_known.large_network_search import network_search_of
from attacks.algorithm_known.matches import Algorithm
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.public_view import BlackBoxView, NeverPublished, PublicView, View
from attacks.fibre.consistent_tables import Fibre
from csp.clock import Clock, now
from csp.errors import InputError
from csp.exact import MAX_VALUE, Number, ceil_fraction, exact, number_text
from csp.mechanism import Mechanism
from csp.names.calls import check_choice
from csp.release.release import Release

__all__ = ["METHODS", "OPEN", "SAFE", "UNJUDGED", "UNSAFE", "Matching", "matching"]

UNJUDGED = "not judged: give width="
"""Verdict of a cell that is not known exactly, where a function promises no width."""

METHODS = ("auto", "hull", "values", "all", "sample", "reference")
_OF_FUNCTIONS = ("auto", "all", "sample")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matching:
    """What the matching attack tells about the suppressed cells of a release.

    Attributes
    ----------
    release : Release
    cells : (k,) int64
        Suppressed cells.
    feasible_lower, feasible_upper : (k,) int64
        What the relations alone tell.
    lower, upper : (k,) int64
        Effective feasibility interval (Minami and Abe 2019, Definition 5): hull of the matches
        found. If the attack is complete, exact; otherwise the interval is at least this wide.
        While no match is known (`matched` is 0), the feasible interval.
    values : tuple of (v,) int64, or None
        Values that matches give each cell: the hull may have gaps. None if only hulls were asked
        for. If the attack is not complete, those found so far.
    verdict : (k,) str
        "proved safe": in every match in which the cell is primary, the hull leaves it the levels
        that the mechanism promises. "proved unsafe": in some match it does not. "undecided": the
        attack was cut short before either was proved.
    named : (k,) str
        Whether the matches tell that a cell is primary: "always", "never" or "sometimes"; "" if
        that is not proved.
    tested, matched : int
        Tables tested one by one, and matches among them. Methods "auto" and "hull" pass over many.
    fibre_size : int or None
        Number of consistent tables, if it was counted.
    left_out : float or None
        If tables were drawn: with 95 % confidence, at most this share of the fibre are matches
        outside the hulls (the first half of the draws makes hulls, the second half tests them; for
        a chain the number of independent draws is an estimate). Says nothing about a single rare
        table. None if nothing was drawn, or a chain may not reach every table.
    complete : bool
        Whether every table was tested or proved to tell nothing new.
    method : str
        "theorem": decoys exclude no table, so none was tested.
    seconds : float
    fibre : Fibre
        The consistent tables: `Fibre.count`, `Fibre.kernel` and what else is known of them.
    interrupted : bool
        Whether Ctrl-C ended the attack, so that it is not complete.
    """

    release: Release
    cells: NDArray[np.int64]
    feasible_lower: NDArray[np.int64]
    feasible_upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    values: tuple[NDArray[np.int64], ...] | None
    verdict: NDArray[np.str_]
    named: NDArray[np.str_]
    tested: int
    matched: int
    fibre_size: int | None
    complete: bool
    left_out: float | None
    method: str
    seconds: float
    fibre: Fibre
    interrupted: bool

    def __repr__(self) -> str:
        tally = ", ".join(
            f"{int((self.verdict == word).sum())} {word}"
            for word in (UNSAFE, SAFE, OPEN, UNJUDGED)
            if (self.verdict == word).any()
        )
        return f"Matching({len(self.cells)} suppressed cells: {tally})"

    def _repr_html_(self) -> str:
        # Verdicts only: an effective interval may be the suppressed value.
        from csp.tables.cross.html import notebook_list

        rows = [
            (*self.release.labels[cell], verdict)
            for cell, verdict in zip(self.cells.tolist(), self.verdict.tolist(), strict=True)
        ]
        return notebook_list([repr(self)], [*self.release.names, "verdict"], rows)

    @property
    def width(self) -> NDArray[np.int64]:
        """Width of each effective interval, shape (k,)."""
        return self.upper - self.lower

    @property
    def kernel(self) -> NDArray[np.int64]:
        """Basis of the integer kernel, shape (k, d): the directions in which tables differ.

        Every table is `origin` plus an integer combination of the columns; where tables are tested
        one by one, they are listed along them.
        """
        return self.fibre.kernel

    @property
    def origin(self) -> NDArray[np.int64]:
        """The fixed solution that the kernel is added to: one consistent table, shape (k,)."""
        return self.fibre.origin


def matching(
    release: Release,
    mechanism: Algorithm,
    *,
    method: str = "auto",
    width: Number | None = None,
    marks: NDArray[np.bool_] | None = None,
    time_limit: float | None = None,
    max_tables: int = 200_000,
    draws: int = 3000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Matching:
    """Attack a release with the knowledge of the algorithm behind it.

    The true table is never needed, nor looked at.

    Parameters
    ----------
    release : Release
        Also of a table that somebody else published (`csp.Release.from_frame`), with a guessed
        algorithm. Ranges that are published count as bounds that the algorithm knew too.
    mechanism : Mechanism or callable
        What the adversary knows of the algorithm. With a defence: all but the key, which is not
        looked at; matches are tables that some key would publish so. A function stands for any
        other program: it takes a `Table` and returns the (n,) bool pattern that the program
        publishes, or None if it publishes nothing; it must be deterministic. Its rule may look
        at anything in the table (a share of the values, cells that are never published), so
        this also reaches tables of magnitudes. Methods are "auto", "all" and "sample" then.
    method : {"auto", "hull", "values", "all", "sample", "reference"}
        "hull" finds hulls, "values" all surviving values, both without testing every table (both
        need a network of up to 64 suppressed cells, and rules that look at cells one
        by one); "all" tests every table along the vectors of the integer kernel; "sample" tests
        tables that are drawn; "reference" is Algorithm 1 of Minami and Abe (2019): a fixed
        solution, all tables along the kernel, integer programs for each (`csp.ilp`). (Line 17 must
        read "if": with "else if", as printed, a match that lowers the least value of a cell never
        raises the largest. Which solution is fixed makes no difference.) "auto" is "hull" where it
        applies; else every table is tested that could widen a hull, if there are at most
        `max_tables`, and tables that are drawn if there are more.
    width : Number, optional
        Of a function: least width that it promises the interval of every suppressed cell, in
        numbers of the measure. By default one unit: no value may be known exactly.
    marks : (n,) bool, optional
        Primary cells, if the release told them apart.
    time_limit : float, optional
        Wall seconds; then cells without a proof are "undecided".
    max_tables : int
        Tables that "all" and "reference" test at most.
    draws, seed : int
        Tables to draw (method "sample"), and seed of all draws; it changes no proof.
    progress : callable, optional
        Called with tables tested and matches now and then. KeyboardInterrupt ends the attack like
        the time limit.

    Returns
    -------
    Matching

    Raises
    ------
    InputError
        For an unknown method, limits out of range, a release without a consistent table or whose
        numbers are rounded, and methods that do not take the release.
    NeverPublished
        An InputError, if the mechanism cannot have made the release.
    OutOfTime
        If the time limit passed before the intervals that the relations leave were known.

    Examples
    --------
    Four suppressed cells: relations leave the first between 0 and 17, the algorithm less.

    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    >>> found = matching(mechanism.protect(table).release, mechanism, method="reference")
    >>> [ends[0].item() for ends in (found.feasible_lower, found.feasible_upper)]
    [0, 17]
    >>> [ends[0].item() for ends in (found.lower, found.upper)]
    [1, 17]

    Every table tested was the fixed solution plus a multiple of one kernel vector.

    >>> found.kernel.T.tolist(), found.tested
    ([[1, -1, -1, 1]], 18)

    Another program, as a function: it suppresses where a row and a column with a count below 9
    cross. It would have published 3 of the 19 consistent tables otherwise.

    >>> import numpy as np
    >>> def program(table):
    ...     small = table.values.reshape(4, 4)[:3, :3] < 9
    ...     crossing = small.any(axis=1)[:, None] & small.any(axis=0)
    ...     return np.pad(crossing, (0, 1)).ravel()
    >>> other = Table.from_array([[7, 11, 60], [12, 8, 60], [60, 60, 60]])
    >>> found = matching(Release.of(other, program(other)), program, method="all")
    >>> found.fibre_size, found.matched, found.values[0].tolist()
    (19, 16, [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 17, 18])
    """
    began, clock = now(), Clock.of(time_limit)
    check_choice("method", method, METHODS)
    for name, number in (("max_tables", max_tables), ("draws", draws)):
        if number <= 0:
            msg = f"{name} must be a positive number of tables, got {number!r}"
            raise InputError(msg)
    view: View
    engine = None
    if isinstance(mechanism, Mechanism):
        if width is not None:
            msg = "width= is for functions; a mechanism states its own width, so leave width= out"
            raise InputError(msg)
        view = PublicView.of(release, mechanism, marks=marks, clock=clock)
        engine = network_search_of(view)
        if method == "reference" and mechanism.defence is not None:
            msg = "method 'reference' runs the algorithm, which takes the key; use method 'auto'"
            raise InputError(msg)
    else:
        if method not in _OF_FUNCTIONS or marks is not None:
            given = f"method {method!r}" if marks is None else "marks="
            msg = f"{given} needs a mechanism; a function takes {', '.join(_OF_FUNCTIONS)} alone"
            raise InputError(msg)
        asked = _promised(width, release)
        view = BlackBoxView.of(release, mechanism, asked, clock)
    run = AttackRun(view, clock, progress)
    if method == "auto" and view.excludes_nothing:
        method = "theorem"
    if method == "auto" and engine is not None:
        method = "hull"
    if method == "theorem":
        run.accept_all()
    elif method in ("hull", "values") or (method == "all" and engine is not None):
        run.search_network(method, engine or NetworkSearch)
    elif method == "sample" or (method == "auto" and run.exceeds(max_tables)):
        method = "sample"
        run.sample(draws, seed)
    else:
        run.test_each(method, max_tables, seed)
    if run.complete and not run.seen_values.any():
        msg = (
            f"the {'mechanism' if isinstance(mechanism, Mechanism) else 'function'} publishes none "
            "of the consistent tables with this pattern: it cannot have produced the release; pass "
            "the one that did"
        )
        if release.classed is not None:
            msg += ", or leave out the ranges, which count as known to it beforehand"
        raise NeverPublished(msg)
    lower, upper, verdict, named = run.verdicts()
    if width is None and not isinstance(mechanism, Mechanism):
        # One unit is enough to call a cell unsafe, and says nothing of a cell that has it.
        verdict = np.where(verdict == SAFE, UNJUDGED, verdict)
    values = tuple(
        low + np.flatnonzero(met) for low, met in zip(view.lower, run.seen_values, strict=True)
    )
    return Matching(
        release, view.cells, view.lower, view.upper, lower, upper,
        values if run.exact_values else None, verdict, named, run.tested, run.matched,
        run.fibre_size, run.complete, run.left_out, method, now() - began, run.fibre,
        run.interrupted,
    )  # fmt: skip


def _promised(width: Number | None, release: Release) -> int:
    """Width in units that a function promises.

    Raises
    ------
    InputError
        If it is not positive, or wider than any interval.
    """
    if width is None:
        return 1
    asked = ceil_fraction(exact(width) * 10**release.scale)
    if not 0 < asked <= 2 * MAX_VALUE:
        msg = (
            f"width {number_text(width)[:40]} must be more than 0 and at most the width of the "
            "widest cell there can be; a function that promises nothing is judged by one unit, "
            "the default"
        )
        raise InputError(msg)
    return asked
