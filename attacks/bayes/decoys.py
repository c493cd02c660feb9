"""Random decoys as a publishing rule: how probable a pattern is for each table, over all keys.

An attacker without the key weighs every way in which the coins may have fallen. Coins outside the
pattern contribute the same factor for every table; coins inside are summed over, exactly where
there are few enough, otherwise by sampling. The key's cost factors are sampled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from attacks.bayes.rule_table import RuleTable
from csp.clock import UNLIMITED, Clock
from csp.decoys.key import Key
from csp.decoys.width import Wide
from csp.errors import InputError, Unprotectable
from csp.exact import Bools, Floats, Ints, exact
from csp.mechanism import Mechanism
from csp.solve.order import label_order, reordered
from csp.solve.small.batch import SmallSolver
from csp.tables.table import Table

EXACT_UP_TO = 12
"""Cells of a pattern up to which all coin sets are summed."""
_MOST_ROWS = 20_000


class DecoyRule:
    """Mechanism with decoys over small networks of counts; its own key is not used.

    Of the values of the table only those that must be published are used. A likelihood is an
    average over the costs of `orders` keys. Where a pattern has more than 12 cells, `coins` coin
    sets are drawn; sums over all sets stop early at a relative error of `precision`.

    Raises
    ------
    InputError
        If the mechanism has no decoys, or the table is not a small network.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        table: Table,
        *,
        orders: int = 8,
        coins: int = 256,
        precision: float = 0.01,
        seed: int = 0,
    ) -> None:
        if mechanism.defence is None or not mechanism.cellwise:
            msg = "DecoyRule needs a mechanism with decoys and rules that look at single cells"
            raise InputError(msg)
        self._mechanism, self._decoys = replace(mechanism, defence=None), mechanism.defence
        self._rules = RuleTable(self._mechanism, table)
        self._table = table
        # Ties are broken in the order of labels, so cells stand in that order here.
        self._order = label_order(table)
        self._bare = reordered(self._mechanism.bare_problem(table), self._order)
        self._wide = Wide.of(self._bare, self._decoys, mechanism.decoy_width(table))
        if not mechanism.asks_width_alone(table) or self._wide.share is not None:
            msg = "likelihoods need one width for all cells; give Mechanism(width=) and no margin="
            raise InputError(msg)
        self._levels = np.full(table.n_cells, self._wide.units, dtype=np.int64)
        self._solver = SmallSolver(self._bare)
        fixed = self._bare.status == "z"
        self._rates = self._decoys.rates(self._bare.table, fixed, self._wide.units)
        # Without a spread the key does not enter the costs.
        self._orders = orders if exact(self._decoys.spread) else 1
        self._coins, self.precision, self._seed = coins, precision, seed
        self.name = repr(self._decoys.public)
        self.words = (
            "cells drawn by a secret key are protected like primary ones, and the key chooses "
            "among patterns of nearly the same cost; likelihoods are averages over the costs of "
            f"{self._orders} keys"
        )

    def __repr__(self) -> str:
        return f"DecoyRule({self._decoys.public!r})"

    def publish(self, values: Ints, rng: np.random.Generator) -> Bools | None:
        """Protect values (n,) with a key that is drawn; None if they cannot be protected."""
        mechanism = replace(self._mechanism, defence=replace(self._decoys, key=key_from(rng)))
        try:
            return mechanism.protect(self._table.replace(values=values)).pattern
        except Unprotectable:
            return None

    def likelihood(self, pattern: Bools, values: Ints, *, clock: Clock = UNLIMITED) -> Floats:
        """Probability of a pattern for each of (t, n) values, up to a factor that all tables share.

        The tables are consistent with one release; every suppressed cell is wide.

        Raises
        ------
        OutOfTime
            If the time runs out first.
        InputError
            If a cell of the pattern is narrow: the rule never publishes it.
        """
        primary = self._rules.requirements(values)[0][:, self._order]
        values, pattern = values[:, self._order], pattern[self._order]
        cells = np.flatnonzero(pattern)
        one = values[:1]
        if (
            len(cells)
            and not self._solver.gives(
                pattern, one, pattern[None], lpl=0, upl=0, spl=self._levels
            ).all()
        ):
            msg = "a suppressed cell is narrower than the decoys allow; this is not their pattern"
            raise InputError(msg)
        possible = ~(primary & ~pattern).any(axis=1)
        out = np.zeros(len(values))
        if not possible.any():
            return out
        search = _Search(self, pattern, cells, values[possible], primary[possible], clock)
        rng = np.random.default_rng([self._seed, len(cells)])
        for _ in range(self._orders):
            factors = replace(self._decoys, key=key_from(rng)).costs(
                self._bare.table, self._bare.cost
            )
            out[possible] += search.run(factors, rng)
        return out / self._orders


