"""The audit against contributors who are alone in a cell: what each of them knows is fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from csp.attacker.boxes import Boxes
from csp.attacker.view import Deviation
from csp.audits.claims import Claim
from csp.audits.intervals import interval_claims
from csp.audits.violations import Violation, largest_levels, short_of_levels
from csp.clock import Clock
from csp.exact import Bools, Ints
from csp.problem.problem import Problem
from csp.problem.requirements import room
from csp.problem.singletons import Attackers
from csp.sparse import row_of
from csp.tables.table import Table

# Boxes looked at for a cell before and after the engine has judged many cells at once.
_FEW_BOXES = 1000
_MANY_BOXES = 20_000


def settle_singletons(
    problem: Problem,
    pattern: Bools,
    pairs: Mapping[int, Sequence[tuple[Claim, Claim]]],
    *,
    integer: bool,
    clock: Clock,
    witnesses: Sequence[tuple[Ints, int]] = (),
) -> tuple[list[Violation], list[Claim]]:
    """Check every primary cell against the contributors who are alone in another cell.

    A witness that leaves the cells where they are that an attacker knows serves it as well. One
    that leaves those of all attackers of a cell settles the cell. Such witnesses are looked for
    among those at hand, then among boxes, then by the engine, for as many cells as possible at
    once; only what they leave is judged attacker by attacker.

    Parameters
    ----------
    problem, pattern, integer, clock, witnesses
        See `csp.audits.audit.judge`.
    pairs : mapping of int to sequence of (Claim, Claim)
        For each primary cell pairs of lower and upper claims, against an outsider.

    Returns
    -------
    violations : list of Violation
    claims : list of Claim
        Those that settle what the pairs do not.
    """
    violations: list[Violation] = []
    claims: list[Claim] = []
    attackers = Attackers(problem, pattern)
    hurt = _Guarded(problem, pattern, attackers, pairs)
    enough = largest_levels(problem)
    claims += hurt.settle_by(_deviations(problem.table, pattern, witnesses), integer=integer)
    clock.check("the pattern was judged")
    claims += hurt.settle_by_boxes(enough, _FEW_BOXES, integer=integer, clock=clock)
    for groups, boxes in ((hurt.strangers, _MANY_BOXES), (hurt.groups, 0)):
        for known, cells in groups():
            seen = interval_claims(
                problem.table, pattern, cells, integer=integer, known=known, enough=enough,
                clock=clock,
            )  # fmt: skip
            claims += hurt.settle(seen)
        if boxes:
            claims += hurt.settle_by_boxes(enough, boxes, integer=integer, clock=clock)
    for a in hurt.dangerous():
        cells = hurt.exposed(a)
        if not cells:
            continue
        seen = interval_claims(
            problem.table, pattern, cells, integer=integer,
            known=tuple(attackers.knows[a].tolist()), enough=enough, clock=clock,
        )  # fmt: skip
        for p in cells:
            violations += short_of_levels(problem, p, *seen[p])
            claims += seen[p]
            hurt.remember(p, seen[p])
    return violations, claims


class _Guarded:
    """Primary cells that have not yet been settled against the contributors who are alone."""

    def __init__(
        self, problem: Problem, pattern: Bools, attackers: Attackers,
        pairs: Mapping[int, Sequence[tuple[Claim, Claim]]],
    ) -> None:  # fmt: skip
        self._problem, self._pattern, self._attackers = problem, pattern, attackers
        self._touched: dict[int, tuple[Ints, frozenset[int]]] = {}
        self._all = frozenset(a for a, some in enumerate(attackers.knows) if len(some))
        self._left: dict[int, list[tuple[Claim, Claim]]] = {}
        # Attackers of a cell whom no pair of claims that meets its levels leaves aside.
        self._danger: dict[int, frozenset[int]] = {}
        for p, some in pairs.items():
            self._danger[p] = self._all - attackers.exempt(p)
            for pair in some:
                self._spare(p, pair)
            if self._danger[p]:
                self._left[p] = list(some)
        # Cells that some attacker of a cell knows.
        self._fixed = {p: attackers.fixed_for(p) for p in self._left}

    def _spare(self, p: int, pair: tuple[Claim, Claim]) -> None:
        """Leave aside the attackers of a cell who know nothing that a pair of claims moves."""
        if self._danger[p] and not short_of_levels(self._problem, p, *pair):
            self._danger[p] &= self._hit(pair[0]) | self._hit(pair[1])

    def _hit(self, claim: Claim) -> frozenset[int]:
        """Attackers who know a cell that a claim moves."""
        # Claims share witnesses; the array is kept so that its identity stays its own.
        found = self._touched.get(id(claim.cells))
        if found is None:
            found = claim.cells, self._attackers.touched(claim.cells.astype(np.int64))
            self._touched[id(claim.cells)] = found
        return found[1]

    def dangerous(self) -> list[int]:
        """Attackers against whom some cell is not settled."""
        return sorted(frozenset().union(*(self._danger[p] for p in self._left)))

    def settle(self, seen: dict[int, tuple[Claim, Claim]]) -> list[Claim]:
        """Take out the cells that claims settle against all attackers; return these claims."""
        claims: list[Claim] = []
        for p, pair in seen.items():
            if not short_of_levels(self._problem, p, *pair):
                claims += pair
                self._left.pop(p, None)
                self._fixed.pop(p, None)
        return claims

    def settle_by(self, found: Sequence[Deviation], *, integer: bool) -> list[Claim]:
        """Settle cells by deviations that are known to be possible."""
        from scipy.sparse import csr_array

        at_hand = [z for z in found if z.denominator == 1 or not integer]
        at_hand += [
            Deviation(c.cells, c.steps, c.denominator)
            for p in self._left for pair in self._left[p] for c in pair
            if c.reach is not None and c.steps.dtype == np.int64
        ]  # fmt: skip
        at_hand = list({(id(z.moved), id(z.steps)): z for z in at_hand}.values())
        if not at_hand:
            return []
        size = [len(z.moved) for z in at_hand]
        steps = np.concatenate([z.steps for z in at_hand])
        cells = np.concatenate([z.moved for z in at_hand])
        owner = np.repeat(np.arange(len(at_hand)), size)
        shape = (self._problem.table.n_cells, len(at_hand))
        table = csr_array((steps, (cells, owner)), shape=shape)
        scale = np.array([z.denominator for z in at_hand])
        seen: dict[int, tuple[Claim, Claim]] = {}
        for p in self._left:
            columns, moves = row_of(table, p)
            reach = moves / scale[columns]
            pair = []
            for sign in (-1, 1):
                best: Deviation | None = None
                for i in np.argsort(-sign * reach, kind="stable").tolist():
                    if sign * reach[i] <= 0:
                        break
                    z = at_hand[int(columns[i])]
                    if not self._fixed[p][z.moved].any():
                        best = z
                        break
                pair.append(self._claim(p, sign, best, integer=integer))
            seen[p] = (pair[0], pair[1])
        return self.settle(seen)

    def settle_by_boxes(
        self, enough: Ints, most: int, *, integer: bool, clock: Clock
    ) -> list[Claim]:
        """Settle cells by the best of at most `most` boxes."""
        if not self._left:
            return []
        boxes = Boxes(self._problem.table)
        up, down = room(self._problem.table)
        seen: dict[int, tuple[Claim, Claim]] = {}
        for p in self._left:
            clock.check("the pattern was judged")
            open_cells = self._pattern & ~self._fixed[p]
            rooms = np.where(open_cells, up, 0), np.where(open_cells, down, 0)
            pair = [
                self._claim(p, sign, None if box is None else Deviation(*box), integer=integer)
                for sign, box in zip(
                    (-1, 1), boxes.through(p, int(enough[p]), *rooms, most), strict=True
                )
            ]
            seen[p] = (pair[0], pair[1])
        return self.settle(seen)

    def _claim(self, p: int, sign: int, z: Deviation | None, *, integer: bool) -> Claim:
        """Claim that a cell moves as far as a deviation goes; nowhere without one."""
        if z is None:
            z, reach = Deviation(), Fraction(0)
        else:
            reach = Fraction(sign * int(z.steps[z.moved == p][0]), z.denominator)
        known = tuple(np.flatnonzero(self._fixed[p]).tolist())
        return Claim(p, sign, known, reach, z.moved, z.steps, z.denominator, integer=integer)

    def strangers(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """Cells that no attacker knows, to be judged against all attackers together."""
        cells = [p for p in self._left if not self._attackers.known[p]]
        known = tuple(np.flatnonzero(self._attackers.known).tolist())
        return [(known, cells)] if cells else []

    def groups(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """Pool what the attackers of a cell know; and the cells to judge against it."""
        found: dict[bytes, list[int]] = {}
        everything = self._attackers.known.tobytes()
        for p, fixed in self._fixed.items():
            key = fixed.tobytes()
            if key != everything and len(self._all - self._attackers.exempt(p)) > 1:
                found.setdefault(key, []).append(p)
        return [
            (tuple(np.flatnonzero(np.frombuffer(key, dtype=bool)).tolist()), cells)
            for key, cells in found.items()
        ]

    def exposed(self, a: int) -> list[int]:
        """Cells that no pair of claims seen so far settles against one attacker."""
        return [p for p in self._left if a in self._danger[p]]

    def remember(self, p: int, pair: tuple[Claim, Claim]) -> None:
        """Let claims settle a cell against other attackers as well."""
        self._spare(p, pair)


def _deviations(
    table: Table, pattern: Bools, witnesses: Sequence[tuple[Ints, int]]
) -> list[Deviation]:
    """Vectors that are deviations within a pattern."""
    up, down = room(table)
    weight = int(np.abs(table.relations.data).max(initial=1)) * table.n_cells
    found = []
    for z, scale in witnesses:
        if z.dtype != np.int64 or z[~pattern].any():
            continue
        largest = max(int(z.max(initial=0)), -int(z.min(initial=0)))
        if largest * weight >= 2**62 or not 1 <= scale < 2**40:
            continue
        limit = np.where(z > 0, up, down)
        most = 2**62 // scale
        if (np.abs(z) > np.minimum(limit, most) * scale).any() or (table.relations @ z).any():
            continue
        found.append(Deviation.of(z, scale))
    return found
