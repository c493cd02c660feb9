"""The cell suppression problem: a table, its primary cells, and how wide each must stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import InputError
from csp.numbers import MAX_VALUE
from csp.table import Table

if TYPE_CHECKING:
    from csp.rules import Rule

__all__ = ["STATUS", "Problem"]

STATUS = {
    "u": "primary: must be suppressed and protected",
    "s": "may be suppressed",
    "x": "suppressed beforehand as a secondary cell",
    "w": "never published, at no cost, and not protected",
    "z": "must be published",
}
"""Cell status letters of sdcTable and what they mean here."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """A table with protection requirements (paper 003, Definitions 1 to 4).

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
    singletons : (n,) bool
        Cells with one contributor, who knows the value. Every primary cell must keep its levels
        even for one such contributor (other than its own). All False: the attacker is an
        outsider.
    union_rule : Rule or None
        If given, a sum of suppressed cells that a relation publishes must pass this rule too.

    Raises
    ------
    InputError
        For wrong shapes or letters, negative levels or costs, costs beyond int64, and levels
        that reach outside the bounds of their cell (labels named).
    """

    table: Table
    primary: NDArray[np.bool_]
    lpl: NDArray[np.int64]
    upl: NDArray[np.int64]
    spl: NDArray[np.int64]
    cost: NDArray[np.int64]
    status: NDArray[np.str_]
    cost_scale: int = 0
    singletons: NDArray[np.bool_] | None = None
    union_rule: Rule | None = None

    def __post_init__(self) -> None:
        for name, kind in (("primary", np.bool_), ("status", np.dtype("U1"))):
            _freeze(self, name, np.array(getattr(self, name), dtype=kind))
        for name in ("lpl", "upl", "spl", "cost"):
            _freeze(self, name, _integers(self, name))
        flags = np.zeros(self.table.n_cells, bool) if self.singletons is None else self.singletons
        _freeze(self, "singletons", np.array(flags, dtype=bool))
        _check_status(self)
        _check_levels(self)

    def __repr__(self) -> str:
        return (
            f"Problem({self.table!r}, {int(self.primary.sum())} primary, "
            f"{int(self.free.sum())} may be suppressed)"
        )

    @property
    def forced(self) -> NDArray[np.bool_]:
        """Cells that every pattern suppresses: primary, or suppressed beforehand."""
        return np.isin(self.status, ("u", "x", "w"))

    @property
    def free(self) -> NDArray[np.bool_]:
        """Cells that a pattern may suppress or publish."""
        return self.status == "s"

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
        mask = np.broadcast_to(np.asarray(primary, bool), (n,)).copy()
        fixed = np.broadcast_to(np.asarray(publish, bool), (n,)).copy()
        if table.structural is not None:
            fixed |= table.structural
        clash = mask & fixed
        if clash.any():
            i = int(np.argmax(clash))
            msg = f"cell {table.cell(i)} is primary and must be published; drop one of the two"
            raise InputError(msg)
        status = np.where(mask, "u", np.where(fixed, "z", "s"))
        spread = {
            k: np.broadcast_to(np.asarray(v), (n,))
            for k, v in {"lpl": lpl, "upl": upl, "spl": spl, "cost": cost}.items()
        }
        return cls(table, mask, status=status, **spread, **options)


def _freeze(problem: Problem, name: str, array: NDArray[Any]) -> None:
    n = problem.table.n_cells
    if array.shape != (n,):
        msg = f"{name} has shape {array.shape}; {n} cells need ({n},)"
        raise InputError(msg)
    array.flags.writeable = False
    object.__setattr__(problem, name, array)


def _integers(problem: Problem, name: str) -> NDArray[np.int64]:
    raw = np.asarray(getattr(problem, name))
    if raw.dtype.kind == "f" and not np.all(np.mod(raw, 1) == 0):
        i = int(np.argmax(np.mod(raw, 1) != 0))
        msg = f"{name} of cell {problem.table.cell(i)} is not a whole number of units"
        raise InputError(msg)
    try:
        big = (
            np.array([int(v) for v in raw.ravel()], dtype=object) if raw.dtype.kind in "Of" else raw
        )
        if raw.dtype.kind == "u" or raw.dtype.kind in "Of":
            beyond = np.array([abs(int(v)) > MAX_VALUE * 2**9 for v in big.ravel()], dtype=bool)
            if beyond.any():
                raise OverflowError
        return big.astype(np.int64)
    except (OverflowError, ValueError) as error:
        i = next((k for k, v in enumerate(raw.ravel()) if not abs(float(v)) < 2.0**62), 0)
        msg = (
            f"{name} of cell {problem.table.cell(i)} does not fit into 62 bits; "
            "divide all of them by a common factor"
        )
        raise InputError(msg) from error


def _check_status(problem: Problem) -> None:
    table = problem.table
    unknown = ~np.isin(problem.status, list(STATUS))
    if unknown.any():
        i = int(np.argmax(unknown))
        msg = f"status {str(problem.status[i])!r} of cell {table.cell(i)} is not one of {', '.join(STATUS)}"
        raise InputError(msg)
    differ = problem.primary != (problem.status == "u")
    if differ.any():
        i = int(np.argmax(differ))
        msg = f"cell {table.cell(i)}: primary and status 'u' must go together"
        raise InputError(msg)


def _check_levels(problem: Problem) -> None:
    table = problem.table
    for name in ("lpl", "upl", "spl", "cost"):
        negative = getattr(problem, name) < 0
        if negative.any():
            i = int(np.argmax(negative))
            msg = f"{name} of cell {table.cell(i)} is negative; give 0 or more"
            raise InputError(msg)
    p = problem.primary
    for name, room in (
        ("lpl", table.values - np.maximum(table.lower, -MAX_VALUE)),
        ("upl", np.minimum(table.upper, 2 * MAX_VALUE) - table.values),
    ):
        outside = p & (getattr(problem, name) > room)
        if outside.any():
            i = int(np.argmax(outside))
            bound = "lower" if name == "lpl" else "upper"
            msg = (
                f"{name} of cell {table.cell(i)} reaches beyond its {bound} bound by "
                f"{int(getattr(problem, name)[i] - room[i])} units; lower the level or widen the bound"
            )
            raise InputError(msg)
