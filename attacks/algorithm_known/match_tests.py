"""Match tests: whether a candidate table would have been published with the same pattern.

`attacks.algorithm_known.matches.match_test_of` chooses the test that suits a mechanism and a
table; every attack that knows the algorithm asks it.
"""

from __future__ import annotations

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress as suppressed
from functools import partial
from types import FrameType

import numpy as np

from attacks.algorithm_known.carried_proofs import Carried, KnownPatterns
from attacks.algorithm_known.preferred_pattern import PreferredPattern, TooLong
from attacks.algorithm_known.views.public_view import BlackBoxView, PublicView, View
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, OutOfTime, Unprotectable
from csp.exact import UNBOUNDED, Bools, Ints
from csp.problem.problem import Problem
from csp.solve import suppress
from csp.solve.exact.branching.tiebreak import prefers
from csp.solve.order import BINARY_UP_TO, reordered
from csp.tables.cells import as_flags

_BEFORE = "a table was tested"


def published_as(
    view: PublicView, values: Ints, clock: Clock = UNLIMITED, *, method: str = "auto"
) -> bool:
    """Whether the mechanism publishes values (k,) with the pattern of the release, by running it.

    Minami and Abe (2019), Algorithm 1, lines 11 to 13. With decoys, whether some key publishes it
    so: the sensitive cells are suppressed and keep their levels (see `DecoyTest`). Any `method` of
    `csp.suppress` gives the same pattern; where "ilp" refuses costs or values that are too far
    apart, "auto" is used.

    Raises
    ------
    OutOfTime
        If the time runs out before the verdict.
    """
    try:
        problem = view.mechanism.problem(view.release.table(values))
    except InputError:
        return False
    if view.marks is not None and (problem.primary[view.cells] != view.marks).any():
        return False
    if view.mechanism.defence is not None:
        return view.protects(problem, clock)
    solve = partial(suppress, problem, integer=view.integer, time_limit=clock.seconds)
    try:
        try:
            found = solve(method=method)
        except InputError:
            if method == "auto":
                raise
            found = solve()
    except Unprotectable:
        return False
    if not found.canonical:
        raise late()
    return bool((found.pattern == view.release.pattern).all())


