"""How far suppressed cells can move for an attacker: programs of the second reading's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from csp.audits.second_reading.findings import Exposure
from csp.audits.second_reading.meaning import Label, Reading
from csp.audits.second_reading.rules import Need
from csp.errors import SolverError
from csp.exact import Floats

FAR = 1e6
"""Units that a cell moves at most in such programs: more than any level that they look for."""

_SLACK = 1e-6
"""Shares of a level (or of a unit) that a program in floats may miss."""


@dataclass(frozen=True, slots=True)
class Attacker:
    """Somebody with the cells that he knows, and those in which he takes part."""

    name: str
    knows: frozenset[Label]
    takes_part: frozenset[Label]


class System:
    """Deviations of suppressed cells that keep every published number, for one HiGHS model."""

    def __init__(
        self, labels: Sequence[Label], low: Any, high: Any, rows: Any, *, whole: bool
    ) -> None:
        self.at = {label: i for i, label in enumerate(labels)}
        if whole:  # the branch and bound of HiGHS may stop at 0 where whole columns have no bounds
            low = [max(end, -FAR) for end in low]
            high = [min(end, FAR) for end in high]
        self.low, self.high = low, high
        self.found: list[Floats] = []
        self.model = highspy.Highs()
        self.model.setOptionValue("output_flag", False)  # noqa: FBT003
        self.model.setOptionValue("threads", 1)
        self.model.setOptionValue("mip_rel_gap", 0.0)
        n = len(labels)
        none = np.array([], dtype=np.int32)
        for i in range(n):
            self.model.addCol(0.0, low[i], high[i], 0, none, np.array([]))
            if whole:
                self.model.changeColIntegrality(i, highspy.HighsVarType.kInteger)
        for row in rows:
            cells = np.array(list(row), dtype=np.int32)
            numbers = np.array(list(row.values()), dtype=np.float64)
            self.model.addRow(0.0, 0.0, len(cells), cells, numbers)

    @classmethod
    def of(
        cls,
        reading: Reading,
        hidden: Sequence[Label],
        sums: Iterable[tuple[Label, tuple[Label, ...]]],
        bounds: Mapping[Label, tuple[int | None, int | None]],
        *,
        whole: bool,
    ) -> System:
        """System of what is suppressed; cells that are published or empty do not move."""
        at = {label: i for i, label in enumerate(hidden)}
        rows = []
        for total, parts in sums:
            row = {at[part]: 1.0 for part in parts if part in at}
            if total in at:
                row[at[total]] = -1.0
            if row and row not in rows:
                rows.append(row)
        ends = [(reading.cell(label).value, *bounds[label]) for label in hidden]
        low = [-highspy.kHighsInf if lo is None else float(lo - v) for v, lo, _ in ends]
        high = [highspy.kHighsInf if hi is None else float(hi - v) for v, _, hi in ends]
        return cls(hidden, low, high, rows, whole=whole)

    def reach(self, cell: int, sign: int, most: int, fixed: Collection[int]) -> float:
        """How far a cell can move one way, up to `most`, while others are fixed."""
        model = self.model
        for i in fixed:
            model.changeColBounds(i, 0.0, 0.0)
        model.changeColBounds(cell, max(self.low[cell], -most), min(self.high[cell], most))
        model.changeColCost(cell, float(-sign))
        model.run()
        done = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
        moved = np.array(model.getSolution().col_value)
        model.changeColCost(cell, 0.0)
        for i in (cell, *fixed):
            model.changeColBounds(i, self.low[i], self.high[i])
        if not done:
            msg = "HiGHS found no optimum of a program of the second reading"
            raise SolverError(msg)
        self.found.append(moved)
        return float(sign * moved[cell])


def exposures_of(
    system: System,
    reading: Reading,
    sensitive: Mapping[Label, Need],
    attackers: Iterable[Attacker],
) -> Iterator[Exposure]:
    """Sensitive cells that are published, or whose interval is too narrow for an attacker."""
    for attacker in attackers:
        fixed = sorted(system.at[label] for label in attacker.knows if label in system.at)
        outsider = not attacker.knows
        if not fixed and not outsider:
            continue  # knows what everybody knows
        for label, need in sensitive.items():
            if label not in system.at:
                if outsider:
                    yield _exposure(reading, label, need, attacker, 0.0, 0.0, published=True)
            elif label not in attacker.takes_part and label not in attacker.knows:
                down, up = _follow(system, system.at[label], need, fixed)
                if not _enough(need, down, up):
                    yield _exposure(reading, label, need, attacker, down, up, published=False)


def _exposure(
    reading: Reading, label: Label, need: Need, attacker: Attacker, down: float, up: float,
    *, published: bool,
) -> Exposure:  # fmt: skip
    value = reading.cell(label).value
    return Exposure(label, attacker.name, need, value, down, up, published, reading.scale)


def _enough(need: Need, down: float, up: float) -> bool:
    pairs = ((down, need.down), (up, need.up), (down + up, need.width))
    return all(got >= wanted - _SLACK * max(1, wanted) for got, wanted in pairs)


def _follow(system: System, cell: int, need: Need, fixed: Sequence[int]) -> tuple[float, float]:
    """How far a cell goes down and up; earlier solutions count where they keep what is fixed."""
    moves = [z[cell] for z in system.found if not len(fixed) or not np.abs(z[list(fixed)]).any()]
    down, up = max([0.0, *(-m for m in moves)]), max([0.0, *moves])
    if not _enough(need, down, up):
        down = system.reach(cell, -1, max(need.down, need.width), fixed)
        up = system.reach(cell, 1, max(need.up, need.width), fixed)
    return down, up
