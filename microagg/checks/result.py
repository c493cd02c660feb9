"""What a check of a masked file finds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from csp.exact import Ints
from csp.names.calls import whole_number
from microagg.records import Frozen


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diversity(Frozen):
    """What the classes show of one confidential attribute.

    Attributes
    ----------
    name : str
    p : int
        Fewest distinct values in a class: p-sensitivity, and distinct l-diversity.
    entropy : float
        Largest l for which the file is entropy l-diverse, as a float; thresholds are decided by
        `is_l_diverse`, in whole numbers.
    recursive : int
        Largest l for which the file is recursively (c, l)-diverse.
    c : Fraction
    t : Fraction or None
        Smallest t for which the file is t-close; None if values are missing, since then it is not
        defined.
    distance : str
        Ground distance of t, "ordered" or "equal".
    missing : int
        Missing values. Diversity is judged as if all of a class were its most frequent value.
    worst_p, worst_entropy, worst_recursive, worst_t : (m,) int64
        Records of a class that decides, as row numbers from 0; empty where t is None.
    """

    name: str
    p: int
    entropy: float
    recursive: int
    c: Fraction
    t: Fraction | None
    distance: str
    missing: int
    worst_p: Ints
    worst_entropy: Ints
    worst_recursive: Ints
    worst_t: Ints

    def __repr__(self) -> str:
        close = "not defined" if self.t is None else f"{float(self.t):.3g}"
        return (
            f"Diversity({self.name}: p={self.p}, entropy l={self.entropy:.3g}, "
            f"recursive ({self.c}, {self.recursive}), t={close})"
        )

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON: row numbers, no values."""
        return {
            "attribute": self.name,
            "p": self.p,
            "distinct_l": self.p,
            "entropy_l": self.entropy,
            "recursive_l": self.recursive,
            "recursive_c": str(self.c),
            "t": None if self.t is None else float(self.t),
            "t_exact": None if self.t is None else str(self.t),
            "distance": self.distance,
            "missing": self.missing,
            "worst_p": _rows(self.worst_p),
            "worst_entropy": _rows(self.worst_entropy),
            "worst_recursive": _rows(self.worst_recursive),
            "worst_t": _rows(self.worst_t),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Anonymity(Frozen):
    """Anonymity of a masked file, as far as its published values tell.

    Attributes
    ----------
    quasi_identifiers : tuple of str
    missing : str
        How missing quasi-identifiers were read, "value" or "any".
    classes : (n,) int64
        Class of each record: equal published quasi-identifiers, missing equal to missing.
    sizes : (classes,) int64
    candidates : (n,) int64
        For each record, the fewest records that an intruder who knows the quasi-identifiers of
        its person must take into account: the size of its class, or more under ``missing="any"``.
    k : int
        The least of them.
    worst : (m,) int64
        Records of a class with that few, as row numbers from 0.
    incomplete : int
        Records with a missing quasi-identifier.
    confidential : tuple of Diversity
    by_contributor : bool
        Whether candidates and k count different contributors in place of records.
    notes : tuple of str
        What to look at again: a column that may say who each record belongs to.
    """

    quasi_identifiers: tuple[str, ...]
    missing: str
    classes: Ints
    sizes: Ints
    candidates: Ints
    k: int
    worst: Ints
    incomplete: int
    confidential: tuple[Diversity, ...] = ()
    by_contributor: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = "".join(f", {part!r}" for part in self.confidential)
        return (
            f"Anonymity({len(self.classes)} records, {len(self.sizes)} classes, k={self.k}{parts})"
        )

    @property
    def p(self) -> int | None:
        """Fewest distinct values of any confidential attribute in a class."""
        return min((part.p for part in self.confidential), default=None)

    @property
    def t(self) -> Fraction | None:
        """Largest distance of a class from the file; None if it is not defined for all."""
        found = [part.t for part in self.confidential]
        return None if not found or None in found else max(t for t in found if t is not None)

    def below(self, k: int) -> Ints:
        """List records with fewer than k candidates, as row numbers from 0."""
        return np.flatnonzero(self.candidates < whole_number("k", k))

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON: counts and row numbers, no values."""
        return {
            "records": len(self.classes),
            "quasi_identifiers": list(self.quasi_identifiers),
            "missing": self.missing,
            "incomplete_records": self.incomplete,
            "classes": len(self.sizes),
            "smallest_class": int(self.sizes.min()),
            "largest_class": int(self.sizes.max()),
            "k": self.k,
            "k_counts": "contributors" if self.by_contributor else "records",
            "worst": _rows(self.worst),
            "notes": list(self.notes),
            "confidential": [part.summary() for part in self.confidential],
        }


def _rows(rows: Ints, most: int = 20) -> list[int]:
    """Row numbers for a summary; no more than a reader can use."""
    return [int(row) for row in rows[:most]]
