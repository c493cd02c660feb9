"""A deterministic rule that is safe from attackers who know it: sequential greatest fixpoints.

A deterministic rule divides the tables into classes; the class of a release is what an attacker
who knows the rule takes for possible. A class is *self-safe* if for every table in it, every
primary cell of that table reaches its levels within the class: the values that the cell has in
tables of the class span the interval asked for. A rule is safe if all its classes are.

Unions of self-safe sets of tables that agree off the same pattern are self-safe (intervals only
grow), so each set of such tables has one greatest self-safe subset: delete tables that miss a level
until none does.

Sources: the minimality attack (Wong, Fu, Wang and Pei, VLDB 2007); rules that take it into account
by building the sets of tables with one output, in an order (Jin, Zhang and Das, EDBT 2010 and
Information Systems 2011; k-jump algorithms of Liu and others, Journal of Computer Security);
simulatable auditing asks that what is withheld depends on public data alone (Kenthapadi, Mishra
and Nissim, PODS 2005), for which cell suppression leaves no room, since a cell is sensitive by its
value. For cell suppression that attack is due to Minami and Abe (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.exact import ceil_fraction, exact
from csp.mechanism import Mechanism
from csp.tables.cells import as_flags
from csp.tables.table import Table
from studies.publishing.pattern_table import PatternTable
from studies.publishing.sequential.completions import Completions
from studies.publishing.sequential.regions import bridgeless, regions

_BLOCKS = 8
_CHUNK = 65536


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Block:
    """Tables that are treated together, and the pattern that each is published with.

    Attributes
    ----------
    keys : (d,) int64
        Cells that tell the tables of the block from one another.
    place : dict of bytes to int
        Row of each table by these cells.
    chosen : (t,) int64
        Number of the pattern in the family of the region; -1: none.
    """

    keys: NDArray[np.int64]
    place: dict[bytes, int]
    chosen: NDArray[np.int64]

    def number(self, table: NDArray[np.int64]) -> int:
        """Return the pattern of a table of the block."""
        return int(self.chosen[self.place[table[self.keys].tobytes()]])


class SequentialFixpoint:
    """Safe without coins: each pattern takes as many tables as it can protect from one another.

    The rule, of which everything is public:

    1. A table without primary cells is published whole.
    2. The *region* of another table is the first of a fixed list of cell sets that holds all its
       primary cells (`studies.publishing.sequential.regions.regions`: in a two-way table, chosen
       rows and columns), and whose sums look large enough to protect them (`Region.widths`).
    3. Its *block* is made of all tables with the same region that agree with it off the region.
    4. In a block the patterns inside the region take turns, by size and then by binary number.
       Among the tables of the block that no earlier pattern took, those that agree off the pattern
       form a set; the pattern takes the greatest self-safe subset of each set.
    5. A table is published with the pattern that took it.

    **Why it is safe.** All tables of a block find the same block and so the same subsets. What an
    attacker takes for possible, given a pattern and the published values, is the union of the
    subsets that the pattern took with these values, one or none for each region (a set of step 4
    lies in one block, since patterns lie inside regions). Each is self-safe, so the union is. This
    holds whatever function of the table the region is. Regions keep the search bounded: with one
    region, the whole table, the turns are those of all patterns over all tables with the same
    margins, which are too many.

    **Limits.** A block is left alone if more than `cap` tables agree with one another off the
    region, whatever their regions. That number is the same for all of them, so all are left
    alone. Tables that no region holds, or no pattern takes, are not published. What this
    discloses is not covered by the claim, which is about published tables.

    Parameters
    ----------
    mechanism : Mechanism
    table : Table
        Its relations, bounds and labels; its values are not used.
    reach : sequence of int
        The list starts with the largest regions of the first of these dimensions (of the kernel),
        and so on. 3: up to two rows by four columns, 4: up to three by three.
    cap : int
        Some 500 bytes of memory for each table.

    Raises
    ------
    InputError
        As `attacks.bayes.rule_table.RuleTable`; if the structure has too many relations.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 20], [10, 20, 11], [20, 12, 20]])
    >>> rule = SequentialFixpoint(Mechanism(MinFrequency(8), width=10, margins="publish"), table)
    >>> pattern = rule.publish(table.values, np.random.default_rng(0))
    >>> int(pattern.sum()), rule.likelihood(pattern, table.values[None])
    (4, array([1.]))
    """

    def __init__(
        self,
        mechanism: Mechanism,
        table: Table,
        *,
        reach: Sequence[int] = (3, 4),
        cap: int = 500_000,
    ) -> None:
        if not reach or min(reach) < 1 or cap < 1:
            msg = f"reach {reach!r} and cap {cap!r} must be at least 1"
            raise InputError(msg)
        self._rules = PatternTable(mechanism, table)
        self._completions = Completions(table, cap)
        self._cells = self._rules.numbered
        width = exact(0 if mechanism.width is None else mechanism.width) * 10**table.scale
        self._least = ceil_fraction(width) + int(mechanism.strict)
        self._regions = [r for d in reach for r in regions(table, self._cells, d)]
        self._families: dict[int, list[NDArray[np.int64]]] = {}
        self._blocks: dict[tuple[int, bytes], _Block | None] = {}
        self.name = "sequential fixpoint"
        self.words = (
            "deterministic: inside the first region (up to dimension "
            f"{max(reach)}) that fits all primary cells, patterns take turns to take the tables "
            "that they protect from one another"
        )

    def __repr__(self) -> str:
        return f"SequentialFixpoint({len(self._regions)} regions)"

    def publish(
        self, values: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        """See `studies.publishing.publisher.Publisher`."""
        table = np.asarray(values, dtype=np.int64)
        if not self._rules.requirements(table[None])[0].any():
            return np.zeros(len(table), dtype=bool)
        region = int(self._regions_of(table[None])[0])
        return None if region < 0 else self._published(table, region)

    def likelihood(
        self,
        pattern: NDArray[np.bool_],
        values: NDArray[np.int64],
        *,
        clock: Clock = UNLIMITED,
    ) -> NDArray[np.float64]:
        """See `studies.publishing.publisher.Publisher`; 0 or 1."""
        tables = np.asarray(values, dtype=np.int64)
        flags = as_flags(pattern, len(self._rules.free), "the pattern")
        out = np.zeros(len(tables))
        if not len(tables) or flags[~self._rules.free].any():
            return out
        wanted = np.flatnonzero(flags[self._cells])
        primary, _ = self._rules.requirements(tables)
        if not flags.any():
            return np.asarray(~primary.any(axis=1), dtype=np.float64)
        home = np.where((primary & ~flags).any(axis=1), -1, self._regions_of(tables))
        for region in np.unique(home[home >= 0]).tolist():
            # A pattern that is not in the family of a region takes no table of it.
            family = self._family(region)
            number = next((i for i, y in enumerate(family) if np.array_equal(y, wanted)), None)
            if number is None:
                continue
            rows = np.flatnonzero(home == region)
            # One block after the other, so that none is computed twice.
            rows = rows[np.lexsort(self._off(tables[rows], region).T)]
            for t in rows.tolist():
                clock.check()
                block = self._block(tables[t], region)
                out[t] = block is not None and block.number(tables[t]) == number
        return out

    def _off(self, tables: NDArray[np.int64], region: int) -> NDArray[np.int64]:
        """Tables without what is inside a region: (t, n) int64."""
        off = tables.copy()
        off[:, self._cells[self._regions[region].cells]] = 0
        return off

    def _regions_of(self, tables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Region of each table; -1 where none holds its primary cells, or it has none."""
        primary, _ = self._rules.requirements(tables)
        inner, x = primary[:, self._cells], tables[:, self._cells]
        out = np.full(len(tables), -1, dtype=np.int64)
        for i, region in enumerate(self._regions):
            outside = np.ones(len(self._cells), dtype=bool)
            outside[region.cells] = False
            fits = (out < 0) & inner.any(axis=1) & ~(inner & outside).any(axis=1)
            rows = np.flatnonzero(fits)
            wide = region.widths(x[rows]) >= self._least
            out[rows[(wide | ~inner[rows][:, region.cells]).all(axis=1)]] = i
        return out

    def _published(self, table: NDArray[np.int64], region: int) -> NDArray[np.bool_] | None:
        block = self._block(table, region)
        if block is None:
            return None
        number = block.number(table)
        if number < 0:
            return None
        pattern = np.zeros(len(table), dtype=bool)
        pattern[self._cells[self._family(region)[number]]] = True
        return pattern

    def _family(self, region: int) -> list[NDArray[np.int64]]:
        if region not in self._families:
            self._families[region] = bridgeless(
                self._rules.table, self._cells, self._regions[region].cells
            )
        return self._families[region]

    def _block(self, table: NDArray[np.int64], region: int) -> _Block | None:
        key = region, self._off(table[None], region).tobytes()
        if key not in self._blocks:
            if len(self._blocks) >= _BLOCKS:  # the oldest one is computed again if need be
                del self._blocks[next(iter(self._blocks))]
            self._blocks[key] = self._take_turns(table, region)
        return self._blocks[key]

    def _take_turns(self, table: NDArray[np.int64], region: int) -> _Block | None:
        """Compute the block of a table."""
        cells = self._cells[self._regions[region].cells]
        flags = np.zeros(len(table), dtype=bool)
        flags[cells] = True
        tables = self._completions.of(table, flags)
        if tables is None:
            return None
        tables = np.concatenate([part[self._regions_of(part) == region] for part in _parts(tables)])
        required = [self._rules.requirements(part) for part in _parts(tables)]
        x, primary = tables[:, cells], np.concatenate([p[:, cells] for p, _ in required])
        levels = np.concatenate([each[:, :, cells] for _, each in required], axis=1)
        lows, highs, widths = x - levels[0], x + levels[1], levels[2]
        chosen = np.full(len(tables), -1, dtype=np.int64)
        place = {int(c): i for i, c in enumerate(self._regions[region].cells)}
        for number, pattern in enumerate(self._family(region)):
            inside = np.zeros(len(cells), dtype=bool)
            inside[[place[int(c)] for c in pattern]] = True
            rows = np.flatnonzero((chosen < 0) & ~(primary & ~inside).any(axis=1))
            if not len(rows):
                continue
            groups = _groups(x[rows][:, ~inside])
            kept = _greatest(
                groups, x[rows][:, inside], primary[rows][:, inside], lows[rows][:, inside],
                highs[rows][:, inside], widths[rows][:, inside],
            )  # fmt: skip
            chosen[rows[kept]] = number
        keys = self._completions.determining(flags)
        rows_of = {row.tobytes(): i for i, row in enumerate(tables[:, keys])}
        return _Block(keys, rows_of, chosen)


