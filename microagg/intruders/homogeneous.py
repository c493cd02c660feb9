"""Homogeneity: a class whose confidential values are equal, or close, discloses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from csp.errors import InputError
from csp.exact import Bools, Ints, Number, number_text
from csp.names.calls import check_known
from csp.tables.cross.frames import columns_to_frame
from microagg.checks.reading import Attribute, fraction_of, read_published
from microagg.records import Frozen


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Homogeneity(Frozen):
    """Confidential values that follow from the class of a person.

    Attributes
    ----------
    quasi_identifiers, names : tuple of str
        What the intruder knows, and the confidential attributes.
    classes : (n,) int64
        Class of each record: equal published quasi-identifiers.
    disclosed : (n, a) bool
        Whether the value follows: exactly, or within the width.
    exact : (n, a) bool
        Whether it follows exactly.
    constant : tuple of bool
        Attributes with a single value in the whole file, which tell nothing new.
    widths : tuple of Fraction
        How far apart values may lie that count as one.
    lower, upper : tuple of tuple
        For each attribute, least and largest value of the candidates of each class (text stands
        for both), None where nothing follows.
    """

    quasi_identifiers: tuple[str, ...]
    names: tuple[str, ...]
    classes: Ints
    disclosed: Bools
    exact: Bools
    constant: tuple[bool, ...]
    widths: tuple[Fraction, ...]
    lower: tuple[tuple[Any, ...], ...]
    upper: tuple[tuple[Any, ...], ...]

    def __repr__(self) -> str:
        n = len(self.classes)
        parts = ", ".join(
            f"{name}: {int(count)}"
            for name, count in zip(self.names, self.disclosed.sum(axis=0), strict=True)
        )
        return f"Homogeneity({n} records, disclosed {parts})"

    @property
    def shares(self) -> dict[str, float]:
        """Share of the records of which each attribute is disclosed."""
        return dict(zip(self.names, self.disclosed.mean(axis=0).tolist(), strict=True))

    def rows(self, attribute: str) -> Ints:
        """List records of which an attribute is disclosed, as row numbers from 0.

        Raises
        ------
        InputError
            If it is none of the confidential attributes.
        """
        check_known("attribute", [attribute], self.names, "confidential attributes")
        return np.flatnonzero(self.disclosed[:, self.names.index(attribute)])

    def to_frame(self, library: str = "", *, reveal: bool = False) -> Any:
        """One row a disclosed value: row, class, attribute, exact. For internal files only.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
        reveal : bool
            Whether to add the least and largest value that the intruder is left with, as text.
        """
        rows, places = np.nonzero(self.disclosed)
        columns: dict[str, Any] = {
            "row": rows,
            "class": self.classes[rows],
            "attribute": [self.names[j] for j in places],
            "exact": self.exact[rows, places],
        }
        if reveal:
            for name, ends in (("lower", self.lower), ("upper", self.upper)):
                pairs = zip(self.classes[rows].tolist(), places.tolist(), strict=True)
                columns[name] = [_text(ends[j][g]) for g, j in pairs]
        return columns_to_frame(columns, library)

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON: counts, no values."""
        some = self.disclosed[:, ~np.array(self.constant)]
        return {
            "records": len(self.classes),
            "quasi_identifiers": list(self.quasi_identifiers),
            "classes": int(self.classes.max()) + 1,
            "disclosed_records": int(self.disclosed.any(axis=1).sum()),
            "disclosed_records_beyond_constants": int(some.any(axis=1).sum()),
            "confidential": [
                {
                    "attribute": name,
                    "width": number_text(width),
                    "disclosed": int(self.disclosed[:, j].sum()),
                    "exactly": int(self.exact[:, j].sum()),
                    "share": float(self.disclosed[:, j].mean()),
                    "constant": constant,
                }
                for j, (name, width, constant) in enumerate(
                    zip(self.names, self.widths, self.constant, strict=True)
                )
            ],
        }


