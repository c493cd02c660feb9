"""The compliant partition with least information loss: set partitioning by column generation.

Choose safe groups so that each record lies in one, at least squared error. `column_generation`
gives the groups and a lower bound; a gap that is left is closed, where it can be, by listing every
group that could take part in a better partition.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from csp.errors import InputError, argument
from csp.exact import Floats, Ints
from microagg.compliance.asked import Asked, Found, named_way
from microagg.compliance.column_generation import CLOSE, Columns, Pricing, generate
from microagg.compliance.search import (
    Interrupted,
    Task,
    faults_of,
    grown,
    improved,
    made_safe,
    means_of,
    renumbered,
    squared_error,
)
from microagg.compliance.set_partition import LISTED, cheapest_partition, listed
from microagg.tables.forms import Forms

MOST = 20_000
"""Most records for which groups are generated."""

TOLERANCE = 5e-7
"""Relative error left to the integer program, whose rows and integers may be off a little."""

ROOM = 1e-6
"""Share by which a group may cost more than the best partition, for rounding."""

FREE_SHARE = 0.5
"""Share of the time for the bound of all partitions."""

SHAKES = 30
"""Times that the best partition is shaken for other groups."""


@dataclass(frozen=True, slots=True)
class Optimise:
    """The safe partition with least information loss, and a bound on it."""

    name: ClassVar[str] = "optimise"

    def __call__(self, asked: Asked) -> Found:
        """Make clusters comply."""
        asked.check_owners(self.name)
        if asked.scale != "standardise":
            msg = (
                "method 'optimise' finds the least information loss, which is that of standardised "
                f"attributes; leave {argument('scale', 'standardise')}, or choose "
                f"{named_way('merge')} for {argument('scale', asked.scale)}"
            )
            raise InputError(msg)
        asked.check_possible()
        start = asked.begin(asked.sized)
        labels, bound = optimised(asked.task, start.labels)
        return Found(asked.made(labels, self.name), start, bound=bound)


def optimised(task: Task, start: Ints) -> tuple[Ints, float]:
    """Search the best safe partition, from one with clusters of at least k, safe or not.

    The task's clock is kept; without a limit, pricing ends when it is complete. The bound beside
    the labels is the information loss in percent that no safe partition falls short of. More than
    `MOST` records are refused; other errors are those of `listed`.
    """
    n = len(task.points)
    if n > MOST:
        msg = f"method 'optimise' takes at most {MOST} records, not {n}; use 'merge'"
        raise InputError(msg)
    seen: list[Ints] = []
    try:
        labels = _first_partition(task, start, seen.append)
    except Interrupted as stop:
        return stop.labels, 0.0
    error = squared_error(task, labels)
    if not error > 0.0:
        return labels, 0.0
    # Solvers have absolute tolerances: a few far outliers must not make all other errors vanish.
    task = replace(task, points=task.points * np.sqrt(n / error))
    columns = Columns(task, n * (1.0 + ROOM))
    for other in seen:
        columns.add_partition(other)
    bound = 0.0
    try:
        bound = _free_bound(task, labels)
        base, prices, pricing = generate(task, columns, labels)
        labels, closed = _closed(task, columns, pricing, prices, labels, base)
        bound = max(bound, closed)
    except (KeyboardInterrupt, Interrupted):  # what is known so far is worth keeping
        task.say("interrupted", 1.0)
        with suppress(KeyboardInterrupt):
            labels, _ = _whole(task, columns, labels)
    total = float(((task.points - task.points.mean(axis=0)) ** 2).sum())
    percent = 100.0 * max(bound, 0.0) / total if total else 0.0
    return labels, percent


def _first_partition(task: Task, start: Ints, seen: Callable[[Ints], None]) -> Ints:
    """Find a good safe partition by the other methods and by shaking the best.

    `seen` is called with every safe partition on the way. Ctrl-C after there was one ends as
    `Interrupted`, with the best.
    """
    best: Ints | None = None
    for labels in (start, renumbered(grown(task))):
        safe = made_safe(task, labels)
        if faults_of(task, safe).any():
            continue
        safe = improved(task, safe)
        seen(safe)
        if best is None or squared_error(task, safe) < squared_error(task, best):
            best = safe
    if best is None:
        best = improved(task, listed(task))
        seen(best)
    random = np.random.default_rng(20231125)
    try:
        for shake in range(SHAKES):
            if task.late:
                break
            other = made_safe(task, improved(task, _shaken(task, best, random)))
            if faults_of(task, other).any():
                continue
            seen(other)
            if squared_error(task, other) < squared_error(task, best):
                best = other
            task.say("shaking the best partition", (shake + 1) / SHAKES)
    except KeyboardInterrupt:
        raise Interrupted(best) from None
    return best


def _shaken(task: Task, labels: Ints, random: np.random.Generator) -> Ints:
    """Join a tenth of the clusters with one near to them, so that other cuts can be found."""
    found = labels.copy()
    means = means_of(task.points, labels)
    for g in random.choice(len(means), max(1, len(means) // 10), replace=False):
        far = ((means - means[g]) ** 2).sum(axis=1)
        near = np.argsort(far, kind="stable")[1:4]
        if len(near):
            found[found == g] = found[labels == random.choice(near)][0]
    return renumbered(found)


def _free_bound(task: Task, labels: Ints) -> float:
    """Bound of all partitions, safe or not.

    Without rules a group of 2k records can be cut in two at no cost, so that small groups are all
    there is to price. With rules, a bound must allow for large groups of any kind, and where
    outlying records need those it is the weaker of the two.
    """
    if not task.forms.forms and not task.diverse:
        return 0.0
    plain = task.shares[:, task.needs == 0]
    free = replace(
        task, shares=plain, diverse=(), forms=Forms(task.forms.rule, (), 1),
        clock=task.clock.part(FREE_SHARE),
    )  # fmt: skip
    columns = Columns(free, len(task.points) * (1.0 + ROOM))
    columns.add_partition(improved(free, labels))
    return generate(free, columns, labels)[0]


def _closed(
    task: Task, columns: Columns, pricing: Pricing, prices: Floats, labels: Ints, bound: float,
) -> tuple[Ints, float]:  # fmt: skip
    """Close the gap between the relaxation and the best partition as far as groups can be listed.

    A partition that is better than the best has no group whose reduced cost is above their
    difference. If all other groups are at hand, the best of them is the best of all. That takes
    prices that gave the bound: without one (0) nothing is claimed.
    """
    base = bound
    labels, _ = _whole(task, columns, labels)
    if base <= 0.0:
        return labels, base
    for part in (8, 4, 2, 1):
        error = squared_error(task, labels)
        gap = error * (1.0 + CLOSE) - base
        if bound >= error * (1.0 - 2.0 * TOLERANCE) or task.late:
            break
        task.say(f"listing groups within 1/{part} of the gap", bound / error)
        complete = pricing.enumerate(prices, columns, gap / part, LISTED)
        labels, least = _whole(task, columns, labels)
        if not complete:
            break
        # Partitions into these groups cost `least`; any other has a group beyond gap / part.
        if least is not None:
            bound = max(bound, min(least * (1.0 - TOLERANCE), base + gap / part))
    return labels, bound


def _whole(task: Task, columns: Columns, labels: Ints) -> tuple[Ints, float | None]:
    """Best partition into the groups at hand, moved on; or the labels given, if they are better.

    Beside it, what every partition into these groups costs, by the solver; None if it ran out of
    time.
    """
    found, least = cheapest_partition(task, columns)
    if found is None:
        return labels, None
    moved = improved(task, found)
    columns.add_partition(moved)
    return min((labels, moved), key=lambda x: squared_error(task, x)), least
