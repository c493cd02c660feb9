"""An adversary who does not know the algorithm's parameters: what releases tell about them.

Minami and Abe (2019, section 2.5): secret parameters are narrowed down by published tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from attacks.algorithm_known.matches import Algorithm, matches_of
from attacks.algorithm_known.views.checks import check_exact, check_told
from attacks.bayes.priors import Prior, PriorWeights, uniform
from attacks.fibre.consistent_tables import Fibre, check_size
from attacks.fibre.feasible_intervals import feasible
from csp.audits.intervals import intervals
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import UNBOUNDED, Bools, Floats, Ints
from csp.names.calls import check_choice
from csp.release.completion import agreeing
from csp.release.release import Release
from csp.rules.base import counts_of
from csp.tables.table import Table

# Ends of intervals are found in floating point, and proved this closely.
_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class ParameterBounds:
    """Bounds on the parameters of a frequency rule that hold for certain.

    Attributes
    ----------
    threshold_from, threshold_to : int, int or None
        Least and largest n of `csp.MinFrequency`; None if no end follows.
    width_to : int or None
        Largest width that a primary interval can have been promised, by the rule or by the
        mechanism (with a strict width, one unit less can have been asked); None if nothing follows.
    possible : bool
        Whether some frequency rule can have made the releases. Where none can, the bounds are those
        that were found until then.
    """

    threshold_from: int
    threshold_to: int | None
    width_to: int | None
    possible: bool = True


def parameter_bounds(
    releases: Sequence[Release],
    *,
    margins: str = "suppress",
    zero_sensitive: bool = False,
    integer: bool = True,
    time_limit: float | None = None,
) -> ParameterBounds:
    """Bound the threshold and the width of a frequency rule by releases of counts.

    A published count that the rule tests is not below the threshold. Some suppressed cell is
    primary, so the threshold is above the least value of one of them, and the width at most the
    widest interval. (Minami and Abe 2019, section 2.5, bound the width by every suppressed cell;
    that does not hold for secondary cells, which were promised nothing.)

    Parameters
    ----------
    releases : sequence of Release
        Ranges that somebody published in place of values bound these, and not the width.
    margins, zero_sensitive
        As in `csp.Mechanism` and `csp.MinFrequency`.
    integer : bool
        Whether levels are judged on intervals of whole numbers, as `csp.Mechanism` does in tables
        of counts unless told otherwise. Where a suppressed cell has no end in one direction, the
        wider intervals of any numbers count in either case.
    time_limit : float, optional
        Wall seconds.

    Raises
    ------
    InputError
        If no table is consistent with a release, its numbers are rounded, or values are not counts.
    CertificateError
        If the end of an interval cannot be proved.
    OutOfTime
        If the time limit passed first.

    Examples
    --------
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    >>> parameter_bounds([mechanism.protect(table).release], margins="publish")
    ParameterBounds(threshold_from=2, threshold_to=11, width_to=17, possible=True)
    """
    clock = Clock.of(time_limit)
    check_choice("margins", margins, ("suppress", "publish"))
    # A threshold of 1 makes nothing sensitive but an empty cell, and that only if zeros are.
    start, end, width = 1, math.inf, math.inf
    hidden = []
    for release in releases:
        check_exact(release)
        check_told(release, "a frequency rule asks for these")
        table = agreeing(release, clock)
        counts_of(table)  # refuses values that are not counts
        tested = ~release.pattern
        if margins == "publish":
            tested &= ~table.margins
        if table.structural is not None:
            tested &= ~table.structural
        seen = release.published[tested]
        if not zero_sensitive:
            seen = seen[seen > 0]
        end = min(end, int(seen.min())) if len(seen) else end
        if release.pattern.any():
            ends = _ends(table, release.pattern, clock, integer=integer)
            hidden.append((*ends, _widths(release, table, ends, clock, integer=integer)))
    possible = True
    for lower, upper, widths in hidden:
        least = np.maximum(np.ceil(lower - _NOISE), 0 if zero_sensitive else 1)
        able = (least <= upper) & (least < end)
        if not able.any():  # some cell is primary, but none can be below the threshold
            possible = False
            break
        start = max(start, int(least[able].min()) + 1)
        width = min(width, np.floor(widths[able].max() + _NOISE))
    return ParameterBounds(
        start, None if end == math.inf else int(end), None if width == math.inf else int(width),
        possible,
    )  # fmt: skip


def _ends(table: Table, pattern: Bools, clock: Clock, *, integer: bool) -> tuple[Floats, Floats]:
    """Least and largest value of each suppressed cell; infinite where there is no end."""
    found = intervals(table, pattern, time_limit=clock.seconds).require_exact()
    low, high = found.lower[pattern], found.upper[pattern]
    if integer and np.isfinite([low, high]).all():
        least, largest = feasible(table, pattern, clock)
        return least.astype(np.float64), largest.astype(np.float64)
    return low, high


def _widths(
    release: Release, table: Table, ends: tuple[Floats, Floats], clock: Clock, *, integer: bool,
) -> Floats:  # fmt: skip
    """Width of the interval that a rule may have promised to each suppressed cell.

    Ranges that were published in place of values may have been chosen after the pattern, so that
    nothing was promised about them.
    """
    if release.classed is None:
        return ends[1] - ends[0]
    lower = np.where(release.classed, 0, table.lower)
    upper = np.where(release.classed, UNBOUNDED, table.upper)
    low, high = _ends(
        table.replace(lower=lower, upper=upper), release.pattern, clock, integer=integer
    )
    return high - low


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MechanismPosterior:
    """Candidates for the algorithm behind some releases.

    Attributes
    ----------
    matches : (r, c) int64
        Consistent tables of each release that each candidate publishes so.
    possible : (c,) bool
        Whether a candidate has a match in every release. A fact, whatever the priors. If none is
        possible, no algorithm of this family made the releases.
    probability : (r + 1, c) float64
        Of each candidate before any release, and after each more of them; NaN from the release on
        that leaves no candidate possible.
    """

    matches: Ints
    possible: Bools
    probability: Floats

    def __repr__(self) -> str:
        r, c = self.matches.shape
        return f"MechanismPosterior({int(self.possible.sum())} of {c} possible, releases: {r})"


def mechanism_posterior(
    releases: Sequence[Release],
    candidates: Sequence[Algorithm],
    *,
    belief: Sequence[float] | None = None,
    prior: Prior = uniform,
    max_tables: int = 200_000,
    time_limit: float | None = None,
) -> MechanismPosterior:
    """Weigh candidates for the algorithm by the releases that it made.

    By Bayes: a candidate is as probable as its prior times, for each release, the prior weight of
    the consistent tables that it publishes with this very pattern. The tables are taken as
    independent, and drawn without regard to the algorithm.

    Parameters
    ----------
    releases : sequence of Release
        Of one unknown algorithm. One without suppressed cells counts too. Ranges that somebody
        published count as bounds that the algorithm knew.
    candidates : sequence of Mechanism or callable
        Functions as in `attacks.algorithm_safety`.
    belief : (c,) float, optional
        Prior weights of the candidates, at least 0; equal by default.
    prior : callable
        Of tables; see `attacks.posterior`.
    max_tables : int
        Consistent tables of one release to list at most.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    MechanismPosterior

    Raises
    ------
    InputError
        If candidates are possible but have no weight, a fibre is larger, numbers are rounded, or
        weights are of another shape or negative.
    OutOfTime
        If the time limit passed first.

    Examples
    --------
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> tried = [Mechanism(MinFrequency(t), width=10, margins="publish") for t in (5, 10, 15)]
    >>> found = mechanism_posterior([tried[1].protect(table).release], tried)
    >>> found.possible.tolist()
    [True, True, False]
    """
    clock = Clock.of(time_limit)
    if not isinstance(candidates, Iterable):
        msg = "candidates must be several mechanisms or functions; give a list"
        raise InputError(msg)
    candidates = [*candidates]
    c = len(candidates)
    if not c:
        msg = "candidates is empty; give at least one mechanism or function"
        raise InputError(msg)
    start = np.ones(c) if belief is None else np.asarray(belief, dtype=np.float64)
    if start.shape != (c,) or not np.isfinite(start).all() or (start < 0).any() or not start.any():
        msg = f"belief must be {c} finite weights of at least 0, one for each candidate, not all 0"
        raise InputError(msg)
    matches = np.zeros((len(releases), c), dtype=np.int64)
    with np.errstate(divide="ignore"):
        logs = [np.log(start)]
    for r, release in enumerate(releases):
        check_exact(release)
        fibre = weigh = None
        if release.pattern.any():
            fibre = Fibre(release, time_limit=clock.seconds)
            check_size(fibre, max_tables, clock, "give a larger max_tables")
            weigh = PriorWeights(fibre.table, fibre.cells, fibre.lower, fibre.upper, prior)
        gained = np.full(c, -np.inf)
        for j, candidate in enumerate(candidates):
            for block in matches_of(release, candidate, fibre, clock):
                matches[r, j] += len(block)
                each = np.zeros(len(block)) if weigh is None else weigh(block)
                gained[j] = np.logaddexp(gained[j], np.logaddexp.reduce(each))
        logs.append(logs[-1] + gained)
        if logs[-1].max() == -np.inf and (matches[: r + 1] > 0).all(axis=0).any():
            msg = (
                f"no candidate to which the priors give weight publishes release {r + 1} and those "
                "before it; add candidates, or weight"
            )
            raise InputError(msg)
    shares = np.array([_shares(row) for row in logs])
    return MechanismPosterior(matches, np.asarray((matches > 0).all(axis=0)), shares)


def _shares(logs: Floats) -> Floats:
    """Probabilities of logarithms of weights; NaN where no weight is left."""
    most = logs.max()
    if most == -np.inf:
        return np.full(len(logs), np.nan)
    each = np.exp(logs - most)
    return np.asarray(each / each.sum())