class _Search:
    """Coin sets under which a pattern is published, for many tables of one release."""

    def __init__(
        self, rule: DecoyRule, pattern: Bools, cells: Ints,
        values: Ints, primary: Bools, clock: Clock,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._rule, self._pattern, self._cells = rule, pattern, cells
        self._values, self._primary = values, primary[:, cells]
        self._rates = rule._rates[cells]
        # Only within the pattern: there a narrow optimum may grow into it.
        status = np.where(pattern, rule._bare.status, "z")
        self._inner = SmallSolver(replace(rule._bare, status=status)) if len(cells) else None

    def run(self, costs: Ints, rng: np.random.Generator) -> Floats:
        """Probability over the coins, for the cost factors of one key."""
        if len(self._cells) <= EXACT_UP_TO:
            return self._summed(costs)
        return self._drawn(costs, rng)

    def _summed(self, costs: Ints) -> Floats:
        """Sum over all coin sets, small ones first.

        If a set of required cells leads straight to the pattern, every larger one within it does:
        what is better than the pattern for these is so for fewer.
        """
        k, t = len(self._cells), len(self._values)
        bits = (np.arange(2**k)[:, None] >> np.arange(k)) & 1 > 0
        size = bits.sum(axis=1)
        weight = np.prod(np.where(bits, self._rates, 1 - self._rates), axis=1)
        own = (self._primary * (1 << np.arange(k))).sum(axis=1)
        straight = np.zeros((t, 2**k), dtype=bool)
        detour = np.zeros((t, 2**k), dtype=bool)
        open_tables = np.arange(t)
        for s in range(k + 1):
            here = np.flatnonzero(size == s)
            rows, which = np.nonzero(~straight[np.ix_(open_tables, here)])
            rows, which = open_tables[rows], here[which]
            # A primary cell is required with or without its coin: count it as having one.
            rows, which = (a[own[rows] & ~which == 0] for a in (rows, which))
            if len(rows):
                found, later = self._leads(rows, bits[which], costs)
                straight[rows[found], which[found]] = True
                detour[rows[later], which[later]] = True
            for b in range(k):
                halves = straight.reshape(t, -1, 2, 2**b)
                halves[:, :, 1] |= halves[:, :, 0]
            settled = _times(straight | detour, weight)
            # Sets that are left out lead to other patterns, or add this little.
            rest = _times(~straight[:, size > s], weight[size > s])
            rest = np.where(size[own] > s, np.inf, rest)
            open_tables = np.flatnonzero(rest > self._rule.precision * settled)
            if not len(open_tables):
                break
        # Sets without a primary cell were left out; its coin does not matter, so scale them in.
        return np.asarray(settled / np.prod(np.where(self._primary, self._rates, 1.0), axis=1))

    def _drawn(self, costs: Ints, rng: np.random.Generator) -> Floats:
        """Estimate the probability by weighted coin sets, so that rare ones are met as well.

        Half of the sets are drawn by the rates, half with coins that fall as often as not; each
        weighs by how much more often the rates alone would draw it. All coins of the pattern
        together lead to it for sure: that set is counted exactly and no draw of it is.
        """
        k, n = len(self._cells), self._rule._coins
        even = np.full(k, 0.5)
        rates = np.where(np.arange(n)[:, None] < n // 2, self._rates, even)
        coins = rng.random((n, k)) < rates
        own, mixed = (_chance_of(coins, q) for q in (self._rates, even))
        weight = own / ((n // 2) / n * own + (n - n // 2) / n * mixed)
        weight[coins.all(axis=1)] = 0.0
        t = len(self._values)
        rows = np.repeat(np.arange(t), n)
        required = (coins[None] | self._primary[:, None]).reshape(len(rows), -1)
        straight, detour = self._leads(rows, required, costs)
        found = np.bincount(rows, (straight | detour) * np.tile(weight, t), t) / n
        return np.asarray(found + np.prod(self._rates))

    def _leads(self, rows: Ints, required: Bools, costs: Ints) -> tuple[Bools, Bools]:
        """Whether required cells lead to the pattern straight, or by way of narrower ones."""
        straight = np.zeros(len(rows), dtype=bool)
        detour = np.zeros(len(rows), dtype=bool)
        for begin in range(0, len(rows), _MOST_ROWS):
            self._clock.check()
            span = slice(begin, begin + _MOST_ROWS)
            straight[span], detour[span] = self._some(rows[span], required[span], costs)
        return straight, detour

    def _some(self, rows: Ints, required: Bools, costs: Ints) -> tuple[Bools, Bools]:
        rule = self._rule
        options: dict[str, Any] = {"lpl": 0, "upl": 0, "spl": rule._levels, "cost": costs}
        values = self._values[rows]
        flags = np.zeros(values.shape, dtype=bool)
        flags[:, self._cells] = required
        straight = rule._solver.gives(self._pattern, values, flags, **options)
        detour = np.zeros(len(rows), dtype=bool)
        left = np.flatnonzero(~straight & required.any(axis=1))
        assert self._inner is not None
        while len(left):
            inner = self._inner.solve_many(values[left], flags[left], **options)
            # An optimum that lies within the pattern is the optimum there.
            smaller = (inner.patterns != self._pattern).any(axis=1)
            left, found = left[smaller], inner.patterns[smaller]
            again = self._inner.solve_many(values[left], found, **options).patterns
            narrow = (again != found).any(axis=1)
            left, found = left[narrow], found[narrow]
            if not len(left):
                break
            best = rule._solver.solve_many(values[left], flags[left], **options).patterns
            same = (best == found).all(axis=1)
            left, found = left[same], found[same]
            flags[left] = found
            there = rule._solver.gives(self._pattern, values[left], found, **options)
            detour[left[there]] = True
            left = left[~there]
        return straight, detour


def _times(flags: Bools, weight: Floats) -> Floats:
    """Product of many flags with weights, without a copy of all flags as floats."""
    out = np.zeros(len(flags))
    for begin in range(0, len(flags), 512):
        out[begin : begin + 512] = flags[begin : begin + 512] @ weight
    return out


def _chance_of(coins: Bools, rates: Floats) -> Floats:
    """Probability of each coin set."""
    return np.asarray(np.prod(np.where(coins, rates, 1 - rates), axis=1))


def key_from(rng: np.random.Generator) -> Key:
    """Key from a generator: for experiments, where keys need not be secret."""
    while True:
        drawn = rng.bytes(32)
        if len(set(drawn)) >= 8:
            return Key(drawn)
