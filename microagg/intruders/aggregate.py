"""Who knows an aggregate of a record: its candidates, and the values that it discloses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.exact import Bools, Ints, Number, exact
from csp.tables.cross.frames import columns_to_frame
from microagg.aggregates.functions import (
    RANGE,
    VARIANCE,
    Aggregate,
    Linear,
    read_aggregates,
    read_tolerance,
)
from microagg.aggregates.generalised import Generalised
from microagg.aggregates.verify import Case
from microagg.records import Frozen, Records


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AggregateAttack(Frozen):
    """What aggregate knowledge tells of each record.

    Attributes
    ----------
    names : tuple of str
        Attributes.
    aggregates : tuple of str
        What the intruder knows.
    d : Fraction
        Within which share of its size.
    candidates : (n,) int64
        Published records that may be the record's own.
    sums : (n,) bool
        Whether the sum of the record's generalised values follows although they are ranges.
    values : (n,) bool
        Whether one of its generalised values follows.
    attribute : (n,) int64
        Which attribute that is; -1 where none follows.
    disclosed : (n,) object
        The sums that follow (Fraction, weighted as in the aggregate, in the measure of the data),
        None elsewhere.
    """

    names: tuple[str, ...]
    aggregates: tuple[str, ...]
    d: Fraction
    candidates: Ints
    sums: Bools
    values: Bools
    attribute: Ints
    disclosed: NDArray[np.object_]

    def __repr__(self) -> str:
        return (
            f"AggregateAttack({len(self.candidates)} records, at least {self.k} candidates, "
            f"{int(self.sums.sum())} sums and {int(self.values.sum())} values disclosed)"
        )

    @property
    def k(self) -> int:
        """Fewest candidates of any record."""
        return int(self.candidates.min())

    @property
    def singled_out(self) -> Ints:
        """Records with one candidate, as row numbers from 0."""
        return np.flatnonzero(self.candidates == 1)

    def to_frame(self, library: str = "", *, reveal: bool = False) -> Any:
        """One row per record: row, candidates, sum and value disclosed. For internal files only.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
        reveal : bool
            Whether to add the sums that follow, as floats.
        """
        columns: dict[str, Any] = {
            "row": np.arange(len(self.candidates)),
            "candidates": self.candidates,
            "sum_disclosed": self.sums,
            "value_disclosed": self.values,
            "attribute": [self.names[j] if j >= 0 else "" for j in self.attribute],
        }
        if reveal:
            columns["sum"] = [None if s is None else float(s) for s in self.disclosed]
        return columns_to_frame(columns, library)

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON: counts, no values."""
        places, counts = np.unique(self.attribute[self.values], return_counts=True)
        return {
            "records": len(self.candidates),
            "aggregates": list(self.aggregates),
            "d": str(self.d),
            "fewest_candidates": self.k,
            "singled_out": len(self.singled_out),
            "sums_disclosed": int(self.sums.sum()),
            "values_disclosed": int(self.values.sum()),
            "by_attribute": {
                self.names[j]: int(count) for j, count in zip(places, counts, strict=True)
            },
        }


def aggregate_attack(
    X: Any, published: Generalised, f: Any = "sum", d: Number = 0
) -> AggregateAttack:
    """Attack a file of ranges with an aggregate of every record.

    The intruder has the published ranges and knows f of a person's record, exactly or within d
    times its size, and that the person is in the file. It knows no single value.

    Parameters
    ----------
    X : data
        The records before generalisation, from which f is computed; in the published order.
    published : Generalised
    f : str, mapping, sequence, callable or list
        As for `microagg.aggregates.aggregate_anonymise`.
    d : number

    Returns
    -------
    AggregateAttack

    Raises
    ------
    InputError
        If the two files do not fit together, or d is not at least 0 and below 1.

    Notes
    -----
    If all candidates have the same attributes generalised and the same (weighted) sum of the
    others, f less that sum is the sum of the generalised values, whichever record is the
    person's; with one generalised attribute, it is its value. Candidates of any number of classes
    may agree in this. With several aggregates each is used on its own, so disclosures are at
    least those named. For functions of the user, candidates are counted only.

    Examples
    --------
    Table III of Gkountouna and others (2013): Paul's total, 270, gives the range that was hidden.

    >>> import numpy as np
    >>> from microagg.aggregates import aggregate_anonymise
    >>> from microagg.intruders import aggregate_attack
    >>> rows = np.array([[10, 20, 100], [15, 15, 105], [30, 40, 200], [40, 30, 210]])
    >>> aggregate_attack(rows, aggregate_anonymise(rows, 2, method="aggranon"))
    AggregateAttack(4 records, at least 2 candidates, 4 sums and 4 values disclosed)
    """
    share = read_tolerance(d)
    case = Case.read(_by_place(X, published), published, f, share)
    records, n = case.records, case.records.n
    aggregates, counts = case.aggregates, case.candidates(n)
    sums, values = np.zeros(n, bool), np.zeros(n, bool)
    attribute, disclosed = np.full(n, -1, np.int64), np.full(n, None, object)
    for aggregate in aggregates:
        if isinstance(aggregate, Linear):
            _disclose(records, published, aggregate, share, (sums, values, attribute, disclosed))
    names = tuple(aggregate.name for aggregate in aggregates)
    return AggregateAttack(
        published.names, names, share, counts, sums, values, attribute, disclosed
    )


