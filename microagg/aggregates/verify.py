"""A check of k^f-anonymity on the published ranges.

Of what makes them it shares the reading of records and of aggregates, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations, pairwise, product
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.errors import InputError
from csp.exact import Ints
from microagg.aggregates.functions import (
    RANGE,
    VARIANCE,
    Aggregate,
    Continuous,
    Linear,
    read_aggregates,
    read_tolerance,
)
from microagg.aggregates.generalised import Generalised
from microagg.aggregates.spreads import check_corners
from microagg.records import Records, check_k, read_records
from microagg.variety import Variety, varieties_of, with_contributors

_Known = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def is_aggregate_anonymous(
    X: Any,
    published: Generalised | tuple[Ints, Ints],
    k: int,
    f: Any = "sum",
    d: Any = 0,
    *,
    diverse: Mapping[str, int] | None = None,
    contributor: str | None = None,
    attributes: Sequence[str] | None = None,
    decimals: int | None = None,
) -> bool:
    """Tell whether aggregate knowledge of any record leaves at least k candidates for it.

    Parameters
    ----------
    X : (n, a) array, data frame, mapping of columns, or path
        The records before generalisation.
    published : Generalised, or pair of (n, a) integer arrays
        Lower and upper ends of the published ranges, in the units of X, in the order of X.
    k : int
    f : str, mapping, sequence, callable or list
        As for `microagg.aggregates.aggregate_anonymise`.
    d : number
        The attacker knows f(t) within d times its size, 0 <= d < 1.
    diverse : mapping of str to int, optional
        Different values of an attribute of X that the candidates of every record must have too;
        for one aggregate.
    contributor : str, optional
        Column of X that says whom a record belongs to: the candidates must be of k different ones.
    attributes : sequence of str, optional
    decimals : int, optional

    Raises
    ------
    InputError
        If the two files do not fit together: shapes, attributes, scale, or a value outside its
        range (row and attribute named).

    Examples
    --------
    >>> import microagg
    >>> data = {"rent": [5, 6, 5, 9, 4, 7], "food": [4, 3, 5, 1, 5, 2]}
    >>> published = microagg.aggregate_anonymise(data, 3, "sum")
    >>> microagg.is_aggregate_anonymous(data, published, 3, "sum")
    True
    """
    diverse = with_contributors(diverse, contributor, k, attributes)
    case = Case.read(X, published, f, d, attributes, decimals, diverse)
    if case.candidates(check_k(k, case.records.n)).min() < k:
        return False
    varieties = varieties_of(case.records, diverse or {})
    return all(bool(case.values(variety).min() >= variety.least) for variety in varieties)


def candidate_counts(
    X: Any,
    published: Generalised | tuple[Ints, Ints],
    f: Any = "sum",
    d: Any = 0,
    *,
    k: int | None = None,
    attributes: Sequence[str] | None = None,
    decimals: int | None = None,
) -> Ints:
    """Count, for every record t, the published records that may be t for someone who knows f(t).

    Parameters
    ----------
    X, published, f, d, attributes, decimals
        As for `is_aggregate_anonymous`.
    k : int, optional
        Counts may stop once they reach k, which saves time with several aggregates.

    Returns
    -------
    (n,) int64

    Notes
    -----
    A published record is a candidate if the interval of f over its ranges meets the known
    interval, f(t) or f(t) (1 +- d). With several aggregates it takes one completion that fits
    all of them. Counted are then the records of which this is certain: those whose original
    values fit, and those with the ranges of t's own and, for every aggregate, the same sum of the
    exact part or an interval that fits as a whole.

    Examples
    --------
    >>> import microagg
    >>> data = {"rent": [5, 6, 5, 9, 4, 7], "food": [4, 3, 5, 1, 5, 2]}
    >>> published = microagg.aggregate_anonymise(data, 3, "sum")
    >>> microagg.aggregates.candidate_counts(data, published, "sum").tolist()
    [6, 6, 6, 6, 6, 6]
    """
    case = Case.read(X, published, f, d, attributes, decimals)
    n = case.records.n
    return case.candidates(n if k is None else check_k(k, n))


@dataclass(frozen=True, eq=False)
class Case:
    """Records and the ends of their ranges, (n, a) each, and what an attacker knows of a record."""

    records: Records
    lower: Ints
    upper: Ints
    aggregates: tuple[Aggregate, ...]
    d: Fraction

    @classmethod
    def read(
        cls,
        X: Any,
        published: Generalised | tuple[Ints, Ints],
        f: Any,
        d: Any,
        attributes: Sequence[str] | None = None,
        decimals: int | None = None,
        diverse: Mapping[str, int] | None = None,
    ) -> Case:
        """Read records and the ranges published of them, in their units."""
        if isinstance(published, Generalised):
            attributes = published.names if attributes is None else attributes
            decimals = published.scale if decimals is None else decimals
            published = published.lower, published.upper
        lower, upper = map(np.asarray, published)
        records = read_records(X, attributes, diverse=diverse or (), decimals=decimals)
        if lower.shape != records.units.shape or upper.shape != records.units.shape:
            msg = f"the ranges have shape {lower.shape}, the records {records.units.shape}"
            raise InputError(msg)
        if lower.dtype.kind not in "iu" or upper.dtype.kind not in "iu":
            msg = "ends of ranges must be whole units; multiply them by 10**scale"
            raise InputError(msg)
        outside = (records.units < lower) | (records.units > upper)
        if outside.any():
            row, j = (int(x[0]) for x in np.nonzero(outside))
            msg = f"row {row + 1}, attribute {records.names[j]!r}: the value is outside its range"
            raise InputError(msg)
        aggregates = read_aggregates(f, records.names, diverse)
        return cls(records, lower, upper, aggregates, read_tolerance(d))

    @cached_property
    def known(self) -> list[_Known]:
        """Each aggregate of the records, its known and its published interval, all in one unit."""
        found = []
        for aggregate in self.aggregates:
            value, low, high = self._intervals(aggregate)
            slack = _times(np.abs(value), self.d.numerator)
            value, low, high = (_times(x, self.d.denominator) for x in (value, low, high))
            found.append((value, value - slack, value + slack, low, high))
        return found

    def _intervals(self, aggregate: Aggregate) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        if isinstance(aggregate, Continuous):
            value = aggregate.values(self.records.units)
            low, high = _spread_ends(aggregate, self.lower, self.upper)
            trouble = "outside its own bounds over the record's ranges; correct the bounds"
        else:
            f: Callable[[Ints], NDArray[Any]] = aggregate.values
            signs: Sequence[Any]
            if isinstance(aggregate, Linear):
                f, signs = partial(_weighed, aggregate), aggregate.weights
            else:
                signs = aggregate.directions or (1,) * self.records.units.shape[1]
            rising = np.array([sign >= 0 for sign in signs])
            value = f(self.records.units)
            low = f(np.where(rising, self.lower, self.upper))
            high = f(np.where(rising, self.upper, self.lower))
            trouble = (
                "not between its values at the corners of the record's ranges, so it is not "
                "monotone in the directions named"
            )
        wrong = (low > value) | (value > high)
        if wrong.any():
            msg = f"row {int(np.argmax(wrong)) + 1}: {aggregate.name} is {trouble}"
            raise InputError(msg)
        return value, low, high

    def values(self, variety: Variety) -> Ints:
        """Count the different values that the candidates of every record have, of one aggregate.

        A value is among them if more intervals of its records have begun than have ended.
        """
        _, a, b, low, high = self.known[0]
        count = np.zeros(len(self.records.units), np.int64)
        for code in range(1, int(variety.codes.max()) + 1):
            these = variety.codes == code
            begun = np.searchsorted(np.sort(low[these]), b, side="right")
            count += begun > np.searchsorted(np.sort(high[these]), a, side="left")
        return count

    def candidates(self, k: int) -> Ints:
        """Count candidates as `candidate_counts` does."""
        if len(self.known) > 1:
            return self._certain(k)
        _, a, b, low, high = self.known[0]
        # An interval that ends before a also begins before b: one sort of each end is enough.
        begun = np.searchsorted(np.sort(low), b, side="right")
        return np.asarray(begun - np.searchsorted(np.sort(high), a, side="left"), np.int64)

    def _certain(self, k: int) -> Ints:
        """Count the records that are candidates for certain, up to k or beyond."""
        spans, whole = _looks(self.aggregates, self.lower, self.upper)
        wide = np.asarray((self.lower < self.upper).any(axis=1))
        counts = np.bincount(whole)[whole].astype(np.int64)
        values, a, b, low, high = (np.column_stack(x) for x in zip(*self.known, strict=True))
        sums = np.array([isinstance(aggregate, Linear) for aggregate in self.aggregates])
        shown = Shown(values, a, b, low, high, sums, spans, whole, wide)
        order = np.lexsort((spans, values[:, 0]))
        alike = np.argsort(spans, kind="stable")
        bounds = np.searchsorted(spans[alike], np.arange(spans.max(initial=0) + 2))
        # Integers beyond int64 take the same function as plain Python.
        plain = values.dtype == object
        count = KERNELS.plain if plain else KERNELS.choose(small=len(order) <= _SMALL)
        count["count_certain"](order, shown, alike, bounds, k, counts)
        return counts


def _weighed(aggregate: Linear, rows: Ints) -> NDArray[Any]:
    """Weighted sums in units of all denominators together, which shares nothing with `Linear`."""
    size = prod(w.denominator for w in aggregate.weights)
    total: NDArray[Any] = 0 * rows[:, 0]
    for j, w in enumerate(aggregate.weights):
        total = total + _times(rows[:, j], int(w * size))
    return total


def _spread_ends(
    aggregate: Continuous, lower: Ints, upper: Ints
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bound a function that is not monotone: the user's as it says, the others anew."""
    if aggregate is not RANGE and aggregate is not VARIANCE:
        return aggregate.ends(lower, upper)
    ends = _ends_of_range if aggregate is RANGE else _ends_of_variance
    if aggregate is VARIANCE:
        check_corners(int((lower < upper).sum(axis=1).max(initial=0)))
    boxes, which = np.unique(np.hstack([lower, upper]), axis=0, return_inverse=True)
    d = lower.shape[1]
    table = np.array([ends(box[:d], box[d:]) for box in boxes.tolist()])[which.ravel()]
    return table[:, 0], table[:, 1]


