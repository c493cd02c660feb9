"""Compliant k-anonymity (Torra and Navarro-Arribas 2023, section 4), in five ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from csp.clock import Clock
from csp.errors import InputError, argument
from csp.names.calls import check_choice
from csp.rules import Rule
from csp.rules.base import as_rule
from microagg.compliance.asked import Asked, Way, check_most
from microagg.compliance.drop import Drop
from microagg.compliance.grow import Grow
from microagg.compliance.merge import Merge
from microagg.compliance.optimise import Optimise
from microagg.compliance.result import Compliant, certified
from microagg.compliance.suppress import Suppress
from microagg.partitions.partition import Partition, check_means
from microagg.records import check_k, records_to_mask
from microagg.scaling import scaled
from microagg.variety import check_diverse, varieties_of

WAYS: dict[str, type[Way]] = {way.name: way for way in (Suppress, Grow, Merge, Drop, Optimise)}

METHODS = tuple(WAYS)
"""Names of the ways to comply."""


def comply(
    X: Any,
    k: int,
    rule: Rule | str,
    *,
    method: str | Way = "suppress",
    scale: str = "standardise",
    attributes: Sequence[str] | None = None,
    constant: str = "error",
    negative: str = "error",
    partition: Partition | None = None,
    most: int | None = None,
    diverse: Mapping[str, int] | None = None,
    contributor: str | Sequence[Any] | None = None,
    time_limit: float | None = None,
    progress: Any = None,
) -> Compliant:
    """Microaggregate so that no published mean tells a value too closely.

    Parameters
    ----------
    X : data
        As `read_records` takes it; `Records` where decimal places are to be stated.
    k : int
        Least size of a cluster.
    rule : Rule or str
        Dominance, p%, pq and minimum frequency; "suppress" takes any rule that has protection
        levels.
    method : str or Suppress, Grow, Merge, Drop, Optimise
        One of `METHODS`, or with options: ``Suppress(cost="value")``, ``Merge(moves=False)``.
    scale, attributes, constant
        As for `microagg.mdav`.
    negative : str
        How rules read negative values: "error", "abs", "shift" or "split".
    partition : Partition, optional
        Partition to start from, of these attributes and with this k; MDAV's by default. Not for
        "grow", which makes its own. One that was made `within` strata is for "suppress" only, which
        leaves clusters as they are.
    most : int, optional
        Largest size of a cluster, at least k; ``2 * k - 1`` where clusters are to be as small as
        in microaggregation without a rule. None for any size.
    diverse : mapping of str to int, optional
        Different values that every cluster must have of an attribute, which may be text:
        ``{"branch": 2}``, or ``{"firm": 3}`` for three contributors where one may own several
        records. Missing values count for none. The attributes named are not masked unless
        `attributes` names them too.
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
        show that there is none, or records of one contributor, with which they are not listed.
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
    way = _way(method)
    clock = Clock.of(time_limit)
    check_diverse(diverse)
    if partition is not None and partition.keys and way.name != "suppress":
        msg = (
            f"the partition was made {argument('within')} {', '.join(partition.keys)}, and "
            f"{argument('method', way.name)} moves records from one stratum to another; take "
            f"{argument('method', 'suppress')}, which leaves clusters as they are"
        )
        raise InputError(msg)
    if partition is not None:
        check_means(partition)
    dropped = partition is not None and partition.kept is not None
    records = records_to_mask(
        X, attributes, diverse=diverse or (), contributor=contributor,
        missing="drop" if dropped else "error",
    )  # fmt: skip
    if partition is not None and len(partition.labels) == records.n:
        # It counts contributors as the records do, which are asked first.
        if records.contributor is None and partition.contributor is not None:
            records = replace(records, contributor=partition.contributor)
        partition = replace(partition, contributor=records.contributor)
    k = check_k(k, records.n, 2, records.contributors)
    check_most(most, k, records.n)
    asked = Asked(
        records, scaled(records, scale, constant=constant), as_rule(rule), k, negative, scale,
        most, varieties_of(records, diverse or {}, most), partition, clock, progress,
    )  # fmt: skip
    asked.check()
    return certified(asked, way.name, way(asked))


def _way(method: str | Way) -> Way:
    """Way to comply by its name, or as it is."""
    if isinstance(method, tuple(WAYS.values())):
        return cast("Way", method)
    check_choice("method", method, METHODS)
    return WAYS[str(method)]()
