"""Ways to publish one table, each tried and judged: blanks, intervals, rounding, noise of others.

For the office: errors and verdicts are worked out from the true table.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks.algorithm_known.matching_attack import matching
from attacks.rounding_known.closest_tables import undo_rounding
from csp.clock import Clock
from csp.decoys.key import Key
from csp.errors import CellveilError, InputError, OutOfTime, argument
from csp.exact import Bools, Floats, Ints, Number, exact, number_text
from csp.mechanism import Mechanism, Protected
from csp.names.calls import expect
from csp.problem.problem import Problem
from csp.release.ranges import grid_units, outward, published_as
from csp.rounding.controlled import base_units, round_table
from csp.rounding.perturbed import Noisy, Perturbed, noisy_table
from csp.rounding.rounded import Rounded
from csp.rounding.rounding_audit import audit_rounding, check_no_unions
from csp.rounding.small_counts import small_part
from csp.tables.table import Table

KINDS = ("suppress", "intervals", "round", "random")

_LISTED = 1_000_000
"""Tables of inner cells near enough to the published ones, up to which a rounding is undone."""


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """Numbers that another program would publish; see `csp.noisy_table`.

    Attributes
    ----------
    name : str
        Such as "cell key".
    data : data frame, mapping of columns, or path
        One row a cell, with the dimensions of the table.
    value : str
        Column of the published numbers.
    reach : Number or str
        How far each of them may be from the true value, or the column that says so.
    """

    name: str
    data: Any
    value: str
    reach: Number | str

    def __post_init__(self) -> None:
        expect(self.name, str, "name")
        expect(self.value, str, "value")

    def __repr__(self) -> str:
        return f"Noise({self.name})"


@dataclass(frozen=True, slots=True)
class Told:
    """What an attacker who knows the method learns of sensitive cells.

    Attributes
    ----------
    short, known : int or None
        Sensitive cells that stay narrower than their levels, and that are known exactly; None if
        the attack was not run.
    tables, left : int or None
        Consistent tables, and those that the method would publish so; None if they were not
        counted.
    words : str
        Why it was not run, or that it did not finish.
    """

    short: int | None = None
    known: int | None = None
    tables: int | None = None
    left: int | None = None
    words: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Way:
    """One way to publish the table, and what it costs and leaves uncertain.

    Attributes
    ----------
    method : str
    table : Table
    problem : Problem
        Sensitive cells and their levels.
    values : (n,) float64
        Published numbers, in units; NaN where a cell is left blank.
    withheld : (n,) bool
        Cells whose value is not published, though an interval may be.
    lower, upper : (n,) float64
        What anybody can infer of sensitive cells, in units; NaN elsewhere.
    short : (n,) bool
        Sensitive cells that are narrower than their levels to an outsider, whose intervals `lower`
        and `upper` are.
    inside : (n,) bool or None
        Those that are to an outsider or to a contributor who is alone in a cell and knows its
        value; None if the rules do not guard against these.
    exact : tuple of Fraction, optional
        Published numbers in units, where they are not whole ones.
    proven : bool or None
        Whether no other result of the method is better by its own measure: fewer or cheaper cells
        suppressed, a smaller distance. None for numbers of another program.
    told : Told
    seconds : float
    reason : str
        Why there is no such table; the arrays are empty then.
    """

    method: str
    table: Table
    problem: Problem
    values: Floats = field(default_factory=lambda: np.empty(0))
    withheld: Bools = field(default_factory=lambda: np.empty(0, bool))
    lower: Floats = field(default_factory=lambda: np.empty(0))
    upper: Floats = field(default_factory=lambda: np.empty(0))
    short: Bools = field(default_factory=lambda: np.empty(0, bool))
    inside: Bools | None = None
    exact: tuple[Fraction, ...] = ()
    proven: bool | None = None
    told: Told = Told()
    seconds: float = 0.0
    reason: str = ""

    def __repr__(self) -> str:
        return f"Way({self.method}{': ' if self.reason else ''}{self.reason})"

    def errors(self, cells: Ints) -> list[Fraction]:
        """Absolute differences of published numbers to true ones, in units; blanks are left out.

        Parameters
        ----------
        cells : (k,) int64
        """
        there = cells[~np.isnan(self.values[cells])].tolist()
        true = self.table.values
        if self.exact:
            return [abs(self.exact[i] - int(true[i])) for i in there]
        return [Fraction(abs(int(self.values[i]) - int(true[i]))) for i in there]

    @property
    def wanted(self) -> Ints:
        """Width that each cell's levels ask for, in units, shape (n,)."""
        problem = self.problem
        return np.where(problem.primary, np.maximum(problem.lpl + problem.upl, problem.spl), 0)

    @property
    def slack(self) -> Floats:
        """How far the interval of each sensitive cell reaches beyond its levels, in units.

        Negative where it falls short: of the lower, the upper or the sliding level, whichever is
        missed by most. A level that is not asked for does not count, as `rooms` has it.
        """
        problem, values = self.problem, self.table.values
        none = (problem.lpl == 0) & (problem.upl == 0) & (problem.spl == 0)
        sides = (
            (values - self.lower, problem.lpl, problem.lpl > 0),
            (self.upper - values, problem.upl, problem.upl > 0),
            (self.upper - self.lower, problem.spl, (problem.spl > 0) | none),
        )
        found = [np.where(asked, room - level, np.inf) for room, level, asked in sides]
        return np.asarray(np.min(found, axis=0)[problem.primary])

    @property
    def rooms(self) -> Floats:
        """Room of each sensitive cell over the room that its levels ask for.

        The least over the lower, the upper and the sliding level, where they are asked for; 1 and
        more keeps all of them.
        """
        problem, values = self.problem, self.table.values
        sides = (
            (values - self.lower, problem.lpl), (self.upper - values, problem.upl),
            (self.upper - self.lower, problem.spl),
        )  # fmt: skip
        found = [
            np.where(level > 0, room / np.maximum(level, 1), np.inf)[problem.primary]
            for room, level in sides
        ]
        return np.asarray(np.min(found, axis=0))

    @property
    def widths(self) -> Floats:
        """Widths of the intervals of sensitive cells, in their order, in units."""
        return np.asarray((self.upper - self.lower)[self.problem.primary])