def _ends_of_range(lower: Sequence[int], upper: Sequence[int]) -> tuple[int, int]:
    pairs = [(i, j) for i in range(len(lower)) for j in range(len(lower)) if i != j]
    least = max([0, *(lower[i] - upper[j] for i, j in pairs)])
    return least, max([0, *(upper[i] - lower[j] for i, j in pairs)])


def _ends_of_variance(lower: Sequence[int], upper: Sequence[int]) -> tuple[int, int]:
    """Bound d squared times the variance: over corners, and over places for the mean.

    The least sum of squared distances of the ranges from one number is convex in that number, so
    it is at an end of a range or where the slope between two ends is 0.
    """
    ends = list(zip(lower, upper, strict=True))
    high = max(
        sum((x - y) ** 2 for x, y in combinations(corner, 2))
        for corner in product(*({a, b} for a, b in ends))
    )
    marks = sorted({*lower, *upper})
    places = [Fraction(m) for m in marks]
    for a, b in pairwise(marks):
        pulls = [h for h in upper if h <= a] + [low for low in lower if low >= b]
        if pulls:
            places.append(min(max(Fraction(sum(pulls), len(pulls)), Fraction(a)), Fraction(b)))
    least = min(sum(max(a - m, m - b, Fraction(0)) ** 2 for a, b in ends) for m in places)
    return ceil(len(ends) * least), high


