"""Microdata as integers, in batches, and how large their sums can become.

Records come in batches, each contributor's in one of them, so that no more than a batch is in
memory beside the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from csp.errors import InputError
from csp.exact import Bools, Ints

# Transformed contributions and their weighted sums must stay inside int64.
_LIMIT = 2.0**62

MAX_BATCH = 2**22
"""Most records of one batch."""


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Microdata as integers.

    Attributes
    ----------
    leaf : (n,) int64
        Inner cell of each record, by its number among all combinations of codes in C order.
    amount : (n,) int64
        Contribution of each record.
    weight : (n,) int64
        Weight in units of ``10**-weight_scale``, positive.
    weight_scale : int
    contributor : (n,) int64 or None
        Who the record belongs to; None if every record is its own contributor.
    place : (n,) int64 or None
        Place of each record in the data, which tells apart those without a contributor; None where
        the data have no order.
    """

    leaf: Ints
    amount: Ints
    weight: Ints
    weight_scale: int
    contributor: Ints | None
    place: Ints | None = None

    def taken(self, which: Bools) -> Records:
        """Return some of the records."""
        return Records(
            self.leaf[which], self.amount[which], self.weight[which], self.weight_scale,
            None if self.contributor is None else self.contributor[which],
            None if self.place is None else self.place[which],
        )  # fmt: skip


def batches(records: Records) -> Iterator[Records]:
    """Batches of records that split no contributor, if that is possible."""
    n = len(records.amount)
    if n <= MAX_BATCH:
        yield records
        return
    order = None if records.contributor is None else np.argsort(records.contributor, kind="stable")
    start = 0
    while start < n:
        stop = min(start + MAX_BATCH, n)
        if order is not None and records.contributor is not None and stop < n:
            owner = records.contributor[order[start:]]
            first = int(np.searchsorted(owner, owner[stop - start]))
            stop = start + (first or int(np.searchsorted(owner, owner[0], side="right")))
        taken = slice(start, stop) if order is None else order[start:stop]
        owners = None if records.contributor is None else records.contributor[taken]
        yield Records(
            records.leaf[taken],
            records.amount[taken],
            records.weight[taken],
            records.weight_scale,
            owners,
            None if records.place is None else records.place[taken],
        )
        start = stop


@dataclass(frozen=True, slots=True)
class Size:
    """How large sums of the records can become, in floats.

    The largest sum of any cell is at most that of all records, each moved by the shift.

    Attributes
    ----------
    weighted, weight : float
        Sum of weights times absolute amounts, and of weights.
    amount, n : float
        Sum of absolute amounts where contributors have several records, the largest one otherwise;
        with how many records, or 1.
    weight_scale : int
    unweighted : bool
        Whether every weight is one.
    """

    weighted: float = 0.0
    weight: float = 0.0
    amount: float = 0.0
    n: float = 0.0
    weight_scale: int = 0
    unweighted: bool = True

    def with_records(self, records: Records) -> Size:
        """Return the size with more records."""
        amount = np.abs(records.amount).astype(np.float64)
        weight = records.weight.astype(np.float64)
        owned = records.contributor is not None
        found = Size(
            float((weight * amount).sum()),
            float(weight.sum()),
            float(amount.sum()) if owned else float(amount.max(initial=0)),
            float(len(amount)),
            records.weight_scale,
            bool((records.weight == 10**records.weight_scale).all()),
        )
        return self.joined(found, owned=owned)

    def joined(self, other: Size, *, owned: bool) -> Size:
        """Return the size of both."""
        return Size(
            self.weighted + other.weighted,
            self.weight + other.weight,
            self.amount + other.amount if owned else max(self.amount, other.amount),
            self.n + other.n if owned else 1.0,
            other.weight_scale,
            self.unweighted and other.unweighted,
        )

    def check(self, shift: int = 0) -> None:
        """Refuse what could overflow int64, before any arithmetic on it."""
        if self.weighted + shift * self.weight > _LIMIT or 4 * self.weight > _LIMIT:
            msg = (
                "the sum of the contributions is beyond 2**62 units; use fewer decimals (of values "
                "or weights) or a larger unit"
            )
            raise InputError(msg)
        # A single contribution stands at the scale of weight times value, whatever its own weight.
        if (self.amount + shift * self.n) * 10.0**self.weight_scale > _LIMIT:
            msg = "a contribution is beyond 2**62 units; use fewer decimals (of values or weights)"
            raise InputError(msg)
