"""The cell suppression problem: a table, its primary cells, and how wide each must stay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import InputError
from csp.exact import MAX_VALUE, UNBOUNDED, Bools, Ints
from csp.tables.cells import as_flags, set_array
from csp.tables.patterns import STATUS, as_pattern
from csp.tables.table import Table

if TYPE_CHECKING:
    from csp.rules import Rule


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """A table with protection requirements (Minami and Abe 2019, Definitions 1 to 4).

    Attributes
    ----------
    table : Table
    primary : (n,) bool
        Cells that must be suppressed and protected.
    lpl, upl, spl : (n,) int64
        Lower, upper and sliding protection level of each cell in table units; read at primary
        cells only. The feasibility interval must reach down to ``value - lpl``, up to
        ``value + upl`` and be at least ``spl`` wide.
    cost : (n,) int64
        Cost of suppressing a cell, in units of ``10**-cost_scale``; never negative.
    status : (n,) array of one-letter str
        Letters of `STATUS`; "u" exactly at the primary cells.
    cost_scale : int
        Decimal places of the costs.
    singletons : (n,) bool or None
        Cells with one contributor, who knows the value. Every primary cell must keep its levels
        even for one such contributor, unless that contributor takes part in it (see
        `csp.problem.singletons`). None: the attacker is an outsider only.
    union_rule : Rule or None
        If given, a sum of suppressed cells that a relation publishes must pass this rule too.

    Raises
    ------
    InputError
        For wrong shapes or letters, negative levels or costs, costs beyond int64, and levels
        that reach outside the bounds of their cell (labels named).
    """

    table: Table
    primary: Bools
    lpl: Ints
    upl: Ints
    spl: Ints
    cost: Ints
    status: NDArray[np.str_]
    cost_scale: int = 0
    singletons: Bools | None = None
    union_rule: Rule | None = None

    def __post_init__(self) -> None:
        n = self.table.n_cells
        set_array(self, "primary", as_flags(self.primary, n, "primary"), n)
        set_array(self, "status", np.array(self.status, dtype="U1"), n)
        for name in ("lpl", "upl", "spl", "cost"):
            set_array(self, name, _integers(self, name), n)
        if self.singletons is not None:
            set_array(self, "singletons", as_flags(self.singletons, n, "singletons"), n)
        _check_status(self)
        _check_levels(self)

    def __repr__(self) -> str:
        # How many cells are primary would mark them where no other is suppressed.
        return f"Problem({self.table!r})"

    @property
    def alone(self) -> Bools:
        """Cells whose one contributor counts as an attacker."""
        if self.singletons is None:
            return np.zeros(self.table.n_cells, dtype=bool)
        return self.singletons

    @property
    def forced(self) -> Bools:
        """Cells that every pattern suppresses: primary, or suppressed beforehand."""
        return np.asarray(np.isin(self.status, ("u", "x", "w")))

    @property
    def free(self) -> Bools:
        """Cells that a pattern may suppress or publish."""
        return np.asarray(self.status == "s")

    def keeping(self, pattern: ArrayLike) -> Problem:
        """Return the problem with more cells suppressed beforehand, as in an earlier release.

        Parameters
        ----------
        pattern : (n,) bool

        Raises
        ------
        InputError
            If the pattern has another shape, or holds a cell that must be published.
        """
        kept = as_pattern(self.table, pattern)
        clash = kept & (self.status == "z")
        _refuse(self.table, clash, "cell {} is to stay suppressed, but must be published")
        return replace(self, status=np.where(kept & self.free, "x", self.status))

    def publishing(self, cells: ArrayLike) -> Problem:
        """Return the problem with more cells that must be published, as those that are out.

        Parameters
        ----------
        cells : (n,) bool

        Raises
        ------
        InputError
            If they have another shape, or one of them is sensitive or suppressed beforehand.
        """
        public = as_pattern(self.table, cells)
        gone = public & self.forced
        _refuse(
            self.table, gone & self.primary, "cell {} is published already, and is sensitive here"
        )
        _refuse(self.table, gone, "cell {} is published already, and is to stay suppressed")
        return replace(self, status=np.where(public, "z", self.status))

    @classmethod
    def of(
        cls,
        table: Table,
        primary: ArrayLike,
        *,
        lpl: ArrayLike = 0,
        upl: ArrayLike = 0,
        spl: ArrayLike = 0,
        cost: ArrayLike = 1,
        publish: ArrayLike = False,
        **options: Any,
    ) -> Problem:
        """Problem from masks and levels that may be given once for all cells.

        Parameters
        ----------
        table : Table
        primary : (n,) bool
        lpl, upl, spl, cost : int or (n,) int
            A single number holds for every cell.
        publish : bool or (n,) bool
            Cells that must be published. Structurally empty cells always are.
        **options
            Passed to `Problem`.

        Raises
        ------
        InputError
            If a primary cell must be published.
        """
        n = table.n_cells
        mask = as_flags(primary, n, "primary", single=True)
        fixed = as_flags(publish, n, "publish", single=True)
        if table.structural is not None:
            fixed |= table.structural
        clash = mask & fixed
        _refuse(table, clash, "cell {} is primary and must be published; drop one of the two")
        status = np.where(mask, "u", np.where(fixed, "z", "s"))
        return cls(
            table,
            mask,
            lpl=np.broadcast_to(np.asarray(lpl), (n,)),
            upl=np.broadcast_to(np.asarray(upl), (n,)),
            spl=np.broadcast_to(np.asarray(spl), (n,)),
            cost=np.broadcast_to(np.asarray(cost), (n,)),
            status=status,
            **options,
        )


def _integers(problem: Problem, name: str) -> Ints:
    raw = np.asarray(getattr(problem, name))
    if raw.dtype.kind in "ib" and not np.any(np.abs(raw.astype(np.float64)) >= float(UNBOUNDED)):
        return raw.astype(np.int64)
    whole = [_whole(v) for v in raw.ravel().tolist()]
    for i, v in enumerate(whole):
        if v is None or abs(v) >= UNBOUNDED:
            wrong = "is not a whole number of units" if v is None else "does not fit into 62 bits"
            mend = "round it up" if v is None else "divide all of them by a common factor"
            where = problem.table.cell(i) if raw.ndim == 1 and i < problem.table.n_cells else i
            msg = f"{name} of cell {where} {wrong}; {mend}"
            raise InputError(msg)
    return np.array(whole, dtype=np.int64).reshape(raw.shape)


def _whole(number: Any) -> int | None:
    """Return the number as an integer, or None if it is not one."""
    try:
        return int(number) if number == int(number) else None
    except (OverflowError, ValueError, TypeError):
        return None


def _refuse(table: Table, wrong: Bools, why: str) -> None:
    """Refuse a problem if any cell is wrong, naming the first one."""
    if wrong.any():
        raise InputError(why.format(table.cell(int(np.argmax(wrong)))))


def _check_status(problem: Problem) -> None:
    table = problem.table
    unknown = ~np.isin(problem.status, list(STATUS))
    if unknown.any():
        i = int(np.argmax(unknown))
        letter = str(problem.status[i])
        msg = f"status {letter!r} of cell {table.cell(i)} is not one of {', '.join(STATUS)}"
        raise InputError(msg)
    differ = problem.primary != (problem.status == "u")
    _refuse(table, differ, "cell {}: primary and status 'u' must go together")


def _check_levels(problem: Problem) -> None:
    table = problem.table
    for name in ("lpl", "upl", "spl", "cost"):
        negative = getattr(problem, name) < 0
        _refuse(table, negative, name + " of cell {} is negative; give 0 or more")
    p = problem.primary
    for name, room in (
        ("lpl", table.values - np.maximum(table.lower, -MAX_VALUE)),
        ("upl", np.minimum(table.upper, 2 * MAX_VALUE) - table.values),
    ):
        outside = p & (getattr(problem, name) > room)
        side = "lower" if name == "lpl" else "upper"
        beyond = f"reaches beyond its {side} bound ({int(outside.sum())} such cells)"
        mend = "lower the level or widen the bound"
        _refuse(table, outside, f"{name} of cell {{}} {beyond}; {mend}")
