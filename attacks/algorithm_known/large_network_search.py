"""Network search in tables with more cells than one machine word has bits.

The search decides with a part of the cells: those that the release suppresses, and those of
patterns that were found to be preferred for some table. A pattern of these that is preferred is
preferred in the whole table too, so what the part refuses is refused. What it lets through is
tested in the whole table: it is a match, or it shows a preferred pattern, whose cells join the
part.
"""

from __future__ import annotations

import numpy as np

from attacks.algorithm_known.match_tests import SolverTest
from attacks.algorithm_known.network_enumeration import MATCHED, TESTED, VALUES, record_match
from attacks.algorithm_known.network_search import (
    NetworkSearch,
    pattern_test_of,
)
from attacks.algorithm_known.views.public_view import PublicView
from attacks.algorithm_known.views.value_answers import ValueRules
from csp.attacker.flow import as_network
from csp.attacker.view import View
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, OutOfTime
from csp.exact import Bools, Ints
from csp.solve.order import BINARY_UP_TO
from csp.solve.small.flow import MOST
from csp.solve.small.one import check_sizes, mask_of, unpack

_QUICK = 200
_MATCH, _NONE, _OPEN = 0, 1, 2


class LargeNetworkSearch(NetworkSearch):
    """Search through the consistent tables of a larger network with up to 64 suppressed cells."""

    def __init__(self, view: PublicView, mode: int, *, clock: Clock = UNLIMITED) -> None:
        # What one table shows spares the test of many: none is put off.
        self._own = view.release.pattern[view.shape.order]
        super().__init__(view, mode, clock=clock, within=self._own, late=1)
        self._full = SolverTest(view)

    def _decided(self, tables: Ints) -> Ints:
        """See `NetworkSearch`: the tables that the part lets through, in the whole table."""
        tested = self.tested
        outcome = np.full(len(tables), _OPEN, dtype=np.int64)
        for i, x in enumerate(tables):
            if self.clock.over:
                break
            # An earlier one may have shown a pattern that is preferred here too, or the values.
            if i and self._outcome(tables[i : i + 1], _QUICK, small=False)[0] != _OPEN:
                outcome[i] = _NONE
                continue
            try:
                matches = self._full.matches(x, self.clock)
            except OutOfTime:
                break
            outcome[i] = _MATCH if matches else _NONE
            if matches:
                self._note(x)
            elif self._full.beaten_by is not None:
                self._grow(self._full.beaten_by)
        self._state.counts[TESTED] = tested
        return outcome

    def _note(self, x: Ints) -> None:
        state, before = self._state, self._state.x.copy()
        state.counts[MATCHED] += 1
        if self._mode >= VALUES:
            state.x[:] = x
            record_match(state, self._mode)
            state.x[:] = before

    def _grow(self, better: Bools) -> None:
        """Have the part hold a preferred pattern; older ones leave it if it would be too large."""
        n, cells = len(better), self._test_cells
        pool = self._test.pool[self._test.pool != 0]
        known = [better, *unpack(pool, cells, n)]
        within = self._own.copy()
        kept = []
        for flags in known:
            joined = within | flags
            if joined.sum() <= MOST:
                within = joined
                kept.append(flags)
        if not kept:
            return
        test, cells = pattern_test_of(self._view, within)
        for place, flags in enumerate(kept[: len(test.pool)]):
            test.pool[place] = mask_of(flags[cells])
        self._test, self._test_cells = test, cells


def network_search_of(view: PublicView) -> type[NetworkSearch | LargeNetworkSearch] | None:
    """Return the network search that can attack a release by a mechanism; None if none can."""
    table, rules = view.table, view.value_rules
    if view.mechanism.defence is not None or rules is None:
        return None
    if table.n_cells > BINARY_UP_TO or view.net is None:
        return None
    # Suppressed cells are some of these, and so a network as well.
    whole = view.shape.network or as_network(View.of(table, view.hides))
    if whole is None or not _numbers_fit(view.cost, rules):
        return None
    return NetworkSearch if view.hides.sum() <= MOST else LargeNetworkSearch


def _numbers_fit(cost: Ints, rules: ValueRules) -> bool:
    """Whether levels and costs, whatever the suppressed values are, are small enough to search."""
    try:
        check_sizes(rules.levels.reshape(1, -1), rules.cost.max(axis=1)[None])
        check_sizes(np.zeros((1, 0), np.int64), cost[None])
    except InputError:
        return False
    return True
