"""Branch and cut: a tree of warm linear programs that share one pool of cuts.

Where the relaxation leaves a wide gap (three-way and linked tables), an integer program solved anew
after every cut would grow the same tree again and again; here the tree is kept. The recipe is that
of Fischetti and Salazar-Gonzalez (2000): cuts at every node and reduced-cost fixing. Strong
branching takes longer than the nodes it saves.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from csp.audits.audit import Audit
from csp.clock import Clock
from csp.errors import SolverError
from csp.exact import Bools, Floats
from csp.solve.cuts import Cut, broken, cover_cut, round_up
from csp.solve.exact.branching.node_relaxation import NodeRelaxation
from csp.solve.exact.branching.tiebreak import prefers
from csp.solve.exact.heuristics.construction import complete_pattern
from csp.solve.exact.relaxation import Relaxed
from csp.solve.exact.separation import Point, accept_or_cut, separate
from csp.solve.exact.state import Run
from csp.solve.unprotectable import no_union_safe_pattern

_WHOLE = 1e-6
_ROOT_ROUNDS = 30
_ROUNDS = 1
_ENOUGH = 5
_STARTS = 30
# Nodes from one pattern that is completed to the next, at first: twice as many each time, until one
# is better. (8x8x8 counts gave them a sixth of the tree's time, and gained nothing.)
_COMPLETED_EVERY = 40
_TELL_EVERY = 50
_MOST_TIES = 20
_DISTINCT = 10
# Share of the columns that may be left when those that are gone leave the relaxation, which is then
# solved from scratch.
_NARROWER = 0.85


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """Decisions on the way from the root: cells published and cells suppressed."""

    bound: float
    depth: int
    zeros: tuple[int, ...]
    ones: tuple[int, ...]


def branch(run: Run, until: Clock) -> None:
    """Search the tree until proof, gap or time; incumbent and bound are those of the run.

    It goes on where it stopped, unless many cells have gone since. The incumbent is also proved to
    be the preferred one of the cheapest patterns where the tree keeps nodes as good as the
    incumbent, which it does as long as there are few of these.
    """
    tree = run.tree
    if tree is None or tree.alive is not run.alive:
        tree = run.tree = _Tree(run)
    with run.within(until):
        run.canonical = tree.search() and tree.sees_ties


class _Tree:
    def __init__(self, run: Run) -> None:
        self._run = run
        self.alive = run.alive
        self._lp = NodeRelaxation(run.problem, run.alive, run.master.cuts, run.seed)
        self._known = len(run.master.cuts)
        # What a pattern with a cell costs at least, by the reduced costs of the root.
        self._least = np.full(len(run.alive), -np.inf)
        self._narrowed: int | None = None
        self._current: _Node | None = _Node(0.0, 0, (), ())
        self._open: list[tuple[float, int, int, _Node]] = []
        # Where few costs differ, or some are 0, very many patterns are cheapest.
        costs = np.unique(run.problem.cost[run.alive])
        self.sees_ties = len(costs) >= _DISTINCT and bool((costs > 0).all())
        self._ties = 0
        self._made = 0
        self._visited = 0
        self._pause, self._complete_at = _COMPLETED_EVERY, 1

    # ---- the tree ------------------------------------------------------------------------------

    def search(self) -> bool:
        """Visit nodes; True if none that is of interest is left."""
        run = self._run
        self._lp.enter(run.master.cuts[self._known :])
        try:
            while not run.clock.over and not self._enough():
                if self._current is None and self._next() is None:
                    if run.best_cost is None:
                        raise run.refused or no_union_safe_pattern(run.problem)
                    run.close()
                    return run.bound == run.best_cost
                self._visited += 1
                self._narrow()
                assert self._current is not None
                children = self._visit(self._current)
                if run.clock.over:
                    break
                # Follow the better child at once: its relaxation is warm, and leaves are found.
                for other in children[1:]:
                    self._push(other)
                self._current = children[0] if children else None
                if self._visited % _TELL_EVERY == 0:
                    self._raise()
                    run.report("branch")
        finally:
            # An interrupt leaves the node in hand open.
            self._raise()
            self._known = len(run.master.cuts)
        return False

    def _narrow(self) -> None:
        """Leave to the relaxation the columns of patterns that are cheap enough.

        A better incumbent halves them where the first one was poor.
        """
        run, lp = self._run, self._lp
        if run.best_cost == self._narrowed:
            return
        self._narrowed = run.best_cost
        kept = lp.cells[~self._gone()]
        if len(kept) > _NARROWER * len(lp.cells):
            return
        alive = np.zeros(len(self.alive), dtype=bool)
        alive[kept] = True
        narrow = NodeRelaxation(run.problem, alive, lp.cuts, run.seed)
        narrow.learn(lp.pool)
        self._lp = narrow

    def _gone(self) -> Bools:
        """Columns that no pattern of interest holds."""
        return self._least[self._lp.cells] > self._most

    @property
    def _most(self) -> float:
        """Cost of free cells up to which a pattern is of interest, and a little more."""
        run = self._run
        if run.best_cost is None:
            return np.inf
        return float(run.best_cost - run.constant - self._margin) + 1e-3 * run.step

    def _enough(self) -> bool:
        """Whether the gap asked for is reached, and ties are seen where it is 0."""
        run = self._run
        return run.close_enough and not (self.sees_ties and run.bound == run.best_cost)

    def _push(self, node: _Node) -> None:
        self._made += 1
        heapq.heappush(self._open, (node.bound, -node.depth, self._made, node))

    def _next(self) -> _Node | None:
        """Take the most promising open node in hand."""
        while self._open:
            # In hand before it leaves the heap: an interrupt in between must not lose it.
            self._current = self._open[0][3]
            heapq.heappop(self._open)
            if not self._hopeless(self._current.bound):
                return self._current
        self._current = None
        return None

    def _raise(self) -> None:
        """No pattern is cheaper than the least bound of the open nodes."""
        bounds = [entry[0] for entry in self._open[:1]]
        if self._current is not None:
            bounds.append(self._current.bound)
        if bounds:
            self._run.raise_bound(min(bounds), cutoff=True)

    def _hopeless(self, bound: float) -> bool:
        run = self._run
        if bound == np.inf or run.best_cost is None:
            return bound == np.inf
        return run.constant + round_up(bound, run.step) > run.best_cost - self._margin

    @property
    def _margin(self) -> int:
        """By how much a pattern must be cheaper than the incumbent to be of interest."""
        return 0 if self.sees_ties else self._run.step

    # ---- one node ------------------------------------------------------------------------------

    def _visit(self, node: _Node) -> list[_Node]:
        """Bound a node by cuts; its children, the better one first."""
        run, lp = self._run, self._lp
        lower, upper = np.zeros(len(self.alive)), np.zeros(len(self.alive))
        upper[lp.cells[~self._gone()]] = 1.0
        lower[list(node.ones)] = 1.0
        upper[list(node.zeros)] = 0.0
        if (lower > upper).any():
            return []
        lower, upper = lower[lp.cells], upper[lp.cells]
        rounds = stalled = 0
        last = -np.inf
        while True:
            point = lp.solve_node(lower, upper, self._limit(), run.clock)
            if point is None or self._hopeless(point.bound):
                return []
            self._fix(point, node, lower, upper)
            fraction = np.abs(point.x - np.rint(point.x)) > _WHOLE
            rounds += 1
            if not fraction.any():
                if not self._leaf(point):
                    continue
                return []
            stalled = stalled + 1 if point.bound < last + 1e-3 * abs(last) else 0
            last = max(last, point.bound)
            most = _ROOT_ROUNDS if node.depth == 0 else _ROUNDS
            if rounds <= most and stalled < 4 and self._cut(point, thorough=node.depth == 0):
                continue
            break
        if run.clock.over:
            return []
        if self._visited >= self._complete_at:
            self._complete(lp.full(point.x))
            if self._hopeless(point.bound):
                return []
        return self._children(node, point, fraction)

    def _complete(self, x: Floats) -> None:
        """Offer a pattern near a point, the more seldom the longer that has gained nothing."""
        run, before = self._run, self._run.best_cost
        complete_pattern(run, x > 0.5, x)
        self._pause = 2 * self._pause if run.best_cost == before else _COMPLETED_EVERY
        self._complete_at = self._visited + self._pause

    def _limit(self) -> float:
        run = self._run
        if run.best_cost is None:
            return np.inf
        return float(run.best_cost - run.constant - self._margin) + 0.5 * run.step

    def _fix(self, point: Relaxed, node: _Node, lower: Floats, upper: Floats) -> None:
        """Publish columns whose reduced cost takes them past the incumbent."""
        least = point.bound + point.reduced
        upper[(least > self._most) & (lower == 0)] = 0.0
        if node.depth == 0:
            cells = self._lp.cells
            self._least[cells] = np.maximum(self._least[cells], least)

    def _leaf(self, point: Relaxed) -> bool:
        """Answer an integral point; False if cuts were added that exclude it."""
        run = self._run
        pattern = self._lp.full(point.x) > 0.5
        # Rows that were slack for long have been dropped.
        if self._lp.enter(broken(run.master.cuts, pattern)):
            return False
        known = len(run.master.cuts)
        result = accept_or_cut(run, pattern)
        if result is not None:
            return self._tie(result) if self.sees_ties else True
        if not self._lp.enter(run.master.cuts[known:]):
            msg = "an unsafe pattern satisfies all rows within the solver's tolerances"
            raise SolverError(msg)
        return False

    def _tie(self, result: Audit) -> bool:
        """Keep the preferred of equally cheap patterns; False if the node may hold another."""
        run, pattern = self._run, result.certificate.pattern
        if run.best is None or run.cost_of(pattern) != run.best_cost:
            return True
        if prefers(run.problem, pattern, run.best):
            run.take(result)
        self._ties += 1
        self.sees_ties = self._ties <= _MOST_TIES
        return self._lp.enter([cover_cut(pattern & run.problem.free)]) == 0

    def _cut(self, point: Relaxed, *, thorough: bool) -> bool:
        """Cut off the point of a node: with all there is at the root, a little elsewhere."""
        run, lp = self._run, self._lp
        violated = Point(lp.full(point.x), run.clock, few=not thorough, combined=self._combined)
        cuts = separate(run, violated, _ENOUGH)
        run.master.add(cuts)
        return lp.enter(cuts) > 0

    def _combined(self, x: Floats) -> list[Cut]:
        return self._lp.combined(x, _STARTS)

    # ---- branching -----------------------------------------------------------------------------

    def _children(self, node: _Node, point: Relaxed, fraction: Bools) -> list[_Node]:
        """Decide on the column that is undecided over most of its cost."""
        undecided = self._run.problem.cost[self._lp.cells] * point.x * (1 - point.x)
        best = int(np.argmax(np.where(fraction, undecided, -1.0)))
        cell = int(self._lp.cells[best])
        zero = _Node(point.bound, node.depth + 1, (*node.zeros, cell), node.ones)
        one = _Node(point.bound, node.depth + 1, node.zeros, (*node.ones, cell))
        return [one, zero] if point.x[best] > 0.3 else [zero, one]
