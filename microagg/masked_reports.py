"""A masked file judged from all sides: checks, attacks, and what it is still good for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.errors import InputError, argument
from csp.names.calls import check_known
from csp.tables.columns import source_of
from csp.tables.sources.files import WholeFile
from csp.tables.sources.source import ColumnSource
from microagg.checks.checking import anonymity
from microagg.checks.result import Anonymity
from microagg.comparisons.comparing import compared
from microagg.comparisons.reading import TwoFiles, columns_of, read_two
from microagg.comparisons.result import Utility
from microagg.intruders.homogeneous import Homogeneity, homogeneity
from microagg.intruders.linkage import RecordLinkage, link_records


@dataclass(frozen=True, slots=True, repr=False)
class MaskedReport:
    """What checks and attacks find of a masked file.

    Attributes
    ----------
    anonymity : Anonymity
        k, and p, l and t of the confidential columns.
    homogeneity : Homogeneity or None
        Values of the confidential and the other columns that follow from a class; None if the file
        has quasi-identifiers only.
    others : tuple of str
        Columns of the file that are neither quasi-identifiers nor confidential: kept beside them.
    linkage : RecordLinkage or None
        Links of persons by the quasi-identifiers that are numbers. For internal use.
    unlinked : str
        Why there are none.
    utility : Utility or None
        None without an original. For internal use.
    """

    anonymity: Anonymity
    homogeneity: Homogeneity | None
    others: tuple[str, ...]
    linkage: RecordLinkage | None
    unlinked: str
    utility: Utility | None

    def __repr__(self) -> str:
        known = ""
        if self.homogeneity is not None:
            counts = self.homogeneity.disclosed.sum(axis=0).tolist()
            pairs = zip(self.homogeneity.names, counts, strict=True)
            known = ", " + ", ".join(f"{name} follows for {count}" for name, count in pairs)
        return f"MaskedReport({len(self.anonymity.classes)} records, k={self.anonymity.k}{known})"

    @property
    def groups(self) -> dict[str, int]:
        """By column, the classes from which its value follows: all records have the same."""
        found = self.homogeneity
        if found is None:
            return {}
        pairs = zip(found.names, found.disclosed.T, strict=True)
        return {name: len(np.unique(found.classes[some])) for name, some in pairs}

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Plain data for JSON: what anybody can find of the masked file.

        Parameters
        ----------
        reveal : bool
            Add what the original values decide: links, and the figures of both files. For internal
            use.
        """
        facts: dict[str, Any] = {
            "reveals_original_values": reveal,
            "anonymity": self.anonymity.summary(),
            "other_columns": list(self.others),
        }
        if self.homogeneity is not None:
            facts["homogeneity"] = self.homogeneity.summary() | {"homogeneous_classes": self.groups}
        if reveal:
            facts["linkage"] = None if self.linkage is None else self.linkage.summary()
            facts["unlinked"] = self.unlinked
            if self.utility is not None:
                facts["utility"] = self.utility.summary(reveal=True)
        return facts


