"""Ranges as narrow as aggregate knowledge allows: lines 5 to 20 of algorithm aggrAnon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.compiled import Kernels
from csp.exact import Bools, Ints
from microagg.aggregates.functions import Aggregate, Linear, reach
from microagg.aggregates.spreads import LARGEST

Ranges = tuple[Ints, Ints]

_SMALL = 100_000
"""Values up to which plain Python takes about a second."""

_SECONDS = 1e-5
"""That it takes for each."""

_CHUNK = 4096
"""Classes between two questions whether going on is of any use."""


def generalise(
    units: Ints,
    labels: Ints,
    aggregates: Sequence[Aggregate],
    d: Fraction,
    *,
    costs: Ints | None = None,
    hopeless: Callable[[tuple[int, ...]], bool] | None = None,
) -> Ranges | None:
    """Generalise attribute after attribute in each class until its records share their f.

    The attribute generalised next is the one without which the values of f are most similar:
    whose absolute differences over all pairs of records have the smallest average, summed over
    the aggregates and times what the attribute costs; among equals the cheapest, then the first.
    "Without" means that the attribute, like those generalised before, has one common value in all
    records of the class; for sums that is the same as to leave it out.

    A class is done when, for every aggregate, all records show the same range of f (then their
    exact parts are equal too), or when d > 0 and no two values possible in the class differ by
    more than d times either of them.

    Labels are negative for records that stay as they are. `costs`, (a,), says what it costs to
    generalise each attribute, in whole numbers; the same by default. `hopeless` is asked after
    every step with the sums of the widths so far, one an attribute, which only grow: if True, the
    work ends, and nothing is returned. Otherwise the published ranges, lower and upper ends.

    Notes
    -----
    O. Gkountouna, K. Lepenioti, M. Terrovitis, Privacy against aggregate knowledge attacks,
    Figure 1. Signed differences average to 0 over all pairs, hence the absolute ones.
    """
    lower, upper = units.copy(), units.copy()
    rows = np.flatnonzero(labels >= 0)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    if not len(rows):
        return lower, upper
    step = _Step(units[rows], labels[rows], aggregates)
    if costs is None:
        costs = np.ones(units.shape[1], np.int64)
    sums = [aggregate for aggregate in aggregates if isinstance(aggregate, Linear)]
    if len(sums) < len(aggregates) or not fits(step.units, sums, step.sizes, d, costs):
        return _all_together(step, rows, lower, upper, d, costs, hopeless)
    low, high = step.units.copy(), step.units.copy()
    bounds = np.append(step.starts, len(rows))
    weights = np.array([aggregate.whole for aggregate in sums])
    widths = np.zeros(units.shape[1], np.int64)
    for first in range(0, len(step.starts), _CHUNK):
        KERNELS.run(
            "narrow", step.units, bounds[first : first + _CHUNK + 1], weights, d.numerator,
            d.denominator, costs, low, high, widths,
            small=low.size <= _SMALL, seconds=_SECONDS * low.size,
        )  # fmt: skip
        if hopeless is not None and hopeless(tuple(widths.tolist())):
            return None
    lower[rows], upper[rows] = low, high
    return lower, upper


def _all_together(
    step: _Step, rows: Ints, lower: Ints, upper: Ints,
    d: Fraction, costs: Ints, hopeless: Callable[[tuple[int, ...]], bool] | None,
) -> Ranges | None:  # fmt: skip
    """Take every step in all classes at once, so that a function is asked for many rows each time.

    Also for sums beyond the range of the compiled way, whose oracle it is in the tests.
    """
    aggregates, units = step.aggregates, step.units
    open_ = np.zeros((len(step.starts), units.shape[1]), bool)
    widths = [0] * units.shape[1]
    for _ in range(units.shape[1]):
        keep = ~_done(step, aggregates, d)
        kept = keep[step.member]
        if not keep.any():
            break
        rows, open_ = rows[kept], open_[keep]
        step = step.only(kept)
        next_ = _most_similar_without(step, open_, aggregates, costs)
        open_[np.arange(len(next_)), next_] = True
        step.open_up(next_)
        lower[rows], upper[rows] = step.lower, step.upper
        for j, more in enumerate(step.added(next_)):
            widths[j] += more
        if hopeless is not None and hopeless(tuple(widths)):
            return None
    return lower, upper


def generalise_fully(units: Ints, labels: Ints) -> Ranges:
    """Give all records of a class the same ranges: plain k-anonymity; negative labels stay."""
    lower, upper = units.copy(), units.copy()
    rows = np.flatnonzero(labels >= 0)
    if len(rows):
        rows = rows[np.argsort(labels[rows], kind="stable")]
        starts, member = _runs(labels[rows])
        lower[rows] = np.minimum.reduceat(units[rows], starts)[member]
        upper[rows] = np.maximum.reduceat(units[rows], starts)[member]
    return lower, upper


def _runs(labels: Ints) -> tuple[Ints, Ints]:
    """Start of every run of equal labels, and for each place the number of its run."""
    begins = np.ones(len(labels), bool)
    begins[1:] = labels[1:] != labels[:-1]
    return np.flatnonzero(begins), np.cumsum(begins) - 1


class _Step:
    """Records of the classes still at work, those of a class side by side.

    `frozen` holds the records with one common value in place of each generalised attribute.
    """

    def __init__(
        self,
        units: Ints,
        labels: Ints,
        aggregates: Sequence[Aggregate],
        lower: Ints | None = None,
        upper: Ints | None = None,
        frozen: Ints | None = None,
    ) -> None:
        self.units, self.labels, self.aggregates = units, labels, aggregates
        # Nothing is generalised before `only` has copied what remains, so sharing is safe.
        self.lower = units if lower is None else lower
        self.upper = units if upper is None else upper
        self.frozen = units if frozen is None else frozen
        self.starts, self.member = _runs(labels)
        self.sizes = np.diff(np.append(self.starts, len(labels)))
        # Of m values in ascending order, that of rank r (from 0) is the larger one of r pairs and
        # the smaller one of m - 1 - r: so often it is added and subtracted.
        rank = np.arange(len(labels)) - self.starts[self.member]
        self.factor = 2 * rank + 1 - self.sizes[self.member]

    def only(self, kept: Bools) -> _Step:
        parts = (self.lower[kept], self.upper[kept], self.frozen[kept])
        return _Step(self.units[kept], self.labels[kept], self.aggregates, *parts)

    def open_up(self, attribute: Ints) -> None:
        """Generalise one attribute in each class."""
        place = np.arange(len(self.units))
        column = attribute[self.member]
        values = self.units[place, column]
        low = np.minimum.reduceat(values, self.starts)[self.member]
        self.lower[place, column] = self.frozen[place, column] = low
        self.upper[place, column] = np.maximum.reduceat(values, self.starts)[self.member]

    def added(self, attribute: Ints) -> list[int]:
        """Sum of the widths that one more attribute in each class has brought, by attribute."""
        width = (self.upper - self.lower)[self.starts, attribute]
        if int(width.max(initial=0)) * len(self.units) >= LARGEST:
            width = width.astype(object)
        total = width * self.sizes
        return [int(total[attribute == j].sum()) for j in range(self.units.shape[1])]


def _done(step: _Step, aggregates: Sequence[Aggregate], d: Fraction) -> Bools:
    """For each class, whether its records can no longer be told apart by f."""
    done = np.ones(len(step.starts), bool)
    for aggregate in aggregates:
        if not len(done):
            break
        low, high = aggregate.ends(step.lower, step.upper)
        least = np.minimum.reduceat(low, step.starts)
        most = np.maximum.reduceat(high, step.starts)
        same = (np.maximum.reduceat(low, step.starts) == least) & (
            np.minimum.reduceat(high, step.starts) == most
        )
        if len(aggregates) > 1 and not isinstance(aggregate, Linear):
            # Equal ranges of two functions do not say that both values are possible at once.
            same &= least == most
        nearest_to_zero = np.maximum(np.maximum(least, -most), 0)
        done &= same | (most - least <= reach(nearest_to_zero, d))
    return done


def _most_similar_without(
    step: _Step, open_: Bools, aggregates: Sequence[Aggregate], costs: Ints
) -> Ints:
    """Attribute to generalise next in each class."""
    best = np.full(len(step.starts), -1)
    least = np.zeros(len(step.starts), np.int64)
    known = [aggregate.values(step.frozen) for aggregate in aggregates]
    for j in range(step.units.shape[1]):
        low = np.minimum.reduceat(step.units[:, j], step.starts)[step.member]
        spread = sum(
            _differences(step, _with_common(step, aggregate, values, j, low))
            for aggregate, values in zip(aggregates, known, strict=True)
        )
        spread = np.asarray(spread)
        if int(spread.max(initial=0)) * int(costs[j]) >= LARGEST:
            spread = spread.astype(object)
        spread = spread * int(costs[j])
        if spread.dtype == object:
            least = least.astype(object)
        cheaper = (spread == least) & (costs[j] < costs[best])
        better = ~open_[:, j] & ((best < 0) | (spread < least) | cheaper)
        least[better] = spread[better]
        best[better] = j
    return best


def _with_common(step: _Step, aggregate: Aggregate, values: Ints, j: int, low: Ints) -> Ints:
    """Values of f where attribute j, too, has one common value in each class."""
    if isinstance(aggregate, Linear):
        return np.asarray(values - aggregate.whole[j] * (step.frozen[:, j] - low))
    rows = step.frozen.copy()
    rows[:, j] = low
    return aggregate.values(rows)


def _differences(step: _Step, values: Ints) -> NDArray[Any]:
    """Sum of the absolute differences over all pairs of each class, exactly."""
    values = values - np.minimum.reduceat(values, step.starts)[step.member]
    top = int(values.max(initial=0)) + 1
    if top * len(step.starts) < LARGEST:  # class by class in one sort of single numbers
        base = step.member * top
        values = np.sort(base + values) - base
    else:
        values = values[np.lexsort((values, step.member))]
    if top * int(step.sizes.max(initial=0)) ** 2 * len(step.aggregates) >= LARGEST:
        values = values.astype(object)
    return np.asarray(np.add.reduceat(values * step.factor, step.starts))


# Weighted sums go class after class, compiled.

KERNELS = Kernels(__name__, "pair_differences", "shared", "narrow")


def fits(units: Ints, aggregates: Sequence[Linear], sizes: Ints, d: Fraction, costs: Ints) -> bool:
    """Whether everything that is summed up on the way stays inside int64."""
    top = 2 * int(np.abs(units).max(initial=0))
    biggest = max(top * sum(abs(int(w)) for w in aggregate.whole) for aggregate in aggregates)
    differences = biggest * int(sizes.max(initial=0)) ** 2 * len(aggregates) * int(costs.max())
    slack = biggest * max(d.numerator, d.denominator)
    return max(differences, slack, top * len(units)) < LARGEST


def pair_differences(values: Any) -> int:
    """Sum of the absolute differences over all pairs; the values are sorted on the way."""
    m = len(values)
    if m <= 16:
        for i in range(1, m):
            x = values[i]
            j = i - 1
            while j >= 0 and values[j] > x:
                values[j + 1] = values[j]
                j -= 1
            values[j + 1] = x
    else:
        values.sort()
    total = 0
    for rank in range(m):
        total += (2 * rank + 1 - m) * (values[rank] - values[0])
    return total


def shared(parts: Any, gains: Any, num: int, den: int) -> bool:
    """Whether the records of a class share their f: for every aggregate one range, or nearly.

    `parts` (aggregates, records) are sums of the exact attributes, `gains` (aggregates, 2) the
    sums of the lower and upper ends of the generalised ones.
    """
    for g in range(len(parts)):
        low, high = parts[g].min(), parts[g].max()
        if low < high:
            least, most = low + gains[g, 0], high + gains[g, 1]
            if (most - least) * den > num * max(least, -most, 0):
                return False
    return True


def narrow(
    units: Any, bounds: Any, weights: Any, num: int, den: int, costs: Any, lower: Any, upper: Any,
    widths: Any,
) -> None:  # fmt: skip
    """Set the ranges of the classes between consecutive bounds; add to the sums of widths."""
    a = units.shape[1]
    count = len(weights)
    largest = 0
    for c in range(len(bounds) - 1):
        largest = max(largest, bounds[c + 1] - bounds[c])
    all_parts = np.empty((count, largest), np.int64)
    gains = np.empty((count, 2), np.int64)
    scratch = np.empty(largest, np.int64)
    closed = np.empty(a, np.bool_)
    for c in range(len(bounds) - 1):
        start, end = bounds[c], bounds[c + 1]
        m = end - start
        parts = all_parts[:, :m]
        for g in range(count):
            gains[g, 0] = gains[g, 1] = 0
            for i in range(m):
                total = 0
                for j in range(a):
                    total += weights[g, j] * units[start + i, j]
                parts[g, i] = total
        closed[:] = True
        for _ in range(a):
            if shared(parts, gains, num, den):
                break
            best = -1
            least = 0
            for j in range(a):
                if closed[j]:
                    spread = 0
                    for g in range(count):
                        w = weights[g, j]
                        for i in range(m):
                            scratch[i] = parts[g, i] - w * units[start + i, j]
                        spread += pair_differences(scratch[:m]) * costs[j]
                    cheaper = best >= 0 and spread == least and costs[j] < costs[best]
                    if best < 0 or spread < least or cheaper:
                        best, least = j, spread
            closed[best] = False
            low = high = units[start, best]
            for i in range(start, end):
                low = min(low, units[i, best])
                high = max(high, units[i, best])
            widths[best] += m * (high - low)
            for i in range(start, end):
                lower[i, best] = low
                upper[i, best] = high
            for g in range(count):
                w = weights[g, best]
                for i in range(m):
                    parts[g, i] -= w * units[start + i, best]
                gains[g, 0] += min(w * low, w * high)
                gains[g, 1] += max(w * low, w * high)
