"""Leaving out the fewest records that make cells sensitive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from csp.errors import InputError, OutOfTime, Unprotectable, argument
from csp.exact import Ints
from csp.rules.concentration import Form
from microagg.compliance.asked import Asked, Dropped, Found, named_way
from microagg.compliance.search import Task, faults_of, grown, renumbered
from microagg.partitions.partition import Partition


@dataclass(frozen=True, slots=True)
class Drop:
    """Records that make cells sensitive are left out, as few as possible."""

    name: ClassVar[str] = "drop"

    def __call__(self, asked: Asked) -> Found:
        """Make clusters comply."""
        asked.check_owners(self.name)
        if asked.negative == "shift":
            msg = (
                f"dropping records would move the lowest value that {argument('negative', 'shift')}"
                f" starts from; choose {argument('negative', 'abs')} or "
                f"{argument('negative', 'split')}"
            )
            raise InputError(msg)
        task, records = asked.task, asked.records
        start = asked.begin(asked.unruled)  # dropping cannot make clusters diverse
        labels, dropped = drop_records(task, start.labels, records.names)
        rows = np.flatnonzero(labels >= 0)
        if not len(rows):
            msg = (
                f"every cluster fails {task.forms.rule} with fewer than {task.k} records left, so "
                f"all records would be dropped; use {named_way('merge')}, or a larger k"
            )
            raise Unprotectable(msg)
        made = Partition.of(records.at(rows), renumbered(labels[rows]), task.k, self.name)
        return Found(made, start, rows=rows, dropped=dropped)


def drop_records(
    task: Task, labels: Ints, names: tuple[str, ...]
) -> tuple[Ints, tuple[Dropped, ...]]:
    """Make each cluster safe by leaving out as few of its records as possible.

    Clusters that cannot keep k records that way are given up. Their records form new clusters by
    growth among themselves; a record that is still without a safe cluster joins the nearest one
    that stays safe with it, and is dropped if there is none.

    Labels are -1 for dropped records, which come in the order of their rows.
    """
    found = labels.copy()
    dropped: list[Dropped] = []
    loose: list[int] = []
    clusters = int(labels.max()) + 1
    for g in range(clusters):
        members = np.flatnonzero(labels == g)
        try:
            gone = fewest(task, members)
        except OutOfTime:
            gone = None
        if gone is None:
            found[members] = -1
            loose += members.tolist()
            continue
        for row, column in gone:
            found[row] = -1
            dropped.append(Dropped(row, names[column % len(names)]))
        task.say("leaving records out", (g + 1) / clusters)
    left = _regrown(task, found, np.array(sorted(loose), dtype=np.int64))
    dropped += [Dropped(row, "") for row in _not_rehoused(task, found, left)]
    return found, tuple(sorted(dropped, key=lambda d: d.row))


def fewest(task: Task, members: Ints) -> list[tuple[int, int]] | None:
    """Find the fewest records without which a cluster is safe and still has k.

    If a cell is sensitive, every safe part of the cluster lacks one of the records behind its
    largest contributions, and one whose weight exceeds that of the total: with all of these kept
    the weighted sum stays, while the total can only fall. So it is enough to branch on those, to
    a depth that is raised until a part is safe.

    They come with the columns in which they made a cell sensitive; None if no part of k records is
    safe.
    """
    for depth in range(len(members) - task.k + 1):
        seen: set[frozenset[int]] = set()
        found = _search(task, members, (), depth, seen)
        if found is not None:
            return list(found)
    return None


def _search(
    task: Task,
    members: Ints,
    gone: tuple[tuple[int, int], ...],
    depth: int,
    seen: set[frozenset[int]],
) -> tuple[tuple[int, int], ...] | None:
    key = frozenset(row for row, _ in gone)
    if key in seen:
        return None
    seen.add(key)
    task.clock.check("the fewest records of a cluster were found")
    left = members[~np.isin(members, list(key))]
    if task.fails(left)[task.needs > 0].any():
        return None  # fewer records have no more values
    sensitive = _first_sensitive(task, left)
    if sensitive is None:
        return gone
    if len(gone) == depth:
        return None
    column, form = sensitive
    order = left[np.argsort(-task.shares[left, column], kind="stable")]
    for weight, row in zip(form.weights, order.tolist(), strict=False):
        if weight > form.unit:
            found = _search(task, members, (*gone, (row, column)), depth, seen)
            if found is not None:
                return found
    return None


def _first_sensitive(task: Task, members: Ints) -> tuple[int, Form] | None:
    shares = -np.sort(-task.shares[members][:, task.needs == 0], axis=0).T
    total = shares.sum(axis=1)
    for form in task.forms.forms:
        bad = np.flatnonzero(form.strong(shares) > form.unit * total)
        if len(bad):
            return int(bad[0]), form
    return None


def _regrown(task: Task, found: Ints, loose: Ints) -> Ints:
    """Give loose records new clusters, as far as those are safe; return the others."""
    if len(loose) < task.k:
        return loose
    part = replace(task, points=task.points[loose], shares=task.shares[loose])
    labels = renumbered(grown(part))
    safe = (faults_of(part, labels) == 0)[labels]
    found[loose[safe]] = labels[safe] + int(found.max(initial=-1)) + 1
    rest: Ints = loose[~safe]
    return rest


def _not_rehoused(task: Task, found: Ints, left: Ints) -> list[int]:
    """Put records into the nearest clusters that stay safe with them; return the others."""
    groups = np.unique(found[found >= 0])
    members = {int(g): np.flatnonzero(found == g) for g in groups}
    means = np.array([task.points[rows].mean(axis=0) for rows in members.values()])
    means = means.reshape(len(groups), task.points.shape[1])  # there may be none
    rest = []
    for row in left.tolist():
        far = ((means - task.points[row]) ** 2).sum(axis=1)
        for place in [] if task.late else np.argsort(far, kind="stable"):
            g = int(groups[place])
            wider = np.append(members[g], row)
            if len(wider) <= task.most and not task.fails(wider).any():
                found[row], members[g] = g, wider
                means[place] = task.points[wider].mean(axis=0)
                break
        else:
            rest.append(row)
    return rest
