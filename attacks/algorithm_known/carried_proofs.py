"""What was found for one candidate table and helps with others: patterns, and prices of relations.

Consistent tables share their relations and differ in suppressed cells only. So they share the
kernel form of a pattern, in which it is judged at once for all of them. Prices of relations give,
by weak duality, an inequality that the safe patterns of every candidate keep; only its weights
depend on the candidate.
"""

from __future__ import annotations

import numpy as np

from attacks.algorithm_known.views.public_view import PublicView
from csp.attacker.kernel_simplex import KEEPS, UNDECIDED, KernelForm
from csp.audits.audit import audit
from csp.clock import Clock
from csp.exact import UNBOUNDED, Bools, Floats, Ints
from csp.problem.problem import Problem
from csp.problem.requirements import room
from csp.solve.exact.pattern_tree import Asked

_MOST = 4000
"""Inequalities, and forms of patterns, that are kept."""

_ENTRIES = 50_000
"""Entries of a form of all cells beyond which the suppression solver takes over: some 300 cells."""

_POOL = 40
"""Patterns that are asked for every candidate."""


class KnownPatterns:
    """Patterns that beat the published one for some candidate, and forms of all that were asked.

    Cells are in the order in which ties are broken.
    """

    def __init__(self, view: PublicView, order: Ints) -> None:
        table = view.table
        self._view, self._integer = view, view.integer
        self._relations = table.relations[:, order]
        self._bounds = table.lower[order], table.upper[order]
        self._values = table.values[order]
        self._places = np.argsort(order)[view.cells]
        self._published = view.release.pattern[order]
        self._cost, self._public = view.cost[order], ~view.hides[order]
        self._forms: dict[bytes, KernelForm | None] = {}
        self.patterns: list[Bools] = []

    def add(self, pattern: Bools) -> None:
        """Put a pattern first."""
        self.patterns = [pattern, *(p for p in self.patterns if p is not pattern)][:_POOL]

    def keeps(self, problem: Problem, pattern: Bools, clock: Clock) -> bool:
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

    def beating(self, tables: Ints) -> Ints:
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
        patterns = np.array(self.patterns)
        differ = patterns[:, ::-1] != self._published[::-1]
        last = patterns.shape[1] - 1 - np.argmax(differ, axis=1)
        ties = differ.any(axis=1) & ~patterns[np.arange(len(patterns)), last]
        saved = cost @ (self._published.astype(np.int64) - patterns).T
        good = (saved > 0) | ((saved == 0) & ties)
        # Numbers of cells that would be published although they are sensitive.
        good &= primary.astype(np.int64) @ (~patterns).T.astype(np.int64) == 0
        good &= ~(self._public & patterns).any(axis=1)
        for place in np.flatnonzero(good.any(axis=0)).tolist():
            asked = np.flatnonzero(good[:, place] & (found < 0))
            form = self._form(self.patterns[place]) if len(asked) else None
            if form is None:
                continue
            verdicts = form.judge(
                values[asked], *self._bounds, primary[asked], levels[:, asked],
                integer=self._integer,
            )  # fmt: skip
            found[asked[verdicts == KEEPS]] = place
        return found

    def _form(self, pattern: Bools) -> KernelForm | None:
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
        self.form = KernelForm.of(table.relations, problem.status != "z")
        n = table.n_cells
        # Capacities are sums of rooms: entries up to this fit into 64 bits.
        self._largest_entry = 2**60 // (n * max(1, largest))
        cells = np.zeros(0, np.int64) if self.form is None else self.form.cells
        m, small = len(cells), self.applies
        self._holds = table.relations[:, cells if small else cells[:0]].toarray() != 0
        self._head = np.zeros((0, 3), dtype=np.int64)
        self._plus, self._minus = (np.zeros((0, m), dtype=np.int64) for _ in range(2))
        self._seen: set[bytes] = set()

    @property
    def applies(self) -> bool:
        """Whether there is a form of all cells, and not too large a one."""
        return self.form is not None and self.form.matrix.size <= _ENTRIES

    def note(self, head: Ints, plus: Ints, minus: Ints) -> None:
        """Take prices that bound how far cells move (`csp.attacker.kernel_prices`).

        Parameters
        ----------
        head : (c, 3) int64
            Of each, the cell in the form, the kind of level and the unit of the prices.
        plus, minus : (c, m) int64
            What a cell adds for each unit of room above and below it.
        """
        parts = np.concatenate([head, plus, minus], axis=1)
        new = []
        for i, row in enumerate(parts):
            key = row.tobytes()
            if int(row.max()) <= self._largest_entry and key not in self._seen:
                self._seen.add(key)
                new.append(i)
        self._head = np.concatenate([self._head, head[new]])[-_MOST:]
        self._plus = np.concatenate([self._plus, plus[new]])[-_MOST:]
        self._minus = np.concatenate([self._minus, minus[new]])[-_MOST:]

    def asked(self, problem: Problem) -> Asked:
        """Say what patterns of a problem must keep."""
        form = self.form
        assert form is not None
        cells = form.cells
        free, forced = problem.free[cells], problem.forced[cells]
        place = np.where(free, np.cumsum(problem.free)[cells] - 1, -1)
        up, down = (side[cells] for side in room(problem.table))
        level = np.stack([problem.lpl, problem.upl, problem.spl], axis=1)[cells]
        level = level * problem.primary[cells, None]
        # Relations without a forced cell, and those with one, which needs company.
        held = self._holds.astype(np.int64) @ np.stack([forced, level.any(axis=1)], axis=1)
        lone = (held == 1).all(axis=1)
        used = np.flatnonzero(lone | (held[:, 0] == 0))
        line, cell = np.nonzero(self._holds[used] & free)
        ends = np.searchsorted(line, np.arange(len(used) + 1)).astype(np.int64)
        return Asked(
            form.matrix, form.columns, form.divisor, place,
            np.where(up >= UNBOUNDED, 1e18, up), np.where(down >= UNBOUNDED, 1e18, down),
            np.ascontiguousarray(level), ends, place[cell], lone[used],
            self._pool(up, down, level, free, forced),
        )  # fmt: skip

    def _pool(self, up: Ints, down: Ints, level: Ints, free: Bools, forced: Bools) -> Floats:
        """Inequalities, with right side 1, that every safe pattern of a problem keeps: (q, n)."""
        p, kind, unit = self._head.T
        # Kinds are upper, lower and sliding.
        needs = level[p, np.array([1, 0, 2])[kind]] * unit
        used = np.flatnonzero(needs > 0)
        needs, plus, minus = needs[used], self._plus[used], self._minus[used]
        no_top, no_floor = up >= UNBOUNDED, down >= UNBOUNDED
        weights = plus * np.where(no_top, 0, up) + minus * np.where(no_floor, 0, down)
        endless = (plus > 0) & no_top | (minus > 0) & no_floor
        rights = needs - weights[:, forced].sum(axis=1)
        used = (rights > 0) & ~endless[:, forced].any(axis=1)
        weights, endless, rights = weights[used], endless[used], rights[used, None]
        weights = np.where(endless, rights, np.minimum(weights, rights))
        return np.ascontiguousarray(weights[:, free] / rights)