def _times(numbers: NDArray[Any], factor: int) -> NDArray[Any]:
    """Product, in Python's integers where it might not fit; room is left for sums of several."""
    if numbers.dtype != object:
        largest = max(abs(int(numbers.max(initial=0))), abs(int(numbers.min(initial=0))))
        if largest * abs(factor) >= 2**53:
            numbers = numbers.astype(object)
    return np.asarray(numbers * factor)


def _looks(aggregates: Sequence[Aggregate], lower: Ints, upper: Ints) -> tuple[Ints, Ints]:
    """Give each look a number: the ranges of a record; its ranges and f of its exact part."""
    wide = lower < upper
    spans: list[NDArray[Any]] = [np.where(wide, lower, 0), np.where(wide, upper, 0), wide]
    parts: list[NDArray[Any]] = []
    for aggregate in aggregates:
        if isinstance(aggregate, Linear):
            parts.append(_weighed(aggregate, np.where(wide, 0, lower))[:, None])
        else:
            parts.append(np.where(wide, 0, lower))
    return _numbers(spans), _numbers(spans + parts)


def _numbers(columns: Sequence[NDArray[Any]]) -> Ints:
    """Give each distinct row of some columns a number."""
    table = np.column_stack(columns)
    if table.dtype == object:
        place: dict[tuple[int, ...], int] = {}
        rows = (place.setdefault(tuple(row), len(place)) for row in table.tolist())
        return np.fromiter(rows, np.int64, len(table))
    return np.asarray(np.unique(table, axis=0, return_inverse=True)[1]).ravel()


