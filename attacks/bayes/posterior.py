"""The posterior: how probable each value of a suppressed cell is, once the algorithm is known.

By Bayes: a table is as probable as its prior says if the mechanism publishes it with this pattern,
and impossible if not. Without knowledge of the algorithm every consistent table would count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attacks.algorithm_known.matches import match_test_of
from attacks.algorithm_known.views.checks import check_mechanism
from attacks.algorithm_known.views.public_view import PublicView
from attacks.bayes.decoys import DecoyRule
from attacks.bayes.priors import Prior, PriorWeights, uniform
from attacks.fibre.consistent_tables import check_size
from attacks.fibre.samples import draw
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import Bools, Floats, Ints
from csp.mechanism import Mechanism
from csp.names.calls import whole_number
from csp.release.release import Release

Chance = Callable[[Ints], Floats]
"""Log probability, up to a constant, that tables (t, k) are published with the pattern."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Posterior:
    """Probabilities of the values of each suppressed cell.

    Attributes
    ----------
    cells : (k,) int64
    values : tuple of (v,) int64
        Feasible values of each cell.
    probability : tuple of (v,) float64
        With knowledge of the algorithm.
    naive : tuple of (v,) float64
        Without it.
    sensitive : (k,) float64
        Probability that the cell is primary, with knowledge of the algorithm.
    weight : float
        Probability, without knowledge of the algorithm, that the pattern is this one (under
        decoys, given that no coin fell outside it).
    effective : float or None
        Effective number of drawn tables behind the probabilities; None if all were listed.
    exact : bool
        Whether nothing was drawn.
    keys : int or None
        Under decoys: keys whose costs were drawn for the average over all keys.
    """

    cells: Ints
    values: tuple[Ints, ...]
    probability: tuple[Floats, ...]
    naive: tuple[Floats, ...]
    sensitive: Floats
    weight: float
    effective: float | None
    exact: bool
    keys: int | None = None

    def __repr__(self) -> str:
        way = "exact" if self.effective is None else f"worth {self.effective:.0f} independent draws"
        if self.keys is not None:
            way = f"{'all tables' if self.effective is None else way}, {self.keys} keys"
        return f"Posterior({len(self.cells)} suppressed cells, {way})"

    @property
    def mode(self) -> Ints:
        """Most probable value of each cell, the smallest of equals: (k,) int64."""
        pairs = zip(self.values, self.probability, strict=True)
        return np.array([v[np.argmax(p)] for v, p in pairs])

    @property
    def mode_probability(self) -> Floats:
        """Probability of the most probable value of each cell: (k,) float64."""
        return np.array([p.max() for p in self.probability])

    def shortest(self, mass: float = 0.95, *, naive: bool = False) -> tuple[Ints, Ints]:
        """Shortest interval of each cell that holds some probability; the lowest of equals.

        Parameters
        ----------
        mass : float
            In (0, 1].
        naive : bool
            Without knowledge of the algorithm.

        Returns
        -------
        lower, upper : (k,) int64

        Raises
        ------
        InputError
            If mass is out of range.
        """
        if not 0 < mass <= 1:
            msg = f"mass must be above 0 and at most 1, got {mass!r}; 0.95 means 95 percent"
            raise InputError(msg)
        chances = self.naive if naive else self.probability
        ends = [shortest_interval(v, p, mass) for v, p in zip(self.values, chances, strict=True)]
        return np.array([a for a, _ in ends]), np.array([b for _, b in ends])


