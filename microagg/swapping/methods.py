"""The three ways to mask: means of quasi-identifiers, swapping by MDAV, by individual ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Ints
from csp.names.calls import check_choice
from microagg.partitions.methods.mdav import mdav_labels
from microagg.partitions.partition import Partition
from microagg.partitions.univariate import METHODS as RANKINGS
from microagg.records import Records, check_k
from microagg.scaling import OR_KEEP, refuse_constant, scaled
from microagg.swapping.grouping import GROUPS, Grouping
from microagg.swapping.linkage import value_codes
from microagg.swapping.moves import (
    Move,
    Original,
    checked_seed,
    informed_moves,
    joint_move,
    ranking_moves,
)
from microagg.swapping.roles import Roles
from microagg.swapping.swapped import Swapped

INTRUDERS = {
    "informed": "each knows all attributes but one confidential one, and they do not collude",
    "uninformed": "they know the quasi-identifiers, and no confidential attribute",
}
"""Who a file is protected from."""


def mdav_id(
    X: Any,
    k: int,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    confidential: Sequence[str] = (),
    scale: str = "standardise",
    constant: str = "error",
) -> Swapped:
    """Replace quasi-identifiers by the means of groups of k records: k-anonymity.

    Parameters
    ----------
    X : data
        As `microagg.read_records` takes it.
    k : int
        Least size of a group.
    quasi_identifiers : sequence of str, optional
        All that are not confidential by default.
    confidential : sequence of str
        Attributes that stay as they are.
    scale : str
        One of `microagg.scaling.SCALES`.
    constant : {"error", "keep"}
        Whether a quasi-identifier with one value only is refused or kept.

    Returns
    -------
    Swapped

    Raises
    ------
    InputError
        If k is not a whole number from 2 to n, an attribute is unknown, named twice, constant, or
        holds anything but finite numbers.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2005), Ordinal, continuous and heterogeneous k-anonymity
    through microaggregation.

    Examples
    --------
    >>> import microagg
    >>> data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}
    >>> microagg.mdav_id(data, 3, quasi_identifiers=["age"])
    Swapped(6 records, 1 of 2 attributes masked by MDAV-ID, k=3)
    """
    roles = Roles.of(X, quasi_identifiers, confidential)
    if not roles.quasi:
        msg = "there is no quasi-identifier to replace by means; name at least one"
        raise InputError(msg)
    check_k(k, roles.n, 2)
    records = roles.records.only(roles.quasi)
    labels = mdav_labels(scaled(records, scale, constant=constant), k)
    partition = Partition.of(records, labels, k, "MDAV")
    means = partition.masked
    new: dict[str, NDArray[Any]] = {name: means[:, j] for j, name in enumerate(roles.quasi)}
    partitions = dict.fromkeys(roles.quasi, partition)
    proved = dict.fromkeys(roles.quasi, True)
    return _result(
        roles,
        new,
        partitions,
        {},
        proved,
        k=k,
        method="MDAV-ID",
        variant="",
        scale=scale,
        seed=None,
    )


def mdav_swap(
    X: Any,
    k: int,
    *,
    confidential: Sequence[str] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    intruders: str = "informed",
    order: str = "forward",
    groups: str = "mdav",
    gamma: float = 0.2,
    l: Any = None,  # noqa: E741
    t: Any = None,
    scale: str = "standardise",
    constant: str = "error",
    seed: int | None = None,
) -> Swapped:
    """Swap confidential attributes within groups of k records made of the others, by MDAV.

    Parameters
    ----------
    X : data
        As `microagg.read_records` takes it. Columns without a part may hold anything.
    k : int
        Least size of a group.
    confidential : sequence of str, optional
        Attributes that are swapped, in this order; all that are not quasi-identifiers by default.
    quasi_identifiers : sequence of str, optional
        All that are not confidential by default.
    intruders : {"informed", "uninformed"}
        Informed ones each know all attributes but one confidential one: every attribute is
        permuted on its own. Against uninformed ones, who know quasi-identifiers only, all
        confidential attributes are permuted together, within groups of the quasi-identifiers.
    order : {"forward", "sequential", "simultaneous"}
        Against informed intruders, what the groups of an attribute are made of: the
        quasi-identifiers and the attributes swapped before it; all others as they stand, with
        those before it swapped; or all others in the original file. Only the first keeps the
        bound of one in k for every attribute; see Notes.
    groups : {"mdav", "vmdav", "random"}
        How groups are made: by MDAV, by V-MDAV (see `microagg.vmdav`), or by chance.
    gamma : float
        Of V-MDAV: the larger, the more near neighbours a group takes in.
    l : int, optional
        Least number of values of an attribute in each group it is swapped in (distinct
        l-diversity): groups that have fewer are joined to the nearest.
    t : number, optional
        Largest earth mover's distance of the values of a group from those of the file
        (t-closeness, ordered distance).
    scale : str
        One of `microagg.scaling.SCALES`.
    constant : {"error", "keep"}
        Whether an attribute with one value only is refused or kept.
    seed : int, optional
        For studies. Leave it out for a file to be published: 128 bits of the operating system are
        taken, and kept in the result.

    Returns
    -------
    Swapped

    Raises
    ------
    InputError
        If k is not a whole number from 2 to n, a choice is unknown, an attribute is unknown, in
        both kinds, named twice, constant, or holds anything but finite numbers, there is nothing
        to make groups of, or the whole file is less diverse than l.

    Notes
    -----
    J. Soria-Comas and J. Domingo-Ferrer (2012), Probabilistic k-anonymity through microaggregation
    and data swapping, sections IV-A (uninformed) and IV-B (informed). With A and its groups made
    of what the intruder knows, every arrangement of the published values of A within the groups is
    equally likely, so none is linked with a probability above one in k. The same holds for several
    attributes as long as no other permutation depends on A in any other form than the published
    one. That is so for "uninformed" and "forward", and for the attribute swapped first in
    "sequential". Otherwise groups of other attributes were made of A as it was; an intruder who
    knows those attributes sees which of their values moved where, so that some A are ruled out,
    and the bound of one in k is not a fact. In "sequential", which gives the figures of the paper,
    and "simultaneous", which its text describes, it holds only against intruders who do not look
    at the other attributes. Where groups were joined for `l` or `t`, one in k is proved, but
    not one in the size of the joined group (see `microagg.swapping.grouping`), and `Swapped.proved`
    is False.

    Random groups hide a record among k, and not among all as section IV-A says: values may go to
    any record, but stay where they are with probability 1/k.

    Examples
    --------
    >>> import microagg
    >>> data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}
    >>> swapped = microagg.mdav_swap(data, 3, confidential=["pay"], seed=1)
    >>> swapped
    Swapped(6 records, 1 of 2 attributes masked by MDAV-SWAP (informed, forward), k=3)
    >>> sorted(swapped.to_frame("pandas")["pay"].tolist()) == sorted(data["pay"])
    True
    """
    check_choice("intruders", intruders, INTRUDERS)
    roles = Roles.of(X, quasi_identifiers, confidential)
    _need_confidential(roles)
    check_k(k, roles.n, 2)
    if intruders == "uninformed" and not roles.quasi:
        msg = "uninformed intruders know quasi-identifiers, and there are none; name at least one"
        raise InputError(msg)
    seed = checked_seed(seed)
    grouping = Grouping.of(k, groups, gamma, l, t)
    points, names = scaled(roles.records, scale, constant=constant), roles.records.names
    quasi, chosen = roles.places(roles.quasi), roles.places(roles.confidential)
    original = Original(points, names, quasi, chosen, grouping)
    if intruders == "uninformed":
        moves = [joint_move(original, seed)] * len(chosen)
        variant = intruders
    else:
        moves = informed_moves(original, order, seed)
        variant = f"{intruders}, {order}"
    variant += f", {grouping.name}" if grouping.name else ""
    return _swapped(
        roles,
        moves,
        GROUPS[groups],
        k=k,
        method="MDAV-SWAP",
        variant=variant,
        scale=scale,
        seed=seed,
    )


def ir_swap(
    X: Any,
    k: int,
    *,
    confidential: Sequence[str] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    groups: str = "mdav",
    constant: str = "error",
    seed: int | None = None,
) -> Swapped:
    """Swap each confidential attribute within groups of k neighbouring values of its own.

    Parameters
    ----------
    X, k, confidential, constant, seed
        As for `mdav_swap`.
    quasi_identifiers : sequence of str, optional
        They stay as they are, and are told apart from other columns in the report only; none by
        default.
    groups : {"mdav", "optimal"}
        How the groups are made; see `microagg.partitions.univariate.ranking_labels`. Equal values
        are in random order.

    Returns
    -------
    Swapped

    Raises
    ------
    InputError
        As `mdav_swap`.

    Notes
    -----
    Soria-Comas and Domingo-Ferrer (2012), section IV-C. No permutation depends on any other
    attribute, so every published value of a group is any of its members' with the same
    probability, whatever an intruder knows of the other attributes.

    Examples
    --------
    >>> import microagg
    >>> data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}
    >>> microagg.ir_swap(data, 3, quasi_identifiers=["age"], seed=1)
    Swapped(6 records, 1 of 2 attributes masked by IR-SWAP (mdav), k=3)
    """
    check_choice("groups", groups, RANKINGS)
    roles = Roles.of(X, quasi_identifiers or (), confidential)
    _need_confidential(roles)
    check_k(k, roles.n, 2)
    check_choice("constant", constant, ("error", "keep"))
    if constant == "error":
        chosen = roles.records.only(roles.confidential)
        refuse_constant(chosen, "so swapping hides nothing", OR_KEEP)
    seed = checked_seed(seed)
    moves = ranking_moves(roles.records.values, roles.places(roles.confidential), k, groups, seed)
    return _swapped(
        roles, moves, "", k=k, method="IR-SWAP", variant=groups, scale="none", seed=seed
    )


def _need_confidential(roles: Roles) -> None:
    if not roles.confidential:
        msg = "there is no confidential attribute to swap; name at least one"
        raise InputError(msg)


def _swapped(roles: Roles, moves: Sequence[Move], way: str, *, k: int, **how: Any) -> Swapped:
    """Carry out the permutations of the confidential attributes, in their order."""
    now = dict(zip(roles.names, roles.columns, strict=True))
    original = dict(now)
    new, partitions, sources = {}, {}, {}
    made: dict[int, Partition] = {}
    for name, move in zip(roles.confidential, moves, strict=True):
        if id(move) not in made:
            names = roles.records.names
            columns = tuple((original if j in move.unswapped else now)[names[j]] for j in move.by)
            basis = Records(tuple(names[j] for j in move.by), columns, roles.records.decimals)
            method = "individual ranking" if basis.names == (name,) else way
            made[id(move)] = Partition.of(basis, move.labels, k, method, published=False)
        partitions[name] = made[id(move)]
        sources[name] = move.source
        new[name] = now[name] = original[name][move.source]
    # An attacker who knows the attributes that other groups were made of sees what moved where.
    exposed = {roles.records.names[j] for move in moves for j in move.unswapped}
    proved = {
        name: name not in exposed and not move.joined
        for name, move in zip(roles.confidential, moves, strict=True)
    }
    return _result(roles, new, partitions, sources, proved, k=k, **how)


def _result(
    roles: Roles,
    new: dict[str, NDArray[Any]],
    partitions: dict[str, Partition],
    sources: dict[str, Ints],
    proved: dict[str, bool],
    **how: Any,
) -> Swapped:
    """Put the new columns in their places, and measure what they leave as it was."""
    now = dict(zip(roles.names, roles.columns, strict=True))
    unchanged, homogeneous = {}, {}
    for name in (name for name in roles.names if name in new):
        codes = value_codes(now[name])
        if name in sources:
            same = codes[sources[name]] == codes
        else:
            same = new[name] == roles.records.only([name]).values[:, 0]
        unchanged[name] = float(same.mean())
        pairs = np.unique(np.column_stack([partitions[name].labels, codes]), axis=0)
        homogeneous[name] = int((np.bincount(pairs[:, 0]) == 1).sum())
        new[name].flags.writeable = False
    return Swapped(
        names=roles.names, columns=tuple((now | new).values()), quasi_identifiers=roles.quasi,
        confidential=roles.confidential, masked=tuple(unchanged), partitions=partitions,
        sources=sources, proved=proved, unchanged=unchanged, homogeneous=homogeneous,
        library=roles.library, index=roles.records.index, **how,
    )  # fmt: skip
