"""The compiled match test on networks, and which test suits a release."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.large_network_search import LargeNetworkSearch, network_search_of
from attacks.algorithm_known.match_tests import BlackBoxTest, DecoyTest, MatchTest, SolverTest, late
from attacks.algorithm_known.network_enumeration import MATCHES
from attacks.algorithm_known.network_search import NetworkSearch
from attacks.algorithm_known.public_view import BlackBoxView, PublicView, View
from csp.clock import UNLIMITED, Clock

__all__ = ["NetworkTest", "match_test_of"]


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

    def matches(self, values: NDArray[np.int64], clock: Clock = UNLIMITED) -> bool:
        """See `MatchTest.matches`."""
        return bool(self.among(values[None], clock)[0])

    def among(self, tables: NDArray[np.int64], clock: Clock = UNLIMITED) -> NDArray[np.bool_]:
        """See `MatchTest.among`."""
        if self._search is None or self._search.clock != clock:
            self._search = self._engine(self._view, MATCHES, clock=clock)
        flags = self._search.test(tables)
        if self._search.doubtful:
            raise late()
        return flags

    def listed(self, clock: Clock = UNLIMITED) -> Iterator[NDArray[np.int64]]:
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
