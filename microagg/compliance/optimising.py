"""The compliant partition with least information loss: set partitioning by column generation.

Choose safe groups so that each record lies in one, at least squared error. The linear relaxation
gets its groups from `pricing`; its prices give a lower bound whether or not pricing was complete:
for any prices, a partition costs at least the sum of all prices and the least reduced cost of its
groups, and each group has one root, of which there are at most n / k.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, OutOfTime, SolverError
from microagg.compliance.search import Task, faults_of, grown, improved, joined, renumbered
from microagg.records import Records
from microagg.tables.forms import Forms

__all__ = ["MOST", "optimised"]

MOST = 20_000
"""Most records for which groups are generated."""

CLOSE = 1e-9
"""Relative slack of the bound: the prices are floats."""

SHAKES = 30
"""Times that the best partition is shaken for other groups."""

WHOLE_SECONDS = 60.0
"""Most seconds for the integer program over the groups found."""

FREE_SHARE = 0.35
"""Share of the time for the bound of all partitions."""

SEARCHED = 12
"""Sizes searched for groups even beyond 2k - 1, which only rules make worth while."""

LISTED = 100_000
"""Most groups that are listed to close the gap."""

LAST_NODES = 50_000_000
"""Nodes of one search when groups are listed."""

PULL = 0.6
"""Weight of the best prices so far in the prices of a round."""

FIRST_NODES = 500
"""Nodes of one search in the first rounds of pricing."""

NAMES = ("offer", "unsafe", "distances", "root_bounds", "greedy_group", "cheap_groups")

_compiled: dict[str, Any] = {}


def compiled() -> dict[str, Any]:
    """Compiled copies of the functions of pricing, by name."""
    if not _compiled:
        from csp.solve.kernels import twins
        from microagg.compliance import judge, pricing

        _compiled.update(twins((judge, pricing), NAMES, {}))
    return _compiled


def optimised(
    task: Task, records: Records, start: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float]:
    """Search the best safe partition.

    Parameters
    ----------
    task : Task
        Its deadline is kept; without one, pricing ends when it is complete.
    records : Records
    start : (n,) int64
        A partition with clusters of at least k, safe or not.

    Returns
    -------
    labels : (n,) int64
        The best safe partition found.
    bound : float
        Information loss in percent that no safe partition falls short of.

    Raises
    ------
    InputError
        For more than `MOST` records.
    """
    n = len(task.points)
    if n > MOST:
        msg = f"method 'optimise' takes at most {MOST} records, not {n}; use 'merge'"
        raise InputError(msg)
    columns = _Columns(task)
    labels = _first(task, start, columns)
    bound = 0.0
    try:
        bound = _free_bound(task, labels)
        base, prices, pricing = _generate(task, columns, labels)
        labels, closed = _closed(task, columns, pricing, prices, labels, base)
        bound = max(bound, closed)
    except KeyboardInterrupt:  # what is known so far is worth keeping
        task.say("interrupted", 1.0)
        labels, _ = _whole(task, columns, labels)
    total = float(((task.points - task.points.mean(axis=0)) ** 2).sum())
    percent = 100.0 * max(bound, 0.0) / total if total else 0.0
    return labels, percent


def _first(task: Task, start: NDArray[np.int64], columns: _Columns) -> NDArray[np.int64]:
    """Best safe partition by the other methods and by shaking it; all their groups are columns."""
    best: NDArray[np.int64] | None = None
    for labels in (start, renumbered(grown(task))):
        safe = joined(task, labels)
        if faults_of(task, safe).any():
            msg = "the time was over before every cluster was safe; allow more time"
            raise OutOfTime(msg)
        safe = improved(task, safe)
        columns.add_partition(safe)
        if best is None or _error(task, safe) < _error(task, best):
            best = safe
    assert best is not None
    random = np.random.default_rng(20231125)
    for shake in range(SHAKES):
        if task.late:
            break
        other = improved(task, _shaken(task, best, random))
        columns.add_partition(other)
        if _error(task, other) < _error(task, best):
            best = other
        task.say("shaking the best partition", (shake + 1) / SHAKES)
    return best


def _shaken(
    task: Task, labels: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Join a tenth of the clusters with one near to them, so that other cuts can be found."""
    found = labels.copy()
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), task.points.shape[1]))
    np.add.at(sums, labels, task.points)
    means = sums / sizes[:, None]
    for g in random.choice(len(sizes), max(1, len(sizes) // 10), replace=False):
        far = ((means - means[g]) ** 2).sum(axis=1)
        near = np.argsort(far, kind="stable")[1:4]
        if len(near):
            found[found == g] = found[labels == random.choice(near)][0]
    return renumbered(found)


def _error(task: Task, labels: NDArray[np.int64]) -> float:
    """Squared error of a partition."""
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), task.points.shape[1]))
    np.add.at(sums, labels, task.points)
    means = sums / sizes[:, None]
    return float(((task.points - means[labels]) ** 2).sum())


