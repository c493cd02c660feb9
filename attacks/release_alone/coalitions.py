"""The smallest coalition of contributors that breaks a cell, found exactly.

What a coalition infers only narrows as it grows. So for each coalition that does not suffice, a
largest one around it that does not suffice either says: one of the members left out is needed.
The smallest set that hits all these sets of members is a lower bound, and the answer as soon as it
breaks the cell (implicit hitting sets).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from attacks.descriptions import cell_name, position
from attacks.release_alone.insider_knowledge import Knowledge, fitting, heads_of, interval, view_of
from csp.clock import Clock
from csp.errors import InputError, OutOfTime, SolverError
from csp.exact import Ints, Number, exact
from csp.highs import Model, Status
from csp.release.release import Release
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Coalition:
    """Answer of the search for the smallest coalition that breaks a cell.

    Attributes
    ----------
    release : Release
        As the coalition sees it (as an outsider does, if there is none).
    cell : int
    members : tuple of str, or None
        Names of a coalition that breaks the cell. None: no coalition does if `proven`, else none
        was found before the limit. Empty: an outsider suffices.
    target : str or None
        Under percent: the contributor whose contribution is estimated too well.
    bound : int
        No coalition of fewer members breaks the cell; where none does at all, the number of
        contributors plus 1.
    proven : bool
        Whether the answer is the smallest; otherwise the limit was met, and the smallest
        coalition has between `bound` and ``len(members)`` members.
    tests : int
        Coalitions judged.
    """

    release: Release
    cell: int
    members: tuple[str, ...] | None
    target: str | None
    bound: int
    proven: bool
    tests: int

    def __repr__(self) -> str:
        name = cell_name(self.release, self.cell)
        if self.members is None:
            word = "no coalition breaks it" if self.proven else "undecided"
        else:
            size = len(self.members)
            word = f"{size} member breaks it" if size == 1 else f"{size} members break it"
            word += ", the smallest coalition" if self.proven else f", at least {self.bound} needed"
            word = word if size else "an outsider breaks it"
        return f"Coalition(cell {name}: {word})"


class _Limit(Exception):  # noqa: N818, RUF100
    """The number of tests or the time is used up."""


def smallest_coalition(
    release: Release,
    knowledge: Sequence[Knowledge],
    cell: int | Sequence[str],
    *,
    width: Number | None = None,
    percent: Number | None = None,
    counts: ArrayLike | None = None,
    integer: bool = True,
    max_tests: int = 10_000,
    time_limit: float | None = None,
) -> Coalition:
    """Find the smallest coalition of contributors that learns too much of a cell.

    Parameters
    ----------
    release : Release
    knowledge : sequence of Knowledge
        All contributors who may take part, with different names.
    cell : int or sequence of str
    width : Number, optional
        A coalition breaks the cell if its feasibility interval is narrower than this (in the
        measure). Contributors to the cell itself are not attackers here: what they can infer is
        for `percent` to say.
    percent : Number, optional
        A coalition breaks the cell if what it knows bounds the contribution of another one in
        it from above by less than this percentage too much: the p percent rule for a coalition,
        with the end of the interval instead of a suppressed value.
    counts : (n,) int, optional
        Number of contributors of each cell, where that is public.
    integer : bool
        Whether the attacker knows that cells are whole units. Beyond networks, that takes cells
        with less than 10**9 units of room.
    max_tests : int
        Coalitions to judge at most.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Coalition
        The smallest, if `proven`. When a limit is met, the smallest one found so far.

    Raises
    ------
    InputError
        If neither or both of width and percent are given, limits are out of range, two
        contributors share a name, no contributor to the cell is known (percent), or no
        table agrees with what all know.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Table
    >>> from csp.release.release import Release
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[:3, :2] = True
    >>> firms = [Knowledge(f"firm {c}", {c: int(table.values[c])}) for c in (1, 4, 5, 8, 9)]
    >>> smallest_coalition(Release.of(table, pattern.ravel()), firms, 0, width=5)
    Coalition(cell (d1=1, d2=1): 1 member breaks it, the smallest coalition)
    """
    clock = Clock.of(time_limit)
    i = position(release, cell)
    if (width is None) == (percent is None):
        msg = "give either width= (of the interval) or percent= (of a contribution)"
        raise InputError(msg)
    least = exact(width if width is not None else percent)
    if least <= 0:
        msg = f"{'width' if width is not None else 'percent'} must be above 0, got {least}"
        raise InputError(msg)
    if max_tests <= 0:
        msg = f"max_tests must be above 0, got {max_tests!r}"
        raise InputError(msg)
    names = [member.name for member in knowledge]
    if len(set(names)) < len(names):
        msg = f"two contributors are called {max(names, key=names.count)!r}; names must differ"
        raise InputError(msg)
    heads = heads_of(release, counts)
    try:
        fitting(view_of(release, knowledge, heads), clock)
    except OutOfTime:
        return Coalition(release, i, None, None, 0, proven=False, tests=0)
    budget = _Budget(max_tests, clock)
    if width is not None:
        if not release.pattern[i]:
            msg = f"cell {cell_name(release, i)} is published; width= is for suppressed cells"
            raise InputError(msg)
        others = [m for m in knowledge if i not in m.cells and not m.own.get(i)]
        judge = _Judge(release, others, i, heads, least * 10**release.scale, None, budget, integer)
        return _answer([judge], len(knowledge))
    judges = []
    # Large contributions are the easiest to estimate: what they need bounds the other searches.
    for target in sorted(knowledge, key=lambda member: (-member.own.get(i, 0), member.name)):
        if target.own.get(i):
            others = [m for m in knowledge if m is not target]
            judges.append(_Judge(release, others, i, heads, least / 100, target, budget, integer))
    if not judges:
        msg = (
            f"no contributor to cell {cell_name(release, i)} is known; give Knowledge with "
            "own= contributions to it"
        )
        raise InputError(msg)
    return _answer(judges, len(knowledge))


@dataclass(slots=True)
class _Budget:
    """Tests that all searches share; each search has its part of what is left."""

    most: int
    clock: Clock
    spent: int = 0
    until: int = 0

    def spend(self) -> None:
        if self.spent >= self.until or self.clock.over:
            raise _Limit
        self.spent += 1

    def left(self) -> bool:
        return self.spent < self.most and not self.clock.over

    def share(self, searches: int) -> None:
        self.until = self.spent + -(-(self.most - self.spent) // searches)


@dataclass(slots=True, eq=False, repr=False)
class _Judge:
    """Whether coalitions among some members break a cell, and where the search for one stands.

    What all members know holds for each of them, so one `table` serves all coalitions. `best` is a
    coalition that breaks the cell, and of every set in `needed` such a coalition has a member.
    """

    release: Release
    members: list[Knowledge]
    cell: int
    heads: Ints | None
    least: Fraction
    target: Knowledge | None
    budget: _Budget
    integer: bool
    table: Table | None = None
    known: dict[frozenset[int], bool] = field(default_factory=dict)
    best: frozenset[int] | None = None
    needed: list[frozenset[int]] = field(default_factory=list)

    def breaks(self, chosen: frozenset[int]) -> bool:
        """Whether these members learn too much.

        Raises
        ------
        _Limit
            If the budget is used up.
        """
        if chosen not in self.known:
            self.budget.spend()
            self.known[chosen] = self._judge(chosen)
        return self.known[chosen]

    def _judge(self, chosen: frozenset[int]) -> bool:
        team = [self.members[m] for m in sorted(chosen)]
        view = view_of(self.release, team, self.heads)
        clock = self.budget.clock
        try:
            if self.table is None:
                self.table = fitting(view_of(self.release, self.members, self.heads), clock)
            low, high = interval(self.table, view, self.cell, integer=self.integer, clock=clock)
        except OutOfTime as error:
            raise _Limit from error
        if high is None:
            return False
        if self.target is None:
            return low is not None and high - low < self.least
        own = sum(member.own.get(self.cell, 0) for member in team)
        contribution = self.target.own[self.cell]
        return high - own - contribution < self.least * contribution


def _answer(judges: list[_Judge], everyone: int) -> Coalition:
    """Smallest answer over all targets; `everyone` is the number of contributors."""
    best: tuple[frozenset[int], _Judge] | None = None
    bounds = [0] * len(judges)
    open_ones = list(range(len(judges)))
    release, cell, budget = judges[0].release, judges[0].cell, judges[0].budget
    while open_ones and budget.left():
        still = []
        for turn, k in enumerate(open_ones):
            budget.share(len(open_ones) - turn)
            most = None if best is None else len(best[0])
            found, bound, sure = _smallest(judges[k], most)
            bounds[k] = max(bounds[k], bound)
            if found is not None and (most is None or len(found) < most):
                best = found, judges[k]
            if not sure:
                still.append(k)
        open_ones = still
    bound = min(bounds)
    # A search that has ended may lack the proof that fewer members do not suffice.
    proven = not open_ones and (best is None or bound >= len(best[0]))
    if best is None:
        bound = everyone + 1 if proven else bound
        return Coalition(release, cell, None, None, bound, proven, budget.spent)
    chosen, judge = best
    team = [judge.members[m] for m in sorted(chosen)]
    bound = len(chosen) if proven else min(bound, len(chosen))
    target = None if judge.target is None else judge.target.name
    return Coalition(
        view_of(release, team, judge.heads), cell, tuple(m.name for m in team), target, bound,
        proven or bound == len(chosen), budget.spent,
    )  # fmt: skip


def _smallest(judge: _Judge, most: int | None) -> tuple[frozenset[int] | None, int, bool]:
    """Smallest coalition that breaks the cell, a proved lower bound, and whether it has ended.

    `most` is the size of a coalition found elsewhere: larger ones are of no interest.
    """
    everyone = frozenset(range(len(judge.members)))
    bound = 0
    try:
        if not judge.breaks(everyone):
            return None, len(everyone) + 1, True
        if judge.best is None:
            judge.best = everyone
        for m in sorted(everyone):
            if m in judge.best and judge.breaks(judge.best - {m}):
                judge.best -= {m}
        while True:
            hit, least = _hitting_set(judge.needed, len(everyone), judge.budget.clock)
            bound = max(bound, least)
            if bound >= len(judge.best) or (most is not None and bound >= most):
                return judge.best, bound, True
            if judge.breaks(hit):
                judge.best = min(hit, judge.best, key=len)
                return judge.best, bound, True
            # Members whom other sets need go in first, so that sets overlap little.
            use = [sum(m in s for s in judge.needed) for m in range(len(everyone))]
            waiting = [sorted(everyone - hit, key=lambda m: (-use[m], m))]
            while waiting:
                group = waiting.pop()
                if not judge.breaks(hit.union(group)):
                    hit = hit.union(group)
                elif len(group) > 1:
                    half = len(group) // 2
                    waiting += [group[half:], group[:half]]
            judge.needed.append(everyone - hit)
    except _Limit:
        return judge.best, bound, False


def _hitting_set(sets: list[frozenset[int]], n: int, clock: Clock) -> tuple[frozenset[int], int]:
    """Smallest set of members that meets every set, and a proved lower bound on its size.

    Raises
    ------
    _Limit
        If the time runs out.
    SolverError
        If what the solver found does not meet every set.
    """
    if not sets:
        return frozenset(), 0
    from scipy.sparse import csr_array

    rows = np.array([[float(m in s) for m in range(n)] for s in sets])
    model = Model().load(
        cost=np.ones(n), lower=np.zeros(n), upper=np.ones(n), rows=csr_array(rows),
        row_lower=np.ones(len(sets)), row_upper=np.full(len(sets), np.inf), integer=True,
    )  # fmt: skip
    status = model.solve(clock, interruptible=True)
    if status == Status.LIMIT:
        raise _Limit
    found = frozenset(np.flatnonzero(model.values > 0.5).tolist())
    if status != Status.OPTIMAL or not all(found & one for one in sets):
        msg = f"the search for the smallest set that meets {len(sets)} others ended with {status}"
        raise SolverError(msg)
    # Sizes are whole numbers: a bound above size - 1 by far more than any tolerance is a proof.
    return found, min(len(found), ceil(model.dual_bound - 0.01))
