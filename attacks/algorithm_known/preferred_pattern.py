"""Whether a safe pattern is the one that the suppression solver publishes.

An exact search for a safe pattern that is cheaper, or as cheap and preferred, by branch and cut
over inequalities that safe patterns keep (Fischetti and Salazar-González 2000), most of them
carried from other tables.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attacks.algorithm_known.carried_proofs import Carried, KnownPatterns
from csp.clock import Clock
from csp.exact import Bools, Floats
from csp.problem.problem import Problem
from csp.solve.cuts import smallest_step
from csp.solve.exact.dual_simplex import Dictionary
from csp.solve.exact.pattern_tree import ENDED, GAVE_UP, KERNELS, Tree
from csp.solve.exact.relaxation import unit_of

_FAR_APART = 2**30
"""Costs up to which, in their smallest step, floating point tells patterns apart."""

_NODES, _AT_ONCE = 20_000, 200
"""Nodes of one search, and those after which the clock is asked."""

_ROWS, _NOTES = 600, 200
"""Rows of a relaxation, and prices noted in one call, at most."""

_ROUNDS = 1
"""Relaxations of a node below the root."""

_SMALL = 4
"""Cells to choose from up to which plain Python takes some hundredths of a second."""


class TooLong(Exception):
    """A search was given up."""


class PreferredPattern:
    """Search for a safe pattern that is preferred to a given one, which is safe.

    The problem has up to `csp.solve.order.BINARY_UP_TO` cells, in the order in which ties are
    broken.
    """

    def __init__(
        self, problem: Problem, pattern: Bools, carried: Carried,
        known: KnownPatterns, clock: Clock,
    ) -> None:  # fmt: skip
        self._problem, self._pattern, self._carried = problem, pattern, carried
        self._patterns, self._clock = known, clock
        self._free = np.flatnonzero(problem.free)
        self._cost = problem.cost[self._free]
        self._step = smallest_step(self._cost)
        self._published = pattern[self._free]
        self._spent = int(self._cost[self._published].sum())

    @property
    def applies(self) -> bool:
        """Whether costs are near enough to each other for floating point, and the table small."""
        most = int(self._cost.max(initial=0))
        return most <= _FAR_APART * self._step and self._carried.applies

    def run(self) -> Bools | None:
        """Find a preferred safe pattern; None if there is none.

        Raises
        ------
        OutOfTime
            If the time runs out first.
        TooLong
            If the search is given up.
        """
        n = len(self._free)
        if not n:
            return None
        cost = self._cost.astype(np.float64)
        self._unit = unit_of(cost)
        self._lp = Dictionary.of(cost / self._unit, _ROWS)
        self._asked = self._carried.asked(self._problem)
        self._tree = Tree.of(self._asked, n, _NOTES)
        self._nodes = 0
        try:
            for low, high, most in self._cases():
                found = self._search(low, high, most)
                if found is not None:
                    return found
        finally:
            self._note()
        return None

    def _cases(self) -> Iterator[tuple[Floats, Floats, int]]:
        """Bounds of cells, and costs at most, of all preferred patterns.

        They are cheaper; or as cheap, and smaller as a binary number: the highest cell in which
        they differ is published.
        """
        n, published = len(self._free), self._published.astype(np.float64)
        yield np.zeros(n), np.ones(n), self._spent - self._step
        for cell in np.flatnonzero(self._published)[::-1].tolist():
            low, high = published.copy(), published.copy()
            low[:cell], high[:cell], high[cell], low[cell] = 0.0, 1.0, 0.0, 0.0
            yield low, high, self._spent

    def _search(self, low: Floats, high: Floats, most: int) -> Bools | None:
        """Find a safe pattern within bounds, of a cost at most; None if there is none."""
        lp, tree, n = self._lp, self._tree, len(self._free)
        cutoff, small = (most + 0.25 * self._step) / self._unit, n <= _SMALL
        KERNELS.run("begin", lp, tree, low, high, small=small)
        while True:
            self._clock.check("a table was tested")
            tree.tally[2] = 0
            status = KERNELS.run(
                "search", lp, self._asked, tree, cutoff, _AT_ONCE, _ROUNDS, small=small
            )
            self._nodes += int(tree.tally[2])
            if status == ENDED:
                return None
            if tree.tally[3] == _NOTES:
                self._note()
            if status == GAVE_UP:
                if self._nodes > _NODES or tree.tally[2] <= _AT_ONCE:
                    raise TooLong
                continue
            chosen = lp.value[:n] > 0.5
            found = self._problem.forced.copy()
            found[self._free] = chosen
            if int(self._cost[chosen].sum()) > most:
                # Costs far apart: the cells chosen are too many together.
                self._add(-chosen.astype(np.float64), 1.0 - float(chosen.sum()))
            elif self._patterns.keeps(self._problem, found, self._clock):
                return found
            else:
                # A part of an unsafe pattern is unsafe: a cell outside must be added.
                self._add((~chosen).astype(np.float64), 1.0)

    def _add(self, weights: Floats, right: float) -> None:
        if self._lp.size[0] >= _ROWS:
            raise TooLong
        KERNELS.run("add_row", self._lp, weights, right, small=True)

    def _note(self) -> None:
        """Carry the prices that were found to other tables."""
        tree = self._tree
        self._carried.note(*(part[: tree.tally[3]] for part in (tree.head, tree.plus, tree.minus)))
        tree.tally[3] = 0