@dataclass(slots=True, eq=False)
class _Columns:
    """Safe groups and their squared errors."""

    task: Task
    place: dict[tuple[int, ...], int] = field(default_factory=dict)
    groups: list[NDArray[np.int64]] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def add(self, group: NDArray[np.int64]) -> bool:
        """Add a group; say whether it is new."""
        members = np.sort(group)
        key = tuple(members.tolist())
        if key in self.place:
            return False
        self.place[key] = len(self.groups)
        self.groups.append(members)
        points = self.task.points[members]
        self.costs.append(float(((points - points.mean(axis=0)) ** 2).sum()))
        return True

    def add_partition(self, labels: NDArray[np.int64]) -> None:
        """Add all groups of a partition."""
        order = np.argsort(labels, kind="stable")
        for group in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
            self.add(group)


def _free_bound(task: Task, labels: NDArray[np.int64]) -> float:
    """Bound of all partitions, safe or not.

    Without rules a group of 2k records can be cut in two at no cost, so that small groups are all
    there is to price. With rules, a bound must allow for large groups of any kind, and where
    outlying records need those it is the weaker of the two.
    """
    if not task.forms.forms:
        return 0.0
    left = task.deadline - time.monotonic()
    until = time.monotonic() + FREE_SHARE * left if np.isfinite(left) else np.inf
    free = replace(task, forms=Forms(task.forms.rule, (), 1), deadline=until)
    columns = _Columns(free)
    columns.add_partition(improved(free, labels))
    return _generate(free, columns, labels)[0]


def _closed(
    task: Task,
    columns: _Columns,
    pricing: _Pricing,
    prices: NDArray[np.float64],
    labels: NDArray[np.int64],
    bound: float,
) -> tuple[NDArray[np.int64], float]:
    """Close the gap between the relaxation and the best partition as far as groups can be listed.

    A partition that is better than the best has no group whose reduced cost is above their
    difference. If all other groups are at hand, the best of them is the best of all.
    """
    base = bound
    labels, _ = _whole(task, columns, labels)
    for part in (8, 4, 2, 1):
        error = _error(task, labels)
        gap = error * (1.0 + CLOSE) - base
        if bound >= error * (1.0 - 2.0 * CLOSE) or task.late:
            break
        task.say(f"listing groups within 1/{part} of the gap", bound / error)
        complete = pricing.enumerate(prices, columns, gap / part, LISTED)
        labels, least = _whole(task, columns, labels)
            print(
                "close",
                part,
                error,
                base,
                bound,
                complete,
                len(columns.groups),
                least,
                _error(task, labels),
            )
        if not complete:
            break
        # Partitions into these groups cost `least`; any other has a group beyond gap / part.
        if least is not None:
            bound = max(bound, min(least * (1.0 - CLOSE), base + gap / part))
    return labels, bound


def _generate(
    task: Task, columns: _Columns, labels: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64], _Pricing]:
    """Add groups until none is missing or the time is over.

    Returns
    -------
    bound : float
    prices : (n,) float64
        Those that gave it.
    pricing : _Pricing
    """
    master, pricing = _Master(len(task.points)), _Pricing(task)
    pricing.neighbours(columns)
    master.take(columns)
    value, prices = master.solve()
    best, best_prices, nodes, pull = 0.0, _shared_error(task, labels), 0, PULL
    while True:
        # Prices near the best ones so far swing less from round to round (Wentges 1997).
        added, bound, complete = pricing.round(
            pull * best_prices + (1.0 - pull) * prices, columns, nodes
        )
        if bound > best:
            best, best_prices = bound, pull * best_prices + (1.0 - pull) * prices
            print(
                round(value, 5),
                bound,
                best,
                added,
                complete,
                nodes,
                pull,
                len(columns.groups),
                flush=True,
            )
        task.say("generating groups", min(1.0, best / value if value else 1.0))
        if task.late or best >= value * (1.0 - CLOSE) or (complete and not added and not pull):
            return best, best_prices, pricing
        if added:
            master.take(columns)
            value, prices = master.solve()
            pull = PULL
        elif pull:
            pull = 0.0
        else:
            nodes = FIRST_NODES if not nodes else 8 * nodes
            pull = PULL


