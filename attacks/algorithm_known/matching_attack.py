"""The matching attack: tables that the mechanism would have published otherwise are ruled out.

Minami and Abe (2019, Section 3): an adversary who knows the deterministic suppression algorithm
runs it on every completion of the release; only those that reproduce the pattern remain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, overload

import numpy as np

from attacks.algorithm_known.attack_run import SAFE, AttackRun
from attacks.algorithm_known.large_network_search import network_search_of
from attacks.algorithm_known.matches import Algorithm
from attacks.algorithm_known.matching_results import UNJUDGED, Matching, Matchings
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.views.checks import check_callable
from attacks.algorithm_known.views.public_view import BlackBoxView, NeverPublished, PublicView, View
from attacks.algorithm_known.views.value_answers import ValueAnswers
from attacks.fibre.shapes import Shape
from csp.clock import Clock, now
from csp.errors import CellveilError, InputError, OutOfTime
from csp.exact import MAX_VALUE, Bools, Number, ceil_fraction, exact, number_text
from csp.mechanism import Mechanism
from csp.names.calls import check_choice, each_named, expect, whole_number
from csp.release.release import Release

METHODS = ("auto", "hull", "values", "all", "sample", "reference")
_OF_FUNCTIONS = ("auto", "all", "sample")


class _Limits(NamedTuple):
    """How much is tried; see `matching`."""

    time_limit: float | None
    max_tables: int
    draws: int
    seed: int


@overload
def matching(
    release: Release, mechanism: Algorithm, *, method: str = ..., width: Number | None = ...,
    marks: Bools | None = ..., time_limit: float | None = ..., max_tables: int = ...,
    draws: int = ..., seed: int = ..., progress: Callable[[int, int], None] | None = ...,
) -> Matching: ...  # fmt: skip
@overload
def matching(
    release: Iterable[Release] | Mapping[str, Release], mechanism: Algorithm, *,
    method: str = ..., width: Number | None = ..., time_limit: float | None = ...,
    max_tables: int = ..., draws: int = ..., seed: int = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> Matchings: ...  # fmt: skip
def matching(
    release: Release | Iterable[Release] | Mapping[str, Release],
    mechanism: Algorithm,
    *,
    method: str = "auto",
    width: Number | None = None,
    marks: Bools | None = None,
    time_limit: float | None = None,
    max_tables: int = 200_000,
    draws: int = 3000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Matching | Matchings:
    """Attack a release with the knowledge of the algorithm behind it.

    The true table is never needed, nor looked at.

    Parameters
    ----------
    release : Release, or iterable or mapping of them
        Also of a table that somebody else published (`csp.Release.from_frame`), with a guessed
        algorithm. Ranges that are published count as bounds that the algorithm knew too. Several
        are attacked one by one, each by itself (`attacks.differencing` puts them together).
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
        Primary cells, if the release told them apart; of a single release.
    time_limit : float, optional
        Wall seconds, for each release; then cells without a proof are "undecided".
    max_tables : int
        Tables that "all" and "reference" test at most. In a two-way table "all" searches a tree of
        them, of which it tests few, up to the time limit.
    draws, seed : int
        Tables to draw (method "sample"), and seed of all draws; it changes no proof.
    progress : callable, optional
        Called with tables tested and matches now and then; of several releases with those that are
        done and all. KeyboardInterrupt ends the attack like the time limit.

    Returns
    -------
    Matching, or Matchings of several releases

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
    >>> found = matching(mechanism.protect(table).release, mechanism, method="all")
    >>> [ends[0].item() for ends in (found.feasible_lower, found.feasible_upper)]
    [0, 17]
    >>> [ends[0].item() for ends in (found.lower, found.upper)]
    [1, 17]

    Every table tested was the fixed solution plus a multiple of one kernel vector.

    >>> found.kernel.T.tolist(), found.tested
    ([[1, -1, -1, 1]], 17)

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
    check_choice("method", method, METHODS)
    whole_number("max_tables", max_tables)
    whole_number("draws", draws)
    whole_number("seed", seed, 0)
    options: dict[str, Any] = {
        "method": method, "width": width,
        "limits": _Limits(time_limit, max_tables, draws, seed),
    }  # fmt: skip
    if isinstance(release, Release):
        return _attack(release, mechanism, marks=marks, progress=progress, **options)
    if marks is not None:
        msg = (
            "marks= is for a single release; for several give them to the result: "
            "to_frame(marks=[...])"
        )
        raise InputError(msg)
    return _attack_each(release, mechanism, progress, options)


def _attack_each(
    releases: Iterable[Release] | Mapping[str, Release], mechanism: Algorithm,
    progress: Callable[[int, int], None] | None, options: dict[str, Any],
) -> Matchings:  # fmt: skip
    """Attack releases one by one; an error of one of them is its result."""
    if not isinstance(mechanism, Mechanism):
        check_callable(mechanism)
    if not isinstance(releases, Iterable):
        expect(releases, Release, "release")
    named = each_named(releases, Release, "release")
    found: list[Matching | CellveilError] = []
    shape = None
    answers = ValueAnswers(mechanism) if isinstance(mechanism, Mechanism) else None
    try:
        for one in named.values():
            if shape is None or not shape.fits(one):
                shape = Shape.of(one)
            try:
                result = _attack(one, mechanism, shape=shape, answers=answers, **options)
            except CellveilError as error:
                found.append(error)
            else:
                found.append(result)
                if result.interrupted:
                    break
            if progress is not None:
                progress(len(found), len(named))
    except KeyboardInterrupt:
        pass
    left = len(named) - len(found)
    found += [OutOfTime("interrupted before this release was attacked") for _ in range(left)]
    return Matchings(tuple(map(str, named)), tuple(found))


def _attack(
    release: Release, mechanism: Algorithm, *, method: str, width: Number | None, limits: _Limits,
    marks: Bools | None = None, progress: Callable[[int, int], None] | None = None,
    shape: Shape | None = None, answers: ValueAnswers | None = None,
) -> Matching:  # fmt: skip
    """Attack one release; see `matching`."""
    began, clock = now(), Clock.of(limits.time_limit)
    view: View
    engine = None
    if isinstance(mechanism, Mechanism):
        if width is not None:
            msg = "width= is for functions; a mechanism states its own width, so leave width= out"
            raise InputError(msg)
        view = PublicView.of(
            release, mechanism, marks=marks, clock=clock, shape=shape, answers=answers
        )
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
    elif method == "sample" or (method == "auto" and run.exceeds(limits.max_tables)):
        method = "sample"
        run.sample(limits.draws, limits.seed)
    else:
        run.test_each(method, limits.max_tables, limits.seed)
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
