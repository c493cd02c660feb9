"""The published file: ranges in place of values, what they cost, what they still disclose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from csp.attacker.integer_matrices import reduced_rows
from csp.errors import InputError
from csp.exact import Bools, Ints, units_text, units_to_numbers
from csp.tables.cross.frames import columns_to_frame
from microagg.aggregates.functions import Aggregate, Linear, reach
from microagg.records import Frozen


@dataclass(frozen=True)
class Residual:
    """What an attacker with exact aggregate knowledge learns in spite of k^f-anonymity.

    Records are counted whose candidates all lie in one class, with one and the same exact part:
    f less that part is then the sum of the generalised attributes, whichever record is theirs.

    Attributes
    ----------
    touched : int
        Records with at least one generalised value.
    single : int
        Touched records with exactly one generalised value.
    sums : int
        Records whose sum of generalised values is disclosed.
    values : int
        Records of which some generalised value is disclosed exactly.
    """

    touched: int
    single: int
    sums: int
    values: int


@dataclass(frozen=True, eq=False, repr=False)
class Generalised(Frozen):
    """Records with ranges in place of some values.

    Attributes
    ----------
    lower, upper : (n, a) int64
        Ends of every range in units of ``10**-scale``; equal where a value stands as it was.
    classes : (n,) int64
        Records generalised together; -1 for those that stayed as they were on their own account.
        Not for publication.
    names : tuple of str
        Attributes.
    scale : int
    k : int
    d : Fraction
        Relative precision of the attacker's knowledge.
    aggregates : tuple of str
        What the attacker knows.
    method : str
        Which method was asked for.
    chosen : str
        The construction that gave the ranges: groups, and how far they are generalised.
    ncp : float
        Normalised certainty penalty: the mean over all values of the range's width over the
        width of the domain common to all attributes.
    ncp_per_attribute : float
        The same with each attribute's own domain, from the records.
    fewest : int
        Smallest number of candidates of any record, counted by the verifier.
    residual : Residual or None
        None for functions of the user, whose parts are not known.
    importance : tuple of Fraction
        What generalising each attribute costs in `ncp` and `ncp_per_attribute`, which are weighted
        means then; empty if all cost the same.
    diverse : tuple of (str, int, int)
        Attributes of which the candidates of every record must have different values: name, how
        many were asked for, and the fewest, counted by the verifier.
    library : str
        "pandas", "polars" or "pyarrow" if the data came as such a frame, otherwise "".
    index : pandas.Index or None
        Of the caller's frame; it may tell records apart and is not for publication.
    """

    lower: Ints
    upper: Ints
    classes: Ints
    names: tuple[str, ...]
    scale: int
    k: int
    d: Fraction
    aggregates: tuple[str, ...]
    method: str
    chosen: str
    ncp: float
    ncp_per_attribute: float
    fewest: int
    residual: Residual | None
    importance: tuple[Fraction, ...] = ()
    diverse: tuple[tuple[str, int, int], ...] = ()
    library: str = ""
    index: Any = None

    def __repr__(self) -> str:
        return f"Generalised({len(self.lower)} records, k={self.k})"

    def to_frame(self, form: str = "text") -> Any:
        """Return the published file as a data frame of the caller's library.

        Parameters
        ----------
        form : {"text", "columns"}
            As for `to_columns`.

        Raises
        ------
        InputError
            If the form is unknown, the new names collide, or no frame library is installed.
        """
        frame = columns_to_frame(self.to_columns(form), self.library)
        if self.index is not None and self.library == "pandas":
            frame.index = self.index  # records keep their rows where some were left out before
        return frame

    def to_columns(self, form: str = "text") -> dict[str, Any]:
        """Return the published file as columns by name.

        Parameters
        ----------
        form : {"text", "columns"}
            One column of text an attribute, ranges as "[10-15]" (a negative end as
            "[-5 to 15]"), or two columns of numbers, "name_lower" and "name_upper".

        Raises
        ------
        InputError
            If the form is unknown or the new names collide.
        """
        columns: dict[str, Any] = {}
        for j, name in enumerate(self.names):
            low, high = self.lower[:, j], self.upper[:, j]
            if form == "text":
                columns[name] = [self._text(a, b) for a, b in zip(low, high, strict=True)]
            elif form == "columns":
                columns[f"{name}_lower"] = units_to_numbers(low, self.scale)
                columns[f"{name}_upper"] = units_to_numbers(high, self.scale)
            else:
                msg = f"form must be text or columns, not {form!r}"
                raise InputError(msg)
        if form == "columns" and len(columns) < 2 * len(self.names):
            msg = "names of attributes with _lower and _upper collide; rename the attributes"
            raise InputError(msg)
        return columns

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Plain data for JSON: what was asked for, and what the published ranges show.

        Parameters
        ----------
        reveal : bool
            Add what the original values decide: what it cost, how the ranges were found, the fewest
            candidates, and what aggregates disclose all the same. For internal use.
        """
        left = self.residual
        facts = {
            "records": len(self.lower),
            "attributes": list(self.names),
            "k": self.k,
            "d": str(self.d),
            "aggregates": list(self.aggregates),
            "method": self.method,
            "values_generalised": int((self.lower < self.upper).sum()),
            "records_touched": int((self.lower < self.upper).any(axis=1).sum()),
            **({"importance": list(map(str, self.importance))} if self.importance else {}),
        }
        if reveal:
            facts |= {
                "chosen": self.chosen,
                "ncp": self.ncp,
                "ncp_per_attribute": self.ncp_per_attribute,
                "fewest_candidates": self.fewest,
                "records_with_one_generalised_value": left and left.single,
                "sums_disclosed": left and left.sums,
                "values_disclosed": left and left.values,
                **({"fewest_values": {n: c for n, _, c in self.diverse}} if self.diverse else {}),
            }
        return facts

    def _text(self, low: np.int64, high: np.int64) -> str:
        first = units_text(int(low), self.scale)
        if low == high:
            return first
        dash = " to " if low < 0 else "-"
        return f"[{first}{dash}{units_text(int(high), self.scale)}]"


