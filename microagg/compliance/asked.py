"""What a masked file has to comply with, how searches see it, and what a way to comply finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError, SolverError, Unprotectable, argument
from csp.exact import Bools, Floats, Ints
from csp.names.calls import whole_number
from csp.rules import Rule
from microagg.compliance.search import Interrupted, Task, faults_of, improved, made_safe
from microagg.compliance.set_partition import listed
from microagg.partitions.methods.mdav import mdav_labels
from microagg.partitions.partition import Partition
from microagg.records import Records, count_different
from microagg.tables.contributions import sides_of_units
from microagg.tables.forms import Forms, forms_of, strictest
from microagg.variety import Variety


@dataclass(frozen=True, slots=True)
class Dropped:
    """A record that is left out.

    Attributes
    ----------
    row : int
        Its place in the data, from 0.
    attribute : str
        Attribute in which it made its cluster's cell sensitive; "" if its cluster had too few
        records left and no other could take it.
    """

    row: int
    attribute: str


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a way to comply finds; see `Compliant` for the attributes.

    The partition is of the records that are kept, `rows`, by default all. `start` is the one that
    was made compliant, and `start_unsafe` its sensitive cells, where they are known already.
    """

    partition: Partition
    start: Partition
    start_unsafe: int | None = None
    hidden: Bools | None = None
    rows: Ints | None = None
    dropped: tuple[Dropped, ...] = ()
    bound: float | None = None
    suppressed: Any = None


