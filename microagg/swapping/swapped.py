"""A masked file: what may be published, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.exact import Ints
from microagg.partitions.partition import MaskedFile, Partition
from microagg.swapping.linkage import Linkages, group_linkage


@dataclass(frozen=True, eq=False, repr=False)
class Swapped(MaskedFile):
    """A file of which some attributes were swapped within groups, or replaced by group means.

    Attributes
    ----------
    names : tuple of str
        All columns, in the caller's order.
    columns : tuple of (n,) arrays
        The masked file. Swapped attributes hold the caller's own entries in other rows, means are
        floats, all else is as it was.
    quasi_identifiers, confidential : tuple of str
    masked : tuple of str
        Attributes that were swapped, or replaced by means.
    k : int
    method : {"MDAV-ID", "MDAV-SWAP", "IR-SWAP"}
    variant : str
        Further choices: intruders, order and groups, or the way of ranking; "" if there are none.
    scale : str
        How attributes were made comparable; "none" if only one was looked at at a time.
    seed : int or None
        Not for publication: with it permutations can be undone. None if nothing is random.
    partitions : mapping of str to Partition
        Groups of each masked attribute. Not for publication.
    sources : mapping of str to (n,) int64
        Record whose entry each record was given, for each swapped attribute. Not for publication.
    proved : mapping of str to bool
        Whether no attacker links a record's value of each masked attribute with a probability above
        that of a guess within its group: no groups were made of the attribute as it was before
        it was swapped, and none of its own were joined because of its values.
    unchanged : mapping of str to float
        Share of the records that still have their own value of each masked attribute, be it by
        the permutation or because values of a group are equal.
    homogeneous : mapping of str to int
        Groups of each masked attribute in which it has one value only: there the value of every
        member is published, whatever the permutation. Not for publication where means were: they
        do not tell which of them are values.
    library : str
        Library of the caller's frame, "" if there was none.
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    quasi_identifiers: tuple[str, ...]
    confidential: tuple[str, ...]
    masked: tuple[str, ...]
    k: int
    method: str
    variant: str
    scale: str
    seed: int | None
    partitions: Mapping[str, Partition]
    sources: Mapping[str, Ints]
    proved: Mapping[str, bool]
    unchanged: Mapping[str, float]
    homogeneous: Mapping[str, int]
    library: str = ""
    index: Any = None

    def __repr__(self) -> str:
        how = f"{self.method} ({self.variant})" if self.variant else self.method
        return (
            f"Swapped({len(self.columns[0])} records, {len(self.masked)} of {len(self.names)} "
            f"attributes masked by {how}, k={self.k})"
        )

    def column(self, name: str) -> NDArray[Any]:
        """One column of the masked file; KeyError if there is none of that name."""
        if name not in self.names:
            raise KeyError(name)
        return self.columns[self.names.index(name)]

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Masked file as columns by name, in the caller's order."""
        return dict(zip(self.names, self.columns, strict=True))

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Plain data for JSON.

        Parameters
        ----------
        reveal : bool
            Put in the seed, with which permutations can be undone, and what depends on the original
            values: the share of each column that kept its value, and groups of one value of which
            the means are published.
        """
        facts = {
            "method": self.method,
            "variant": self.variant,
            "scale": self.scale,
            "k": self.k,
            "records": len(self.columns[0]),
            "quasi_identifiers": list(self.quasi_identifiers),
            "confidential": list(self.confidential),
            "masked": list(self.masked),
            "left_alone": [name for name in self.names if name not in self.masked],
            "groups": {name: len(self.partitions[name].sizes) for name in self.masked},
            "largest_group": max(int(self.partitions[name].sizes.max()) for name in self.masked),
            "homogeneous_groups": self.alike(reveal=reveal),
            "linkage": linkage_probability(self).rows(),
        }
        return facts | {"seed": self.seed, "unchanged": dict(self.unchanged)} if reveal else facts

    def alike(self, *, reveal: bool = False) -> dict[str, int]:
        """`homogeneous`, without `reveal` of attributes that were swapped alone."""
        told = self.homogeneous if reveal else self.sources
        return {name: self.homogeneous[name] for name in told}


def linkage_probability(swapped: Swapped) -> Linkages:
    """Probability that the best linkage of a rational intruder is right, in closed form.

    Parameters
    ----------
    swapped : Swapped

    Returns
    -------
    Linkages
        One for each swapped attribute. For MDAV-ID the records are the classes of equal
        quasi-identifiers, with one entry for each confidential attribute (values named rightly),
        or one for the quasi-identifiers if there is none.

    Notes
    -----
    Soria-Comas and Domingo-Ferrer (2012), section IV-A: within a group of g records, each has
    each published value with probability 1 / g. `Linkage.proved` says whether that is the
    posterior probability of an intruder who also draws conclusions from how other attributes were
    swapped. It is, unless groups of another attribute were made of this one as it was before it
    was swapped, as MDAV-SWAP makes them in the orders "sequential" (all attributes but the first)
    and "simultaneous" (all, if there are several); the order "forward", the default, does not.
    """
    if not swapped.sources:
        return _of_classes(swapped)
    parts = []
    for name in swapped.confidential:
        labels = swapped.partitions[name].labels
        proved = swapped.proved[name]
        parts.append(group_linkage(labels, swapped.column(name), name, proved=proved))
    return Linkages(tuple(parts))


def _of_classes(swapped: Swapped) -> Linkages:
    """Linkage where quasi-identifiers are equal; groups with equal means are one class."""
    means = np.column_stack([swapped.column(name) for name in swapped.quasi_identifiers])
    labels = np.unique(means, axis=0, return_inverse=True)[1].reshape(-1)
    parts = [group_linkage(labels, swapped.column(name), name) for name in swapped.confidential]
    if not parts:
        alone = np.arange(len(labels))
        joined = "+".join(swapped.quasi_identifiers)
        parts = [group_linkage(labels, alone, joined)]
    return Linkages(tuple(parts))
