"""What a mechanism says of single values: primary or not, with which levels, at which cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from csp.audits.intervals import intervals
from csp.clock import Clock
from csp.errors import InputError, OutOfTime
from csp.exact import Bools, Ints
from csp.mechanism import Mechanism
from csp.release.release import Release
from csp.rules.base import parts_of
from csp.rules.frequency import MinFrequency, Zero
from csp.tables.codes import Labels
from csp.tables.table import Table

_FIRST_VALUES, _KEPT_VALUES = 64, 4096
"""Values from 0 on that are asked about at first, and at most, to be remembered."""

Answers = tuple[Bools, Ints, Ints]
"""Whether values are primary (...), their levels (3, ...), and their costs (...)."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValueRules:
    """What the mechanism says of every value of every suppressed cell.

    Values are counted from the least feasible one; ``s`` is the widest range plus 1. No match holds
    a value that is not allowed: one that is primary and does not reach its levels under the
    pattern, or does not agree with the marks.
    """

    primary: Bools  # (k, s)
    levels: Ints  # (3, k, s) lower, upper and sliding protection level
    cost: Ints  # (k, s) as a secondary cell
    allowed: Bools  # (k, s)


class ValueAnswers:
    """A mechanism that is asked about values, and remembers small ones for the next release."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._known: dict[tuple[int, ...], Answers] = {}

    def __repr__(self) -> str:
        return f"ValueAnswers({self._mechanism!r})"

    def rules(
        self, release: Release, table: Table, lower: Ints, upper: Ints, clock: Clock,
    ) -> ValueRules | None:  # fmt: skip
        """Ask about every value of the suppressed cells, from `lower` to `upper` (k,).

        None if the time runs out first.
        """
        cells, width = np.flatnonzero(release.pattern), int((upper - lower).max()) + 1
        value = np.minimum(lower[:, None] + np.arange(width), upper[:, None])
        answers = self._of(table, cells, value, clock)
        if answers is None:
            return None
        primary, levels, cost = answers
        # An attacker who does not know that cells are whole sees more; the proof of a match checks
        # that exactly, so a little more may be let through here.
        low, high = lower[:, None].astype(float), upper[:, None].astype(float)
        if not self._mechanism.attacker_is_integer(table):
            try:
                ends = intervals(table, release.pattern, time_limit=clock.seconds)
            except OutOfTime:
                return None
            low, high = ends.lower[cells][:, None] - 1e-6, ends.upper[cells][:, None] + 1e-6
        reached = (value - levels[0] >= low) & (value + levels[1] <= high)
        reached &= levels[2] <= high - low
        return ValueRules(primary, levels, cost, ~primary | reached)

    def _of(self, table: Table, cells: Ints, value: Ints, clock: Clock) -> Answers | None:
        """Answers for some values (k, s) of some cells; None if the time runs out first."""
        mechanism = self._mechanism
        if callable(mechanism.cost) or not all(
            isinstance(part, MinFrequency | Zero) for part in parts_of(mechanism.rules)
        ):
            return _values_in_place(mechanism, table, cells, value, clock)
        # Where labels play no part either, all values are cells of one table.
        lower, upper = table.lower[cells], table.upper[cells]
        most = int(value.max())
        if not lower.any() and (upper == upper[0]).all() and most < _KEPT_VALUES:
            known = self._up_to(table, most, int(upper[0]))
            if known is not None:
                return _taken(known, value)
        width = value.shape[1]
        each = np.repeat(lower, width), np.repeat(upper, width)
        found = _values_alone(mechanism, table, value.ravel(), *each)
        return _taken(found, np.arange(value.size).reshape(value.shape))

    def _up_to(self, table: Table, most: int, upper: int) -> Answers | None:
        """Answers for all values from 0 to at least `most`; None if one of them is refused."""
        key = table.scale, upper
        known = self._known.get(key)
        if known is None or len(known[0]) <= most:
            size = min(max(_FIRST_VALUES, 2 ** most.bit_length()), upper + 1)
            try:
                known = _values_alone(
                    self._mechanism, table, np.arange(size), np.zeros(size, np.int64),
                    np.full(size, upper),
                )  # fmt: skip
            except InputError:
                return None
            self._known[key] = known
        return known


def _taken(answers: Answers, place: Ints) -> Answers:
    """Answers at some places."""
    primary, levels, cost = answers
    return primary.take(place), levels.take(place, axis=1), cost.take(place)


def _values_in_place(
    mechanism: Mechanism, table: Table, cells: Ints, value: Ints, clock: Clock,
) -> Answers | None:  # fmt: skip
    """Ask about values (k, s) in a table of the same labels, one of each cell at a time."""
    primary = np.zeros(value.shape, bool)
    levels, cost = np.zeros((3, *value.shape), np.int64), np.zeros(value.shape, np.int64)
    public = mechanism.public_cells(table)
    alone = table.replace(relations=csr_array((0, table.n_cells), dtype=np.int64))
    for t in range(value.shape[1]):
        if clock.over:
            return None
        values = table.values.copy()
        values[cells] = value[:, t]
        answer = _asked(mechanism, alone.replace(values=values), public)
        for kept, part in zip((primary, levels, cost), answer, strict=True):
            kept[..., t] = part[..., cells]
    return primary, levels, cost


def _values_alone(
    mechanism: Mechanism, table: Table, values: Ints, lower: Ints, upper: Ints,
) -> Answers:  # fmt: skip
    """Ask about values (s,), each as a cell by itself that need not be published."""
    size = len(values)
    cells = table.replace(
        values=values, relations=csr_array((0, size), dtype=np.int64), lower=lower, upper=upper,
        labels=Labels.product([list(map(str, range(size)))]), names=("value",), roots=("",),
        structural=None, parts=(),
    )  # fmt: skip
    return _asked(mechanism, cells, np.zeros(size, bool))


def _asked(mechanism: Mechanism, table: Table, public: Bools) -> Answers:
    """Which cells of a table are primary (n,), their levels (3, n), and costs (n,)."""
    asked = mechanism.requirements(table, public)
    levels = np.stack([asked.lpl, asked.upl, asked.spl]) * asked.primary
    return asked.primary, levels, mechanism.costs(table)[0]
