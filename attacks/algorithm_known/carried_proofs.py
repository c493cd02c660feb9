"""What was proved of one candidate table and holds for others: witnesses, and prices of relations.

Consistent tables share their relations and differ in suppressed cells only. A deviation that keeps
every relation keeps it for all of them, and shows that a pattern protects a cell where the bounds
leave it room. Prices of relations give, by weak duality, an inequality that the safe patterns of
every candidate keep; only its weights depend on the candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.attacker.view import room
from csp.audits.audit import Audit
from csp.exact import UNBOUNDED
from csp.problem.problem import Problem
from csp.solve.cuts import Cut, CutFactory, Side, least_weight

__all__ = ["Carried", "Inequalities", "NotedCutter"]

_VIOLATED = 1e-6

_MOST = 4000
"""Witnesses, and inequalities, that are kept; the oldest are dropped."""

_KINDS = {(1,): 0, (-1,): 1, (-1, 1): 2}
"""Requirement by its directions: upper, lower and sliding protection level."""


class Carried:
    """Witnesses and prices, for problems without insiders and rules for sums.

    The problem may be that of any candidate; no candidate has a larger finite room than `largest`.
    """

    def __init__(self, problem: Problem, largest: int) -> None:
        table = problem.table
        self._relations = table.relations.T.tocsr()
        n = table.n_cells
        # Capacities are sums of rooms: entries up to this fit into 64 bits.
        self._largest_entry = 2**60 // (n * max(1, largest))
        self._steps = np.zeros((0, n), dtype=np.int64)
        self._cell = np.zeros((2, 0), dtype=np.int64)
        self._plus, self._minus = (np.zeros((0, n), dtype=np.int64) for _ in range(2))
        self._divisor = np.zeros(0, dtype=np.int64)
        self._seen: set[bytes] = set()

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Whether all that a problem asks for is judged by single cells and one outsider."""
        return problem.singletons is None and problem.union_rule is None

    # ---- what is learned -----------------------------------------------------------------------

    def learn(self, result: Audit) -> None:
        """Take the witnesses and proofs of an audit."""
        ends: dict[tuple[int, int], Side] = {}
        witnesses = []
        for claim in result.certificate:
            if claim.denominator == 1 and claim.reach:
                steps = np.zeros(self._steps.shape[1], dtype=np.int64)
                steps[claim.cells] = claim.steps
                witnesses.append(steps)
            if claim.exact and max(map(abs, claim.multipliers.tolist()), default=0) < 2**31:
                multipliers = claim.multipliers.astype(np.int64)
                ends[claim.cell, claim.sign] = claim.sign, claim.rows, multipliers, claim.divisor
        fresh = [z for z in witnesses if self._is_new(b"w" + z.tobytes())]
        if fresh:
            self._steps = np.concatenate([self._steps, fresh])[-_MOST:]
        for (p, sign), side in ends.items():
            self.note(p, [side])
            if sign < 0 and (p, 1) in ends:
                self.note(p, [side, ends[p, 1]])

    def note(self, p: int, sides: list[Side]) -> None:
        """Take prices that bound how far a cell moves; see `csp.solve.cuts.CutFactory.capacity`."""
        kind = _KINDS[tuple(sorted(sign for sign, *_ in sides))]
        common = int(np.lcm.reduce([divisor for *_, divisor in sides]))
        plus, minus = (np.zeros(self._steps.shape[1], dtype=np.int64) for _ in range(2))
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

    # ---- what it shows -------------------------------------------------------------------------

    def shows_safe(self, problem: Problem, pattern: NDArray[np.bool_]) -> bool:
        """Whether witnesses show that a pattern keeps every promise; False says nothing."""
        table, primary = problem.table, problem.primary
        if ((primary | problem.forced) & ~pattern).any():
            return False
        moved = table.values + self._steps
        fits = ((moved >= table.lower) & (moved <= table.upper)).all(axis=1)
        fits &= ~(self._steps[:, ~pattern]).any(axis=1)
        steps = self._steps[fits][:, primary]
        up, down = steps.max(axis=0, initial=0), -steps.min(axis=0, initial=0)
        upl, lpl, spl = (v[primary] for v in (problem.upl, problem.lpl, problem.spl))
        return bool(((up >= upl) & (down >= lpl) & (up + down >= spl)).all())

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

    def exclude(self, pattern: NDArray[np.bool_]) -> bool:
        """Whether a pattern with all that is suppressed anyway is shown to be unsafe; exact."""
        inside = pattern & self.free
        return bool((self.weights[:, inside].sum(axis=1) < self.rights).any())

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