def _parts(tables: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut many tables into pieces that fit into memory comfortably."""
    return [tables[i : i + _CHUNK] for i in range(0, len(tables), _CHUNK)]


def _groups(published: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give equal rows equal numbers, from 0 on: (t,) int64."""
    if not published.shape[1]:
        return np.zeros(len(published), dtype=np.int64)
    low = published.min(axis=0)
    span = (published.max(axis=0) - low + 1).tolist()
    code = np.zeros(len(published), dtype=np.int64)
    scale = 1
    for j, s in enumerate(span):
        if scale > 2**62 // s:  # too many combinations for one number: count the codes so far
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            scale = int(code.max()) + 1
        code += scale * (published[:, j] - low[j])
        scale *= s
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def _greatest(
    groups: NDArray[np.int64], x: NDArray[np.int64], primary: NDArray[np.bool_],
    lows: NDArray[np.int64], highs: NDArray[np.int64], widths: NDArray[np.int64],
) -> NDArray[np.int64]:  # fmt: skip
    """Rows of the greatest self-safe subset of each group.

    Parameters
    ----------
    groups : (t,) int64
    x : (t, s) int64
        Suppressed cells.
    primary : (t, s) bool
    lows, highs, widths : (t, s) int64
        How far down and up the values of a primary cell must go, and how far apart they must be.

    Returns
    -------
    (r,) int64
    """
    rows = np.argsort(groups, kind="stable")
    while len(rows) and x.shape[1]:
        mine = groups[rows]
        first = np.flatnonzero(np.diff(mine, prepend=-1))
        which = np.repeat(np.arange(len(first)), np.diff(first, append=len(rows)))
        least = np.minimum.reduceat(x[rows], first, axis=0)[which]
        most = np.maximum.reduceat(x[rows], first, axis=0)[which]
        good = (least <= lows[rows]) & (most >= highs[rows]) & (most - least >= widths[rows])
        stays = (good | ~primary[rows]).all(axis=1)
        if stays.all():
            break
        rows = rows[stays]
    return rows
