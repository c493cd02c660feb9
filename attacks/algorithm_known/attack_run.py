"""One run of the matching attack: tables are tested, values of matches recorded, verdicts proved.

A verdict is a proof or it is "undecided". What is safe stays safe when more matches are found,
since hulls only grow; but a value not met yet may be primary, so while an attack is incomplete
every value that a match could have counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.large_network_search import LargeNetworkSearch
from attacks.algorithm_known.match_tests import MatchTest, ReferenceTest
from attacks.algorithm_known.matches import match_test_of
from attacks.algorithm_known.network_enumeration import HULL, MATCHES, VALUES
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.views.public_view import BlackBoxView, PublicView, View
from attacks.fibre.samples import Draws, draw
from csp.clock import Clock
from csp.errors import OutOfTime
from csp.exact import Bools, Ints

SAFE, UNSAFE, OPEN = "proved safe", "proved unsafe", "undecided"

_FIRST_DRAWS = 400
_BLOCK = 64


class AttackRun:
    """State of one attack; `progress` is called with tables tested and matches."""

    def __init__(
        self, view: View, clock: Clock, progress: Callable[[int, int], None] | None
    ) -> None:
        self._view, self._clock, self._progress = view, clock, progress
        width = int((view.upper - view.lower).max()) + 1
        self.seen_values: Bools = np.zeros((len(view.cells), width), dtype=bool)
        """Values that matches have."""
        # What is asked of values. Where the mechanism looks at more than one cell, this is known
        # of matches only.
        rules = view.value_rules
        if rules is None:
            self._primary, self._other = np.zeros((2, *self.seen_values.shape), dtype=bool)
            self._levels = np.zeros((3, *self.seen_values.shape), dtype=np.int64)
        else:
            self._primary, self._other = rules.primary, ~rules.primary
            self._levels = rules.levels
        self.exact_values = True
        """Whether a complete run has met every value that a match has, not only the ends."""
        self.tested = self.matched = 0
        self.fibre = view.fibre()
        self.fibre_size: int | None = None
        self.left_out: float | None = None
        self.complete = self.interrupted = False

    # ---- engines -------------------------------------------------------------------------------

    def search_network(self, method: str, engine: type[NetworkSearch | LargeNetworkSearch]) -> None:
        """Search a network: "hull", "values" or "all"; see `network_search`."""
        self._engine = engine
        modes = {"hull": HULL, "values": VALUES, "all": MATCHES}
        self.exact_values = method != "hull"
        self._search(modes[method])
        if self.complete and self._ambiguous():
            # A value inside a hull would break a promise if a match had it: find out.
            self.exact_values = True
            self._search(VALUES)
        if method == "all" and self.complete:
            self.fibre_size = self.fibre.count(time_limit=self._clock.seconds)

    def _search(self, mode: int) -> None:
        assert isinstance(self._view, PublicView)
        search = self._engine(self._view, mode, clock=self._clock)
        search.start_from(self.seen_values)
        before = self.tested, self.matched
        self.complete = over = False
        try:
            while not over and not self._clock.over:
                over = search.step()
                for x in search.taken():
                    self._record(x)
                self._report()
            self.complete = over and search.doubtful == 0
        except KeyboardInterrupt:
            self.interrupted = True
        if mode != MATCHES:
            self.seen_values |= search.met
        self.tested, self.matched = before[0] + search.tested, before[1] + search.matched

    def accept_all(self) -> None:
        """Take every table for a match, by the theorem of decoys: ends are the feasible ones."""
        view, every = self._view, np.arange(len(self._view.cells))
        self.seen_values[every, 0] = self.seen_values[every, view.upper - view.lower] = True
        self.exact_values = False
        self.complete = True

    def exceeds(self, max_tables: int) -> bool:
        """Whether the fibre has more tables than may be tested one by one."""
        self.fibre_size = self.fibre.count(time_limit=self._clock.seconds)
        return self.fibre_size is None or self.fibre_size > max_tables

    def test_each(self, method: str, max_tables: int, seed: int) -> None:
        """Test table after table with the suppression solver: "auto", "all" or "reference"."""
        self.fibre_size = self.fibre.count(time_limit=self._clock.seconds)
        few = self.fibre_size is not None and self.fibre_size <= max_tables
        view = self._view
        if method == "reference" and isinstance(view, PublicView):
            test: MatchTest = ReferenceTest(view)
        else:
            test = match_test_of(view)
        hull = method == "auto"
        if hull and self.fibre_size is not None:
            # A list begins in a corner of the fibre; draws widen hulls sooner, and the list then
            # passes over what lies within them.
            with suppress(OutOfTime):
                limit = self._clock.seconds
                few_draws = min(_FIRST_DRAWS, self.fibre_size // 4)
                some = draw(self.fibre, few_draws, seed, time_limit=limit)
                self._test(np.unique(some.tables, axis=0), test, self._inside)
        passed = self._inside if hull else None
        listed = itertools.islice(self._tables(), max_tables)
        self.complete = self._test(listed, test, passed) and few
        self.exact_values = not hull
        if self.complete and self._ambiguous():
            self.exact_values = True
            self.complete = self._test(self._tables(), test, self._all_seen)

    def _tables(self) -> Iterator[Ints]:
        for block in self.fibre.blocks(time_limit=self._clock.seconds):
            yield from block

    def sample(self, draws: int, seed: int) -> None:
        """Test tables that are drawn; the fibre is not exhausted, whatever they show.

        The first half finds hulls; the second half, independent of them, tells how much of the
        fibre they leave out.
        """
        self.exact_values = True
        try:
            # Tables that cannot be tested are of no use.
            limit = self._clock.part(0.5).seconds
            drawn = draw(self.fibre, draws, seed, time_limit=limit)
        except OutOfTime:
            return
        half = len(drawn.tables) // 2
        first, second = drawn.tables[:half], drawn.tables[half:]
        test = match_test_of(self._view)
        if self._test(first, test, at_once=_BLOCK) and half:
            before = self.matched
            if self._test(second[~self._inside(second)], test, at_once=_BLOCK):
                share = len(second) / len(drawn.tables)
                self.left_out = _left_out(drawn, share, self.matched - before)

    def _test(
        self, tables: Iterable[Ints], test: MatchTest,
        passed: Callable[[Ints], Bools] | None = None, *, at_once: int = 1,
    ) -> bool:  # fmt: skip
        """Test tables, except those that are passed over; False if cut short."""
        left = iter(tables)
        try:
            while block := list(itertools.islice(left, _BLOCK)):
                rest = np.array(block)
                if passed is not None:
                    rest = rest[~passed(rest)]
                out = test.excludes(rest)
                self._count(int(out.sum()), 0)
                rest = rest[~out]
                for start in range(0, len(rest), at_once):
                    if self._clock.over:
                        return False
                    some = rest[start : start + at_once]
                    if passed is not None:
                        some = some[~passed(some)]
                    flags = test.among(some, self._clock)
                    self._count(len(flags), int(flags.sum()))
                    for x in some[flags]:
                        self._record(x)
        except OutOfTime:
            return False
        except KeyboardInterrupt:
            self.interrupted = True
            return False
        return True

    def _inside(self, tables: Ints) -> Bools:
        """Which tables (t, k) lie within the hull of the matches found so far."""
        return self._within(_filled(self.seen_values), tables)

    def _all_seen(self, tables: Ints) -> Bools:
        """Of which tables (t, k) matches have every value."""
        return self._within(self.seen_values, tables)

    def _within(self, met: Bools, tables: Ints) -> Bools:
        return np.asarray(met[np.arange(len(met)), tables - self._view.lower].all(axis=1))

    def _count(self, tested: int, matched: int) -> None:
        before = self.tested
        self.tested += tested
        self.matched += matched
        if self.tested // _BLOCK > before // _BLOCK:
            self._report()

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self.tested, self.matched)

    def _record(self, x: Ints) -> None:
        place = np.arange(len(x)), x - self._view.lower
        self.seen_values[place] = True
        if self._view.value_rules is not None:
            return
        # The mechanism looks at more than one cell: what it asks must be noted match by match.
        assert isinstance(self._view, PublicView)
        problem = self._view.mechanism.problem(self._view.release.table(x))
        cells = self._view.cells
        self._primary[place] |= problem.primary[cells]
        self._other[place] |= ~problem.primary[cells]
        for level, found in zip(self._levels, (problem.lpl, problem.upl, problem.spl), strict=True):
            level[place] = np.maximum(level[place], found[cells])

    # ---- answers -------------------------------------------------------------------------------

    def _possible(self) -> Bools:
        """Values that a match may have, as far as is known."""
        rules = self._view.value_rules
        if self.complete:
            within = self.seen_values if self.exact_values else _filled(self.seen_values)
            return within if rules is None else within & (rules.allowed | self.seen_values)
        value = self._view.lower[:, None] + np.arange(self.seen_values.shape[1])
        feasible = value <= self._view.upper[:, None]
        return feasible if rules is None else feasible & rules.allowed

    def _broken(self) -> Bools:
        """Values that are primary, and miss a level within the hulls if a match has them."""
        lower, upper = self._hulls()
        levels = self._levels
        value = self._view.lower[:, None] + np.arange(self.seen_values.shape[1])
        # A match that has a value widens the hull to it.
        low, high = np.minimum(lower[:, None], value), np.maximum(upper[:, None], value)
        good = (value - levels[0] >= low) & (value + levels[1] <= high) & (levels[2] <= high - low)
        return np.asarray(self._primary & ~good)

    def _hulls(self) -> tuple[Ints, Ints]:
        """Take the ends of the matches found; the feasible ones while there is none."""
        if not self.seen_values.any():
            return self._view.lower, self._view.upper
        first = np.argmax(self.seen_values, axis=1)
        last = self.seen_values.shape[1] - 1 - np.argmax(self.seen_values[:, ::-1], axis=1)
        return self._view.lower + first, self._view.lower + last

    def _ambiguous(self) -> bool:
        """Whether a value decides about a verdict and no match is known to have it."""
        broken = self._broken()
        unsafe = (broken & self.seen_values).any(axis=1)
        return bool(((broken & self._possible()).any(axis=1) & ~unsafe).any())

    def verdicts(self) -> tuple[Ints, Ints, NDArray[np.str_], NDArray[np.str_]]:
        """Give `lower`, `upper`, `verdict` and `named` of a `Matching`, as far as proved."""
        lower, upper = self._hulls()
        broken, possible = self._broken(), self._possible()
        told = self._view.value_rules is not None or self.complete
        # Otherwise it is unknown what other values would be asked for.
        known = told and bool(self.seen_values.any())
        safe = ~(broken & possible).any(axis=1) & known
        unsafe = (broken & self.seen_values).any(axis=1) & self.complete
        yes = (self._primary & self.seen_values).any(axis=1)
        no = (self._other & self.seen_values).any(axis=1)
        maybe_yes = (self._primary & possible).any(axis=1) | (not told)
        maybe_no = (self._other & possible).any(axis=1) | (not told)
        named = np.select(
            [yes & no, yes & ~maybe_no, no & ~maybe_yes], ["sometimes", "always", "never"], ""
        )
        if isinstance(self._view, BlackBoxView):
            # Which cells a function took for sensitive is not told by its pattern.
            named = np.full(len(named), "")
        return lower, upper, np.select([safe, unsafe], [SAFE, UNSAFE], OPEN), named


def _filled(met: Bools) -> Bools:
    """Everything between the ends of what was met."""
    after = np.maximum.accumulate(met, axis=1)
    before = np.maximum.accumulate(met[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(after & before)


def _left_out(drawn: Draws, share: float, outside: int) -> float | None:
    """Upper 95 % bound of a share, from the number seen (Clopper and Pearson)."""
    if not drawn.connected:
        return None
    from scipy.stats import beta

    size = max(1.0, drawn.effective * share)
    found = min(float(outside), size)
    return 1.0 if found >= size else float(beta.ppf(0.95, found + 1, size - found))