class Trials:
    """One table and its rules, for any number of ways to publish it.

    Parameters
    ----------
    table : Table
    mechanism : Mechanism
    key : Key
        Of random rounding.
    clock : Clock
        For each way, its attack included.
    name : str
        Of the table in random rounding.
    attack : bool
        Whether to try what an attacker learns who knows the method.
    """

    def __init__(
        self, table: Table, mechanism: Mechanism, key: Key, clock: Callable[[], Clock], *,
        name: str, attack: bool,
    ) -> None:  # fmt: skip
        self._table, self._mechanism, self._key = table, mechanism, key
        self._clock, self._name, self._attack = clock, name, attack
        self.problem = mechanism.problem(table)

    def tried(self, method: str | Noise) -> Way:
        """Publish the table in one way, and judge it; an error is a result."""
        name = method.name if isinstance(method, Noise) else method
        began, clock = time.process_time(), self._clock()
        try:
            way = self._way(method, clock)
        except InputError:
            raise
        except CellveilError as error:
            way = Way(name, self._table, self.problem, reason=str(error))
        return replace(way, seconds=time.process_time() - began)

    def _way(self, method: str | Noise, clock: Clock) -> Way:
        if isinstance(method, Noise):
            noisy = noisy_table(self._table, method.data, method.value, method.reach)
            return self._perturbed(method.name, noisy, clock)
        kind, _, amount = method.partition(":")
        if kind in ("suppress", "intervals"):
            return self._suppressed(method, clock)
        key = self._key if kind == "random" else None
        base, _, small = amount.partition(":")
        rounded = round_table(
            self._table, base, small=bool(small), key=key, name=self._name,
            time_limit=clock.part(0.5).seconds,
        )  # fmt: skip
        return self._perturbed(method, rounded, clock)

    @cached_property
    def _protected(self) -> Protected:
        limit = self._clock().part(0.6).seconds
        done = self._mechanism.protect(self._table, time_limit=limit)
        if done.suppression.stopped == "interrupt":
            raise KeyboardInterrupt  # a comparison with what was found by then would mislead
        return done

    @cached_property
    def _matched(self) -> Told:
        """What the matching attack finds of the suppressed table."""
        problem, release, clock = self.problem, self._protected.release, self._clock().part(0.4)
        if not release.pattern.any():
            return Told(0, 0)
        try:
            found = matching(release, self._mechanism, time_limit=clock.seconds)
        except CellveilError as error:
            return Told(words=str(error))
        if found.interrupted:
            raise KeyboardInterrupt
        low, high = np.full((2, self._table.n_cells), np.nan)
        unit = 10 ** (self._table.scale - release.scale)
        low[found.cells], high[found.cells] = found.lower * unit, found.upper * unit
        short = narrow_cells(problem, low, high)
        known = problem.primary & (low == high)
        words = "" if found.complete else "not every table was tested"
        return Told(int(short.sum()), int(known.sum()), found.fibre_size, None, words)

    def _suppressed(self, method: str, clock: Clock) -> Way:
        intervals, grid = published_as("blanks" if method == "suppress" else method)
        done, table = self._protected, self._table
        values = np.where(done.pattern, np.nan, table.values.astype(np.float64))
        if intervals:
            ranges = outward(table, done.audit, done.release, grid, clock)
            inside = ranges.inside(time_limit=clock.seconds)
            values = inside.astype(np.float64) * 10 ** (table.scale - done.release.scale)
        primary = self.problem.primary
        if not done.audit.exact[primary].all():
            # Ends that are not proved lie inside, and would pass for less room than there is.
            msg = "the time limit passed before every sensitive cell was followed; allow more time"
            raise OutOfTime(msg)
        lower = np.where(primary, done.audit.lower, np.nan)
        upper = np.where(primary, done.audit.upper, np.nan)
        none = np.zeros(table.n_cells, dtype=bool)
        told = self._matched if self._attack else Told(words="not asked for")
        return Way(
            method, table, self.problem, values, done.pattern, lower, upper, none,
            None if self.problem.singletons is None else none.copy(),
            proven=done.suppression.proven, told=told,
        )  # fmt: skip

    def _perturbed(self, name: str, published: Perturbed, clock: Clock) -> Way:
        judged = audit_rounding(published, self._mechanism, time_limit=clock.part(0.5).seconds)
        table, problem = self._table, self.problem
        nothing = np.zeros(table.n_cells, dtype=bool)
        lower, upper = judged.lower.copy(), judged.upper.copy()
        # A cell that is publicly known to be empty is never sensitive; all others are judged.
        exact = published.exact if isinstance(published, Noisy) else ()
        values = np.array(exact, dtype=np.float64) if exact else published.values.astype(np.float64)
        return Way(
            name, table, problem, values, nothing, lower, upper,
            narrow_cells(problem, lower, upper),
            None if problem.singletons is None else judged.narrow, exact,
            published.proven if isinstance(published, Rounded) else None,
            self._undone(published, clock),
        )  # fmt: skip

    def _undone(self, published: Perturbed, clock: Clock) -> Told:
        """Find out what knowing the rounding tells of sensitive cells."""
        if isinstance(published, Noisy):
            return Told(words="how the noise was drawn is not known here")
        assert isinstance(published, Rounded)
        problem, table = self.problem, self._table
        if not self._attack:
            return Told(words="not asked for")
        if published.keyed and not published.relaxed.any():
            return Told(words="a secret key chose: no consistent table is ruled out")
        inner = ~table.margins
        tables = (2 * published.base - 1) ** int(inner.sum())
        if published.small:
            release = published.release
            tables = math.prod((release.upper - release.lower + 1)[inner].tolist())
        if tables > _LISTED:
            return Told(words="too large to list the consistent tables")
        try:
            found = undo_rounding(published, time_limit=clock.seconds)
        except CellveilError as error:
            return Told(words=str(error))
        short = narrow_cells(problem, found.lower, found.upper)
        words = f"{found.tied} tables were not rounded again" if found.tied else ""
        known = int((problem.primary & found.known).sum())
        return Told(int(short.sum()), known, found.tables, found.left, words)


