"""Searches for compliant partitions, called a while at a time; compiled where files are large.

Between the calls an interrupt or a time limit is heard; the partition at hand is whole then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.compiled import Kernels
from csp.exact import Bools, Floats, Ints
from microagg.compliance.kernels.local_search import Clusters
from microagg.compliance.kernels.sensitivity import Demand
from microagg.tables.forms import Forms

Progress = Callable[[str, float], None]

KERNELS = Kernels(
    "microagg.compliance.kernels.growth",
    *("empty_group", "begin", "unsafe", "offer", "meet", "enlarge", "take_in", "tally"),
    *("count_unsafe", "absorb", "collect", "gather", "chains", "join", "members_of"),
    *("insert", "remove", "replaced_fits", "relocate", "exchange", "farthest_member", "split"),
    *("measure", "take", "grow", "shortfall", "missing", "mend"),
    beside=(
        "microagg.compliance.kernels.sensitivity",
        "microagg.compliance.kernels.joining",
        "microagg.compliance.kernels.local_search",
    ),
    compiling=2.0,
)

NEAR = 16
"""Clusters that a record is tried with: those with the nearest means."""

SMALL = 5_000
"""Contributions of a file that may be searched in plain Python, in about a second."""

SECONDS = 2e-4
"""That this takes for each of them: clusters are joined and improved in as long as that."""

_PASSED = 100_000
"""Contributions of a file over which one pass in plain Python takes less than to compile it."""

STEPS = 20_000_000
"""Elementary steps between two looks at the clock, about a tenth of a second."""

PLAIN_STEPS = 100_000
"""The same in plain Python."""


class Interrupted(Exception):
    """Ctrl-C while a partition was improved; the labels that it had by then are as safe."""

    def __init__(self, labels: Ints) -> None:
        super().__init__("interrupted")
        self.labels = labels


@dataclass(frozen=True, eq=False)
class Task:
    """What a search works on.

    Points, (n, d), are the records as the squared error sees them, and shares, (n, c), the
    contributions as the rule sees them, never negative; a column is an attribute or, with
    negative="split", one sign of it. The last columns are codes of values, as many as `diverse` has
    entries: from 1, and 0 where the value is missing. `diverse` says how many different ones a
    cluster must have, at least 2.

    Owners, (n,), number the contributors of the records from 0; None if each is its own. Then all
    that one contributes to a cluster in a column counts as one contribution.

    Clusters have k to `cap` records. `progress` is called with what is done now and the share of it
    that is done.
    """

    points: Floats
    shares: Ints
    forms: Forms
    k: int
    cap: int | None = None
    diverse: tuple[int, ...] = ()
    clock: Clock = UNLIMITED
    progress: Progress | None = None
    owners: Ints | None = None

    @property
    def reads(self) -> int:
        """How many of the largest contributions or codes of a group are kept."""
        return max(self.forms.reads, *self.diverse, 1)

    @property
    def needs(self) -> Ints:
        """Different codes needed in each column, shape (c,); 0 for contributions."""
        plain = self.shares.shape[1] - len(self.diverse)
        return np.array([0] * plain + list(self.diverse), np.int64)

    @cached_property
    def demand(self) -> Demand:
        """What is asked of a group, for compiled loops."""
        forms = self.forms.forms
        weights = np.zeros((len(forms), self.reads), np.int64)  # 0 where a form reads fewer
        for i, form in enumerate(forms):
            weights[i, : len(form.weights)] = form.weights
        units = np.array([form.unit for form in forms], dtype=np.int64)
        owners = np.empty(0, np.int64) if self.owners is None else self.owners
        number = int(owners.max(initial=-1)) + 1
        return Demand(
            self.shares, weights, units, self.needs, self.k, self.most, owners,
            np.zeros((number, self.shares.shape[1]), np.int64), np.zeros(number, np.int64),
            np.zeros(1, np.int64),
        )  # fmt: skip

    @property
    def most(self) -> int:
        """Largest size of a cluster, all records if there is no cap."""
        return len(self.points) if self.cap is None else self.cap

    @property
    def small(self) -> bool:
        """Whether plain Python may do."""
        return self.shares.size <= SMALL

    def run(self, name: str, *arguments: Any, small: bool = True) -> Any:
        """Call one of `KERNELS`; large calls, and those of large files, run compiled."""
        seconds = SECONDS * self.shares.size
        return KERNELS.run(name, *arguments, small=small and self.small, seconds=seconds)

    @property
    def steps(self) -> int:
        """Elementary steps between two looks at the clock."""
        return PLAIN_STEPS if self.small else STEPS

    def fails(self, group: Ints) -> Bools:
        """Columns in which a group of records fails, shape (c,)."""
        codes = shares = self.shares[group]
        if self.owners is not None:
            which, place = np.unique(self.owners[group], return_inverse=True)
            shares = np.zeros((len(which), codes.shape[1]), np.int64)
            np.add.at(shares, place.ravel(), codes)
        found = self.forms.sensitive(-np.sort(-shares, axis=0).T, shares.sum(axis=0))
        for j, need in enumerate(self.needs.tolist()):
            if need:
                found[j] = len(set(codes[:, j].tolist()) - {0}) < need
        return found

    def say(self, words: str, share: float) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(words, share)

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return self.clock.over


def renumbered(labels: Ints) -> Ints:
    """Clusters numbered 0, 1, ... in the order of their first record."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    found: Ints = rank[place.ravel()]
    return found