def _shared_error(task: Task, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Squared error of each cluster, shared out equally among its records."""
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), task.points.shape[1]))
    np.add.at(sums, labels, task.points)
    off = ((task.points - (sums / sizes[:, None])[labels]) ** 2).sum(axis=1)
    shares: NDArray[np.float64] = (np.bincount(labels, off) / sizes)[labels]
    return shares


class _Master:
    """Linear relaxation of the set partition, solved anew as columns come."""

    def __init__(self, n: int) -> None:
        from csp.highs import new_model

        self.model = new_model()
        nothing = np.zeros(0, np.int32)
        for _ in range(n):
            self.model.addRow(1.0, 1.0, 0, nothing, np.zeros(0))
        self.taken = 0

    def take(self, columns: _Columns) -> None:
        for group, cost in zip(
            columns.groups[self.taken :], columns.costs[self.taken :], strict=True
        ):
            places = group.astype(np.int32)
            self.model.addCol(cost, 0.0, np.inf, len(group), places, np.ones(len(group)))
        self.taken = len(columns.groups)

    def solve(self) -> tuple[float, NDArray[np.float64]]:
        from csp.highs import optimise

        ended = optimise(self.model)
        if ended != "optimal":
            msg = f"the relaxed set partition ended with {ended!r}"
            raise SolverError(msg)
        value = self.model.getInfo().objective_function_value
        return float(value), np.array(self.model.getSolution().row_dual)


class _Pricing:
    """Search for groups with negative reduced cost, over all roots."""

    def __init__(self, task: Task) -> None:
        points, k = task.points, task.k
        n = len(points)
        self.task = task
        # Outlying records first: as roots they have few companions that pay.
        far = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
        self.rank = np.empty(n, np.int64)
        self.rank[np.argsort(-far, kind="stable")] = np.arange(n)
        # Without rules, groups of 2k can be cut in two at no cost.
        ruled = bool(task.forms.forms)
        longest = max(2 * k - 1, min(4 * k, SEARCHED)) if ruled else 2 * k - 1
        self.exact = range(k, min(longest, n) + 1)
        spans = [(t, t) for t in self.exact]
        low = spans[-1][1] + 1
        while ruled and low <= n:
            high = min(n, low + low * n // 6000)
            spans.append((low, high))
            low = high + 1
        self.spans = np.array(spans, dtype=np.int64)
        depths = sorted({max(a - 2, 0) for a, _ in spans} | set(range(longest)))
        near = _nearest_sums(points, np.minimum(depths, n - 1))
        where = {depth: i for i, depth in enumerate(depths)}
        self.near_spans = np.array([near[where[max(a - 2, 0)]] for a, _ in spans])
        self.near = np.array([near[where[i]] for i in range(longest)])

    def neighbours(self, columns: _Columns) -> None:
        """Add the groups of each record and its nearest, as far as they are safe."""
        task = self.task
        for i in range(len(task.points)):
            far = ((task.points - task.points[i]) ** 2).sum(axis=1)
            order = np.argsort(far, kind="stable")[: 2 * task.k]
            for t in range(task.k, min(2 * task.k, len(order) + 1)):
                group = order[:t]
                top = -np.sort(-task.shares[group], axis=0).T
                if not task.forms.sensitive(top, top.sum(axis=1)).any():
                    columns.add(group)

    def round(
        self, prices: NDArray[np.float64], columns: _Columns, nodes: int
    ) -> tuple[int, float, bool]:
        """Price once: groups added, a lower bound, and whether the searches were complete.

        Sizes from 2k on, which only rules can make worth while, are bounded but not searched.
        """
        task, run = self.task, compiled()
        n = len(prices)
        shares, weights, units = task.shares, task.weights, task.units
        least = np.zeros(n)  # no group with this root costs less
        bounds = np.empty(len(self.spans))
        group = np.empty(min(n, max(4 * task.k, 60)), np.int64)
        eps = CLOSE * max(1.0, float(np.abs(prices).max()))
        added, complete, seen = 0, True, 0
        for root in range(n):
            run["root_bounds"](
                root, self.rank, task.points, self.near_spans, prices, self.spans, bounds
            )
            if task.late:
                least[root] = min(0.0, float(bounds.min()))
                complete = False
                continue
            cost, size = run["greedy_group"](
                root, task.points, prices, shares, weights, units, task.k, len(group), group
            )
            if cost < -eps:
                added += columns.add(group[:size].copy())
            for place, t in enumerate(self.exact):
                if bounds[place] >= -eps:
                    continue
                if not nodes:
                    complete = False
                    continue
                room = np.empty((1, t), np.int64)
                cost, found, whole = self.search(root, t, prices, -eps, nodes, room)
                if found:
                    added += columns.add(room[0])
                if whole:
                    bounds[place] = max(bounds[place], cost)
                complete &= whole
            seen += 1
            least[root] = min(0.0, float(bounds.min()))
        groups = n // task.k
        bound = float(prices.sum() + np.sort(least)[:groups].sum())
        return added, bound - CLOSE * abs(bound), complete

    def search(
        self,
        root: int,
        t: int,
        prices: NDArray[np.float64],
        ceiling: float,
        nodes: int,
        room: NDArray[np.int64],
    ) -> tuple[float, int, bool]:
        """Search groups of one root and size; see `pricing.cheap_groups`."""
        task = self.task
        found: tuple[float, int, bool] = compiled()["cheap_groups"](
            root, t, self.rank, task.points, self.near[: max(t - 1, 1)], prices, task.shares,
            task.weights, task.units, ceiling, nodes, room,
        )  # fmt: skip
        return found

    def enumerate(
        self, prices: NDArray[np.float64], columns: _Columns, ceiling: float, most: int
    ) -> bool:
        """Add every safe group whose reduced cost is below a ceiling; say whether all were added.

        Parameters
        ----------
        prices : (n,) float64
        columns : _Columns
        ceiling : float
        most : int
            Groups added at most.
        """
        task, bounds, left = self.task, np.empty(len(self.spans)), most
        run = compiled()["root_bounds"]
        for root in range(len(prices)):
            run(root, self.rank, task.points, self.near_spans, prices, self.spans, bounds)
            for place in np.flatnonzero(bounds < ceiling):
                if place >= len(self.exact):
                    return False
                room = np.empty((max(left, 2), self.exact[place]), np.int64)
                _, found, whole = self.search(
                    root, self.exact[place], prices, ceiling, LAST_NODES, room
                )
                left -= found
                if left < 0 or not whole or task.late:
                    return False
                for group in room[:found]:
                    columns.add(group)
        return True


def _nearest_sums(points: NDArray[np.float64], depths: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Sum squared distances of each record to its nearest others, for several numbers of those."""
    n = len(points)
    found = np.empty((len(depths), n))
    for i in range(n):
        far = np.sort(((points - points[i]) ** 2).sum(axis=1))  # its own 0 comes first
        found[:, i] = np.cumsum(far)[depths]
    return list(found)


def _whole(
    task: Task, columns: _Columns, labels: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float | None]:
    """Best partition into the groups at hand.

    Returns
    -------
    labels : (n,) int64
        It, moved on where that saves; or the labels given, if they are better.
    least : float or None
        Squared error of the best partition into these groups, if that is proved.
    """
    from scipy.sparse import csr_array

    from csp.highs import build, new_model, optimise

    n, m = len(task.points), len(columns.groups)
    rows = np.concatenate(columns.groups)
    places = np.repeat(np.arange(m), [len(group) for group in columns.groups])
    matrix = csr_array((np.ones(len(rows)), (rows, places)), shape=(n, m))
    model = build(
        new_model(), cost=np.array(columns.costs), lower=np.zeros(m), upper=np.ones(m), rows=matrix,
        row_lower=np.ones(n), row_upper=np.ones(n), integer=True,
    )  # fmt: skip
    left = max(task.deadline - time.monotonic(), WHOLE_SECONDS / 10)
    ended = optimise(model, time_limit=min(WHOLE_SECONDS, left))
    solution = np.array(model.getSolution().col_value)
    if ended not in ("optimal", "limit") or len(solution) != m:
        return labels, None
    found = np.full(n, -1, np.int64)
    for g in np.flatnonzero(solution > 0.5):
        found[columns.groups[int(g)]] = g
    if (found < 0).any():
        return labels, None
    moved = improved(task, renumbered(found))
    columns.add_partition(moved)
    least = float(model.getInfo().objective_function_value) if ended == "optimal" else None
    return min((labels, moved), key=lambda x: _error(task, x)), least
