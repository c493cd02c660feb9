"""How wide every suppressed cell must be where decoys hide which of them are primary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from csp.audits.claims import Certificate
from csp.audits.intervals import interval_claims
from csp.clock import UNLIMITED, Clock
from csp.decoys.decoys import Decoys
from csp.errors import InputError, phrase
from csp.exact import Bools, ceil_fraction, exact, number_text, units_text
from csp.problem.problem import Problem
from csp.tables.table import Table


@dataclass(frozen=True, slots=True)
class Wide:
    """How wide the interval of every suppressed cell must be.

    Nothing but published facts decides whether it is: the ends of the intervals are the same for
    every consistent table.

    Attributes
    ----------
    units : int
        Least width.
    share : Fraction or None
        Least width as a share of the upper end.
    """

    units: int
    share: Fraction | None

    @classmethod
    def of(cls, problem: Problem, decoys: Decoys, width: int) -> Wide:
        """Read what decoys and mechanism ask.

        Raises
        ------
        InputError
            If neither asks for any width, or a share is asked where cells may be negative.
        """
        table = problem.table
        if decoys.share is not None:
            below = (table.lower < 0) & (problem.free | problem.forced)
            if below.any():
                msg = (
                    f"cell {table.cell(int(np.argmax(below)))} may be negative, so a share of its "
                    "upper end is not a width; give "
                    + phrase("Decoys(width=)", "width= in --defence")
                    + " in place of share="
                )
                raise InputError(msg)
            return cls(max(width, 1), exact(decoys.share))
        own = 0 if decoys.width is None else ceil_fraction(exact(decoys.width) * 10**table.scale)
        if max(own, width) <= 0:
            msg = (
                "the least width of a decoy's interval is missing; give "
                + phrase("the mechanism width=, Decoys(width=)", "--width, or --defence a width=")
                + " in numbers of the measure, or "
                + phrase("Decoys(share=)", "a share=")
                + " of each cell"
            )
            raise InputError(msg)
        return cls(max(own, width), None)

    def words(self, table: Table) -> str:
        """Say it."""
        text = f"an interval at least {units_text(self.units, table.scale)} wide"
        if self.share is not None:
            text += f" and {number_text(self.share)} times its upper end"
        return text

    def holds(
        self, problem: Problem, pattern: Bools, cells: Bools, *,
        integer: bool, clock: Clock = UNLIMITED,
    ) -> Bools:  # fmt: skip
        """Which of some cells are wide enough if this is suppressed, (n,) bool."""
        wide = np.zeros(len(pattern), dtype=bool)
        for i, low, high in _ends(problem.table, pattern, cells, integer=integer, clock=clock):
            wide[i] = low is None or high is None or high - low >= self._level(high)
        return wide

    def _level(self, upper: Fraction | None) -> int:
        """Sliding level in units of a cell with this upper end."""
        if self.share is None or upper is None:
            return self.units
        return max(self.units, ceil_fraction(self.share * upper))

    def posed(self, problem: Problem, required: Bools, closed: Bools) -> Problem:
        """Problem in which required cells are primary and closed ones published."""
        asked = self._asked(problem, required)
        if self.share is not None:
            # Down to value less share: then the interval is wide enough whatever its upper end.
            table, share = problem.table, self.share
            down = np.array([ceil_fraction(share * v) for v in table.values.tolist()])
            down = np.minimum(down, table.values - table.lower)
            asked["lpl"] = np.where(required, np.maximum(asked["lpl"], down), asked["lpl"])
        asked["status"] = np.where(closed & ~required, "z", asked["status"])
        return replace(problem, **asked)

    def strict(
        self, problem: Problem, pattern: Bools, *, integer: bool, clock: Clock = UNLIMITED,
    ) -> Problem:  # fmt: skip
        """Problem in which every suppressed cell is primary, for the audit."""
        asked = self._asked(problem, pattern)
        if self.share is not None:
            for i, _, high in _ends(problem.table, pattern, pattern, integer=integer, clock=clock):
                asked["spl"][i] = max(int(asked["spl"][i]), self._level(high))
        return replace(problem, **asked)

    def _asked(self, problem: Problem, cells: Bools) -> dict[str, Any]:
        """Change a problem so that some cells are the primary ones, each as wide in units."""
        lpl, upl, spl = (
            np.where(problem.primary, level, 0) for level in (problem.lpl, problem.upl, problem.spl)
        )
        spl = np.where(cells, np.maximum(spl, self.units), spl)
        status = np.where(cells, "u", problem.status)
        return {"primary": cells, "lpl": lpl, "upl": upl, "spl": spl, "status": status}


def _ends(
    table: Table,
    pattern: Bools,
    cells: Bools,
    *,
    integer: bool,
    clock: Clock,
) -> Iterator[tuple[int, Fraction | None, Fraction | None]]:
    """Yield cell, lower and upper end in units, with checked witnesses; None for no end."""
    ends = interval_claims(
        table, pattern, np.flatnonzero(cells & pattern), integer=integer, clock=clock
    )
    Certificate(table, pattern, tuple(c for pair in ends.values() for c in pair)).verify()
    for i, (low, high) in ends.items():
        value = int(table.values[i])
        yield (
            i,
            None if low.reach is None else Fraction(value - low.reach),
            None if high.reach is None else Fraction(value + high.reach),
        )