def faults_of(task: Task, labels: Ints) -> Ints:
    """Columns in which each cluster fails, one more if it is too large or too small."""
    sizes = np.bincount(labels)
    return _tallied(task, labels)[2] + (sizes < task.k) + (sizes > task.most)


def _tallied(task: Task, labels: Ints) -> tuple[Ints, Ints, Ints]:
    """Largest entries (g, c, m), totals (g, c) and columns that fail (g,) of all clusters."""
    groups, columns = int(labels.max()) + 1, task.shares.shape[1]
    top, total = np.zeros((groups, columns, task.reads), np.int64), np.zeros((groups, columns), int)
    faults = np.empty(groups, np.int64)
    small = task.shares.size <= _PASSED
    KERNELS.run("tally", labels, task.demand, top, total, small=small)
    KERNELS.run("count_unsafe", top, total, task.demand, faults, small=small)
    return top, total, faults


def sums_of(points: Floats, labels: Ints) -> Floats:
    """Sum up the points of each cluster, shape (g, d)."""
    sums = np.zeros((int(labels.max()) + 1, points.shape[1]))
    np.add.at(sums, labels, points)
    return sums


def means_of(points: Floats, labels: Ints) -> Floats:
    """Means of the points of each cluster, shape (g, d)."""
    return np.asarray(sums_of(points, labels) / np.bincount(labels)[:, None])


def squared_errors(points: Floats, labels: Ints) -> Floats:
    """Squared distance of each record from the mean of its cluster, shape (n,)."""
    return np.asarray(((points - means_of(points, labels)[labels]) ** 2).sum(axis=1))


def squared_error(task: Task, labels: Ints) -> float:
    """Compute the squared error of a partition."""
    return float(squared_errors(task.points, labels).sum())