def narrow_cells(problem: Problem, lower: NDArray[Any], upper: NDArray[Any]) -> Bools:
    """Sensitive cells whose interval, in units, does not reach their levels."""
    values = problem.table.values
    return np.asarray(
        problem.primary
        & (
            (values - lower < problem.lpl)
            | (upper - values < problem.upl)
            | (upper - lower < problem.spl)
        )
    )


def levels_of(table: Table) -> Ints:
    """Level of each cell, (n,): 0 for what is part of nothing, one more than that of its total."""
    from scipy.sparse import coo_array

    matrix = coo_array(table.relations)
    rows, cells = matrix.coords
    parts = matrix.data > 0
    level = np.zeros(table.n_cells, dtype=np.int64)
    for _ in range(table.n_cells):
        top = np.zeros(matrix.shape[0], dtype=np.int64)
        np.maximum.at(top, rows[~parts], level[cells[~parts]])
        further = level.copy()
        np.maximum.at(further, cells[parts], top[rows[parts]] + 1)
        if (further == level).all():
            break
        level = further
    return level


def check_methods(table: Table, mechanism: Mechanism, methods: Sequence[str | Noise]) -> None:
    """Refuse, before any work, what is not a way to publish a table.

    Bases, grids and the numbers of other programs are read as well.

    Raises
    ------
    InputError
        Naming the method.
    """
    what = argument("methods")
    if not isinstance(methods, Sequence) or isinstance(methods, str) or not methods:
        msg = f"{what} must be a list, such as ['suppress', 'intervals', 'round:5']"
        raise InputError(msg)
    names = [one.name if isinstance(one, Noise) else one for one in methods]
    for name, method in zip(names, methods, strict=True):
        kind, colon, amount = name.partition(":") if isinstance(method, str) else ("", "", "")
        base, second, small = amount.partition(":")
        needs = kind in ("round", "random")
        wrong = bool(colon and base) < needs or (kind == "suppress" and colon)
        wrong = wrong or bool(second and (not needs or small != "small"))
        if not isinstance(method, Noise) and (kind not in KINDS or wrong):
            msg = (
                f"{what}: {name!r} is not one of suppress, intervals, intervals:GRID, round:BASE, "
                "random:BASE, round:BASE:small, random:BASE:small, or a Noise"
            )
            raise InputError(msg)
        try:
            if isinstance(method, Noise) or needs:
                check_no_unions(mechanism)
            if isinstance(method, Noise):
                noisy_table(table, method.data, method.value, method.reach)
            elif needs:
                units = base_units(table, base)
                if small:
                    small_part(table, units)
            elif amount:
                grid_units(amount, table.scale)
        except InputError as error:
            msg = f"{what}, {name}: {error.template}"
            raise InputError(msg) from None
    plain = [(name,) if isinstance(one, Noise) else _plain(name)
             for name, one in zip(names, methods, strict=True)]  # fmt: skip
    if len(set(plain)) < len(plain):
        msg = f"{what} names one method twice among {', '.join(names)}"
        raise InputError(msg)


def _plain(name: str) -> tuple[str, ...]:
    """Return a method with its number as such: round:5 and round:5.0 are one."""
    kind, *amounts = name.split(":")
    found = [part if part in ("", "small") else number_text(exact(part)) for part in amounts]
    return (kind, *found)
