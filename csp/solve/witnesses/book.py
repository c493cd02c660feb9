"""Witnesses in use: which requirements they meet, against whom, and which cells they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.audits.claims import Claim
from csp.exact import Bools
from csp.problem.singletons import Attackers
from csp.solve.witnesses.field import Field, Witness

Pair = tuple[Claim, Claim]

# Pairs of claims about one cell that are made at most.
_PAIRS = 64


class Book:
    """Witnesses in use; their cells are the pattern.

    A requirement is settled if, for an outsider and for each contributor who attacks its cell, some
    witness that meets it moves no cell that this attacker knows.

    Parameters
    ----------
    field : Field
    attackers : Attackers or None

    Attributes
    ----------
    used : (n,) int64
        How many witnesses move each cell.
    witnesses : dict of int to Witness
    """

    def __init__(self, field: Field, attackers: Attackers | None = None) -> None:
        self.field, self.attackers = field, attackers
        self.used = np.zeros(len(field.open), np.int64)
        self.witnesses: dict[int, Witness] = {}
        self._meets: dict[int, list[int]] = {}
        self._serving: list[set[int]] = [set() for _ in range(len(field.need))]
        self._through: dict[int, set[int]] = defaultdict(set)
        self._touched: dict[int, frozenset[int]] = {}
        self._kept: dict[int, list[Pair]] = defaultdict(list)
        self._next = 0

    def __repr__(self) -> str:
        return f"Book({len(self.witnesses)} witnesses)"

    @classmethod
    def of(cls, field: Field, witnesses: Iterable[Witness]) -> Book:
        """Book of some witnesses, against an outsider."""
        book = cls(field)
        for witness in witnesses:
            book.add(witness)
        return book

    def add(self, witness: Witness, number: int | None = None) -> int:
        """Take a witness into use, and return its number (that of before, if one is given)."""
        if number is None:
            number, self._next = self._next, self._next + 1
        self.witnesses[number] = witness
        self._meets[number] = self.field.served(witness).tolist()
        for r in self._meets[number]:
            self._serving[r].add(number)
        self.used[witness.cells] += 1
        for cell in witness.cells.tolist():
            self._through[cell].add(number)
        if self.attackers is not None:
            self._touched[number] = self.attackers.touched(witness.cells)
        return number

    def remove(self, number: int) -> None:
        """Take a witness out of use."""
        witness = self.witnesses.pop(number)
        for r in self._meets.pop(number):
            self._serving[r].discard(number)
        self.used[witness.cells] -= 1
        for cell in witness.cells.tolist():
            self._through[cell].discard(number)
        self._touched.pop(number, None)

    def keep(self, p: int, pair: Pair) -> None:
        """Take claims about a cell into use for good."""
        self._kept[p].append(pair)
        for claim in pair:
            self.used[claim.cells.astype(np.int64)] += 1

    def kept(self, p: int) -> tuple[Pair, ...]:
        """Claims about a cell that are in use for good."""
        return tuple(self._kept.get(p, ()))

    def through(self, cell: int) -> frozenset[int]:
        """Witnesses that move a cell."""
        return frozenset(self._through[cell])

    def meets(self, number: int) -> list[int]:
        """Return the requirements that a witness meets."""
        return self._meets[number]

    def serving(self, r: int) -> frozenset[int]:
        """Witnesses that meet a requirement."""
        return frozenset(self._serving[r])

    def left(self, r: int, without: frozenset[int] = frozenset()) -> frozenset[int] | None:
        """Attackers against whom a requirement is not settled; None if it is not even met.

        Some witnesses may be left `without`.
        """
        p = int(self.field.cell[r])
        serving = [i for i in self._serving[r] if i not in without]
        if not serving and p not in self._kept:
            return None
        if self.attackers is None:
            return frozenset()
        hit = [self._touched[i] for i in serving]
        touched = self.attackers.touched
        hit += [touched(low.cells) | touched(high.cells) for low, high in self._kept.get(p, ())]
        first, *others = hit
        return first.intersection(*others) - self.attackers.exempt(p)

    def settled(self, r: int, without: frozenset[int] = frozenset()) -> bool:
        """Whether a requirement is settled; see `left`."""
        return self.left(r, without) == frozenset()

    def spare(self, number: int) -> bool:
        """Whether everything is settled without a witness."""
        if self.attackers is None:
            cell = self.field.cell
            return all(
                len(self._serving[r]) > 1 or int(cell[r]) in self._kept for r in self._meets[number]
            )
        one = frozenset((number,))
        return all(self.settled(r, one) for r in self._meets[number])

    def pattern(self) -> Bools:
        """(n,) bool: what every pattern suppresses and what the witnesses move."""
        return np.asarray(self.field.problem.forced | (self.used > 0))

    def cost(self) -> int:
        """Cost of the free cells of the pattern."""
        problem = self.field.problem
        return int(sum(problem.cost[problem.free & (self.used > 0)].tolist()))

    def claims(self) -> dict[int, list[Pair]]:
        """Pairs of lower and upper claims about every primary cell that settle it."""
        field = self.field
        made = {
            number: _Claims(one, integer=field.integer) for number, one in self.witnesses.items()
        }
        out: dict[int, list[Pair]] = {}
        for p in np.unique(field.cell).tolist():
            rows = range(int(field.first[p]), int(field.first[p + 1]))
            out[p] = list(self._kept.get(p, ()))
            # Most witnesses go either way; only where these do not settle all, ends are combined.
            both, settled = self._few(p, set.intersection(*(self._serving[r] for r in rows)))
            matched = [(i, i) for i in both]
            if not settled:
                ends = {int(field.kind[r]): self._few(p, self._serving[r])[0] for r in rows}
                rise, fall = ends.get(0), ends.get(1)
                # Without a level on one side, that end is wherever the witness leads.
                pairs = [(i, j) for i in fall or rise or () for j in rise or (i,)]
                matched += pairs[:_PAIRS] if fall else [(j, j) for j in rise or ()]
            out[p] += [
                (made[i].claim(p, -1), made[j].claim(p, 1)) for i, j in dict.fromkeys(matched)
            ]
        return out

    def _few(self, p: int, serving: set[int]) -> tuple[list[int], bool]:
        """Choose few witnesses that settle as much as all of these do, and whether that is all."""
        chosen: list[int] = []
        left: frozenset[int] | None = None
        for i in sorted(serving):
            hit = frozenset[int]()
            if self.attackers is not None:
                hit = self._touched[i] - self.attackers.exempt(p)
            now = hit if left is None else left & hit
            if now != left:
                chosen.append(i)
                left = now
            if not left:
                return chosen, True
        return chosen, False


class _Claims:
    """Claims that one witness allows, which share its arrays."""

    def __init__(self, witness: Witness, *, integer: bool) -> None:
        self._integer = integer
        self._witness = witness
        (self._fn, self._fd), (self._bn, self._bd) = witness.forward, witness.back
        steps: NDArray[Any] = witness.steps
        if int(np.abs(steps).max()) * max(self._fn, self._bn) >= 2**62:
            steps = steps.astype(object)
        self._ahead, self._behind = steps * self._fn, steps * -self._bn
        # Most cells of a witness move equally far: they share the fraction that says so.
        self._reaches: dict[tuple[int, int], Fraction] = {}

    def claim(self, p: int, sign: int) -> Claim:
        """Claim that a cell moves as far as the witness goes."""
        cells = self._witness.cells
        at = int(np.searchsorted(cells, p))
        ahead = (int(self._witness.steps[at]) > 0) == (sign > 0)
        steps, scale = (self._ahead, self._fd) if ahead else (self._behind, self._bd)
        far = sign * int(steps[at]), scale
        if far not in self._reaches:
            self._reaches[far] = Fraction(*far)
        return Claim(p, sign, (), self._reaches[far], cells, steps, scale, integer=self._integer)