def posterior(
    release: Release,
    mechanism: Mechanism,
    *,
    prior: Prior = uniform,
    draws: int | None = None,
    seed: int = 0,
    max_tables: int = 2_000_000,
    keys: int = 16,
    time_limit: float | None = None,
) -> Posterior:
    """Compute the posterior of every suppressed cell.

    Under decoys a table is as probable as the share of keys that publish it so; the key of the
    mechanism, if it has one, is not used.

    Parameters
    ----------
    release : Release
    mechanism : Mechanism
        Of a function, `attacks.algorithm_safety` tells the probabilities.
    prior : callable
        Log weight of each value of an inner cell (`uniform`, `normal_counts`, or any function of
        an int64 array). Cells that are totals of others have no weight of their own.
    draws : int, optional
        Number of tables to draw from the fibre instead of listing it.
    seed : int
    max_tables : int
        Tables to list at most.
    keys : int
        Under decoys: keys to draw costs of. Coins within the pattern are summed over if it has up
        to 12 cells, else drawn.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Posterior

    Raises
    ------
    InputError
        As `attacks.matching`, and if the mechanism is a function or the prior is not one; under
        decoys, if the table is not a network of counts with up to 64 cells that may be suppressed;
        if the fibre is larger than `max_tables` and no draws are asked for; if no table drawn is a
        match; if the prior excludes every match.
    OutOfTime
        If the time limit passed: sums over a part of the tables are not probabilities. With
        `draws`, only if it passed before a table was drawn or those drawn were tested.

    Examples
    --------
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    >>> found = posterior(mechanism.protect(table).release, mechanism)
    >>> found
    Posterior(4 suppressed cells, exact)
    """
    clock = Clock.of(time_limit)
    if draws is not None:
        whole_number("draws", draws)
    whole_number("seed", seed, 0)
    whole_number("max_tables", max_tables)
    whole_number("keys", keys)
    check_mechanism(
        mechanism, "posterior", "attacks.algorithm_safety (probabilities with and without it)"
    )
    view = PublicView.of(release, mechanism, clock=clock)
    chance = None if mechanism.defence is None else _under_decoys(view, keys, seed, clock)
    fibre = view.fibre()
    weigh = PriorWeights(view.table, view.cells, view.lower, view.upper, prior)
    aware, naive = (ValueWeights(view.lower, view.upper) for _ in range(2))
    effective = None
    if draws is None:
        check_size(fibre, max_tables, clock, "give draws= to sample them, or a larger max_tables")
        for block in fibre.blocks(time_limit=clock.seconds):
            naive.add(block, weigh(block))
            if chance is not None:
                aware.add(block, weigh(block) + chance(block), _primary(view, block))
        if chance is None:
            for block in match_test_of(view).listed(clock):
                aware.add(block, weigh(block), _primary(view, block))
    else:
        drawn = draw(fibre, draws, seed, time_limit=clock.part(0.5).seconds)
        naive.add(drawn.tables, weigh(drawn.tables))
        if chance is None:
            matches = drawn.tables[match_test_of(view).among(drawn.tables, clock)]
            logs = weigh(matches)
        else:
            matches = drawn.tables
            logs = weigh(matches) + chance(matches)
        aware.add(matches, logs, _primary(view, matches))
        effective = drawn.effective / len(drawn.tables) * aware.effective
    if aware.total <= -math.inf:
        msg = (
            "no table that was drawn is published like this; give more draws"
            if draws is not None
            else "the prior gives no weight to any table that is published like this"
        )
        raise InputError(msg)
    values = tuple(np.arange(a, b + 1) for a, b in zip(view.lower, view.upper, strict=True))
    return Posterior(
        view.cells, values, aware.shares(), naive.shares(), aware.sensitive(),
        math.exp(aware.total - naive.total), effective, draws is None and chance is None,
        None if chance is None else keys,
    )  # fmt: skip


def _under_decoys(view: PublicView, keys: int, seed: int, clock: Clock) -> Chance:
    """Log share of keys that publish a table like this, up to a constant."""
    rule = DecoyRule(view.mechanism, view.table, orders=keys, seed=seed)

    def chance(tables: Ints) -> Floats:
        full = np.repeat(view.table.values[None], len(tables), axis=0)
        full[:, view.cells] = tables
        with np.errstate(divide="ignore"):
            return np.log(rule.likelihood(view.release.pattern, full, clock=clock))

    return chance


def _primary(view: PublicView, tables: Ints) -> Bools:
    """Which of the suppressed cells are primary in some tables."""
    rules = view.value_rules
    if rules is not None:
        return np.asarray(rules.primary[np.arange(len(view.cells)), tables - view.lower])
    problems = (view.mechanism.problem(view.release.table(x)) for x in tables)
    flags = [problem.primary[view.cells] for problem in problems]
    return np.array(flags, dtype=bool).reshape(tables.shape)


class ValueWeights:
    """Weights of tables summed by cell and value, scaled by the largest weight so far."""

    def __init__(self, lower: Ints, upper: Ints) -> None:
        self._lower = lower
        self._sums = [np.zeros(span) for span in (upper - lower + 1).tolist()]
        self._primary = np.zeros(len(lower))
        self._scale = -math.inf
        self._squares = 0.0

    def add(self, tables: Ints, logs: Floats, primary: Bools | None = None) -> None:
        """Count tables with their log weights, and which of their cells are primary."""
        top = float(logs.max(initial=-math.inf))
        if top == -math.inf:
            return
        if top > self._scale:
            shrink = math.exp(self._scale - top) if self._scale > -math.inf else 0.0
            self._sums = [s * shrink for s in self._sums]
            self._primary *= shrink
            self._squares *= shrink**2
            self._scale = top
        weights = np.exp(logs - self._scale)
        self._squares += float(weights @ weights)
        for e, sums in enumerate(self._sums):
            sums += np.bincount(tables[:, e] - self._lower[e], weights, len(sums))
        if primary is not None:
            self._primary += weights @ primary

    @property
    def total(self) -> float:
        """Log of the sum of all weights."""
        whole = float(self._sums[0].sum())
        return self._scale + math.log(whole) if whole > 0 else -math.inf

    @property
    def effective(self) -> float:
        """Effective number of weighted draws (Kish)."""
        return float(self._sums[0].sum() ** 2 / self._squares) if self._squares else 0.0

    def shares(self) -> tuple[Floats, ...]:
        """Probabilities of each cell's values."""
        return tuple(s / s.sum() for s in self._sums)

    def sensitive(self) -> Floats:
        """Probability that each cell is primary."""
        return np.asarray(self._primary / self._sums[0].sum())


def shortest_interval(values: Ints, chance: Floats, mass: float) -> tuple[int, int]:
    """Find the ends of the shortest run of values with this probability (up to rounding)."""
    upto = np.concatenate([[0.0], np.cumsum(chance)])
    want = mass * upto[-1] * (1 - 1e-12)
    best = (0, len(values) - 1)
    right = 0
    for left in range(len(values)):
        right = max(right, left)
        while right < len(values) and upto[right + 1] - upto[left] < want:
            right += 1
        if right == len(values):
            break
        if right - left < best[1] - best[0]:
            best = (left, right)
    return int(values[best[0]]), int(values[best[1]])
