"""Tables that an algorithm publishes with the pattern of a release, whatever algorithm it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.network_test import match_test_of
from attacks.algorithm_known.public_view import (
    BlackBoxView,
    NeverPublished,
    PublicView,
    View,
    check_callable,
)
from attacks.fibre.consistent_tables import Fibre
from csp.clock import Clock
from csp.errors import InputError, Unprotectable
from csp.mechanism import Mechanism
from csp.release.release import Release
from csp.tables.patterns import as_flags
from csp.tables.table import Table

__all__ = ["Algorithm", "matches_of"]

Algorithm = Mechanism | Callable[[Table], Any]
"""A mechanism, or a deterministic function that gives the (n,) bool pattern of a table, or None."""


def matches_of(
    release: Release, algorithm: Algorithm, fibre: Fibre | None, clock: Clock
) -> Iterator[NDArray[np.int64]]:
    """Yield blocks (t, k) of all tables that the algorithm publishes with this pattern.

    A function is a black box: it is run on every consistent table (Minami and Abe 2019,
    Algorithm 1), which it gets without contributors. It returns None, or raises `Unprotectable`,
    for a table that it does not publish at all.

    Parameters
    ----------
    release : Release
    algorithm : Mechanism or callable
    fibre : Fibre or None
        Of the release; None if nothing is suppressed. Then the one table has no suppressed value.
    clock : Clock

    Raises
    ------
    InputError
        If the mechanism has a defence (what is published then depends on its key), reads more
        than a release holds, or the function returns anything else than a pattern.
    OutOfTime
        If the time runs out before the last table.
    """
    if isinstance(algorithm, Mechanism) and algorithm.defence is not None:
        msg = (
            "with decoys the pattern depends on a key; attacks.posterior weighs keys, or leave "
            "defence=None"
        )
        raise InputError(msg)
    if not isinstance(algorithm, Mechanism):
        check_callable(algorithm)
    if fibre is None:
        pattern_of = _open_pattern(algorithm) if isinstance(algorithm, Mechanism) else algorithm
        try:
            found = pattern_of(release.table(np.zeros(0, dtype=np.int64)))
        except Unprotectable:
            return
        if (
            found is not None
            and not as_flags(found, len(release.pattern), "the pattern of the algorithm").any()
        ):
            yield np.zeros((1, 0), dtype=np.int64)
        return
    view: View
    if isinstance(algorithm, Mechanism):
        try:
            view = PublicView.of(release, algorithm, clock=clock)
        except NeverPublished:
            return
    else:
        view = BlackBoxView.of(release, algorithm, 1, clock)
    yield from match_test_of(view).listed(clock)


def _open_pattern(mechanism: Mechanism) -> Callable[[Table], NDArray[np.bool_]]:
    """Pattern where only the empty one counts: it is optimal just if no cell is primary."""
    return lambda table: mechanism.problem(table).primary
