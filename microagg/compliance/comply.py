"""Compliant k-anonymity (Torra and Navarro-Arribas 2023, section 4), in five ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from csp.calls import check_choice, whole_number
from csp.clock import Clock
from csp.errors import InputError, SolverError, Unprotectable, argument
from csp.exact import Number
from csp.rules import Rule
from csp.rules.base import as_rule
from microagg.compliance.drop import drop_records
from microagg.compliance.optimise import listed, optimised
from microagg.compliance.result import Asked, Compliant, certified
from microagg.compliance.search import (
    Interrupted,
    Task,
    faults_of,
    grown,
    improved,
    made_safe,
    renumbered,
)
from microagg.partitions.mdav import mdav_labels
from microagg.partitions.partition import Partition
from microagg.records import Ints, Records, check_k, count_different, records_to_mask
from microagg.scaling import scaled
from microagg.tables.clusters import cluster_table
from microagg.tables.contributions import sides_of_units
from microagg.tables.forms import Forms, forms_of, largest_read, strictest
from microagg.tables.identities import Identity
from microagg.tables.risk import judged
from microagg.variety import Variety, fewest_values, varieties_of

__all__ = ["METHODS", "comply"]

METHODS = {
    "suppress": "suppress sensitive means, and others so that they cannot be computed",
    "grow": "clusters take in the next nearest records until they are safe",
    "merge": "unsafe clusters join others; then records move where that saves most",
    "drop": "leave out the fewest records that make cells sensitive",
    "optimise": "the safe partition with least information loss, and a bound on it",
}
"""Ways to compliance."""


def comply(
    X: Any,
    k: int,
    rule: Rule | str,
    *,
    method: str = "suppress",
    scale: str = "standardise",
    attributes: Sequence[str] | None = None,
    constant: str = "error",
    negative: str = "error",
    partition: Partition | None = None,
    moves: bool = True,
    most: int | None = None,
    diverse: Mapping[str, int] | None = None,
    identities: str | Sequence[str | Identity] | None = "detect",
    share: Number | None = None,
    cost: str = "unit",
    unions: bool = True,
    decimals: int | None = None,
    contributor: str | Sequence[Any] | None = None,
    time_limit: float | None = None,
    progress: Any = None,
) -> Compliant:
    """Microaggregate so that no published mean tells a value too closely.

    Parameters
    ----------
    X : data
        As `read_records` takes it.
    k : int
        Least size of a cluster.
    rule : Rule or str
        Dominance, p%, pq and minimum frequency; "suppress" takes any rule that has protection
        levels.
    method : str
        One of `METHODS`.
    scale, attributes, constant, decimals
        As for `microagg.mdav`.
    negative : str
        How rules read negative values: "error", "abs", "shift" or "split".
    partition : Partition, optional
        Partition to start from, of these attributes and with this k; MDAV's by default. Not for
        "grow", which makes its own.
    moves : bool
        Whether "grow" and "merge" improve the clusters by moving records.
    most : int, optional
        Largest size of a cluster, at least k; ``2 * k - 1`` where clusters are to be as small as
        in microaggregation without a rule. None for any size.
    diverse : mapping of str to int, optional
        Different values that every cluster must have of an attribute, which may be text:
        ``{"branch": 2}``, or ``{"firm": 3}`` for three contributors where one may own several
        records. Missing values count for none. The attributes named are not masked unless
        `attributes` names them too.
    identities, share, cost, unions
        For "suppress": see `microagg.cells` and `cluster_problem`.
    contributor : str or sequence, optional
        Who each record belongs to, where one person or firm may have several: a column, which is
        not masked, or n identifiers. Then each cluster has k different contributors, and what one
        of them has in a cluster is added up before the rule looks at it. For "suppress", and for
        "grow" and "merge" where no value is negative.
    time_limit : float, optional
        Seconds. The best safe result so far is returned then, and likewise on Ctrl-C.
    progress : callable, optional
        For "suppress" as `csp.suppress` calls it; otherwise called with words and a share.

    Returns
    -------
    Compliant
        Judged anew, by the rules of tables, before it is returned. Its partition has the
        contributors.

    Raises
    ------
    Unprotectable
        If no partition complies. For contributions that are not negative that is so exactly if
        the whole file as one cluster does not comply: safe clusters stay safe when they join.
        With `most`, which may rule out more, if all safe groups were listed and cannot be put
        together.
    SolverError
        If `most` was given, no compliant partition was found, and there are too many groups to
        show that there is none.
    OutOfTime
        If the time was over before there was a safe result.
    InputError
        If a parameter or the data is wrong, or no cluster of k records can pass the rule.

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 12, 10, 11, 95, 40, 50, 60]}
    >>> microagg.comply(data, 3, "P(60)", method="merge")
    Compliant(9 records in 2 clusters by merge, no cell sensitive to P(60,1))
    >>> for name in ("suppress", "grow", "drop", "optimise"):
    ...     print(name, microagg.comply(data, 3, "P(60)", method=name).partition.sizes.tolist())
    suppress [3, 3, 3]
    grow [5, 4]
    drop [3, 6]
    optimise [5, 4]
    """
    check_choice("method", method, METHODS)
    clock = Clock.of(time_limit)
    records = records_to_mask(
        X, attributes, diverse=diverse or (), decimals=decimals, contributor=contributor
    )
    records, partition = _same_contributors(records, partition)
    k = check_k(k, records.n, 2, records.contributors)
    _check_contributor(records, method, negative)
    _check_most(most, k, records.n)
    varieties = varieties_of(records, diverse or {}, most)
    whole = as_rule(rule)
    if partition is not None:
        _check_start(partition, records, k, method, most)
    _check_method(method, scale, negative, identities, share)
    points = scaled(records, scale, constant=constant)
    _check_passable(whole, k, "records" if records.contributor is None else "contributors")
    asked = Asked(method, whole, negative, varieties, most, records.notes)
    several = (*varieties, *_contributors(records, k))
    codes = [variety.codes[:, None] for variety in several]
    # What clusters must have whatever the rule: a size, and different values.
    nothing = np.zeros((records.n, 1), np.int64)
    bare = Task(
        points, np.ascontiguousarray(np.hstack([nothing, *codes])), Forms(whole, (), 1), k, most,
        tuple(variety.least for variety in several), clock, owners=records.contributor,
    )  # fmt: skip
    if method == "suppress":
        start = partition or _mdav(records, bare)
        _check_diverse(start, varieties)
        known = {"identities": identities, "share": share}
        search = {
            "cost": cost, "unions": unions, "time_limit": clock.seconds, "progress": progress,
        }  # fmt: skip
        return _suppressed(asked, records, start, known, search)
    task = replace(_ruled(bare, asked, records, codes), progress=progress)
    if method != "drop":
        _check_possible(task, records)
    # Dropping cannot make clusters diverse, so it starts from some that are.
    sized = replace(bare, shares=bare.shares[:, :1], diverse=())
    if records.contributor is not None:
        sized = bare  # a partition has k contributors in every cluster
    start = partition or _mdav(records, bare if method == "drop" else sized)
    unsafe = judged(records, start, [whole], negative=negative)[0].count
    facts = start.information_loss, unsafe
    if method == "drop":
        return _drop(asked, task, records, start, facts)
    if method == "optimise":
        labels, bound = optimised(task, start.labels)
        made = Partition.of(records, labels, k, method)
        return certified(asked, records, made, facts, bound=bound)
    labels = renumbered(grown(task)) if method == "grow" else start.labels
    labels = _finished(task, labels, moves=moves)
    return certified(asked, records, Partition.of(records, labels, k, method), facts)


def _ruled(bare: Task, asked: Asked, records: Records, codes: Sequence[Ints]) -> Task:
    """Task with the contributions that the rule judges; codes are of what must vary."""
    forms = forms_of(asked.rule)
    sides = sides_of_units(records.units, records.names, asked.negative)
    shares = np.ascontiguousarray(np.hstack(sides))
    forms.check_range(shares)
    return replace(bare, shares=np.ascontiguousarray(np.hstack([shares, *codes])), forms=forms)


def _suppressed(
    asked: Asked, records: Records, start: Partition, known: dict[str, Any], search: dict[str, Any]
) -> Compliant:
    """Suppress the sensitive means of a partition, and others."""
    from microagg.compliance.suppress import suppress_clusters

    built = cluster_table(
        records, start, negative=asked.negative, top=largest_read(asked.rule), **known
    )
    safe = suppress_clusters(built, asked.rule, **search)
    facts = start.information_loss, int(safe.problem.primary.sum())
    return certified(asked, records, start, facts, safe.hidden, suppressed=safe)


def _method(name: str) -> str:
    return argument("method", name, option=f"--comply {name}")


def _check_method(
    method: str, scale: str, negative: str, identities: object, share: Number | None
) -> None:
    """Refuse what a method cannot have."""
    if method == "optimise" and scale != "standardise":
        msg = (
            f"method 'optimise' finds the least information loss, which is that of standardised "
            f"attributes; leave {argument('scale', 'standardise')}, or choose "
            f"{_method('merge')} for {argument('scale', scale)}"
        )
        raise InputError(msg)
    if method == "drop" and negative == "shift":
        msg = (
            f"dropping records would move the lowest value that {argument('negative', 'shift')} "
            f"starts from; choose {argument('negative', 'abs')} or {argument('negative', 'split')}"
        )
        raise InputError(msg)
    if method != "suppress" and (identities not in ("detect", None) or share is not None):
        named = argument("identities", option="--identity")
        msg = f"method {method!r} does not suppress means; leave out {named} and share="
        raise InputError(msg)


def _check_most(most: int | None, k: int, n: int) -> None:
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


def _check_start(
    partition: Partition, records: Records, k: int, method: str, most: int | None
) -> None:
    if method == "grow":
        msg = (
            "method 'grow' makes its own clusters; leave "
            f"{argument('partition', option='--clusters')} out, or choose 'merge'"
        )
        raise InputError(msg)
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
                f"the partition has a cluster with {few} different contributors, fewer than k = "
                f"{k}; make it with {argument('contributor')} too, or leave it out"
            )
            raise InputError(msg)
    if most is not None and int(partition.sizes.max()) > most:
        msg = (
            f"the partition has a cluster of {int(partition.sizes.max())} records, more than "
            f"{argument('most', most)}; raise it, or leave the partition out"
        )
        raise InputError(msg)


def _check_contributor(records: Records, method: str, negative: str) -> None:
    """Refuse methods whose search takes each record for a contributor of its own."""
    if records.contributor is None:
        return
    named = argument("contributor")
    if method in ("drop", "optimise"):
        msg = (
            f"method {method!r} takes each record for a contributor of its own; with {named} "
            f"choose {_method('suppress')}, {_method('grow')} or {_method('merge')}"
        )
        raise InputError(msg)
    if method != "suppress" and negative != "error" and (records.units < 0).any():
        msg = (
            f"with {named}, values of both signs of one contributor cancel when clusters join, so "
            f"method {method!r} could make safe clusters unsafe; choose {_method('suppress')}"
        )
        raise InputError(msg)


def _same_contributors(
    records: Records, partition: Partition | None
) -> tuple[Records, Partition | None]:
    """Let a partition to start from count contributors as the records do, which are asked first."""
    if partition is None or len(partition.labels) != records.n:
        return records, partition
    if records.contributor is None and partition.contributor is not None:
        return replace(records, contributor=partition.contributor), partition
    return records, replace(partition, contributor=records.contributor)


def _contributors(records: Records, k: int) -> tuple[Variety, ...]:
    """Ask for k different contributors in every cluster, where they are known."""
    if records.contributor is None:
        return ()
    return (Variety("contributor", k, np.asarray(records.contributor + 1, np.int64)),)


def _check_passable(rule: Rule, k: int, units: str) -> None:
    """Refuse rules that no cluster of k records passes; those of the user's own may do anything."""
    least, part = strictest(rule)
    if least > k:
        msg = (
            f"no cluster of {k} {units} passes {part}: it takes at least {least}, even if their "
            f"values are equal; give {argument('k', least, option=f'-k {least}')} or more, or a "
            "milder rule"
        )
        raise InputError(msg)