KERNELS = Kernels(__name__, "fits_jointly", "count_certain")

_SMALL = 200
"""Records up to which plain Python takes about a tenth of a second."""


class Shown(NamedTuple):
    """What an attacker knows of each record, and what is published of it, shapes (n, g) or (n,).

    Each aggregate, between which ends it is known and published; which of them, (g,), are sums; how
    records and their exact parts look, by numbers; and whether something of a record is a range.
    """

    values: Any
    a: Any
    b: Any
    low: Any
    high: Any
    sums: Any
    spans: Any
    whole: Any
    wide: Any


def fits_jointly(t: int, r: int, shown: Shown) -> bool:
    """Whether r, whose ranges are those of t, surely has a completion with all that t shows.

    Sums that begin alike have equal exact parts, so with t's own values in its ranges r has t's
    sums. Other aggregates must fit whatever their values are, or depend on equal values only.
    """
    if shown.whole[t] == shown.whole[r]:
        return True
    low, high = shown.low, shown.high
    for g in range(len(shown.sums)):
        inside = low[r, g] >= shown.a[t, g] and high[r, g] <= shown.b[t, g]
        if not inside and not (shown.sums[g] and low[r, g] == low[t, g]):
            return False
    return True


def count_certain(order: Any, shown: Shown, alike: Any, bounds: Any, k: int, counts: Any) -> None:
    """Count for records that have fewer than k of their own look, nearest values first."""
    n, values, a, b, spans = len(order), shown.values, shown.a, shown.b, shown.spans
    for place in range(n):
        t = order[place]
        if counts[t] >= k:
            continue
        found = 0
        if shown.wide[t]:  # of exact records, those that fit jointly have values that fit
            for i in range(bounds[spans[t]], bounds[spans[t] + 1]):
                found += fits_jointly(t, alike[i], shown)
        for side in (-1, 1):
            i = place if side > 0 else place - 1
            while 0 <= i < n and found < k:
                r = order[i]
                if not a[t, 0] <= values[r, 0] <= b[t, 0]:
                    break
                near = True
                for g in range(1, len(shown.sums)):
                    if not a[t, g] <= values[r, g] <= b[t, g]:
                        near = False
                        break
                same = shown.wide[t] and spans[t] == spans[r]
                if near and not (same and fits_jointly(t, r, shown)):
                    found += 1
                i += side
        counts[t] = found
