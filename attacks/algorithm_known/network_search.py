"""Network search: the exact matching attack on networks, compiled.

One search through the fibre keeps the values that matches have shown so far (at first none: an
outsider does not know the true table) and passes over all that cannot add to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attacks.algorithm_known.network_enumeration import (
    DEPTH,
    KEPT,
    KERNELS,
    LATE,
    MATCHED,
    MATCHES,
    NODES,
    TESTED,
    PatternTest,
    SearchState,
)
from attacks.algorithm_known.views.public_view import PublicView
from attacks.fibre import network_ranges
from attacks.fibre.network_ranges import flow_workspace, update_slack
from csp.attacker.flow import as_network
from csp.attacker.view import View as AttackerView
from csp.clock import UNLIMITED, Clock, now
from csp.errors import InputError, argument
from csp.exact import Bools, Ints
from csp.solve.small import many as cases
from csp.solve.small.flow import MOST, Net
from csp.solve.small.one import mask_of, part_of

_KEPT = 4096
_LATE = 1024
_POOL = 64
_QUICK, _MOST_NODES = 200, 2**62
_FIRST, _FIRST_COMPILED = 4, 64
_STEP = 0.1
"""Nodes of the first step, and about how many seconds later steps take."""
_AT_ONCE, _FEW, _FEW_NODES = 64, 4, 1000
_MATCH, _OPEN = 0, 2
_SMALL = 25
"""Cells up to which a network is searched uncompiled as long as that pays: the fibre of a 4x4 table
takes a few hundredths of a second, compiling half a minute."""
_FEW_VALUES = 20_000
"""Values of all cells together, each of which a node looks at: uncompiled in a hundredth of a
second, while two million of them took a node past any limit of time."""
_NO_NETWORK = (
    "the network search needs a network of up to 64 cells that may be suppressed, and rules that "
    f"look at cells one by one; use {argument('method', 'auto')}"
)


class NetworkSearch:
    """Search through the consistent tables of a release for matches (mode MATCHES, VALUES or HULL).

    When the clock runs out, proofs that take long are given up (see `doubtful`). Preferred patterns
    are looked for `within` some cells (n,), in the order of labels: up to 64, the suppressed ones
    among them, or all by default; tables that a part lets through are left undecided. Undecided
    tables are collected before they are decided, `late` of them.

    Raises
    ------
    InputError
        If the suppressed cells or those that may be suppressed are not a small network.
    """

    def __init__(
        self, view: PublicView, mode: int, *, clock: Clock = UNLIMITED,
        within: Bools | None = None, late: int | None = None,
    ) -> None:  # fmt: skip
        self._view, self._mode, self.clock = view, mode, clock
        self._extra: list[Ints] = []
        self.doubtful = 0
        """Tables left undecided when nodes or the time ran out."""
        self._pace, self._speed = _FIRST_COMPILED, np.inf
        if view.net is None or view.value_rules is None:
            raise InputError(_NO_NETWORK)
        self._state = _state_of(view, view.net, _KEPT if mode == MATCHES else 1, late or _LATE)
        self._test, self._test_cells = pattern_test_of(view, within)
        if KERNELS.choose(small=self._small) is KERNELS.plain:
            self._pace = _FIRST

    @property
    def _small(self) -> bool:
        return len(self._test_cells) <= _SMALL and self._state.seen.size <= _FEW_VALUES

    def __repr__(self) -> str:
        return f"NetworkSearch({self.nodes} nodes)"

    def step(self, nodes: int | None = None) -> bool:
        """Continue for some nodes; True once the search is over.

        By default as many as take about a tenth of a second. Proofs that take long are put off:
        patterns that beat the published one for other tables are often the shortest way to a
        verdict.
        """
        began, many = now(), self._pace if nodes is None else nodes
        small = self._small and many <= _FEW_NODES
        self._run("enumerate_matches", many, _QUICK, small=small)
        if nodes is None and self._state.counts[KEPT] < len(self._state.kept):
            spent = now() - began
            more = many * 2 if spent < _STEP / 2 else int(many * _STEP / spent)
            # A step may end before its nodes, and so takes no time however many there are.
            self._pace = min(max(1, more), _MOST_NODES)
        over = bool(self._state.counts[DEPTH] < 0)
        late = int(self._state.counts[LATE])
        if late and (over or late == len(self._state.late) or self.clock.over):
            tables = self._state.late[:late].copy()
            self._state.counts[LATE] = 0
            outcome = self._decided(tables)
            self.doubtful += int((outcome == _OPEN).sum())
            if self._mode == MATCHES:
                self._extra.append(tables[outcome == _MATCH])
        return over

    def _decided(self, tables: Ints) -> Ints:
        """Outcome of some tables, with more and more nodes until the time runs out."""
        tested, nodes = self.tested, _QUICK
        outcome = np.full(len(tables), _OPEN, dtype=np.int64)
        left = np.arange(len(tables))
        while len(left) and not self.clock.over:
            # No try is begun that would take longer than there is time.
            within = self._speed * self.clock.left
            if within <= nodes:
                break
            nodes = int(min(nodes * 16, within, _MOST_NODES))
            for i in left.tolist():
                if self.clock.over:
                    break
                began = now()
                # A long proof is worth compiling for.
                outcome[i] = self._outcome(tables[i : i + 1], nodes, small=False)[0]
                if outcome[i] == _OPEN:
                    spent = max(now() - began, 1e-6)
                    self._speed = min(self._speed, nodes / spent)
            left = np.flatnonzero(outcome == _OPEN)
        self._state.counts[TESTED] = tested
        return outcome

    def taken(self) -> Ints:
        """Return the tables collected since the last call: (t, k) int64."""
        count = int(self._state.counts[KEPT])
        self._state.counts[KEPT] = 0
        found = np.vstack([self._state.kept[:count], *self._extra])
        self._extra.clear()
        return found

    @property
    def nodes(self) -> int:
        """Nodes seen."""
        return int(self._state.counts[NODES])

    @property
    def tested(self) -> int:
        """Tables tested."""
        return int(self._state.counts[TESTED])

    @property
    def matched(self) -> int:
        """Tables found to be matches."""
        return int(self._state.counts[MATCHED])

    @property
    def met(self) -> Bools:
        """Values that matches have (modes VALUES and HULL), counted likewise: (k, s) bool."""
        return self._state.met

    def start_from(self, met: Bools) -> None:
        """Begin with values that matches are known to have: they need not be met again."""
        self._state.seen[:] = met
        self._state.met[:] = met

    @property
    def seen(self) -> Bools:
        """Values met, counted from the least feasible one: (k, s) bool."""
        return self._state.seen

    def test(self, tables: Ints) -> Bools:
        """Test some tables before the search begins.

        Returned is which of these tables (t, k) were tested and are matches. Modes VALUES and HULL
        remember what matches show, so that it need not be found again, and do not test tables that
        show nothing new.
        """
        outcome = np.full(len(tables), _OPEN, dtype=np.int64)
        i = 0
        while i < len(tables) and not self.clock.over:
            plain = KERNELS.choose(small=self._small) is KERNELS.plain
            span = slice(i, i + (_FEW if plain else _AT_ONCE))
            outcome[span] = self._outcome(tables[span], _QUICK, small=self._small)
            i = span.stop
        late = np.flatnonzero(outcome == _OPEN)
        outcome[late] = self._decided(tables[late])
        self.doubtful += int((outcome == _OPEN).sum())
        return np.asarray(outcome == _MATCH)

    def _outcome(self, tables: Ints, nodes: int, *, small: bool) -> Ints:
        outcome = np.ones(len(tables), dtype=np.int64)
        start = self._state.x.copy()
        self._run("decide_tables", tables, nodes, outcome, small=small)
        self._state.x[:] = start
        return outcome

    def _run(self, name: str, *given: Any, small: bool) -> None:
        KERNELS.run(name, self._state, self._test, self._mode, *given, small=small)


def free_cells(net: Net) -> Ints:
    """Cells to fix one after the other, until all others follow: one for each kernel vector."""
    k = net.ends.shape[1]
    order = np.zeros(k, dtype=np.int64)
    small = k <= _SMALL
    count = network_ranges.KERNELS.run("choose_order", net, flow_workspace(net), order, small=small)
    return order[:count]


def _state_of(view: PublicView, net: Net, kept: int, late: int) -> SearchState:
    k = len(view.cells)
    order = free_cells(net)
    depth = len(order) + 1
    width = int((view.upper - view.lower).max()) + 1
    span = np.full((3, depth), -1, dtype=np.int64)
    state = SearchState(
        net,
        order,
        np.stack([view.lower, view.upper]),
        view.table.values[view.cells].copy(),
        np.zeros((2, MOST), dtype=np.int64),
        np.zeros(2, dtype=np.uint64),
        span,
        np.zeros((2, k), dtype=np.int64),
        flow_workspace(net),
        np.zeros(2, dtype=np.uint64),
        np.zeros((k, width), dtype=bool),
        np.zeros((k, width), dtype=bool),
        np.zeros((kept, k), dtype=np.int64),
        np.zeros((late, k), dtype=np.int64),
        np.zeros(6, dtype=np.int64),
    )
    for e in range(k):
        update_slack(state.bounds, state.x, state.slack, state.moves, e)
    return state


def pattern_test_of(view: PublicView, within: Bools | None = None) -> tuple[PatternTest, Ints]:
    """Write a mechanism's choice of patterns into masks; `within` as of `NetworkSearch`.

    Returned beside it is, for each bit of a mask, its cell in the order of labels: (q,) int64.

    Raises
    ------
    InputError
        If the cells that may be suppressed are not a small network.
    """
    rules, table = view.value_rules, view.table
    assert rules is not None
    # Ties are broken in the order of labels.
    order = view.shape.order
    hides = view.hides[order]
    cells = np.flatnonzero(hides if within is None else hides & within)
    net = _net_of(view, order[cells])
    if net is None:
        raise InputError(_NO_NETWORK)
    case, work = cases.room_for_work(net.star.shape[1])
    worst, _ = cases.room_for_work(net.star.shape[1])
    place = np.searchsorted(cells, np.argsort(order)[view.cells])
    all_cells = np.ones(len(cells), bool)
    pattern = np.zeros(len(cells), bool)
    pattern[place] = True
    chosen = order[cells]
    test = PatternTest(
        net,
        case,
        worst,
        work,
        place,
        _twice(table.values[chosen]),
        np.zeros((2, 3, len(cells)), np.int64),
        _twice(view.cost[chosen]),
        np.zeros(len(cells), bool),
        _twice(np.stack([table.lower[chosen], table.upper[chosen]])),
        mask_of(all_cells),
        mask_of(~all_cells),
        mask_of(pattern),
        rules.primary,
        rules.allowed,
        rules.levels,
        rules.cost,
        np.zeros(_POOL, dtype=np.uint64),
        within is None,
    )
    return test, cells


def _net_of(view: PublicView, cells: Ints) -> Net | None:
    """Read some of the cells that may be suppressed, in their order, as a network of up to 64."""
    if len(cells) > MOST:
        return None
    if view.shape.network is not None:
        return part_of(view.shape.network, cells)
    whole = as_network(AttackerView.of(view.table, view.hides))
    return None if whole is None else part_of(whole, (np.cumsum(view.hides) - 1)[cells])


def _twice(array: Ints) -> Ints:
    return np.stack([array, array])