def joined(task: Task, labels: Ints) -> Ints:
    """Join clusters until none fails, as far as sizes and the time allow.

    The result is safe unless sizes are capped, the time was over, or the whole file as one cluster
    is not.
    """
    top, total, faults = _tallied(task, labels)
    sizes = np.bincount(labels).astype(np.int64)
    sums, demand = sums_of(task.points, labels), task.demand
    into = np.arange(len(sizes))
    steps = max(1, task.steps // (len(sizes) * (task.points.shape[1] + task.shares.shape[1])))
    start = int((faults > 0).sum())
    while True:
        done = task.run("join", top, total, sums, sizes, faults, into, labels, demand, steps)
        left = int((faults > 0).sum())
        task.say("joining clusters", 1.0 - left / max(start, 1))
        if done < steps or task.late:
            break
    for g in range(len(into)):  # follow the chains
        while into[into[g]] != into[g]:
            into[g] = into[into[g]]
    return renumbered(into[labels])


def made_safe(task: Task, labels: Ints) -> Ints:
    """Join clusters, and where that is not enough mend them by single records.

    Without a cap the result is safe unless the time was over; with one, `faults_of` tells.
    """
    labels = joined(task, labels)
    faults = faults_of(task, labels)
    if task.cap is None or not faults.any():
        return labels
    state = _State(task, labels)
    failing, start = np.flatnonzero(faults).tolist(), int((faults > 0).sum())
    while failing and not task.late:
        alive = np.flatnonzero(state.sizes > 0)
        means = state.sums[alive] / state.sizes[alive, None]
        changed = False
        for g in failing:
            # Those with the nearest means first; farther ones only if none of these helps.
            far = ((means - state.sums[g] / max(int(state.sizes[g]), 1)) ** 2).sum(axis=1)
            order = alive[np.argsort(far, kind="stable")]
            for near in (order[: NEAR + 1], order[NEAR + 1 :]):
                stepped = state.mend(g, near)
                changed |= stepped
                if stepped or task.late:
                    break
        left = faults_of(task, state.labels)
        failing = np.flatnonzero(left).tolist() if changed else []
        task.say("mending clusters", 1.0 - len(failing) / start)
    return renumbered(state.labels)


def improved(task: Task, labels: Ints) -> Ints:
    """Move, exchange and split while the squared error shrinks; safe clusters stay safe.

    Ctrl-C ends as `Interrupted`, with the partition at hand.
    """
    state = _State(task, labels)
    rounds, changed = 0, 1
    try:
        while changed and not task.late:
            rounds += 1
            changed = state.split()
            near = state.nearest()
            for name in ("relocate", "exchange"):
                changed += state.sweep(name, near, rounds)
    except KeyboardInterrupt:  # it is heard between calls, when every cluster is whole
        raise Interrupted(renumbered(state.labels)) from None
    return renumbered(state.labels)


def grown(task: Task) -> Ints:
    """Clusters by growth, what is left beside them as a cluster of its own; not all may be safe."""
    n, d = task.points.shape
    labels = np.full(n, -1, np.int64)
    state = np.array([n, 0], np.int64)
    demand = task.demand
    while state[0] >= task.k and not task.late:
        rounds = max(1, task.steps // (4 * n * d))
        task.run("grow", task.points, labels, state, demand, rounds)
        task.say("growing clusters", 1.0 - int(state[0]) / n)
    rest = np.flatnonzero(labels < 0)
    if len(rest) >= task.k:  # the time is over
        labels[rest] = state[1]
    elif len(rest):
        # Too few for a cluster: each joins the cluster with the nearest mean that has room; if
        # none has, they are left as a cluster that is too small, to be mended.
        kept = labels >= 0
        means = means_of(task.points[kept], labels[kept])
        count = len(means)
        for i in rest:
            full = np.bincount(labels[labels >= 0], minlength=count)[:count] >= task.most
            far = np.where(full, np.inf, ((means - task.points[i]) ** 2).sum(axis=1))
            labels[i] = count if full.all() else int(np.argmin(far))
    return labels


class _State:
    """Clusters while they are improved or mended."""

    def __init__(self, task: Task, labels: Ints) -> None:
        n, d = task.points.shape
        room = max(int(labels.max()) + 1, n // task.k) + 1  # each split needs a free number
        self.task, self.demand = task, task.demand
        self.clusters = Clusters(
            task.points, np.full(n, -1, np.int64), np.full(room, -1, np.int64),
            np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros((room, d)),
            np.zeros(room, np.int64),
        )  # fmt: skip
        self.labels, self.sums, self.sizes = (
            self.clusters.labels, self.clusters.sums, self.clusters.sizes,
        )  # fmt: skip
        put = KERNELS.choose(small=task.small)["insert"]
        for i in range(n - 1, -1, -1):
            put(i, int(labels[i]), self.clusters)

    @cached_property
    def tiny(self) -> float:
        """Squared error that is none: far below that of a record, far above rounding."""
        return 1e-10 * float((self.task.points**2).sum(axis=1).mean())

    def sweep(self, name: str, near: Ints, rounds: int) -> int:
        """Try every record once with the clusters near to it, some at a time."""
        task = self.task
        n, d = task.points.shape
        batch = max(1, task.steps // (near.shape[1] * d * max(int(self.sizes.max()), 1)))
        changed = 0
        for start in range(0, n, batch):
            stop = min(start + batch, n)
            changed += task.run(name, self.clusters, self.demand, self.tiny, near, start, stop)
            task.say(f"moving records, round {rounds}", stop / n)
            if task.late:
                break
        return changed

    def nearest(self) -> Ints:
        """Clusters with the nearest means for each record, shape (n, m)."""
        from scipy.spatial import cKDTree

        alive = np.flatnonzero(self.sizes > 0)
        means = self.sums[alive] / self.sizes[alive, None]
        _, places = cKDTree(means).query(self.task.points, k=min(NEAR, len(alive)))
        found: Ints = alive[places.reshape(len(self.labels), -1)]
        return np.ascontiguousarray(found)

    def split(self) -> int:
        """Cut every cluster that can be cut safely and with gain."""
        task, changed = self.task, 0
        for g in np.flatnonzero(self.sizes >= 2 * task.k).tolist():
            if task.late:
                break
            free = int(np.argmin(self.sizes))
            # A cluster of many records may be judged at as many cuts.
            small = int(self.sizes[g]) ** 2 <= task.steps
            changed += task.run(
                "split", g, free, self.clusters, self.demand, self.tiny, small=small
            )
        return changed

    def mend(self, g: int, near: Ints) -> bool:
        """Take the step that mends a cluster most; say whether there was one."""
        # Each pair of records of two clusters is tried, and both are judged without them.
        largest = int(self.sizes.max())
        small = len(near) * largest**3 <= self.task.steps
        return bool(self.task.run("mend", g, self.clusters, self.demand, near, small=small))
