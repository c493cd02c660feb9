"""What was found for one candidate table and helps with others: patterns, and prices of relations.

Consistent tables share their relations and differ in suppressed cells only. So they share the
kernel form of a pattern, in which it is judged at once for all of them. Prices of relations give,
by weak duality, an inequality that the safe patterns of every candidate keep; only its weights
depend on the candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.public_view import PublicView
from csp.attacker.kernel_simplex import KEEPS, UNDECIDED, KernelForm
from csp.audits.audit import audit
from csp.clock import Clock
from csp.exact import UNBOUNDED
from csp.problem.problem import Problem
from csp.problem.requirements import room
from csp.solve.cuts import Cut, CutFactory, Side, least_weight

__all__ = ["Carried", "Inequalities", "KnownPatterns", "NotedCutter"]

_VIOLATED = 1e-6

_MOST = 4000
"""Inequalities, and forms of patterns, that are kept."""

_POOL = 40
"""Patterns that are asked for every candidate."""

_KINDS = {(1,): 0, (-1,): 1, (-1, 1): 2}
"""Requirement by its directions: upper, lower and sliding protection level."""


class KnownPatterns:
    """Patterns that beat the published one for some candidate, and forms of all that were asked.

    Cells are in the order in which ties are broken.
    """

    def __init__(self, view: PublicView, order: NDArray[np.int64]) -> None:
        table = view.table
        self._view, self._integer = view, view.integer
        self._relations = table.relations[:, order]
        self._bounds = table.lower[order], table.upper[order]
        self._values = table.values[order]
        self._places = np.argsort(order)[view.cells]
        self._published = view.release.pattern[order]
        self._cost, self._fixed = view.cost_problem.cost[order], view.cost_problem.forced[order]
        self._public = view.cost_problem.status[order] == "z"
        self._forms: dict[bytes, KernelForm | None] = {}
        self.patterns: list[NDArray[np.bool_]] = []

    def add(self, pattern: NDArray[np.bool_]) -> None:
        """Put a pattern first."""
        self.patterns = [pattern, *(p for p in self.patterns if p is not pattern)][:_POOL]

    def keeps(self, problem: Problem, pattern: NDArray[np.bool_], clock: Clock) -> bool:
        """Whether a pattern keeps every promise of the problem of a candidate.

        Raises
        ------
        OutOfTime
            If the time runs out before the verdict.
        """
        if ((problem.primary | problem.forced) & ~pattern).any():
            return False
        if problem.singletons is None and problem.union_rule is None:
            form = self._form(pattern)
            levels = np.stack([problem.lpl, problem.upl, problem.spl])[:, None]
            verdict = UNDECIDED if form is None else form.judge(
                problem.table.values[None], *self._bounds, problem.primary[None], levels,
                integer=self._integer,
            )[0]  # fmt: skip
            if verdict != UNDECIDED:
                return bool(verdict == KEEPS)
        return audit(
            problem, pattern, integer=self._integer, only_primary=True, time_limit=clock.seconds
        ).safe

    def beating(self, tables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place of a pattern that is preferred to the published one, and safe: (t,), or -1.

        Tables (t, k) hold the suppressed cells. Nothing is said where the mechanism looks at more
        than the value of a cell.
        """
        view, found = self._view, np.full(len(tables), -1)
        rules = view.value_rules
        if rules is None or not self.patterns:
            return found
        chosen = np.arange(len(view.cells)), tables - view.lower
        values, cost = (np.tile(row, (len(tables), 1)) for row in (self._values, self._cost))
        primary, levels = np.zeros(values.shape, bool), np.zeros((3, *values.shape), np.int64)
        values[:, self._places] = tables
        cost[:, self._places] = rules.cost[chosen]
        primary[:, self._places] = rules.primary[chosen]
        levels[:, :, self._places] = rules.levels[:, *chosen]
        left = np.arange(len(tables))
        for place, pattern in enumerate(self.patterns):
            form = self._form(pattern)
            if form is None or (self._fixed & ~pattern).any() or (self._public & pattern).any():
                continue
            saved = cost[left] @ (self._published.astype(np.int64) - pattern)
            differ = np.flatnonzero(pattern != self._published)
            ties = len(differ) > 0 and not pattern[differ[-1]]
            good = (saved > 0) | ((saved == 0) & ties)
            good &= ~(primary[left] & ~pattern).any(axis=1)
            asked = left[good]
            verdicts = form.judge(
                values[asked], *self._bounds, primary[asked], levels[:, asked],
                integer=self._integer,
            )  # fmt: skip
            found[asked[verdicts == KEEPS]] = place
            left = left[found[left] < 0]
        return found

    def _form(self, pattern: NDArray[np.bool_]) -> KernelForm | None:
        key = pattern.tobytes()
        if key not in self._forms:
            if len(self._forms) >= _MOST:
                self._forms.clear()
            self._forms[key] = KernelForm.of(self._relations, pattern)
        return self._forms[key]