class MatchTest(ABC):
    """Tells which tables consistent with a release the mechanism may have published so."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._view!r})"

    @abstractmethod
    def matches(self, values: Ints, clock: Clock = UNLIMITED) -> bool:
        """Whether the mechanism may publish these values (k,) with the pattern of the release.

        Raises
        ------
        OutOfTime
            If the time runs out before the verdict.
        """

    def excludes(self, tables: Ints) -> Bools:
        """Which of some tables (t, k) cannot match by what is known already: (t,) bool."""
        return np.zeros(len(tables), dtype=bool)

    def among(self, tables: Ints, clock: Clock = UNLIMITED) -> Bools:
        """Which of some tables (t, k) are matches: (t,) bool.

        Raises
        ------
        OutOfTime
            If the time runs out before all verdicts.
        """
        flags = np.zeros(len(tables), dtype=bool)
        for i, x in enumerate(tables):
            clock.check(_BEFORE)
            flags[i] = self.matches(x, clock)
        return flags

    def listed(self, clock: Clock = UNLIMITED) -> Iterator[Ints]:
        """Yield blocks (t, k) of all matches.

        Raises
        ------
        OutOfTime
            If the time runs out before all were found.
        """
        for block in self._view.fibre().blocks(time_limit=clock.seconds):
            kept = block[self.among(block, clock)]
            if len(kept):
                yield kept


def late() -> OutOfTime:
    """Error of a test that ran out of time."""
    return OutOfTime("the time limit passed before every table was tested; allow more time")


def _posed(view: PublicView, values: Ints) -> Problem | None:
    """Problem of a table; None if no mechanism of these rules publishes it with this pattern.

    The mechanism's word on single cells is asked first: that is cheap.
    """
    if view.value_rules is not None:
        place = np.arange(len(values)), values - view.lower
        if not view.value_rules.allowed[place].all():
            return None
        if view.mechanism.defence is None and not view.value_rules.primary[place].any():
            return None
    try:
        problem = view.mechanism.problem(view.release.table(values))
    except InputError:
        return None
    if (problem.primary & ~view.release.pattern).any():
        return None
    if view.marks is not None and (problem.primary[view.cells] != view.marks).any():
        return None
    return problem


class DecoyTest(MatchTest):
    """Match test of mechanisms with decoys: whether some key could have led to this pattern.

    It could exactly if the sensitive cells are suppressed and keep their levels: then it does if
    the coins fall on all suppressed cells. (That all of them are wide does not depend on hidden
    values, and `attacks.algorithm_known.views.public_view.PublicView.of` has checked it.)
    """

    _view: PublicView

    def matches(self, values: Ints, clock: Clock = UNLIMITED) -> bool:
        """See `MatchTest.matches`: whether some key publishes this table so."""
        view = self._view
        if view.excludes_nothing:
            return True
        problem = _posed(view, values)
        return problem is not None and view.protects(problem, clock)


class ReferenceTest(MatchTest):
    """Match test by integer programs of the whole suppression problem (`published_as`)."""

    _view: PublicView

    def matches(self, values: Ints, clock: Clock = UNLIMITED) -> bool:
        """See `MatchTest.matches`."""
        return published_as(self._view, values, clock, method="ilp")


class BlackBoxTest(MatchTest):
    """Match test by running a function, which gets the table without contributors.

    Raises
    ------
    InputError
        If two runs on one table do not agree, or the function returns anything else than a pattern
        or None.
    """

    _view: BlackBoxView

    def __init__(self, view: BlackBoxView) -> None:
        super().__init__(view)
        values = view.table.values[view.cells]
        if not np.array_equal(self._pattern(values), self._pattern(values)):
            msg = (
                "the function gave two patterns for one table; the attack needs a deterministic "
                "one (fix the seed of what it draws)"
            )
            raise InputError(msg)

    def matches(self, values: Ints, clock: Clock = UNLIMITED) -> bool:
        """See `MatchTest.matches`."""
        return bool(np.array_equal(self._pattern(values), self._view.release.pattern))

    def _pattern(self, values: Ints) -> Bools:
        """Run the function: what it suppresses, or no flag at all if it publishes nothing."""
        view = self._view
        try:
            with _hearing():
                found = view.algorithm(view.release.table(values))
        except Unprotectable:
            found = None
        if found is None:
            return np.zeros(0, dtype=bool)
        return as_flags(found, len(view.release.pattern), "the pattern of the algorithm")


@contextmanager
def _hearing() -> Iterator[None]:
    """Interrupt the attack too where a function takes Ctrl-C for itself, as `csp.protect` does.

    What it answers then is not what it would have published. Outside the main thread no signal is
    heard.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    heard = []

    def note(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt


class SolverTest(MatchTest):
    """Match test by an exact search for a preferred pattern, warm from candidate to candidate.

    A pattern that beat the published one for some candidate is asked first for the next
    (`attacks.algorithm_known.carried_proofs`). The suppression solver answers where costs are too
    far apart, insiders or sums count, or ties are broken by hashes.
    """

    _view: PublicView

    def __init__(self, view: PublicView) -> None:
        super().__init__(view)
        n = view.table.n_cells
        # Ties are broken in the order of labels (`csp.suppress`).
        self._order = view.shape.order if n <= BINARY_UP_TO else np.arange(n)
        self._pattern = view.release.pattern[self._order]
        self._known = KnownPatterns(view, self._order)
        self._carried: Carried | None = None
        self.beaten_by: Bools | None = None
        """Pattern preferred for the last table, in the order of labels; None if none was found."""

    def excludes(self, tables: Ints) -> Bools:
        """See `MatchTest.excludes`: tables for which a known pattern is preferred."""
        if self._view.table.n_cells > BINARY_UP_TO:
            return super().excludes(tables)
        return self._known.beating(tables) >= 0

    def matches(self, values: Ints, clock: Clock = UNLIMITED) -> bool:
        """See `MatchTest.matches`."""
        view, pattern, known = self._view, self._pattern, self._known
        self.beaten_by = None
        by = -1 if view.table.n_cells > BINARY_UP_TO else int(known.beating(values[None])[0])
        if by >= 0:
            self._beaten(known.patterns[by])
            return False
        bare = _posed(view, values)
        if bare is None or not bare.primary.any():
            return False
        problem = reordered(bare, self._order)
        for other in known.patterns if view.value_rules is None else ():
            if self._is_better(problem, other) and known.keeps(problem, other, clock):
                self._beaten(other)
                return False
        # Feasible intervals in whole units say so of the published pattern (`_posed`).
        told = view.value_rules is not None and view.integer and problem.union_rule is None
        told = told and problem.singletons is None
        if not told and not known.keeps(problem, pattern, clock):
            return False
        try:
            better = self._preferred(problem, clock)
        except Unprotectable:
            return False
        if better is not None:
            self._beaten(better)
        return better is None

    def _beaten(self, pattern: Bools) -> None:
        self.beaten_by = pattern
        self._known.add(pattern)

    def _preferred(self, problem: Problem, clock: Clock) -> Bools | None:
        """Find a safe pattern that is preferred to the published one, which is safe; None if none.

        Raises
        ------
        OutOfTime
            If the time runs out first.
        """
        pattern = self._pattern
        by_cells = problem.singletons is None and problem.union_rule is None
        if by_cells and problem.table.n_cells <= BINARY_UP_TO:
            if self._carried is None:
                self._carried = Carried(problem, self._largest_room(problem))
            search = PreferredPattern(problem, pattern, self._carried, self._known, clock)
            if search.applies:
                with suppressed(TooLong):
                    return search.run()
        found = suppress(problem, integer=self._view.integer, time_limit=clock.seconds)
        if self._is_better(problem, found.pattern):
            return found.pattern
        if not found.canonical:
            raise late()
        return None if (found.pattern == pattern).all() else found.pattern

    def _largest_room(self, problem: Problem) -> int:
        """Bound on the finite rooms of all candidates."""
        view, table = self._view, problem.table
        most = max(int(np.abs(table.values).max()), int(np.abs(view.upper).max()))
        bounds = np.concatenate([table.lower, table.upper])
        finite = bounds[np.abs(bounds) < UNBOUNDED]
        return 2 * max(most, int(np.abs(finite).max(initial=0)), int(np.abs(view.lower).max()))

    def _is_better(self, problem: Problem, other: Bools) -> bool:
        """Whether another pattern would be preferred if it is safe."""
        if (problem.forced & ~other).any() or (other & (problem.status == "z")).any():
            return False
        pattern = self._pattern
        cost = sum(problem.cost[other & ~pattern].tolist())
        cost -= sum(problem.cost[pattern & ~other].tolist())
        return cost < 0 or (cost == 0 and prefers(problem, other, pattern))
