"""What a rule says of a table: which cells are sensitive, and how wide each must stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import InputError
from csp.exact import UNBOUNDED, Bools, Ints
from csp.tables.cells import set_array
from csp.tables.table import Table

_NOT_GIVEN = np.zeros(0, dtype=bool)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sensitivity:
    """Sensitive cells and the protection levels they require.

    Attributes
    ----------
    primary : (n,) bool
        Sensitive cells.
    lpl, upl, spl : (n,) int64
        Lower, upper and sliding protection levels in table units; 0 at other cells.
    open : (n,) bool
        Sensitive cells to which the rule gave no level: the caller must choose one. By
        default those whose levels are all 0.
    """

    primary: Bools
    lpl: Ints
    upl: Ints
    spl: Ints
    open: Bools = field(default_factory=lambda: _NOT_GIVEN)

    def __post_init__(self) -> None:
        n = len(self.primary)
        for name in ("primary", "lpl", "upl", "spl", "open"):
            if name == "open" and self.open is _NOT_GIVEN:
                none = (self.lpl == 0) & (self.upl == 0) & (self.spl == 0)
                object.__setattr__(self, "open", self.primary & none)
            kind = np.bool_ if name in ("primary", "open") else np.int64
            array: NDArray[Any] = np.array(getattr(self, name), dtype=kind)
            if name != "primary" and array.shape == (n,):
                # The cell of another rule must not inherit a level that was not meant for it.
                array[~self.primary] = 0
            set_array(self, name, array, n)

    def __repr__(self) -> str:
        return f"Sensitivity({int(self.primary.sum())} of {len(self.primary)} cells sensitive)"

    @classmethod
    def of(cls, table: Table, primary: ArrayLike, *, level: Any = 0, spl: Any = 0) -> Sensitivity:
        """Sensitivity from a mask and levels for all cells, cut to what the bounds allow.

        Parameters
        ----------
        table : Table
            Its structurally empty cells are never sensitive.
        primary : (n,) bool
        level : (n,) or scalar int
            Upper protection level. The lower one is the same, but no more than the cell's lower
            bound leaves room for.
        spl : (n,) or scalar int
            Sliding level.

        Raises
        ------
        InputError
            If the mask has another shape, or a level is beyond 62 bits (cell named).
        """
        n = table.n_cells
        mask = np.array(primary)
        if mask.shape != (n,) or mask.dtype != np.bool_:
            msg = (
                f"a rule gave an array of shape {mask.shape} and type {mask.dtype}; "
                f"{n} cells need a bool array of shape ({n},)"
            )
            raise InputError(msg)
        if table.structural is not None:
            mask &= ~table.structural
        high = _fitting(table, mask, level)
        wide = _fitting(table, mask, spl)
        # Value less bound fits: |value| <= 2**53 and the bound is -2**62 at least.
        return cls(mask, np.minimum(high, table.values - table.lower), high, wide)

    def without(self, cells: Bools) -> Sensitivity:
        """Return the same with these cells no longer sensitive."""
        keep = ~cells
        return Sensitivity(
            self.primary & keep, self.lpl * keep, self.upl * keep, self.spl * keep, self.open & keep
        )

    def __or__(self, other: Sensitivity) -> Sensitivity:
        """Sensitive to either: the larger level of each kind counts."""
        levelled = (self.primary & ~self.open) | (other.primary & ~other.open)
        primary = self.primary | other.primary
        return Sensitivity(
            primary,
            np.maximum(self.lpl, other.lpl),
            np.maximum(self.upl, other.upl),
            np.maximum(self.spl, other.spl),
            primary & ~levelled,
        )


def _fitting(table: Table, mask: Bools, level: Any) -> Ints:
    """Levels as int64 at sensitive cells, 0 elsewhere."""
    wide = np.broadcast_to(np.asarray(level), mask.shape)
    large = mask & np.asarray(wide >= UNBOUNDED, dtype=bool)
    if large.any():
        msg = (
            f"the level of cell {table.cell(int(np.argmax(large)))} does not fit into 62 bits; "
            "use milder parameters or a larger unit"
        )
        raise InputError(msg)
    found = np.zeros(mask.shape, dtype=np.int64)
    found[mask] = wide[mask].astype(np.int64)
    return found
