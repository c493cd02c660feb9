"""What contributors see: they know their own contributions, and cells that are theirs alone.

An insider's view is a release in which the cells it knows are published, and in which the others
cannot be smaller than what it has put into them. Every attack of an outsider then applies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from attacks.descriptions import cell_name
from attacks.release_alone.bound_proofs import as_floats, ends
from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.exact import Bools, Floats, Ints
from csp.problem.problem import Problem
from csp.problem.singletons import insiders as alone
from csp.release.completion import agreeing
from csp.release.release import Release
from csp.rules.base import counts_of
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Knowledge:
    """What one contributor knows beyond the release.

    Attributes
    ----------
    name : str
        Of the contributor; it shows in what is printed.
    cells : mapping of int to int
        Cells whose value it knows, in units.
    own : mapping of int to int
        Its own contribution to each cell it takes part in, in units, not negative.
    """

    name: str
    cells: Mapping[int, int] = field(default_factory=dict)
    own: Mapping[int, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Knowledge({self.name}: {len(self.cells)} cells, part of {len(self.own)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Insight:
    """What one contributor infers of the suppressed cells that it does not know.

    Attributes
    ----------
    name : str
    release : Release
        The release as this contributor sees it; `attacks.explain` takes it.
    cells : (k,) int64
        Suppressed cells that it does not know.
    lower, upper : (k,) float64
        Feasibility interval of each cell, in units.
    rest_lower, rest_upper : (k,) float64
        The same for what others have put into the cell; `rest_upper` is an estimate from above of
        any other contribution.
    narrowed : (k,) bool
        Whether the interval is narrower than an outsider's.
    """

    name: str
    release: Release
    cells: Ints
    lower: Floats
    upper: Floats
    rest_lower: Floats
    rest_upper: Floats
    narrowed: Bools

    def __repr__(self) -> str:
        exact = int((self.lower == self.upper).sum())
        return (
            f"Insight({self.name}: {len(self.cells)} suppressed cells, "
            f"{int(self.narrowed.sum())} narrower than for an outsider, {exact} known)"
        )


def knowledge_of(table: Table, release: Release) -> tuple[Knowledge, ...]:
    """Collect what each contributor of a table knows: for the owner of the data, who has the table.

    Parameters
    ----------
    table : Table
        Its contributors are known by identifier where they are among the largest of a cell; what
        smaller ones put in is not seen, so tabulate with enough of the largest (``top=``). Under
        sampling weights that are not whole numbers, what they put into cells of several is not
        seen either: a weight may be below one.
    release : Release
        Of this table.

    Returns
    -------
    tuple of Knowledge
        A contributor who is alone in a cell knows it and all below it (`csp.problem.singletons`).
        In a table of counts those are the only insiders.

    Raises
    ------
    InputError
        If the release is not one of this table, or contributions are not parts of the values
        (negative contributions, or a mode that changed them).
    """
    release.table(table.values)
    if table.n_cells != len(release.pattern) or (release.labels != table.labels):
        msg = "the release is not one of this table: their cells differ"
        raise InputError(msg)
    people = table.contributors
    if people is not None and (people.opposite is not None or (people.total != table.values).any()):
        msg = (
            "contributions of this table are not parts of its values (negative ones, or a mode "
            "that changed them); an insider cannot subtract its own there"
        )
        raise InputError(msg)
    problem = Problem.of(table, np.zeros(table.n_cells, bool), singletons=counts_of(table) == 1)
    hidden = set(np.flatnonzero(release.pattern).tolist())
    own: dict[int, dict[int, int]] = {}
    # A record of a weight below one adds less to a cell than its own contribution.
    whole = people is not None and not people.weight_scale
    if people is not None and people.ids is not None and whole:
        for i, (who, amounts) in enumerate(
            zip(people.ids.tolist(), people.top.tolist(), strict=True)
        ):
            for person, amount in zip(who, amounts, strict=True):
                if person >= 0:
                    # Under sampling weights one record stands for several alike; one is its own.
                    own.setdefault(int(person), {}).setdefault(i, int(amount))
    knows: dict[int, dict[int, int]] = {}
    nameless = []
    for insider in alone(problem):
        cells = {c: int(table.values[c]) for c in insider.knows if c in hidden}
        names = set()
        if people is not None and people.ids is not None:
            single = [c for c in insider.knows if people.count[c] == 1]
            names = {int(people.ids[c, 0]) for c in single} - {-1}
        if names:
            knows.setdefault(min(names), {}).update(cells)
        elif cells:
            name = f"contributor of cell {cell_name(release, insider.knows[0])}"
            nameless.append(Knowledge(name, cells))
    found = [
        Knowledge(f"contributor {person}", knows.get(person, {}), own.get(person, {}))
        for person in sorted(own.keys() | knows.keys())
    ]
    return (*found, *nameless)


def view_of(release: Release, members: Sequence[Knowledge], counts: Ints | None = None) -> Release:
    """See a release as contributors see it who pool what they know.

    Where the number of contributors of each cell (n,) is public, members who are all there are in a
    cell know it; a cell without contributors is known to be 0.

    Raises
    ------
    InputError
        If a contribution is negative, two members name different values of a cell, or one
        contradicts a published value or the bounds of a cell (cell and members named).
    """
    pattern, published = release.pattern.copy(), release.published.copy()
    lower = release.lower.copy()
    who: dict[int, str] = {}
    n = len(pattern)
    for member in members:
        for cell in (*member.cells, *member.own):
            if not 0 <= cell < n:
                msg = f"{member.name} knows of cell {cell}, but positions run from 0 to {n - 1}"
                raise InputError(msg)
        for cell, amount in member.own.items():
            if amount < 0:
                msg = (
                    f"{member.name} has a negative contribution to cell "
                    f"{cell_name(release, cell)}; give 0 or more"
                )
                raise InputError(msg)
        for cell, value in member.cells.items():
            if not pattern[cell] and published[cell] != value:
                others = f"what {who[cell]} knows" if cell in who else "the published value"
                msg = f"cell {cell_name(release, cell)}: {member.name} contradicts {others}"
                raise InputError(msg)
            if not release.lower[cell] <= value <= release.upper[cell]:
                msg = f"cell {cell_name(release, cell)}: {member.name} contradicts its bounds"
                raise InputError(msg)
            if pattern[cell]:
                who[cell] = member.name
            pattern[cell], published[cell] = False, value
    pooled = _pooled(members)
    if counts is not None:
        # A cell without contributors is known, as it would be to all of its contributors.
        pooled |= {c: (0, 0) for c in np.flatnonzero(counts == 0).tolist() if c not in pooled}
    for cell, (amount, heads) in pooled.items():
        if counts is not None and heads > counts[cell]:
            msg = f"{heads} members contribute to cell {cell_name(release, cell)}, more than counts"
            raise InputError(msg)
        if counts is not None and heads == counts[cell] and pattern[cell]:
            pattern[cell], published[cell] = False, amount
        elif release.lower[cell] >= 0:
            # Where cells may be negative, others may have taken away what these put in.
            if not pattern[cell] and published[cell] < amount:
                msg = f"contributions to cell {cell_name(release, cell)} exceed its value"
                raise InputError(msg)
            lower[cell] = max(int(lower[cell]), amount)
    if (lower > release.upper).any():
        i = int(np.argmax(lower > release.upper))
        msg = f"contributions to cell {cell_name(release, i)} exceed its upper bound"
        raise InputError(msg)
    for array in (pattern, published, lower):
        array.flags.writeable = False
    return replace(release, pattern=pattern, published=published, lower=lower)


def _pooled(members: Sequence[Knowledge]) -> dict[int, tuple[int, int]]:
    """Sum of contributions to each cell, and how many members are in it."""
    found: dict[int, tuple[int, int]] = {}
    for member in members:
        for cell, amount in member.own.items():
            before, heads = found.get(cell, (0, 0))
            found[cell] = before + int(amount), heads + 1
    return found


def fitting(view: Release, clock: Clock = UNLIMITED) -> Table:
    """Table that agrees with all that insiders know.

    Raises
    ------
    InputError
        If there is none.
    """
    # The first error may name by how much known values differ: it must not travel with this one.
    with suppress(InputError):
        return agreeing(view, clock)
    msg = (
        "no table agrees with the release and with what the contributors know; correct their "
        "knowledge, or take the release that belongs to it"
    )
    raise InputError(msg)


def interval(
    table: Table, view: Release, cell: int, *, integer: bool, clock: Clock = UNLIMITED
) -> tuple[Fraction | None, Fraction | None]:
    """Find the ends of one cell, in units; both its value if it is known.

    `table` may be any table that agrees with the view.
    """
    if not view.pattern[cell]:
        value = Fraction(int(table.values[cell]))
        return value, value
    here = table.replace(lower=view.lower)
    _, found = ends(here, view.pattern, integer=integer, cells=[cell], clock=clock)
    return found[cell].pair


def insiders(
    release: Release,
    knowledge: Sequence[Knowledge],
    *,
    counts: ArrayLike | None = None,
    integer: bool = True,
    time_limit: float | None = None,
) -> tuple[Insight, ...]:
    """Find what each contributor infers alone.

    Parameters
    ----------
    release : Release
    knowledge : sequence of Knowledge
        See `knowledge_of` for all contributors of a table.
    counts : (n,) int, optional
        Number of contributors of each cell, where that is public.
    integer : bool
        Whether the attacker knows that cells are whole units. Beyond networks, that takes cells
        with less than 10**9 units of room.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    tuple of Insight
        One for each, in the order given.

    Raises
    ------
    InputError
        If no table agrees with the release and the knowledge.
    OutOfTime
        If the time limit passed.

    Examples
    --------
    Two opposite cells of a two by two pattern disclose the other two.

    >>> import numpy as np
    >>> from csp import Table
    >>> from csp.release.release import Release
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[:2, :2] = True
    >>> insiders(Release.of(table, pattern.ravel()), [Knowledge("firm", {0: 7})])
    (Insight(firm: 3 suppressed cells, 3 narrower than for an outsider, 3 known),)
    """
    clock = Clock.of(time_limit)
    heads = heads_of(release, counts)
    public = view_of(release, (), heads)
    _, outside = ends(fitting(public, clock), public.pattern, integer=integer, clock=clock)
    found = []
    for member in knowledge:
        view = view_of(release, [member], heads)
        _, seen = ends(fitting(view, clock), view.pattern, integer=integer, clock=clock)
        cells = np.flatnonzero(view.pattern)
        own = np.array([member.own.get(i, 0) for i in cells.tolist()], dtype=np.float64)
        lower, upper = as_floats([seen[i] for i in cells.tolist()])
        narrowed = np.array([seen[i].pair != outside[i].pair for i in cells.tolist()], dtype=bool)
        arrays = (cells, lower, upper, lower - own, upper - own, narrowed)
        for array in arrays:
            array.flags.writeable = False
        found.append(Insight(member.name, view, *arrays))
    return tuple(found)


def heads_of(release: Release, counts: ArrayLike | None) -> Ints | None:
    """Check public numbers of contributors.

    Raises
    ------
    InputError
        If there is not one for each cell.
    """
    if counts is None:
        return None
    heads = np.asarray(counts)
    if heads.shape != release.pattern.shape or heads.dtype.kind not in "iu":
        msg = f"counts need a whole number for each of the {len(release.pattern)} cells"
        raise InputError(msg)
    return heads.astype(np.int64)