class Carried:
    """Prices of relations, for problems without insiders and rules for sums.

    The problem may be that of any candidate; no candidate has a larger finite room than `largest`.
    """

    def __init__(self, problem: Problem, largest: int) -> None:
        table = problem.table
        self._relations = table.relations.T.tocsr()
        n = table.n_cells
        # Capacities are sums of rooms: entries up to this fit into 64 bits.
        self._largest_entry = 2**60 // (n * max(1, largest))
        self._cell = np.zeros((2, 0), dtype=np.int64)
        self._plus, self._minus = (np.zeros((0, n), dtype=np.int64) for _ in range(2))
        self._divisor = np.zeros(0, dtype=np.int64)
        self._seen: set[bytes] = set()

    def note(self, p: int, sides: list[Side]) -> None:
        """Take prices that bound how far a cell moves; see `csp.solve.cuts.CutFactory.capacity`."""
        kind = _KINDS[tuple(sorted(sign for sign, *_ in sides))]
        common = int(np.lcm.reduce([divisor for *_, divisor in sides]))
        plus, minus = (np.zeros(self._plus.shape[1], dtype=np.int64) for _ in range(2))
        for sign, rows, numerators, divisor in sides:
            prices = np.zeros(self._relations.shape[1], dtype=np.int64)
            prices[rows] = numerators
            c = -(self._relations @ prices)
            c[p] += sign * divisor
            c *= common // divisor
            plus += np.maximum(c, 0)
            minus += np.maximum(-c, 0)
        if max(int(plus.max()), int(minus.max()), common) > self._largest_entry:
            return
        if not self._is_new(b"%d %d " % (p, kind) + plus.tobytes() + minus.tobytes()):
            return
        self._cell = np.append(self._cell, [[p], [kind]], axis=1)[:, -_MOST:]
        self._plus = np.append(self._plus, plus[None], axis=0)[-_MOST:]
        self._minus = np.append(self._minus, minus[None], axis=0)[-_MOST:]
        self._divisor = np.append(self._divisor, common)[-_MOST:]

    def _is_new(self, key: bytes) -> bool:
        new = key not in self._seen
        self._seen.add(key)
        return new

    def for_(self, problem: Problem) -> Inequalities:
        """Inequalities that every safe pattern of a problem keeps."""
        p, kind = self._cell
        levels = np.stack([problem.upl, problem.lpl, problem.spl])
        needs = levels[kind, p] * self._divisor * problem.primary[p]
        up, down = room(problem.table)
        no_top, no_floor = up >= UNBOUNDED, down >= UNBOUNDED
        weights = self._plus * np.where(no_top, 0, up) + self._minus * np.where(no_floor, 0, down)
        endless = (self._plus > 0) & no_top | (self._minus > 0) & no_floor
        rights = needs - weights[:, problem.forced].sum(axis=1)
        used = (rights > 0) & ~endless[:, problem.forced].any(axis=1)
        weights, endless, rights = weights[used], endless[used], rights[used]
        weights = np.where(endless, rights[:, None], np.minimum(weights, rights[:, None]))
        return Inequalities(problem.free, weights, rights)


@dataclass(frozen=True, slots=True, eq=False)
class Inequalities:
    """``weights @ x >= rights`` over the free cells of one problem."""

    free: NDArray[np.bool_]  # (n,)
    weights: NDArray[np.int64]  # (m, n) no larger than the right side
    rights: NDArray[np.int64]  # (m,)

    def violated(self, x: NDArray[np.float64], most: int) -> list[Cut]:
        """Inequalities that a point (n,) violates most, `most` of them at most."""
        slack = (self.weights[:, self.free] @ x[self.free]) / self.rights - 1
        worst = np.argsort(slack, kind="stable")[:most]
        found = []
        for k in worst[slack[worst] < -_VIOLATED].tolist():
            cells = np.flatnonzero(self.free & (self.weights[k] != 0))
            weights = least_weight(self.weights[k, cells], int(self.rights[k]))
            found.append(Cut(cells, weights, 1.0, "capacity"))
        return found


class NotedCutter(CutFactory):
    """Makes the cuts of one problem, and carries the prices to others."""

    def __init__(self, problem: Problem, carried: Carried) -> None:
        super().__init__(problem)
        self._carried = carried

    def capacity(
        self, p: int, need: int, sides: Iterable[Side], known: tuple[int, ...] = ()
    ) -> Cut | None:
        """See `csp.solve.cuts.CutFactory.capacity`."""
        given = list(sides)
        self._carried.note(p, given)
        return super().capacity(p, need, given, known)
