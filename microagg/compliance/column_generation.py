"""Generating groups: the relaxed set partition and the search for groups that it lacks.

For any prices of the records, a partition costs at least the sum of all prices and the least
reduced cost of its groups; each group has one root, and there are at most n / k groups. So every
round of pricing gives a lower bound, complete or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.errors import SolverError
from csp.exact import Floats, Ints
from csp.highs import Model, Status
from microagg.compliance.search import Task, squared_errors
from microagg.partitions.means import in_clusters

CLOSE = 1e-9
"""Relative slack of a bound: the prices are floats."""

SEARCHED = 12
"""Sizes searched for groups even beyond 2k - 1, which only rules make worth while."""

LAST_NODES = 5_000_000
"""Nodes of one search when groups are listed."""

PULL = 0.6
"""Weight of the best prices so far in the prices of a round."""

FEW = 0.01
"""Share of new groups in a quick round below which searches begin."""

FIRST_NODES = 500
"""Nodes of one search in the first exact round of pricing."""

KERNELS = Kernels(
    "microagg.compliance.kernels.pricing",
    *("empty_group", "begin", "offer", "meet", "enlarge", "take_in", "collect", "unsafe"),
    *("distances", "root_bounds", "greedy_group", "extend", "cheap_groups"),
    beside=("microagg.compliance.kernels.sensitivity",),
    compiling=3.0,
)

PLAIN_STEPS = 1_000_000
"""Elementary steps of a search in plain Python, about half a second."""


@dataclass(slots=True, eq=False)
class Columns:
    """Safe groups and their squared errors.

    Groups that cost more than `most` are left out: no partition better than one of that error has
    them, and costs many orders of magnitude apart are more than the solver's tolerances bear.
    """

    task: Task
    most: float = np.inf
    known: set[tuple[int, ...]] = field(default_factory=set)
    groups: list[Ints] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)

    def add(self, group: Ints, *, needed: bool = False) -> bool:
        """Add a group, unless it costs too much and is not `needed`; say whether it is new."""
        members = np.sort(group)
        key = tuple(members.tolist())
        # From one of them, so that equal points cost nothing however far they lie from zero.
        points = self.task.points[members] - self.task.points[members[0]]
        cost = float(((points - points.mean(axis=0)) ** 2).sum())
        if key in self.known or (cost > self.most and not needed):
            return False
        self.known.add(key)
        self.groups.append(members)
        self.costs.append(cost)
        return True

    def add_partition(self, labels: Ints) -> None:
        """Add all groups of a partition: without them the records may not all be in a group."""
        order, starts = in_clusters(labels)
        for group in np.split(order, starts[1:]):
            self.add(group, needed=True)


def membership(groups: Sequence[Ints], n: int) -> Any:
    """Which of n records, as rows, are in which group, as columns; sparse."""
    from scipy.sparse import csc_array

    begin = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    rows = np.concatenate(groups)
    return csc_array((np.ones(len(rows)), rows, begin), shape=(n, len(groups)))


def generate(task: Task, columns: Columns, labels: Ints) -> tuple[float, Floats, Pricing]:
    """Add groups until none is missing or the time is over: a bound, and prices that gave it."""
    master, pricing = Master(task), Pricing(task)
    pricing.neighbours(columns)
    # At first, records share the squared error of their cluster equally.
    shared = np.bincount(labels, squared_errors(task.points, labels)) / np.bincount(labels)
    best, best_prices, nodes, pull = 0.0, shared[labels], 0, PULL
    solved = master.solve(columns)
    while True:
        if solved is None or task.late:
            return best, best_prices, pricing
        value, prices = solved
        # Prices near the best ones so far swing less from round to round (Wentges 1997).
        added, bound, complete = pricing.round(
            pull * best_prices + (1.0 - pull) * prices, columns, nodes
        )
        if bound > best:
            best, best_prices = bound, pull * best_prices + (1.0 - pull) * prices
        task.say("generating groups", min(1.0, best / value if value else 1.0))
        done = complete or nodes >= LAST_NODES  # searches without an end are left
        if task.late or best >= value * (1.0 - CLOSE) or (done and not added and not pull):
            return best, best_prices, pricing
        if not nodes and added < FEW * len(columns.groups):
            nodes = FIRST_NODES  # quick groups have done what they can
        if added:
            solved = master.solve(columns)
            pull = PULL
        elif pull:
            pull = 0.0
        else:
            nodes = FIRST_NODES if not nodes else 8 * nodes
            pull = PULL


class Master:
    """Linear relaxation of the set partition, solved anew as columns come."""

    def __init__(self, task: Task) -> None:
        from scipy.sparse import csr_array

        self.model, self.clock, self.taken = Model(), task.clock, 0
        n = len(task.points)
        self.model.add_rows(csr_array((n, 0)), np.ones(n), np.ones(n))

    def solve(self, columns: Columns) -> tuple[float, Floats] | None:
        """Add the groups that came since; return the least cost and the prices of the records.

        None if the time is over.
        """
        groups = columns.groups[self.taken :]
        if groups:
            members = membership(groups, len(columns.task.points))
            cost = np.array(columns.costs[self.taken :])
            self.model.add_columns(members, cost, np.zeros(len(cost)), np.full(len(cost), np.inf))
            self.taken = len(columns.groups)
        ended = self.model.solve(self.clock)
        if ended == Status.LIMIT:
            return None
        if ended != Status.OPTIMAL:
            msg = f"the relaxed set partition ended with status {ended}"
            raise SolverError(msg)
        return self.model.objective, np.array(self.model.solution.row_dual)


class Pricing:
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
        ruled = bool(task.forms.forms) or bool(task.needs.any())
        longest = max(2 * k - 1, min(4 * k, SEARCHED)) if ruled else 2 * k - 1
        longest, largest = min(longest, task.most), min(n, task.most)
        self.exact = range(k, min(longest, n) + 1)
        spans = [(t, t) for t in self.exact]
        low = spans[-1][1] + 1
        while ruled and low <= largest:
            high = min(largest, low + low * n // 6000)
            spans.append((low, high))
            low = high + 1
        self.spans = np.array(spans, dtype=np.int64)
        depths = sorted({a - 2 for a, _ in spans} | set(range(longest)))
        near = _nearest_sums(points, np.minimum(depths, n - 1))
        where = {depth: i for i, depth in enumerate(depths)}
        self.near_spans = np.array([near[where[a - 2]] for a, _ in spans])
        self.near = np.array([near[where[i]] for i in range(longest)])

    def neighbours(self, columns: Columns) -> None:
        """Add the groups of each record and its nearest, as far as they are safe."""
        from scipy.spatial import cKDTree

        task = self.task
        most = min(2 * task.k - 1, len(task.points), task.most)
        _, near = cKDTree(task.points).query(task.points, k=most)
        for order in near.reshape(len(task.points), -1):
            if task.late:
                return
            for t in range(task.k, most + 1):
                group = order[:t]
                if not task.fails(group).any():
                    columns.add(group)

    def round(self, prices: Floats, columns: Columns, nodes: int) -> tuple[int, float, bool]:
        """Price once: groups added, a lower bound, and whether the searches were complete.

        Sizes beyond `exact`, which only rules can make worth while, are bounded but not searched.
        """
        task = self.task
        n = len(prices)
        demand = task.demand
        least = np.zeros(n)  # no group with this root costs less
        bounds = np.empty(len(self.spans))
        group = np.empty(min(n, max(4 * task.k, 60), task.most), np.int64)
        eps = CLOSE * max(1.0, float(np.abs(prices).max()))
        added, complete, seen = 0, True, 0
        for root in range(n):
            self.bound(root, prices, bounds)
            if task.late:
                least[root] = min(0.0, float(bounds.min()))
                complete = False
                continue
            cost, size = KERNELS.run(
                "greedy_group", root, task.points, prices, demand, group, small=task.small
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
        slack = CLOSE * abs(bound) + 1e-12 * float(np.abs(prices).sum())  # sums are rounded
        return added, bound - slack, complete

    def bound(self, root: int, prices: Floats, bounds: Floats) -> None:
        """Bound the groups of a root; see `pricing.root_bounds`."""
        KERNELS.run(
            "root_bounds", root, self.rank, self.task.points, self.near_spans, prices, self.spans,
            bounds, small=self.task.small,
        )  # fmt: skip

    def search(
        self, root: int, t: int, prices: Floats, ceiling: float, nodes: int, room: Ints,
    ) -> tuple[float, int, bool]:  # fmt: skip
        """Search groups of one root and size; see `pricing.cheap_groups`."""
        task = self.task
        few = PLAIN_STEPS // task.points.size

        def run(nodes: int, *, small: bool) -> tuple[float, int, bool]:
            found: tuple[float, int, bool] = KERNELS.run(
                "cheap_groups", root, t, self.rank, task.points, self.near[: t - 1], prices,
                task.demand, ceiling, nodes, room, small=small,
            )  # fmt: skip
            return found

        if task.small and nodes > few and KERNELS.choose(small=True) is KERNELS.plain:
            # Most searches end long before their last node; compiling waits for one that does not.
            found = run(few, small=True)
            if found[2]:
                return found
        return run(nodes, small=task.small and nodes <= few)

    def enumerate(self, prices: Floats, columns: Columns, ceiling: float, most: int) -> bool:
        """Add every safe group with a reduced cost below a ceiling, if there are at most so many.

        Says whether all were added.
        """
        task, bounds, left = self.task, np.empty(len(self.spans)), most
        for root in range(len(prices)):
            self.bound(root, prices, bounds)
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


def _nearest_sums(points: Floats, depths: NDArray[Any]) -> list[Floats]:
    """Sum squared distances of each record to its nearest others, for several numbers of those."""
    n = len(points)
    most = int(depths.max())
    found = np.empty((len(depths), n))
    for i in range(n):
        far = ((points - points[i]) ** 2).sum(axis=1)
        if most + 1 < n:
            far = np.partition(far, most)[: most + 1]
        found[:, i] = np.cumsum(np.sort(far))[depths]  # its own 0 comes first
    return list(found)
