"""Interval disclosure: whether the original value lies among the ranks next to the masked one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from csp.errors import InputError
from csp.exact import Bools, Number, exact, number_text
from microagg.intruders.linkage import read_pair
from microagg.records import Frozen


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankDisclosure(Frozen):
    """Original values inside an interval of ranks around their masked value.

    Attributes
    ----------
    names : tuple of str
    percent : str
        Half the width of the interval, as a share of the masked records.
    inside : (m, d) bool
        For each masked record and attribute.
    library : str
    """

    names: tuple[str, ...]
    percent: str
    inside: Bools
    library: str = ""

    def __repr__(self) -> str:
        return (
            f"RankDisclosure({self.inside.shape[0]} records, {100 * self.share:.2f} % of the "
            f"values within {self.percent} % of the ranks)"
        )

    @property
    def share(self) -> float:
        """Share of the values that lie inside."""
        return float(self.inside.mean())

    def summary(self) -> dict[str, Any]:
        """Plain data for JSON; holds no value."""
        return {
            "records": len(self.inside),
            "percent": self.percent,
            "share": self.share,
            "by_attribute": dict(zip(self.names, self.inside.mean(axis=0).tolist(), strict=True)),
            "records_with_every_value_inside": int(self.inside.all(axis=1).sum()),
        }


def rank_disclosure(
    original: Any,
    masked: Any,
    *,
    percent: Number = 10,
    attributes: Sequence[str] | None = None,
    rows: ArrayLike | None = None,
) -> RankDisclosure:
    """Find the original values that lie among the ranks around their masked value.

    The intruder knows which masked record is the person's, and takes as an interval for the
    original value the masked values whose ranks differ by at most p percent of the records.

    Parameters
    ----------
    original, masked, attributes, rows
        As for `link_records`.
    percent : number
        From 0 to 100.

    Returns
    -------
    RankDisclosure

    Raises
    ------
    InputError
        As for `link_records`, or if percent is not from 0 to 100.

    Notes
    -----
    Equal masked values share their ranks: the interval reaches from below the first to above the
    last of them. J. Domingo-Ferrer, J. M. Mateo-Sanz and V. Torra, Comparing SDC methods for
    microdata on the basis of information loss and disclosure risk, ETK-NTTS 2001.

    Examples
    --------
    >>> from microagg.intruders import rank_disclosure
    >>> rank_disclosure({"pay": [1, 2, 3, 40]}, {"pay": [2, 2, 3, 3]}, percent=0)
    RankDisclosure(4 records, 50.00 % of the values within 0 % of the ranks)
    """
    share = exact(percent) / 100
    if not 0 <= share <= 1:
        msg = f"percent must be from 0 to 100, not {percent!r}"
        raise InputError(msg)
    known, found, behind = read_pair(original, masked, attributes, rows)
    n, reach = found.n, int(share * found.n)
    inside = np.empty(found.values.shape, dtype=bool)
    for j, column in enumerate(found.values.T):
        ranked = np.sort(column)
        first = np.searchsorted(ranked, column, side="left")
        last = np.searchsorted(ranked, column, side="right") - 1
        low = ranked[np.maximum(first - reach, 0)]
        high = ranked[np.minimum(last + reach, n - 1)]
        value = known.values[behind, j]
        inside[:, j] = (low <= value) & (value <= high)
    return RankDisclosure(known.names, number_text(100 * share), inside, known.library)