def homogeneity(
    masked: Any,
    quasi_identifiers: Sequence[str] | None,
    confidential: Sequence[str] | str,
    *,
    width: Number | Mapping[str, Number] = 0,
) -> Homogeneity:
    """Find the values that follow because all candidates of a person share them.

    The intruder knows that a person is in the file, and the person's quasi-identifiers as they
    are published (so its class), and nothing else.

    Parameters
    ----------
    masked : (n, d) array, data frame, mapping of columns, or path
        The file as it is published.
    quasi_identifiers : sequence of str, optional
        All that are not confidential, by default.
    confidential : sequence of str
    width : number, or mapping of str to number
        How far apart the values of a class may lie to count as disclosed, in the measure of the
        data; not above 0 for text.

    Returns
    -------
    Homogeneity

    Raises
    ------
    InputError
        If an attribute is unknown or in two roles, or a width does not fit.

    Notes
    -----
    Only what is certain counts. A missing confidential value may be any, so a class with one
    discloses nothing of that attribute. Where quasi-identifiers are missing, records that may
    belong to the same person are candidates too, and all of them must share the value.

    Examples
    --------
    >>> from microagg.intruders import homogeneity
    >>> data = {"age": [30, 30, 40, 40], "illness": ["flu", "flu", "flu", "cold"]}
    >>> homogeneity(data, ["age"], "illness")
    Homogeneity(4 records, disclosed illness: 2)
    """
    file = read_published(masked, quasi_identifiers, confidential)
    keys, hidden, classes = file.keys, file.confidential, file.classes
    if not hidden:
        msg = "there is no confidential attribute; name at least one"
        raise InputError(msg)
    names = tuple(attribute.name for attribute in hidden)
    given = dict(width) if isinstance(width, Mapping) else dict.fromkeys(names, width)
    check_known("width", given, names, "confidential attributes")
    widths = []
    for attribute in hidden:
        size = fraction_of(given.get(attribute.name, 0), "width")
        if size < 0 or (size and not attribute.numeric):
            msg = f"width of {attribute.name!r} must be 0 for text, and 0 or more for numbers"
            raise InputError(msg)
        widths.append(size)
    first = np.unique(classes, return_index=True)[1]
    near = _neighbours(np.column_stack([key.codes[first] for key in keys]))
    disclosed = np.zeros((len(classes), len(hidden)), dtype=bool)
    exact, lower, upper = disclosed.copy(), [], []
    for j, (attribute, size) in enumerate(zip(hidden, widths, strict=True)):
        low, high = _range_of(attribute, classes, near)
        ends = [
            (None, None) if a < 0 else (attribute.values[a], attribute.values[b])
            for a, b in zip(low.tolist(), high.tolist(), strict=True)
        ]
        found = np.array([a is not None and _close(a, b, size) for a, b in ends], bool)
        disclosed[:, j] = found[classes]
        exact[:, j] = (found & (low == high))[classes]
        told = [pair if ok else (None, None) for pair, ok in zip(ends, found, strict=True)]
        lower.append(tuple(a for a, _ in told))
        upper.append(tuple(b for _, b in told))
    constant = tuple(len(a.values) == 1 and not a.gaps for a in hidden)
    return Homogeneity(
        tuple(key.name for key in keys), names, classes, disclosed, exact, constant, tuple(widths),
        tuple(lower), tuple(upper),
    )  # fmt: skip


def _close(low: Any, high: Any, width: Fraction) -> bool:
    return bool(low == high if isinstance(low, str) else high - low <= width)


def _neighbours(codes: Ints) -> list[Ints]:
    """Other classes whose records may be of the same person: missing values may be any value."""
    gaps = np.flatnonzero((codes < 0).any(axis=1))
    found: list[list[int]] = [[] for _ in codes]
    for other in gaps.tolist():
        same = ((codes == codes[other]) | (codes < 0) | (codes[other] < 0)).all(axis=1)
        for one in np.flatnonzero(same).tolist():
            if one != other:
                found[one].append(other)
                if (codes[one] >= 0).all():
                    found[other].append(one)
    return [np.array(others, np.int64) for others in found]


def _range_of(attribute: Attribute, classes: Ints, near: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Least and largest code of the candidates of each class; -1 where one is missing.

    Codes of numbers ascend with the values; those of text only need to be equal.
    """
    low = np.full(len(near), len(attribute.values), np.int64)
    high = np.full(len(near), -1, np.int64)
    np.minimum.at(low, classes, attribute.codes)
    np.maximum.at(high, classes, attribute.codes)
    own_low, own_high = low.copy(), high.copy()
    for g, others in enumerate(near):
        if len(others):
            low[g] = min(low[g], own_low[others].min())
            high[g] = max(high[g], own_high[others].max())
    return low, high


def _text(value: Any) -> str:
    return value if isinstance(value, str) else number_text(value)
