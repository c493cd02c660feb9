"""Attribute disclosure of a partition: which cluster means disclose a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Bools, Ints, Number, exact
from csp.names.calls import check_choice
from csp.rules import Dominance, Rule
from csp.rules.base import as_rule, parts_of
from csp.tables.cross.frames import columns_to_frame
from microagg.partitions.means import cluster_sums
from microagg.partitions.partition import Partition, records_of
from microagg.records import Frozen, Records
from microagg.tables.clusters import Known, table_of
from microagg.tables.contributions import NEGATIVE, added_up, largest
from microagg.tables.forms import forms_of, largest_read, strictest


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Disclosure(Frozen):
    """Sensitive cells of clusters by attributes.

    Attributes
    ----------
    sensitive : (c, d) bool
        Cells that fail the rule, clusters by attributes.
    names : tuple of str
        Attributes.
    rule : str
        The rule in words.
    k : int
        Least size of the clusters.
    vacuous : bool
        Whether the rule calls every cell of k records sensitive that is not empty, even of equal
        values; then the count says nothing of the data.
    library : str
        Library of the caller's frame.
    """

    sensitive: Bools
    names: tuple[str, ...]
    rule: str
    k: int
    vacuous: bool
    library: str = ""

    def __repr__(self) -> str:
        return (
            f"Disclosure({self.count} of {self.cells} cells sensitive to {self.rule}, "
            f"{100 * self.share:.2f} %)"
        )

    @property
    def count(self) -> int:
        """Number of sensitive cells."""
        return int(self.sensitive.sum())

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.sensitive.size)

    @property
    def share(self) -> float:
        """Share of the cells that is sensitive."""
        return self.count / self.cells

    @property
    def by_attribute(self) -> dict[str, int]:
        """Sensitive cells of each attribute."""
        return dict(zip(self.names, self.sensitive.sum(axis=0).tolist(), strict=True))

    @property
    def clusters(self) -> Ints:
        """Clusters with a sensitive cell, ascending."""
        return np.flatnonzero(self.sensitive.any(axis=1))

    def to_frame(self, library: str | None = None) -> Any:
        """One row per cell: cluster, attribute, sensitive. For internal files only."""
        c, d = self.sensitive.shape
        columns = {
            "cluster": np.repeat(np.arange(c), d),
            "attribute": list(self.names) * c,
            "sensitive": self.sensitive.ravel(),
        }
        return columns_to_frame(columns, self.library if library is None else library)

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON; for internal use, unless no mean is sensitive."""
        return {
            "rule": self.rule,
            "k": self.k,
            "cells": self.cells,
            "sensitive": self.count,
            "share": self.share,
            "by_attribute": self.by_attribute,
            "vacuous": self.vacuous,
        }


def disclosure(
    X: Any,
    partition: Partition,
    rule: Rule | str,
    *,
    negative: str = "error",
    decimals: int | None = None,
    contributor: str | Sequence[Any] | None = None,
) -> Disclosure:
    """Find the cells whose published mean tells a contribution too closely.

    A cluster mean and the cluster's size tell the sum of the records' values, so the cell is
    judged like a cell of a magnitude table with these records as contributors (Torra and
    Navarro-Arribas 2023, section 3), in exact arithmetic.

    Parameters
    ----------
    X : data
        The original records, as `read_records` takes them; only the partition's attributes are
        read.
    partition : Partition
    rule : Rule or str
        As for `csp.Mechanism`: ``"NK(1,60)"``, ``PPercent(60)``.
    negative : str
        How rules read negative values: "error", "abs", "shift", "split"; or "raw", the formulas
        of the paper as they stand, which mean nothing where values of both signs meet.
    decimals : int, optional
        Decimal places of the data.
    contributor : str or sequence, optional
        Who each record belongs to, where one person or firm may have several: a column of the data,
        or n identifiers; those of the partition by default. What a contributor has in a cluster is
        added up before the rule looks at it.

    Returns
    -------
    Disclosure

    Raises
    ------
    InputError
        If the records do not fit the partition, a value is negative and no mode was chosen, or
        the rule cannot be read.

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 12, 10, 11, 95]}
    >>> halves = microagg.Partition.of(microagg.read_records(data), [0, 0, 0, 1, 1, 1], 3, "halves")
    >>> microagg.disclosure(data, halves, "P(60)")
    Disclosure(1 of 2 cells sensitive to P(60,1), 50.00 %)

    Two of the first three records are of one firm.

    >>> microagg.disclosure(data, halves, "P(60)", contributor=list("aabcde"))
    Disclosure(2 of 2 cells sensitive to P(60,1), 100.00 %)
    """
    records = records_of(X, partition, decimals, contributor)
    return judged(records, partition, [rule], negative=negative)[0]


def judged(
    records: Records, partition: Partition, rules: Sequence[Rule | str], *, negative: str = "error"
) -> tuple[Disclosure, ...]:
    """Judge the records of a partition by several rules, each apart."""
    check_choice("negative", negative, (*NEGATIVE, "raw"))
    wholes = [as_rule(rule) for rule in rules]
    if negative == "raw":
        units, labels = records.units, partition.labels
        if records.contributor is not None:
            units, labels, _ = added_up(units, labels, records.contributor)
        masks = [_raw(units, labels, rule) for rule in wholes]
    else:
        top = max(map(largest_read, wholes))
        alone = Known(totals=False)
        table = table_of(records, partition, alone, negative=negative, top=top).table
        masks = [rule(table).primary for rule in wholes]
    shape = len(partition.sizes), len(records.names)
    return tuple(
        Disclosure(
            mask.reshape(shape), records.names, str(rule), partition.k,
            strictest(rule)[0] > partition.k, partition.library,
        )
        for mask, rule in zip(masks, wholes, strict=True)
    )  # fmt: skip


def corresponding_p(r: Number) -> Fraction:
    """P of the p% rule that asks about as much as (2, r)-dominance: ``(1 - r) / r``.

    Figure 1 of Torra and Navarro-Arribas (2023) draws it; both numbers are shares.

    Raises
    ------
    InputError
        If r is not above 0 and at most 1.

    Examples
    --------
    >>> float(corresponding_p("0.6"))
    0.6666666666666666
    """
    share = exact(r)
    if not 0 < share <= 1:
        msg = f"r must be above 0 and at most 1, not {r!r}"
        raise InputError(msg)
    return (1 - share) / share


def _raw(units: Ints, labels: Ints, rule: Rule) -> Bools:
    """Sensitive cells by the formulas of the paper as they stand, whatever the signs.

    Values are ordered by size with their sign. Equation (1) is a quotient: with a negative total
    it asks for less, and with a total of 0 it says nothing. Equation (2) has no quotient.
    """
    counts = np.repeat(np.bincount(labels), units.shape[1])
    total = cluster_sums(units, labels).ravel()
    found = np.zeros(len(total), dtype=bool)
    for part in parts_of(rule):
        forms = forms_of(part)
        forms.check_range(units)
        found |= counts < forms.frequency
        top, _ = largest(units, labels, forms.reads)
        if isinstance(part, Dominance):
            sign = np.sign(total)
            found |= forms.sensitive(top * sign[:, None], total * sign) & (sign != 0)
        else:
            found |= forms.sensitive(top, total)
    return found