def candidates_of(published: Generalised, known: Number, f: Any = "sum", d: Number = 0) -> Ints:
    """Find the published records that may be of a person whose aggregate is known.

    Parameters
    ----------
    published : Generalised
    known : number
        f of the person's record in the measure of the data; for a function of the user, what the
        function returns for values in units of ``10**-scale``.
    f : str, mapping, sequence or callable
        One aggregate.
    d : number
        The person's f is known within d times its size.

    Returns
    -------
    (m,) int64
        Row numbers from 0; none if no record of the file fits.

    Raises
    ------
    InputError
        If there are several aggregates, or d is not at least 0 and below 1.

    Examples
    --------
    >>> import microagg
    >>> from microagg.intruders import candidates_of
    >>> data = {"rent": [5, 6, 5, 9, 4, 7], "food": [4, 3, 5, 1, 5, 2]}
    >>> published = microagg.aggregate_anonymise(data, 3, "sum")
    >>> candidates_of(published, 10).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    aggregates = read_aggregates(f, published.names)
    if len(aggregates) != 1:
        msg = "give one aggregate; candidates of several need the record itself (aggregate_attack)"
        raise InputError(msg)
    low, high, unit = _published_ends(published, aggregates[0])
    value = exact(known) * unit
    slack = read_tolerance(d) * abs(value)
    least, most = -((slack - value) // 1), (value + slack) // 1
    return np.flatnonzero((low <= int(most)) & (high >= int(least)))


def _published_ends(published: Generalised, aggregate: Aggregate) -> tuple[Ints, Ints, Fraction]:
    """Bound f over the published ranges, in whole numbers, and say what 1 of f is in them."""
    low, high = aggregate.ends(published.lower, published.upper)
    unit = Fraction(10**published.scale)
    if aggregate is RANGE:
        return low, high, unit
    if aggregate is VARIANCE:
        return low, high, (len(published.names) * unit) ** 2
    if not isinstance(aggregate, Linear):
        return low, high, Fraction(1)
    return low, high, _factor(aggregate) * unit


def _factor(aggregate: Linear) -> Fraction:
    """Divide the whole weights by the given ones."""
    place = next(i for i, w in enumerate(aggregate.weights) if w)
    return Fraction(int(aggregate.whole[place])) / aggregate.weights[place]


def _disclose(
    records: Records, published: Generalised, aggregate: Linear, d: Fraction,
    found: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
) -> None:  # fmt: skip
    """Mark the records whose candidates all leave the same sum."""
    sums, values, attribute, disclosed = found
    lower, upper = published.lower, published.upper
    weighs = aggregate.whole != 0
    wide = (lower < upper) & weighs
    rest = np.where(wide, 0, lower) @ aggregate.whole  # what the published values add up to
    f = aggregate.values(records.units)
    low, high = aggregate.ends(lower, upper)
    looks = np.unique(np.column_stack([wide, rest]), axis=0, return_inverse=True)[1].ravel()
    candidates = _meeting(np.sort(low), np.sort(high), f)
    order = np.argsort(looks, kind="stable")
    # Within a known interval of a unit or more no sum is exact.
    sharp = (np.abs(f).astype(object) * d < 1) if d else np.ones(len(f), bool)
    news = wide.any(axis=1) & (~wide & weighs).any(axis=1) & sharp.astype(bool)
    bounds = np.searchsorted(looks[order], np.arange(looks.max() + 2))
    unit = _factor(aggregate) * 10**published.scale
    for look in np.unique(looks[news]).tolist():
        rows = order[bounds[look] : bounds[look + 1]]
        # Every candidate has this look exactly if there are no more candidates than with it.
        alike = _meeting(np.sort(low[rows]), np.sort(high[rows]), f[rows])
        told = rows[(alike == candidates[rows]) & news[rows]]
        sums[told] = True
        for row in told.tolist():
            disclosed[row] = Fraction(int(f[row] - rest[row])) / unit
        if wide[rows[0]].sum() == 1:
            values[told] = True
            attribute[told] = int(np.argmax(wide[rows[0]]))


def _meeting(lows: Ints, highs: Ints, values: Ints) -> Ints:
    """Count the intervals that hold each value, their sorted ends given."""
    begun = np.searchsorted(lows, values, side="right")
    return np.asarray(begun - np.searchsorted(highs, values, side="left"), np.int64)


def _by_place(X: Any, published: Generalised) -> Any:
    """Name the attributes of an array as they are published."""
    if isinstance(X, (np.ndarray, list, tuple)):
        array = np.asarray(X)
        if array.ndim != 2 or array.shape[1] != len(published.names):
            msg = (
                f"the records have shape {array.shape}; the published file has "
                f"{len(published.names)} attributes"
            )
            raise InputError(msg)
        return {name: array[:, j] for j, name in enumerate(published.names)}
    return X
