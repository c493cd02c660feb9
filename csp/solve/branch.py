"""Branch and cut: a tree of warm linear programs that share one pool of cuts.

Where the relaxation leaves a wide gap (three-way and linked tables), an integer program solved anew
after every cut would grow the same tree again and again; here the tree is kept. The recipe is that
of Fischetti and Salazar-Gonzalez (2000): cuts at every node, reduced-cost fixing, pseudo-costs
that strong branching initialises (Achterberg, Koch and Martin 2005).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.solve.cuts import no_good, round_up
from csp.solve.guide import completed
from csp.solve.relaxation import Point, Relaxation
from csp.solve.run import Run, answer_pattern

__all__ = ["branch"]

_WHOLE = 1e-6
_ROUNDS = 3
_RELIABLE = 4
_CANDIDATES = 10
_PROBE = 40
_HEURISTIC_EVERY = 40


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """Decisions on the way from the root: columns published and columns suppressed."""

    bound: float
    depth: int
    zeros: tuple[int, ...]
    ones: tuple[int, ...]


def branch(run: Run) -> None:
    """Search the tree until proof, gap or time; incumbent and bound are those of the run.

    Parameters
    ----------
    run : Run
        After its cut phase.
    """
    _Tree(run).search()


class _Tree:
    def __init__(self, run: Run) -> None:
        self._run = run
        self._lp = Relaxation(run.problem, run.alive, run.master.cuts, run.seed)
        k = len(self._lp.cells)
        self._gone = np.zeros(k, dtype=bool)
        self._gain = np.zeros((2, k))
        self._count = np.zeros((2, k), np.int64)
        self._open: list[tuple[float, int, int, _Node]] = []
        self._made = 0
        self._visited = 0

    # ---- the tree ------------------------------------------------------------------------------

    def search(self) -> None:
        run = self._run
        node: _Node | None = _Node(0.0, 0, (), ())
        while run.left > 0 and not run.close_enough:
            if node is None:
                node = self._next()
                if node is None:
                    run.bound = run.best_cost if run.best_cost is not None else run.bound
                    return
            self._visited += 1
            children = self._visit(node)
            if run.left <= 0:
                self._push(node)
                break
            # Follow the better child at once: its relaxation is warm, and leaves are found.
            node = children[0] if children else None
            for other in children[1:]:
                self._push(other)
            if self._visited % 50 == 0:
                self._raise(node)
                run.tell("branch")
        self._raise(node)
        run.tell("branch")

    def _push(self, node: _Node) -> None:
        self._made += 1
        heapq.heappush(self._open, (node.bound, -node.depth, self._made, node))

    def _next(self) -> _Node | None:
        while self._open:
            node = heapq.heappop(self._open)[3]
            if not self._hopeless(node.bound):
                return node
        return None

    def _raise(self, current: _Node | None) -> None:
        """No pattern is cheaper than the least bound of the open nodes."""
        bounds = [entry[0] for entry in self._open[:1]]
        if current is not None:
            bounds.append(current.bound)
        if bounds:
            self._run.raise_bound(min(bounds))

    def _hopeless(self, bound: float) -> bool:
        run = self._run
        if bound == np.inf or run.best_cost is None:
            return bound == np.inf
        return run.constant + round_up(bound, run.step) >= run.best_cost

    # ---- one node ------------------------------------------------------------------------------

    def _visit(self, node: _Node) -> list[_Node]:
        """Bound a node by cuts; its children, the better one first."""
        run, lp = self._run, self._lp
        lower, upper = np.zeros(len(lp.cells)), np.where(self._gone, 0.0, 1.0)
        lower[list(node.ones)] = 1.0
        upper[list(node.zeros)] = 0.0
        if (lower > upper).any():
            return []
        rounds = stalled = 0
        last = -np.inf
        while True:
            point = lp.solve(lower, upper, self._limit())
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
            most = 30 if node.depth == 0 else _ROUNDS
            if rounds <= most and stalled < 4 and self._cut(point):
                continue
            break
        if run.left <= 0:
            return []
        if self._visited % _HEURISTIC_EVERY == 1:
            x = lp.full(point.x)
            completed(run, x > 0.5, x)
            if self._hopeless(point.bound):
                return []
        return self._children(node, point, fraction, lower, upper)

    def _limit(self) -> float:
        run = self._run
        if run.best_cost is None:
            return np.inf
        return float(run.best_cost - run.constant - run.step) + 0.5 * run.step

    def _fix(
        self, point: Point, node: _Node, lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> None:
        """Publish columns whose reduced cost takes them past the incumbent."""
        run = self._run
        if run.best_cost is None:
            return
        spare = run.best_cost - run.constant - run.step - point.bound
        out = (point.reduced > spare + 1e-3 * run.step) & (lower == 0)
        upper[out] = 0.0
        if node.depth == 0:
            self._gone |= out

    def _leaf(self, point: Point) -> bool:
        """Answer an integral point; False if cuts were added that exclude it."""
        run = self._run
        known = len(run.master.cuts)
        pattern = self._lp.full(point.x) > 0.5
        safe = answer_pattern(run, pattern) is not None
        if not safe and run.left > 0 and len(run.master.cuts) == known:
            run.master.add([no_good(run.problem, pattern)])
        self._lp.add(run.master.cuts[known:])
        return safe or run.left <= 0

    def _cut(self, point: Point) -> bool:
        run = self._run
        x = self._lp.full(point.x)
        cuts = run.cutter.bridgeless(x)
        if len(cuts) < 5:
            found = run.separator.misses(x, whole=False, deadline=run.deadline)
            cuts += [cut for miss in found for cut in miss.cuts]
        known = len(run.master.cuts)
        new = run.master.add(cuts)
        self._lp.add(run.master.cuts[known:])
        return new > 0

    # ---- branching -----------------------------------------------------------------------------

    def _children(
        self, node: _Node, point: Point, fraction: NDArray[np.bool_],
        lower: NDArray[np.float64], upper: NDArray[np.float64],
    ) -> list[_Node]:  # fmt: skip
        where = np.flatnonzero(fraction)
        x = point.x[where]
        down, up = self._guess(0, where) * x, self._guess(1, where) * (1 - x)
        order = np.argsort(-_score(down, up), kind="stable")
        best, best_score, bounds = int(where[order[0]]), -1.0, (point.bound, point.bound)
        fruitless = 0
        for rank, i in enumerate(order[: _CANDIDATES * 2].tolist()):
            j = int(where[i])
            sure = self._count[:, j].min() >= _RELIABLE
            if sure or rank >= _CANDIDATES:
                score, ends = float(_score(down[i : i + 1], up[i : i + 1])[0]), None
            else:
                ends = self._probe(j, point, lower, upper)
                score = float(
                    _score(np.array([ends[0] - point.bound]), np.array([ends[1] - point.bound]))[0]
                )
            if score > best_score:
                best, best_score, fruitless = j, score, 0
                bounds = (point.bound, point.bound) if ends is None else ends
            else:
                fruitless += 1
            if fruitless >= 5:
                break
        zero = _Node(bounds[0], node.depth + 1, (*node.zeros, best), node.ones)
        one = _Node(bounds[1], node.depth + 1, node.zeros, (*node.ones, best))
        children = [one, zero] if point.x[best] > 0.3 else [zero, one]
        return [child for child in children if not self._hopeless(child.bound)]

    def _guess(self, side: int, where: NDArray[np.int64]) -> NDArray[np.float64]:
        """Pseudo-costs; the mean of all where a column has none."""
        count, gain = self._count[side], self._gain[side]
        total = count.sum()
        mean = gain.sum() / total if total else 1.0
        return np.where(count[where] > 0, gain[where] / np.maximum(count[where], 1), mean)

    def _probe(
        self, j: int, point: Point, lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Bounds of both children after a few simplex steps."""
        ends = []
        for side, value in ((0, 0.0), (1, 1.0)):
            bound = self._lp.probe(j, value, lower, upper, _PROBE, self._limit())
            bound = max(bound, point.bound)
            far = point.x[j] if side == 0 else 1 - point.x[j]
            if np.isfinite(bound):
                self._gain[side, j] += (bound - point.bound) / max(far, 1e-3)
                self._count[side, j] += 1
            ends.append(bound)
        return ends[0], ends[1]


def _score(down: NDArray[np.float64], up: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.minimum(down, 1e30), 1e-6) * np.maximum(np.minimum(up, 1e30), 1e-6)
