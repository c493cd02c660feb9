"""Contributors who are alone in a cell: they know its value and attack the other cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from csp.exact import Bools, Ints
from csp.problem.problem import Problem
from csp.rules.base import counts_of, sides_of
from csp.sparse import rows_of
from csp.tables.contributors import Contributors
from csp.tables.table import Table


@dataclass(frozen=True, slots=True)
class Insider:
    """One contributor who is alone in at least one cell.

    Attributes
    ----------
    knows : tuple of int
        Cells whose value the contributor knows: those it is alone in, and all below them.
    takes_part : frozenset of int
        Primary cells that need not keep their levels for this contributor; all others must.
    """

    knows: tuple[int, ...]
    takes_part: frozenset[int]


class Attackers:
    """Who knows which cell, and against whom each primary cell is guarded.

    Parameters
    ----------
    problem : Problem
    hidden : (n,) bool, optional
        Suppressed cells: what attackers know of the others is public. All by default.

    Attributes
    ----------
    knows : list of (k,) int64
        Suppressed cells that each attacker knows, ascending.
    known : (n,) bool
        Cells that some attacker knows.
    """

    def __init__(self, problem: Problem, hidden: Bools | None = None) -> None:
        n = problem.table.n_cells
        found = insiders(problem)
        seen = np.ones(n, dtype=bool) if hidden is None else hidden
        cells = [np.array(one.knows, dtype=np.int64) for one in found]
        self.knows = [some[seen[some]] for some in cells]
        self.known = np.zeros(n, dtype=bool)
        self._owners: dict[int, list[int]] = {}
        self._exempt: dict[int, set[int]] = {}
        for a, some in enumerate(self.knows):
            self.known[some] = True
            for cell in some.tolist():
                self._owners.setdefault(cell, []).append(a)
            for p in found[a].takes_part if len(some) else ():
                self._exempt.setdefault(p, set()).add(a)

    def __repr__(self) -> str:
        return f"Attackers({len(self.knows)})"

    def exempt(self, p: int) -> frozenset[int]:
        """Attackers against whom a primary cell is not guarded."""
        return frozenset(self._exempt.get(p, ()))

    def touched(self, cells: Ints) -> frozenset[int]:
        """Attackers who know one of these cells: a witness that moves them is none for these."""
        known = cells[self.known[cells]].tolist()
        return frozenset(a for cell in known for a in self._owners[cell])

    def fixed_for(self, p: int) -> Bools:
        """(n,) bool: cells that some attacker of a primary cell knows."""
        mask, exempt = self.known.copy(), self.exempt(p)
        for a in exempt:
            for cell in self.knows[a].tolist():
                mask[cell] = not exempt.issuperset(self._owners[cell])
        return mask


def insiders(problem: Problem) -> tuple[Insider, ...]:
    """Every contributor who is alone in some cell, with all that it knows.

    Two cells have the same sole contributor if both list the same identifier, whatever the signs of
    its contributions, or if some cell that is not empty belongs to both, directly or through
    totals. A primary cell that the contributor takes part in is left out: what the others in that
    cell can infer is what the sensitivity rule has measured already. It takes part in a cell that
    it is alone in, in those above, in the only filled part of one of these, which equals it, and in
    those that list it among their largest contributors; where it is too small to be listed, or
    contributors are not identified, that is not known and the cell is guarded.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    tuple of Insider
        Ordered by their first cell.
    """
    table = problem.table
    singles = np.flatnonzero(problem.alone).tolist()
    if not singles:
        return ()
    people = table.contributors
    filled = (table.values if people is None else counts_of(table)) != 0
    below, above = _steps(table)
    equal = _only_parts(table, filled)
    primaries = set(np.flatnonzero(problem.primary).tolist())
    inside = {s: _closure([s], below) for s in singles}
    listed = _listed(people, sorted(primaries))
    found = []
    for group in _same_contributor(table, inside, filled.tolist()):
        knows = set().union(*(inside[s] for s in group))
        part_of = _closure([c for c in knows if filled[c]], above, equal) | knows
        part_of |= _listing(people, group, listed)
        found.append(Insider(tuple(sorted(knows)), frozenset(primaries & part_of)))
    return tuple(found)


def _listed(people: Contributors | None, cells: list[int]) -> list[dict[int, set[int]]]:
    """Cells that list each contributor, once for each side of the contributions."""
    found = []
    for side in sides_of(people):
        if side.ids is None:
            continue
        where: dict[int, set[int]] = {}
        for p, ids in zip(cells, side.ids[cells].tolist(), strict=True):
            for i in ids:
                where.setdefault(i, set()).add(p)
        found.append(where)
    return found


def _listing(
    people: Contributors | None, group: list[int], listed: list[dict[int, set[int]]]
) -> set[int]:
    """Cells that list the contributor who is alone in the cells of a group."""
    sides = [side.ids for side in sides_of(people) if side.ids is not None]
    own = {i for ids in sides for i in ids[group].ravel().tolist() if i >= 0}
    return {p for where in listed for i in own for p in where.get(i, ())}


def _same_contributor(
    table: Table, inside: dict[int, set[int]], filled: list[bool]
) -> list[list[int]]:
    """Group the singleton cells by their contributor."""
    people = table.contributors
    owner: dict[tuple[str, int], int] = {}
    leader = {s: s for s in inside}

    def find(s: int) -> int:
        while leader[s] != s:
            leader[s] = leader[leader[s]]
            s = leader[s]
        return s

    for s, cells in inside.items():
        marks = [("cell", c) for c in cells if filled[c]]
        # Who is alone in a cell has a contribution of one sign there, and the other elsewhere.
        sides = (side.ids[s, 0] for side in sides_of(people) if side.ids is not None)
        marks += [("contributor", int(who)) for who in sides if who >= 0]
        for mark in marks:
            a, b = sorted((find(s), find(owner.setdefault(mark, s))))
            leader[b] = a
    groups: dict[int, list[int]] = {}
    for s in inside:
        groups.setdefault(find(s), []).append(s)
    return list(groups.values())


def _steps(table: Table) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Parts of each total, and totals of each part, one relation at a time."""
    below: dict[int, list[int]] = {}
    above: dict[int, list[int]] = {}
    for cells, signs in rows_of(table.relations):
        parts = cells[signs > 0].tolist()
        for total in cells[signs < 0].tolist():
            below.setdefault(total, []).extend(parts)
            for part in parts:
                above.setdefault(part, []).append(total)
    return below, above


def _only_parts(table: Table, filled: Bools) -> dict[int, list[int]]:
    """Of each total the part that alone is not empty, in each relation that has just one such."""
    found: dict[int, list[int]] = {}
    for cells, signs in rows_of(table.relations):
        parts = cells[(signs > 0) & filled[cells]].tolist()
        totals = cells[signs < 0].tolist()
        if len(parts) == len(totals) == 1:
            found.setdefault(totals[0], []).extend(parts)
    return found


def _closure(start: Iterable[int], *steps: dict[int, list[int]]) -> set[int]:
    """Cells that are reached from some by any of the steps."""
    seen = set(start)
    stack = list(seen)
    while stack:
        cell = stack.pop()
        for other in (one for some in steps for one in some.get(cell, ())):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen
