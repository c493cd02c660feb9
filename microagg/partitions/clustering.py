"""The ways to make clusters, for any data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Unpack

from csp.errors import OutOfTime, argument
from csp.exact import Floats, Ints
from csp.names.calls import check_choice, check_known
from csp.tables.columns import records_source
from microagg.partitions import methods as ways
from microagg.partitions.contributors import joined_to_k
from microagg.partitions.means import loss_of
from microagg.partitions.methods import cluster_methods
from microagg.partitions.methods.mdav import mdav_labels
from microagg.partitions.methods.mondrian import CUTS, mondrian_labels
from microagg.partitions.methods.vmdav import vmdav_labels
from microagg.partitions.partition import Partition, Ranked
from microagg.partitions.strata import Asking, ClusterOptions, MaskOptions, clustered, keys_of
from microagg.partitions.univariate import ranking_labels
from microagg.records import Records, check_k, read_records, records_to_mask
from microagg.scaling import scaled

GAMMAS = (0.0, 0.2, 0.5, 1.1)
"""Gammas that V-MDAV tries where none is given: no single one is best on all files."""


def clusters(
    X: Any, k: int, *, method: str = "mdav", **options: Unpack[ClusterOptions]
) -> Partition:
    """Clusters by a method that goes by its name.

    Parameters
    ----------
    X, k, scale, attributes, constant, decimals, contributor, within, missing, time_limit, progress
        As for `mdav`. Only methods that take long heed the last two.
    method : str
        "mdav", "vmdav", "mondrian", or another file of `microagg.partitions.methods`.

    Returns
    -------
    Partition

    Raises
    ------
    InputError
        As for `mdav`, or if there is no such method.
    OutOfTime
        As for `mdav`.

    Examples
    --------
    >>> import microagg
    >>> data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}
    >>> microagg.clusters(data, 3, method="mondrian")
    Partition(6 records in 2 clusters of 3 by Mondrian(nearest))
    """
    check_choice("method", method, cluster_methods())
    if method in ("mdav", "vmdav"):
        known = mdav if method == "mdav" else vmdav
        return known(X, k, **options)
    asked = Asking.of(X, k, **options)
    if method == "mondrian":
        return _mondrian(asked, "nearest")
    labels_of = import_module(f"{ways.__name__}.{method}").labels_of
    return _clustered(asked, lambda points, _: labels_of(points, k), method)


def mdav(X: Any, k: int, **options: Unpack[ClusterOptions]) -> Partition:
    """Clusters of k records round the extremes of what is left (Domingo-Ferrer and Torra 2005).

    Parameters
    ----------
    X : data
        As `read_records` takes it.
    k : int
        Least size of a cluster; all have k records but the last, which has fewer than 2k. With
        `contributor`, of different contributors; clusters may be larger then.
    scale : str
        How attributes are made comparable: "standardise", "none", "variance" or "range"; see
        `microagg.scaling.SCALES`.
    attributes : sequence of str, optional
        Attributes that are microaggregated; all by default.
    constant : {"error", "keep"}
        Whether an attribute with one value only is refused or kept, without any say.
    decimals : int, optional
        Decimal places of the data.
    contributor : str or sequence, optional
        Who each record belongs to, where one person or firm may have several: a column, which is
        not masked, or n identifiers. Clusters of k records that have fewer than k different
        contributors are then joined with the one with the nearest mean until each has k.
    within : sequence of str
        Key columns of any kind that are published beside the means: clusters are made inside the
        strata of records that agree in them, each as if it were the whole file. A stratum of fewer
        than k joins the nearest cluster; see Notes.
    missing : {"error", "drop", "own"}
        What is done about records that lack a value of an attribute: they are refused, left out, or
        in strata of records that lack the same ones, which stay missing.
    time_limit : float, optional
        Wall seconds.
    progress : callable, optional
        Called from time to time with the number of records that have a cluster, and n.

    Returns
    -------
    Partition

    Raises
    ------
    InputError
        If k is not a whole number from 2 to n (or to the number of contributors), the data holds
        anything but finite numbers, an attribute is constant, a record has no contributor, or a
        column has two roles.
    OutOfTime
        If the time limit passed before every record had a cluster.

    Notes
    -----
    A stratum with fewer than k contributors joins a cluster of another, or another such stratum:
    the one that differs from it in the fewest key columns and missing attributes; of these, one
    that agrees with it in the columns named first; of these, the one with the nearest mean. The
    records of both then have the set of their keys ("north|south"), and an attribute that one of
    them lacks is missing in all. So records of a cluster are published alike in all columns, and
    the file is k-anonymous in the keys and means together, a missing value being one of its own.
    Other clusters keep their keys as they are. `Partition.to_frame` has the keys beside the means,
    and `notes` say what was joined.

    Examples
    --------
    >>> import microagg
    >>> microagg.mdav({"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}, 3)
    Partition(6 records in 2 clusters of 3 by MDAV)
    >>> data = {"sex": ["f", "m", "f", "m"], "pay": [9, 30, 10, 33]}
    >>> microagg.mdav(data, 2, within="sex").to_columns()["sex"].tolist()
    ['f', 'm', 'f', 'm']
    """
    asked = Asking.of(X, k, **options)
    return _clustered(
        asked, lambda points, told: mdav_labels(points, k, progress=told, clock=asked.clock), "MDAV"
    )


def vmdav(
    X: Any, k: int, *, gamma: float | None = None, **options: Unpack[ClusterOptions]
) -> Partition:
    """Clusters of k records and more that take in near neighbours (Solanas and others 2006).

    Parameters
    ----------
    X, k, scale, attributes, constant, decimals, contributor, within, missing, time_limit, progress
        As for `mdav`.
    gamma : float, optional
        A cluster takes in the nearest record outside if it is nearer to the cluster than gamma
        times its distance to the nearest other record outside. Without it `GAMMAS` are tried, as
        far as the time allows, and the partition with least information loss is kept; that of each
        stratum, if there are any.

    Returns
    -------
    Partition

    Raises
    ------
    InputError
        As for `mdav`, or if gamma is negative or no number.
    OutOfTime
        If the time limit passed before there was a partition.

    Examples
    --------
    >>> import microagg
    >>> data = {"age": [21, 60, 24, 22, 61, 65, 23], "pay": [9, 30, 8, 10, 33, 31, 9]}
    >>> microagg.vmdav(data, 3, gamma=1.1)
    Partition(7 records in 2 clusters of 3 to 4 by V-MDAV(1.1))
    """
    asked = Asking.of(X, k, **options)

    def make(part: Records, constant: str, progress: Any) -> tuple[Ints, str]:
        clock, points = asked.clock, scaled(part, asked.scale, constant=constant)
        found: list[tuple[Ints, str]] = []
        for value in GAMMAS if gamma is None else (gamma,):
            try:
                labels = vmdav_labels(points, k, value, progress=progress, clock=clock)
                labels = joined_to_k(points, labels, part.contributor, k, clock)
            except (OutOfTime, KeyboardInterrupt):
                if not found:
                    raise
                break
            found.append((labels, f"V-MDAV({value:g})"))
            if len(points) < 2 * k:  # one cluster, whatever gamma is
                break
        return min(found, key=lambda one: loss_of(part, one[0])) if len(found) > 1 else found[0]

    return clustered(*_read(asked), asked, make)


def mondrian(
    X: Any, k: int, *, cut: str = "nearest", scale: str = "none", **options: Unpack[MaskOptions]
) -> Partition:
    """Clusters by cutting the file in two, again and again (LeFevre and others 2006).

    Each cut is across the attribute with the widest range, as a share of its range in the file.

    Parameters
    ----------
    X, k, attributes, constant, decimals, contributor, within, missing
        As for `mdav`.
    cut : str
        "nearest": at the allowable cut nearest to the median; "median": at the median or not at
        all; "relaxed": in halves, equal values on either side; "paper": in halves across the
        widest range as the data is scaled, as in Torra and Navarro-Arribas (2023).
    scale : str
        See `microagg.scaling.SCALES`; matters for "paper" only, up to rounding.

    Returns
    -------
    Partition

    Raises
    ------
    InputError
        As for `mdav`, or if the cut is unknown.

    Examples
    --------
    >>> import microagg
    >>> data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}
    >>> microagg.mondrian(data, 3).labels.tolist()
    [0, 1, 0, 0, 1, 1]
    """
    check_choice("cut", cut, (*CUTS, "paper"))
    return _mondrian(Asking(X, k, scale, **options), cut)


def _mondrian(asked: Asking, cut: str) -> Partition:
    how, relative = "relaxed" if cut == "paper" else cut, cut != "paper"
    return _clustered(
        asked, lambda points, _: mondrian_labels(points, asked.k, cut=how, relative=relative),
        f"Mondrian({cut})",
    )  # fmt: skip


def _clustered(asked: Asking, labels_of: Callable[[Floats, Any], Ints], method: str) -> Partition:
    """Make clusters of points, which takes a progress, and join those with too few contributors."""

    def make(part: Records, constant: str, progress: Any) -> tuple[Ints, str]:
        points = scaled(part, asked.scale, constant=constant)
        labels = labels_of(points, progress)
        labels = joined_to_k(points, labels, part.contributor, asked.k, asked.clock)
        return labels, method

    return clustered(*_read(asked), asked, make)


def _read(asked: Asking) -> tuple[Records, tuple[str, ...]]:
    """Read records that are to be masked, and name their key columns."""
    keys = keys_of(asked.within, asked.attributes, asked.contributor)
    data = asked.data
    if keys and not isinstance(data, Records):
        data = records_source(data)
        check_known(argument("within"), keys, data.names, "columns")
    records = records_to_mask(
        data, asked.attributes, diverse=keys, decimals=asked.decimals,
        contributor=asked.contributor, missing=asked.missing,
    )  # fmt: skip
    return records, keys


def individual_ranking(
    X: Any,
    k: int,
    *,
    method: str = "mdav",
    attributes: Sequence[str] | None = None,
    decimals: int | None = None,
    contributor: str | Sequence[Any] | None = None,
) -> Ranked:
    """Each attribute in groups of its own.

    Loses little, and does not protect against an attacker who knows several attributes: the masked
    file is not k-anonymous.

    Parameters
    ----------
    X, k, attributes, decimals, contributor
        As for `mdav`.
    method : {"mdav", "optimal"}
        Groups by MDAV on one attribute, or with the least squared error (Hansen and Mukherjee
        2003).

    Returns
    -------
    Ranked

    Raises
    ------
    InputError
        As for `mdav`, or if the method is unknown.

    Examples
    --------
    >>> import microagg
    >>> data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}
    >>> microagg.individual_ranking(data, 3, method="optimal")
    Ranked(6 records, 2 attributes)
    """
    records = read_records(X, attributes, decimals=decimals, contributor=contributor)
    check_k(k, records.n, 2, records.contributors)
    parts = []
    for j, name in enumerate(records.names):
        labels = ranking_labels(records.values[:, j], k, method=method)
        labels = joined_to_k(records.values[:, [j]], labels, records.contributor, k)
        parts.append(Partition.of(records.only([name]), labels, k, f"ranking({method})"))
    return Ranked(tuple(parts), records.library, records.index)
