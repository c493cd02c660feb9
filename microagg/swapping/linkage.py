"""How likely an intruder is right: about whose a published value is, and about the value itself.

The two differ. That a record is linked with probability one in k says nothing where the values of
its group are equal: then the value is known, whichever of them is the record's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.exact import Floats, Ints
from csp.tables.codes import text_codes


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """What an intruder achieves who knows the groups, and that permutations are uniform.

    Attributes
    ----------
    name : str
        The attribute, or the quasi-identifiers joined by "+" where they are masked together.
    sizes : (n,) int64
        Records in the group of each record: it is linked rightly with probability 1 in that number,
        whichever record of the group is guessed.
    most : (n,) int64
        How often the commonest value of its group occurs: that guess is right with probability
        ``most / sizes``.
    proved : bool
        Whether no attacker can do better: see `microagg.linkage_probability`.
    """

    name: str
    sizes: Ints
    most: Ints
    proved: bool

    def __repr__(self) -> str:
        return (
            f"Linkage({self.name!r}: record {self.worst} at worst, value {self.value_worst} at "
            f"worst and {float(self.value_mean):.3f} on average)"
        )

    @property
    def probability(self) -> Floats:
        """Probability that a record is linked rightly, shape (n,)."""
        return 1.0 / self.sizes

    @property
    def value_probability(self) -> Floats:
        """Probability that a record's value is named rightly, shape (n,)."""
        return self.most / self.sizes

    @property
    def worst(self) -> Fraction:
        """Largest probability that a record is linked rightly."""
        return Fraction(1, int(self.sizes.min()))

    @property
    def mean(self) -> Fraction:
        """Expected share of the records that are linked rightly."""
        return _mean(np.ones(len(self.sizes), np.int64), self.sizes)

    @property
    def value_worst(self) -> Fraction:
        """Largest probability that a record's value is named rightly."""
        ratios = {(int(a), int(b)) for a, b in zip(self.most, self.sizes, strict=True)}
        return max(Fraction(a, b) for a, b in ratios)

    @property
    def value_mean(self) -> Fraction:
        """Expected share of the records whose value is named rightly."""
        return _mean(self.most, self.sizes)

    @property
    def known(self) -> int:
        """Records whose value is certain, since their group has no other."""
        return int((self.most == self.sizes).sum())

    def row(self) -> dict[str, Any]:
        """Plain data, for a frame or JSON."""
        return {
            "attribute": self.name,
            "linkage_worst": float(self.worst),
            "linkage_mean": float(self.mean),
            "value_worst": float(self.value_worst),
            "value_mean": float(self.value_mean),
            "values_known": self.known,
            "proved": self.proved,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Linkages:
    """Linkage of every confidential attribute of a masked file.

    Attributes
    ----------
    parts : tuple of Linkage
    """

    parts: tuple[Linkage, ...]

    def __repr__(self) -> str:
        return f"Linkages({', '.join(one.name for one in self.parts)}: {self.worst} at worst)"

    def __getitem__(self, name: str) -> Linkage:
        return next(one for one in self.parts if one.name == name)

    @property
    def worst(self) -> Fraction:
        """Largest probability that a record is linked rightly, over all attributes."""
        return max(one.worst for one in self.parts)

    @property
    def proved(self) -> bool:
        """Whether the probabilities of all attributes are proved."""
        return all(one.proved for one in self.parts)

    def rows(self) -> list[dict[str, Any]]:
        """Plain data, one row per attribute."""
        return [one.row() for one in self.parts]


def group_linkage(
    labels: NDArray[Any], values: NDArray[Any], name: str = "", *, proved: bool = True
) -> Linkage:
    """Linkage of one attribute, original or masked, that is permuted uniformly within groups."""
    group = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(group)
    codes = value_codes(values)
    pairs, times = np.unique(group * (int(codes.max()) + 1) + codes, return_counts=True)
    most = np.zeros(len(sizes), np.int64)
    np.maximum.at(most, pairs // (int(codes.max()) + 1), times)
    return Linkage(name, sizes[group].astype(np.int64), most[group], proved)


def _mean(counts: Ints, sizes: Ints) -> Fraction:
    """Exact mean of ratios."""
    total = Fraction(0)
    for size in np.unique(sizes):
        total += Fraction(int(counts[sizes == size].sum()), int(size))
    return total / len(sizes)


def value_codes(column: NDArray[Any]) -> Ints:
    """Whole numbers from 0 that are equal where entries are: as numbers, or else as text."""
    if column.dtype.kind in "iuf":
        return np.unique(column, return_inverse=True)[1].astype(np.int64)
    try:
        numbers = np.array([float(item) for item in column.tolist()])
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    entries = numbers if np.isfinite(numbers).all() else np.array(text_codes(column))
    return np.unique(entries, return_inverse=True)[1].astype(np.int64)