def _mdav(records: Records, bare: Task) -> Partition:
    """MDAV's clusters, changed only where they are too large or not diverse."""
    labels = mdav_labels(bare.points, bare.k, clock=bare.clock)
    if not faults_of(bare, labels).any():
        return Partition.of(records, labels, bare.k, "MDAV")
    labels = _finished(bare, labels)
    return Partition.of(records, labels, bare.k, "MDAV, then moves")


def _check_possible(task: Task, records: Records) -> None:
    """Refuse if the whole file as one cluster fails: then every partition has a sensitive cell."""
    bad = np.flatnonzero(task.fails(np.arange(records.n)))
    if len(bad):
        names = dict.fromkeys(records.names[int(j) % len(records.names)] for j in bad)
        msg = (
            f"even the whole file as one cluster fails {task.forms.rule} in "
            f"{', '.join(map(repr, names))}: its largest values outweigh all others, so no "
            f"partition complies; leave out records ({_method('drop')}) or the attribute"
        )
        raise Unprotectable(msg, cell=("Total", next(iter(names))))


def _finished(task: Task, labels: Ints, *, moves: bool = True) -> Ints:
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


def _drop(
    asked: Asked, task: Task, records: Records, start: Partition, facts: tuple[float, int]
) -> Compliant:
    labels, dropped = drop_records(task, start.labels, records.names)
    rows = np.flatnonzero(labels >= 0)
    if not len(rows):
        msg = (
            f"every cluster fails {task.forms.rule} with fewer than {task.k} records left, so all "
            f"records would be dropped; use {_method('merge')}, or a larger k"
        )
        raise Unprotectable(msg)
    kept = records.at(rows)
    made = Partition.of(kept, renumbered(labels[rows]), task.k, "drop")
    varieties = tuple(replace(variety, codes=variety.codes[rows]) for variety in asked.varieties)
    asked = replace(asked, varieties=varieties)
    return certified(asked, kept, made, facts, rows=rows, dropped=dropped)


def _check_diverse(partition: Partition, varieties: tuple[Variety, ...]) -> None:
    """Refuse clusters that suppressing means cannot make diverse."""
    for variety in varieties:
        if (found := fewest_values(variety, partition.labels)) < variety.least:
            msg = (
                f"the partition has a cluster with {found} values of {variety.name!r}, fewer than "
                f"{variety.least}; leave the partition out, or choose {_method('merge')}"
            )
            raise InputError(msg)
