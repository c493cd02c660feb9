"""Several releases of overlapping tables: what one suppresses, another may disclose.

All relations of all releases hold together for one set of cells. A cell that any release publishes
is known; the others are bound by more relations than in each release alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.descriptions import cell_name
from attacks.release_alone.disclosed_cells import disclosed_of
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import UNBOUNDED, Bools, Floats, Ints
from csp.formats.codes import names_alike
from csp.highs import Model, Status
from csp.release.completion import agreeing
from csp.release.release import Release
from csp.tables.link import link, subset_words
from csp.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Differencing:
    """What several releases disclose together.

    Attributes
    ----------
    release : Release
        All of them as one: a cell is suppressed only if no release publishes it.
        `attacks.explain` takes it.
    cells : (k,) int64
        Cells of the union that some release suppresses.
    lower, upper : (k,) float64
        Feasibility interval from all releases together, in units of the union.
    alone_lower, alone_upper : (r, k) float64
        The same from each release alone; NaN where it does not have the cell.
    publishers : tuple of tuple of int
        For each cell, the releases (from 0) that publish it.
    linear : (k,) bool
        Known by linear algebra from all releases together, published ones included.
    narrowed : (k,) bool
        Whether all together say more of the cell than each release that suppresses it.
    places : tuple of (n,) int64
        For each release, the position of its cells in the union.
    """

    release: Release
    cells: Ints
    lower: Floats
    upper: Floats
    alone_lower: Floats
    alone_upper: Floats
    publishers: tuple[tuple[int, ...], ...]
    linear: Bools
    narrowed: Bools
    places: tuple[Ints, ...]

    def __repr__(self) -> str:
        shown = sum(bool(p) for p in self.publishers)
        exact = int((self.lower == self.upper).sum())
        return (
            f"Differencing({len(self.places)} releases: {len(self.cells)} cells suppressed in "
            f"some, {shown} of them published in another, {exact - shown} more known from all "
            "together)"
        )


def differencing(
    releases: Sequence[Release], *, integer: bool = True, time_limit: float | None = None
) -> Differencing:
    """Attack several releases together, and compare with each of them alone.

    Parameters
    ----------
    releases : sequence of Release
        At least one. Two cells are the same if their labels agree once dimensions at their total
        are dropped, as in `csp.link`; an old and a new version of one table agree in all cells.
    integer : bool
        Whether the attacker knows that cells are whole units. Beyond networks, that takes cells
        with less than 10**9 units of room.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Differencing

    Raises
    ------
    InputError
        If releases contradict each other or themselves (cell and releases named), their
        dimensions cannot be matched, or no release suppresses a cell.
    OutOfTime
        If the time limit passed.

    Examples
    --------
    A new threshold publishes a cell that was suppressed to protect another one.

    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> old = Mechanism(MinFrequency(10), width=10, margins="publish").protect(table).release
    >>> new = Mechanism(MinFrequency(5), width=10, margins="publish").protect(table).release
    >>> differencing([old, new])
    Differencing(2 releases: 4 cells suppressed in some, 4 of them published in another, 0 more \
known from all together)
    """
    if not releases:
        msg = "differencing needs at least one release"
        raise InputError(msg)
    clock = Clock.of(time_limit)
    scaled, union, places = union_of(releases)
    hidden = np.zeros(len(union.pattern), dtype=bool)
    for release, place in zip(scaled, places, strict=True):
        hidden[place[release.pattern]] = True
    if not hidden.any():
        msg = "no release has a suppressed cell, so there is nothing to attack"
        raise InputError(msg)
    alone = []
    for r, release in enumerate(scaled, start=1):
        clock.check(f"release {r} was judged")
        try:
            table = agreeing(release, clock)
        except InputError as error:
            msg = f"release {r} contradicts itself: {error}"
            raise InputError(msg) from error
        alone.append(_ends(release, table, integer=integer, clock=clock))
    clock.check("the union was judged")
    try:
        table = agreeing(union, clock)
    except InputError:
        raise _contradiction(scaled, union, places, clock) from None
    lower, upper, linear = _ends(union, table, integer=integer, clock=clock)
    cells = np.flatnonzero(hidden)
    each = np.full((2, len(scaled), len(hidden)), np.nan)
    shown, hiding = np.zeros((2, len(scaled), len(hidden)), dtype=bool)
    for r, (release, place, (low, high, _)) in enumerate(zip(scaled, places, alone, strict=True)):
        each[:, r, place] = low, high
        shown[r, place], hiding[r, place] = ~release.pattern, release.pattern
    # Where a release does not have the cell there are no ends to compare with.
    tighter = (lower > each[0]) | (upper < each[1])
    narrowed = (tighter | ~hiding).all(axis=0)[cells]
    arrays = (
        cells, lower[cells], upper[cells], each[0][:, cells], each[1][:, cells],
        linear[cells], narrowed,
    )  # fmt: skip
    for array in arrays:
        array.flags.writeable = False
    publishers = tuple(tuple(np.flatnonzero(shown[:, i]).tolist()) for i in cells)
    return Differencing(union, *arrays[:5], publishers, *arrays[5:], places)


def releases_alike(releases: Sequence[Release]) -> list[Release]:
    """Releases in which a dimension has one name, whatever form its accents have in each.

    Raises
    ------
    InputError
        If two dimensions of one release look alike.
    """
    named = names_alike([release.names for release in releases], "release")
    return [replace(one, names=names) for one, names in zip(releases, named, strict=True)]


def union_of(releases: Sequence[Release]) -> tuple[list[Release], Release, tuple[Ints, ...]]:
    """Join several releases in one over the union of their cells and relations.

    Returned are the releases in the finest unit of them, the union, and the positions of the cells
    of each release in the union, (n,) int64.

    Raises
    ------
    InputError
        If dimensions cannot be matched, two releases publish different values of a cell, or one
        publishes a value outside the bounds that another states (cell and releases named).
    """
    releases = releases_alike(releases)
    # `link` matches cells by label; all values 0 satisfy every relation and agree everywhere.
    frame = link(*(_structure(release) for release in releases))
    scaled = [
        release.at_scale(frame.scale, f"release {r}") for r, release in enumerate(releases, start=1)
    ]
    position = {label: i for i, label in enumerate(frame.labels)}
    roots = dict(zip(frame.names, frame.roots, strict=True))
    places = []
    for release in scaled:
        order = [release.names.index(name) if name in release.names else -1 for name in frame.names]
        fixed = [roots[name] for name in frame.names]
        labels = (
            tuple(label[d] if d >= 0 else root for d, root in zip(order, fixed, strict=True))
            for label in release.labels
        )
        places.append(np.array([position[label] for label in labels], dtype=np.int64))
    n = frame.n_cells
    published, owner = np.zeros(n, dtype=np.int64), np.full(n, -1)
    lower, upper = np.full(n, -UNBOUNDED), np.full(n, UNBOUNDED)
    bound_by = np.zeros((2, n), dtype=np.int64)
    kinds = {release.of_counts for release in releases}
    union = Release(
        published, np.ones(n, dtype=bool), frame.relations, lower, upper, frame.labels,
        frame.scale, frame.names, frame.roots,
        of_counts=kinds.pop() if len(kinds) == 1 else None,
    )  # fmt: skip
    for r, (release, place) in enumerate(zip(scaled, places, strict=True)):
        open_cells = place[~release.pattern]
        values = release.published[~release.pattern]
        wrong = (owner[open_cells] >= 0) & (published[open_cells] != values)
        if wrong.any():
            i = int(open_cells[np.argmax(wrong)])
            shared = owner[open_cells] == owner[i]
            words = subset_words(
                published[open_cells[shared]] - values[shared],
                f"release {int(owner[i]) + 1}", f"release {r + 1}",
            )  # fmt: skip
            msg = (
                f"releases {int(owner[i]) + 1} and {r + 1} publish different values of cell "
                f"{cell_name(union, i)}; {words or 'they are not about the same records'}"
            )
            raise InputError(msg)
        published[open_cells] = values
        owner[open_cells] = np.where(owner[open_cells] < 0, r, owner[open_cells])
        for s, (bounds, given) in enumerate(((lower, release.lower), (upper, release.upper))):
            better = (given > bounds[place]) if s == 0 else (given < bounds[place])
            bounds[place[better]] = given[better]
            bound_by[s, place[better]] = r
    for s, outside in enumerate((published < lower, published > upper)):
        bad = (owner >= 0) & outside
        if bad.any():
            i = int(np.argmax(bad))
            msg = (
                f"release {int(owner[i]) + 1} publishes a value of cell {cell_name(union, i)} "
                f"outside the bounds that release {int(bound_by[s, i]) + 1} states"
            )
            raise InputError(msg)
    if (lower > upper).any():
        i = int(np.argmax(lower > upper))
        first, second = sorted(bound_by[:, i].tolist())
        msg = (
            f"releases {first + 1} and {second + 1} state bounds of cell {cell_name(union, i)} "
            "that exclude each other"
        )
        raise InputError(msg)
    return scaled, replace(union, pattern=owner < 0), tuple(places)


def _structure(release: Release) -> Table:
    """Cells and relations of a release, without any value.

    What kind of cells they are is left out: a list that is read again does not say it.
    """
    n = len(release.pattern)
    return Table(
        np.zeros(n, dtype=np.int64), release.relations, np.full(n, -UNBOUNDED),
        np.full(n, UNBOUNDED), release.labels, release.scale, names=release.names,
        roots=release.roots,
    )  # fmt: skip


def _ends(
    release: Release, table: Table, *, integer: bool, clock: Clock
) -> tuple[Floats, Floats, Bools]:
    """Interval of every cell (its value where published), and which are known linearly."""
    lower = release.published.astype(np.float64)
    upper, linear = lower.copy(), ~release.pattern
    if release.pattern.any():
        found = disclosed_of(release, table, integer=integer, clock=clock)
        lower[found.cells], upper[found.cells] = (
            (found.whole_lower, found.whole_upper) if integer else (found.lower, found.upper)
        )
        linear[found.cells] = found.linear
    return lower, upper, linear


def _contradiction(
    releases: Sequence[Release], union: Release, places: Sequence[Ints], clock: Clock
) -> InputError:
    """Error that names the releases and a cell, where no table is consistent with all."""
    cells, who = _culprits(releases, places, clock)
    if not who:
        return InputError(
            "the releases contradict each other: no table of whole units is consistent with all"
        )
    named = ", ".join(cell_name(union, i) for i in cells[:4]) + (" ..." if len(cells) > 4 else "")
    numbers = " and ".join(map(str, sorted(r + 1 for r in who)))
    return InputError(
        f"releases {numbers} contradict each other: what they publish leaves no common value "
        f"for cell {named}; they are not about the same records"
    )


def _culprits(
    releases: Sequence[Release], places: Sequence[Ints], clock: Clock
) -> tuple[list[int], set[int]]:
    """Cells that releases would have to see differently, and a smallest set of such releases.

    Every release keeps its own copy of each cell; the copies differ as little as they can.
    """
    chosen = list(range(len(releases)))
    for r in range(len(releases)):
        rest = [s for s in chosen if s != r]
        if len(rest) > 1 and _torn(releases, places, rest, clock):
            chosen = rest
    torn = _torn(releases, places, chosen, clock)
    return torn, set(chosen) if torn else set()


def _torn(
    releases: Sequence[Release], places: Sequence[Ints], chosen: Sequence[int], clock: Clock,
) -> list[int]:  # fmt: skip
    """Cells whose copies cannot agree, for some releases; empty if all can."""
    from scipy.sparse import block_diag, coo_array, csr_array, eye_array, hstack, vstack

    starts = np.cumsum([0, *(len(releases[r].pattern) for r in chosen)])
    lower: list[Floats] = []
    upper: list[Floats] = []
    for release in (releases[r] for r in chosen):
        for side, bound, none in ((lower, release.lower, -np.inf), (upper, release.upper, np.inf)):
            finite = np.where(np.abs(bound) >= UNBOUNDED, none, bound.astype(np.float64))
            side.append(np.where(release.pattern, finite, release.published))
    first: dict[int, int] = {}
    pairs, cells = [], []
    for r, start in zip(chosen, starts, strict=False):
        for j, cell in enumerate(places[r].tolist()):
            if cell in first:
                pairs.append((first[cell], int(start) + j))
                cells.append(cell)
            else:
                first[cell] = int(start) + j
    n, p = int(starts[-1]), len(pairs)
    if not p:
        return []
    which = np.repeat(np.arange(p), 2)
    ties = csr_array(
        coo_array((np.tile([1.0, -1.0], p), (which, np.array(pairs).ravel())), shape=(p, n))
    )
    eye = eye_array(p)
    relations = block_diag([releases[r].relations.astype(np.float64) for r in chosen])
    matrix = block_diag([relations, csr_array((0, 2 * p))], format="csr")
    full = hstack([ties, eye, -eye], format="csr")
    rows = csr_array(vstack([matrix, full], format="csr"))
    zero = np.zeros(rows.shape[0])
    model = Model().load(
        cost=np.concatenate([np.zeros(n), np.ones(2 * p)]),
        lower=np.concatenate([*lower, np.zeros(2 * p)]),
        upper=np.concatenate([*upper, np.full(2 * p, np.inf)]),
        rows=rows, row_lower=zero, row_upper=zero,
    )  # fmt: skip
    if model.solve(clock) != Status.OPTIMAL:
        return []
    gap = model.values[n : n + p] + model.values[n + p :]
    # Each release alone has whole-number values; so a gap is not a rounding error.
    return sorted({cells[t] for t in np.flatnonzero(gap > 1e-3).tolist()})
