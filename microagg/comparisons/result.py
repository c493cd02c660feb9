"""What a comparison of two files finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.exact import Floats, Ints
from csp.names.calls import check_choice
from csp.tables.cross.frames import columns_to_frame
from microagg.comparisons.propensity import Propensity
from microagg.comparisons.regression import Regression
from microagg.records import Frozen

PARTS = ("columns", "correlations", "regressions")
"""Tables that a comparison can be shown as."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Utility(Frozen):
    """Figures of an original file and of a masked one.

    They are functions of the original values, and a file that differs in one of them is excluded by
    it: for internal use, not for publication. What is printed of a result has none of them.

    Attributes
    ----------
    names : tuple of str
        The d attributes that are compared.
    left_out : tuple of str
        Columns that both files have and that are not numbers in one of them.
    records : (int, int)
        Records of both files.
    missing : (d, 2) int64
        Missing values in both files; they are left out of all figures.
    statistics : tuple of str
        The s figures of a column: "mean", "sd" (of a sample, with n - 1), "median", and further
        quantiles such as "q05" (linear between neighbours).
    original, masked : (d, s) float64
        Figures of the columns in both files; NaN where a column has too few values.
    distances : (d,) float64
        Largest difference of the distribution functions of a column (Kolmogorov and Smirnov).
    original_correlations, masked_correlations : (d, d) float64
        Pearson's, over the records that have both values; NaN where a column is constant.
    regressions : tuple of Regression
    propensity : Propensity or None
        None where it was not asked for.
    library : str
    """

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    records: tuple[int, int]
    missing: Ints
    statistics: tuple[str, ...]
    original: Floats
    masked: Floats
    distances: Floats
    original_correlations: Floats
    masked_correlations: Floats
    regressions: tuple[Regression, ...] = ()
    propensity: Propensity | None = None
    library: str = ""

    def __repr__(self) -> str:
        more = "".join(f", {one!r}" for one in self.regressions)
        return (
            f"Utility({', '.join(self.names)} of {self.records[0]} original and {self.records[1]} "
            f"masked records{more}; to_frame() has the figures, for internal use)"
        )

    @property
    def largest_change(self) -> tuple[str, str, float]:
        """Two attributes whose correlation changes most, and its change; ("", "", nan) if none."""
        change = np.triu(self.masked_correlations - self.original_correlations, 1)
        rows, columns = np.triu_indices(len(self.names), 1)
        changes = change[rows, columns]
        if not np.isfinite(changes).any():
            return "", "", float("nan")
        place = int(np.nanargmax(np.abs(changes)))
        return self.names[rows[place]], self.names[columns[place]], float(changes[place])

    def to_columns(self, part: str = "columns") -> dict[str, Any]:
        """One of the tables, as columns by name; see `to_frame`."""
        check_choice("part", part, PARTS)
        if part == "correlations":
            rows, columns = np.triu_indices(len(self.names), 1)
            return {
                "attribute": [self.names[i] for i in rows],
                "other": [self.names[j] for j in columns],
                "original": self.original_correlations[rows, columns],
                "masked": self.masked_correlations[rows, columns],
            }
        if part == "regressions":
            pairs = [(one, j) for one in self.regressions for j in range(len(one.terms))]
            return {
                "response": [one.response for one, _ in pairs],
                "term": [one.terms[j] for one, j in pairs],
                "original": [float(one.original[j]) for one, j in pairs],
                "masked": [float(one.masked[j]) for one, j in pairs],
                "original_error": [float(one.original_errors[j]) for one, j in pairs],
                "masked_error": [float(one.masked_errors[j]) for one, j in pairs],
                "overlap": [float(one.overlap[j]) for one, j in pairs],
            }
        found: dict[str, Any] = {"attribute": list(self.names)}
        for j, name in enumerate(self.statistics):
            found[f"{name}_original"] = self.original[:, j]
            found[f"{name}_masked"] = self.masked[:, j]
        found["ks_distance"] = self.distances
        found["missing_original"] = self.missing[:, 0]
        found["missing_masked"] = self.missing[:, 1]
        return found

    def to_frame(self, part: str = "columns", *, library: str | None = None) -> Any:
        """One of the tables, for internal use.

        Parameters
        ----------
        part : {"columns", "correlations", "regressions"}
            One row for each attribute: every statistic before and after, the Kolmogorov-Smirnov
            distance, missing values. One for each pair of attributes: their correlation before and
            after. One for each coefficient: before and after, standard errors, overlap.
        library : {"pandas", "polars", "pyarrow"}, optional
            That of the original by default.

        Raises
        ------
        InputError
            If there is no such part.
        """
        return columns_to_frame(self.to_columns(part), self.library if library is None else library)

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Plain data for JSON: the figures of the masked file, which is published.

        Parameters
        ----------
        reveal : bool
            Add what the original values decide: their figures, distances, correlations,
            regressions and the propensity score. For internal use.
        """
        facts: dict[str, Any] = {
            "attributes": list(self.names),
            "left_out": list(self.left_out),
            "masked_records": self.records[1],
            "masked": {
                name: dict(zip(self.statistics, map(_plain, row), strict=True))
                for name, row in zip(self.names, self.masked.tolist(), strict=True)
            },
            "reveals_original_values": reveal,
        }
        if reveal:
            tables = {part: self.to_columns(part) for part in PARTS}
            facts["original_records"] = self.records[0]
            facts |= {part: _rows(table) for part, table in tables.items()}
            if self.propensity is not None:
                facts["propensity"] = {
                    "pmse": self.propensity.pmse,
                    "expected": self.propensity.expected,
                    "ratio": self.propensity.ratio,
                }
        return facts


def _rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns as rows of plain values."""
    plain = {
        name: column.tolist() if isinstance(column, np.ndarray) else column
        for name, column in table.items()
    }
    return [
        dict(zip(plain, map(_plain, row), strict=True)) for row in zip(*plain.values(), strict=True)
    ]


def _plain(value: Any) -> Any:
    """Value for JSON, which has no NaN."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