def width_sums(lower: Ints, upper: Ints) -> tuple[int, ...]:
    """Sum of the widths of the ranges of each attribute, exactly."""
    width = upper - lower
    if int(width.max(initial=0)) * len(width) >= 2**62:
        width = width.astype(object)
    return tuple(int(total) for total in width.sum(axis=0))


@dataclass(frozen=True)
class Domains:
    """Smallest and largest value of each attribute, which widths of ranges are measured by.

    An attribute's ranges weigh as much as its importance; equally, if that is empty.
    """

    least: tuple[int, ...]
    most: tuple[int, ...]
    records: int
    importance: tuple[Fraction, ...] = ()

    @classmethod
    def of(cls, units: Ints, importance: tuple[Fraction, ...] = ()) -> Domains:
        """Domains from the records themselves."""
        least, most = units.min(axis=0).tolist(), units.max(axis=0).tolist()
        return cls(tuple(least), tuple(most), len(units), importance)

    def penalties(self, widths: Sequence[int]) -> tuple[Fraction, Fraction]:
        """Normalised certainty penalty: with the common domain, with one for each attribute.

        `widths` are the sums of the widths of each attribute's ranges; one of a single value costs
        nothing. J. Xu et al., Utility-based anonymization using local recoding, KDD 2006.
        """
        weights = self.importance or (Fraction(1),) * len(widths)
        values = self.records * sum(weights)
        common = max(self.most) - min(self.least)
        together = apart = Fraction(0)
        for low, high, total, weight in zip(self.least, self.most, widths, weights, strict=True):
            if high > low:
                together += weight * total / (values * common)
                apart += weight * total / (values * (high - low))
        return together, apart


def residual_disclosure(
    units: Ints,
    lower: Ints,
    upper: Ints,
    classes: Ints,
    aggregates: Sequence[Aggregate],
    d: Fraction,
) -> Residual | None:
    """Count records of which aggregate knowledge discloses generalised values or their sum.

    Inside a class all exact parts are equal to one c, so that an attacker who knows f(t) learns the
    weighted sum f(t) - c of t's generalised attributes, unless records outside the class are
    candidates too. With one generalised attribute the sum is its value; with several aggregates
    the sums form linear equations that may determine values. Records whose f the attacker knows
    only within a tolerance of a unit or more are left out.

    None if an aggregate is a function of the user. With several aggregates, the counts are at least
    what is disclosed: candidates are counted for one aggregate at a time.
    """
    linear = [aggregate for aggregate in aggregates if isinstance(aggregate, Linear)]
    if len(linear) < len(aggregates):
        return None
    wide = lower < upper
    touched = wide.any(axis=1) & (classes >= 0)
    rows = np.flatnonzero(touched)
    if not len(rows):
        return Residual(0, 0, 0, 0)
    sizes = np.bincount(classes[classes >= 0])
    alone = np.zeros(len(units), bool)
    uniform = np.ones(len(sizes), bool)
    known = np.ones(len(units), bool)
    for aggregate in linear:
        v = aggregate.values(units)
        low, high = aggregate.ends(lower, upper)
        below = np.searchsorted(np.sort(low), v[rows], side="right")
        candidates = below - np.searchsorted(np.sort(high), v[rows], side="left")
        alone[rows] |= candidates == sizes[classes[rows]]
        uniform &= _uniform(low, classes, len(sizes)) & _uniform(high, classes, len(sizes))
        known &= reach(v, d) == 0
    disclosed = rows[alone[rows] & uniform[classes[rows]] & known[rows]]
    weights = [aggregate.weights for aggregate in linear]
    sums = values = 0
    for mask, count in zip(*np.unique(wide[disclosed], axis=0, return_counts=True), strict=True):
        sums += int(count) * any(
            any(w and m for w, m in zip(ws, mask, strict=True))
            and any(w and not m for w, m in zip(ws, mask, strict=True))
            for ws in weights
        )
        values += int(count) * _determines(weights, mask)
    single = int((wide.sum(axis=1)[rows] == 1).sum())
    return Residual(len(rows), single, sums, values)


def _uniform(numbers: Ints, classes: Ints, count: int) -> Bools:
    """For each class, whether all its records have the same number."""
    rows = np.flatnonzero(classes >= 0)
    first = np.zeros(count, np.int64)
    first[classes[rows]] = numbers[rows]
    uniform = np.ones(count, bool)
    uniform[classes[rows][numbers[rows] != first[classes[rows]]]] = False
    return uniform


def _determines(weights: Sequence[Sequence[Fraction]], mask: Bools) -> bool:
    """Whether weighted sums of the marked attributes fix the value of one of them."""
    marked = [[w for w, m in zip(ws, mask, strict=True) if m] for ws in weights]
    return any(sum(w != 0 for w in row) == 1 for row in reduced_rows(marked))