class Way(Protocol):
    """A way to comply, with its options; it refuses what it cannot take."""

    name: ClassVar[str]

    def __call__(self, asked: Asked) -> Found:
        """Make clusters comply."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Records that are to comply, and with what.

    Each cluster must have k to `most` records, the different values of all varieties, and no cell
    that is sensitive to the rule. Points, (n, d), are the records between which distances are
    taken, by the scale named. `partition` is one to start from, if there is one.
    """

    records: Records
    points: Floats
    rule: Rule
    k: int
    negative: str = "error"
    scale: str = "standardise"
    most: int | None = None
    varieties: tuple[Variety, ...] = ()
    partition: Partition | None = None
    clock: Clock = UNLIMITED
    progress: Any = None

    @cached_property
    def unruled(self) -> Task:
        """Search for clusters of the sizes and different values asked for, whatever the rule."""
        owners, varied = self.records.contributor, self.varieties
        if owners is not None:
            varied = (*varied, Variety("contributor", self.k, np.asarray(owners + 1, np.int64)))
        nothing = np.zeros((self.records.n, 1), np.int64)
        codes = [nothing, *(variety.codes[:, None] for variety in varied)]
        return Task(
            self.points, np.ascontiguousarray(np.hstack(codes)), Forms(self.rule, (), 1), self.k,
            self.most, tuple(variety.least for variety in varied), self.clock, owners=owners,
        )  # fmt: skip

    @cached_property
    def sized(self) -> Task:
        """Search for clusters of the sizes asked for, and of k contributors."""
        if self.records.contributor is not None:
            return self.unruled
        return replace(self.unruled, shares=self.unruled.shares[:, :1], diverse=())

    @cached_property
    def task(self) -> Task:
        """Search for clusters that comply."""
        forms = forms_of(self.rule)
        sides = sides_of_units(self.records.units, self.records.names, self.negative)
        shares = np.hstack(sides)
        forms.check_range(shares)
        shares = np.ascontiguousarray(np.hstack([shares, self.unruled.shares[:, 1:]]))
        return replace(self.unruled, shares=shares, forms=forms, progress=self.progress)

    def begin(self, least: Task) -> Partition:
        """Partition to start from: MDAV's by default, changed only as far as a search demands."""
        if self.partition is not None:
            return self.partition
        labels, words = mdav_labels(self.points, self.k, clock=self.clock), "MDAV"
        if faults_of(least, labels).any():
            labels, words = finished(least, labels), "MDAV, then moves"
        return Partition.of(self.records, labels, self.k, words)

    def made(self, labels: Ints, method: str) -> Partition:
        """Partition of all records."""
        return Partition.of(self.records, labels, self.k, method)

    def check(self) -> None:
        """Refuse rules and partitions to start from that cannot be taken."""
        k = self.k
        if self.partition is not None:
            self._check_start(self.partition)
        least, part = strictest(self.rule)
        if least > k:
            units = "records" if self.records.contributor is None else "contributors"
            msg = (
                f"no cluster of {k} {units} passes {part}: it takes at least {least}, even if "
                f"their values are equal; give {argument('k', least, option=f'-k {least}')} or "
                "more, or a milder rule"
            )
            raise InputError(msg)

    def _check_start(self, partition: Partition) -> None:
        records, k, most = self.records, self.k, self.most
        if len(partition.labels) != records.n or partition.names != records.names:
            msg = "the partition is of other records or attributes; make it from this data"
            raise InputError(msg)
        if partition.k < k:
            msg = f"the partition has clusters of {partition.k} records, fewer than k = {k}"
            raise InputError(msg)
        if records.contributor is not None:
            few = int(count_different(partition.labels, records.contributor).min())
            if few < k:
                msg = (
                    f"the partition has a cluster with {few} different contributors, fewer than k "
                    f"= {k}; make it with {argument('contributor')} too, or leave it out"
                )
                raise InputError(msg)
        if most is not None and int(partition.sizes.max()) > most:
            msg = (
                f"the partition has a cluster of {int(partition.sizes.max())} records, more than "
                f"{argument('most', most)}; raise it, or leave the partition out"
            )
            raise InputError(msg)

    def check_owners(self, method: str) -> None:
        """Refuse contributors of several records where each record is taken for its own."""
        if self.records.contributor is not None:
            msg = (
                f"method {method!r} takes each record for a contributor of its own; with "
                f"{argument('contributor')} choose {named_way('suppress')}, {named_way('grow')} or "
                f"{named_way('merge')}"
            )
            raise InputError(msg)

    def check_signs(self, method: str) -> None:
        """Refuse values of both signs of one contributor where safe clusters must stay safe."""
        owned = self.records.contributor is not None
        if owned and self.negative != "error" and (self.records.units < 0).any():
            msg = (
                f"with {argument('contributor')}, values of both signs of one contributor cancel "
                f"when clusters join, so method {method!r} could make safe clusters unsafe; choose "
                f"{named_way('suppress')}"
            )
            raise InputError(msg)

    def check_possible(self) -> None:
        """Refuse if the whole file as one cluster fails: then every partition does."""
        names = self.records.names
        bad = np.flatnonzero(self.task.fails(np.arange(self.records.n)))
        if len(bad):
            wrong: Sequence[str] = list(dict.fromkeys(names[int(j) % len(names)] for j in bad))
            msg = (
                f"even the whole file as one cluster fails {self.task.forms.rule} in "
                f"{', '.join(map(repr, wrong))}: its largest values outweigh all others, so no "
                f"partition complies; leave out records ({named_way('drop')}) or the attribute"
            )
            raise Unprotectable(msg, cell=("Total", wrong[0]))


def check_most(most: int | None, k: int, n: int) -> None:
    """Refuse a cap below k, or one that n records cannot be cut by."""
    if most is None:
        return
    whole_number(argument("most"), most, k, f"; clusters have at least k = {k} records")
    if n > n // k * most:
        msg = (
            f"{n} records cannot be cut into clusters of {k} to {most}: at most {n // k} clusters "
            f"have {k}; give {argument('most', -(-n // (n // k)))} or more"
        )
        raise InputError(msg)


def named_way(name: str) -> str:
    """How a caller asks for a way."""
    return argument("method", name, option=f"--comply {name}")


def finished(task: Task, labels: Ints, *, moves: bool = True) -> Ints:
    """Make clusters safe, then better, if records may move."""
    labels = made_safe(task, labels)
    if faults_of(task, labels).any():
        if task.owners is not None and task.cap is not None and not task.late:
            msg = (
                f"no compliant partition into groups of at most {task.most} records was found, and "
                f"with {argument('contributor')} it is not shown that there is none; raise "
                f"{argument('most')}"
            )
            raise SolverError(msg)
        labels = listed(task)
    try:
        return improved(task, labels) if moves else labels
    except Interrupted as stop:
        return stop.labels
