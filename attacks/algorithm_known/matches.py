"""Which match test suits a release, and all tables that an algorithm publishes with its pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attacks.algorithm_known.large_network_search import LargeNetworkSearch, network_search_of
from attacks.algorithm_known.match_tests import BlackBoxTest, DecoyTest, MatchTest, SolverTest, late
from attacks.algorithm_known.network_enumeration import MATCHES
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.views.checks import check_callable
from attacks.algorithm_known.views.public_view import BlackBoxView, NeverPublished, PublicView, View
from attacks.fibre.consistent_tables import Fibre
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, Unprotectable
from csp.exact import Bools, Ints
from csp.mechanism import Mechanism
from csp.release.release import Release
from csp.tables.cells import as_flags
from csp.tables.table import Table

Algorithm = Mechanism | Callable[[Table], Any]
"""A mechanism, or a deterministic function that gives the (n,) bool pattern of a table, or None."""


def match_test_of(view: View) -> MatchTest:
    """Return the test that suits a mechanism and a table: decoys, networks, or anything else."""
    if isinstance(view, BlackBoxView):
        return BlackBoxTest(view)
    if view.mechanism.defence is not None:
        return DecoyTest(view)
    engine = network_search_of(view)
    return SolverTest(view) if engine is None else NetworkTest(view, engine)


class NetworkTest(MatchTest):
    """Match test on networks of up to 64 suppressed cells, compiled."""

    def __init__(self, view: PublicView, engine: type[NetworkSearch | LargeNetworkSearch]) -> None:
        self._view: PublicView = view
        self._engine = engine
        # It remembers patterns that beat the published one.
        self._search: NetworkSearch | None = None

    def matches(self, values: Ints, clock: Clock = UNLIMITED) -> bool:
        """See `MatchTest.matches`."""
        return bool(self.among(values[None], clock)[0])

    def among(self, tables: Ints, clock: Clock = UNLIMITED) -> Bools:
        """See `MatchTest.among`."""
        if self._search is None or self._search.clock != clock:
            self._search = self._engine(self._view, MATCHES, clock=clock)
        flags = self._search.test(tables)
        if self._search.doubtful:
            raise late()
        return flags

    def listed(self, clock: Clock = UNLIMITED) -> Iterator[Ints]:
        """See `MatchTest.listed`: a search that prunes subtrees without a match."""
        search = self._engine(self._view, MATCHES, clock=clock)
        over = False
        while not over:
            clock.check("a table was tested")
            over = search.step()
            block = search.taken()
            if len(block):
                yield block
        if search.doubtful:
            raise late()


def matches_of(
    release: Release, algorithm: Algorithm, fibre: Fibre | None, clock: Clock
) -> Iterator[Ints]:
    """Yield blocks (t, k) of all tables that the algorithm publishes with this pattern.

    A function is a black box: it is run on every consistent table (Minami and Abe 2019,
    Algorithm 1), which it gets without contributors. It returns None, or raises `Unprotectable`,
    for a table that it does not publish at all.

    If nothing is suppressed, `fibre` is None and the one table has no suppressed value.

    Raises
    ------
    InputError
        If the mechanism has a defence (what is published then depends on its key), reads more
        than a release holds, or the function returns anything else than a pattern.
    OutOfTime
        If the time runs out before the last table.
    """
    if isinstance(algorithm, Mechanism):
        if algorithm.defence is not None:
            msg = (
                "with decoys the pattern depends on a key; attacks.posterior weighs keys, or leave "
                "defence=None"
            )
            raise InputError(msg)
    else:
        check_callable(algorithm)
    if fibre is None:
        if _publishes_all(algorithm, release.table(np.zeros(0, dtype=np.int64))):
            yield np.zeros((1, 0), dtype=np.int64)
        return
    view: View
    try:
        if isinstance(algorithm, Mechanism):
            view = PublicView.of(release, algorithm, clock=clock)
        else:
            view = BlackBoxView.of(release, algorithm, 1, clock)
    except NeverPublished:
        return
    yield from match_test_of(view).listed(clock)


def _publishes_all(algorithm: Algorithm, table: Table) -> bool:
    """Whether an algorithm suppresses no cell: for a mechanism, just if none is primary."""
    try:
        if isinstance(algorithm, Mechanism):
            return not algorithm.problem(table).primary.any()
        found = algorithm(table)
    except Unprotectable:
        return False
    if found is None:
        return False
    return not as_flags(found, table.n_cells, "the pattern of the algorithm").any()