def report(
    original: Any,
    masked: Any,
    quasi_identifiers: Sequence[str] | None = None,
    confidential: Sequence[str] | str = (),
    *,
    contributor: str | Sequence[Any] | None = None,
    missing: str = "value",
    c: Any = 3,
    rows: ArrayLike | None = None,
    propensity: bool = False,
) -> MaskedReport:
    """Check a masked file, attack it, and compare it with the original.

    Parameters
    ----------
    original : data or None
        The file before masking; None for what the masked file alone tells.
    masked : data, or a result of a masking
        As it is published, of any tool.
    quasi_identifiers : sequence of str, optional
        What an intruder may know of a person; all that is not confidential, by default.
    confidential : sequence of str
    contributor : str or sequence, optional
        Who each record belongs to: a column of the masked file or of the original, or an identifier
        for each masked record. See `microagg.checks.anonymity`.
    missing, c
        As for `microagg.checks.anonymity`.
    rows : (m,) int, optional
        Row of the original behind each masked record, for links; the same row by default.
    propensity : bool
        As for `microagg.utility`.

    Returns
    -------
    MaskedReport

    Raises
    ------
    InputError
        As for `microagg.checks.anonymity` and `microagg.utility`, or if the contributors are in the
        original only, which has another number of rows.

    Notes
    -----
    Columns that are neither quasi-identifiers nor confidential are kept beside them, and values of
    theirs that follow from a class count as disclosed, too. Persons are linked by the
    quasi-identifiers that are numbers in both files, complete and not constant; where the numbers
    of rows differ and `rows` does not say which belong together, they are not linked.

    Examples
    --------
    >>> import microagg
    >>> data = {"pay": [10, 11, 12, 30, 31, 35], "sex": [*"fffmfm"]}
    >>> masked = {**microagg.mdav(data, 3, attributes=["pay"]).to_columns(), "sex": data["sex"]}
    >>> microagg.report(data, masked, ["pay"])
    MaskedReport(6 records, k=3, sex follows for 3)
    """
    file = _read_once(columns_of(masked))
    before = None if original is None else _read_once(columns_of(original))
    known = file.names
    who: Any = contributor
    if isinstance(contributor, str) and contributor not in known:
        who = _owners(before, contributor, rows)
    found = anonymity(file, quasi_identifiers, confidential, missing=missing, c=c, contributor=who)
    keys = found.quasi_identifiers
    hidden = tuple(part.name for part in found.confidential)
    others = tuple(name for name in known if name not in (*keys, *hidden, contributor))
    alike = homogeneity(file, keys, (*hidden, *others)) if hidden or others else None
    linkage, unlinked, figures = None, "there is no original", None
    if before is not None:
        numbers = _numbers(before, file)
        linkage, unlinked = _linked(numbers, keys, rows)
        figures = None if numbers is None else compared(numbers, propensity=propensity)
    return MaskedReport(found, alike, others, linkage, unlinked, figures)


def _read_once(source: ColumnSource) -> ColumnSource:
    """Columns of a file in memory, to be asked for again by each check and attack."""
    if isinstance(source, WholeFile):
        return source
    return source_of(dict(zip(source.names, source.read(source.names).arrays, strict=True)))


def _numbers(original: ColumnSource, masked: ColumnSource) -> TwoFiles | None:
    """Columns of numbers that both files have, if there are any."""
    try:
        return read_two(original, masked, None)
    except InputError:
        return None


def _owners(
    original: ColumnSource | None, contributor: str, rows: ArrayLike | None
) -> NDArray[Any]:
    """Contributors of the masked records, from the original."""
    if original is None:
        msg = f"{argument('contributor', contributor)} is not a column of the masked file"
        raise InputError(msg)
    check_known(argument("contributor"), [contributor], original.names, "columns")
    column = original.read([contributor], ()).arrays[0]
    return column if rows is None else column[np.asarray(rows)]


def _linked(
    files: TwoFiles | None, keys: Sequence[str], rows: ArrayLike | None
) -> tuple[RecordLinkage | None, str]:
    """Link persons by all numbers among the keys, or say why not."""
    if files is None or not set(keys) & set(files.names):
        return None, "no quasi-identifier is a number in both files"
    if rows is None and len(files.original) != len(files.masked):
        return None, "the files have different numbers of rows"
    names = []
    for name, one, two in zip(files.names, files.original.T, files.masked.T, strict=True):
        whole = not (np.isnan(one).any() or np.isnan(two).any())
        if name in keys and whole and np.ptp(one) > 0:
            names.append(name)
    if not names:
        return None, "every quasi-identifier that is a number has missing values or is constant"
    both = [
        {name: part[:, files.names.index(name)] for name in names}
        for part in (files.original, files.masked)
    ]
    return link_records(*both, rows=rows), ""
