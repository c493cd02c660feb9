"""How a published table looks in a house: signs, their legend, title and footnotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellveil.requests.outputs import House
from csp.published.marks import PRINTED, Printing
from csp.tables.cross.html import EMPTY, SUPPRESSED


@dataclass(frozen=True, slots=True)
class Look:
    """What stands around and in a cross table.

    Attributes
    ----------
    title : str
        "" for none.
    suppressed, empty : str
        Signs; without one for empty cells they show 0.
    legend : mapping of str to str
        What the signs mean.
    below : tuple of str
        Footnotes.
    """

    title: str
    suppressed: str
    empty: str
    legend: Mapping[str, str]
    below: tuple[str, ...]

    def lines(self, signs: Sequence[str]) -> list[str]:
        """Lines below a table in which these signs stand."""
        used = [f"{sign} = {words}" for sign, words in self.legend.items() if sign in signs]
        return [*used, *self.below]


def look_of(house: House) -> Look:
    """Return signs and lines that a house asks for."""
    told = PRINTED.get(house.mark or "")
    if told is None:
        told = Printing(house.mark or SUPPRESSED, EMPTY)
    legend = {told.withheld: told.legend} | ({told.nil: told.nil_legend} if told.nil else {})
    return Look(house.title or "", told.withheld, told.nil, legend, house.footnote)


def with_mark(columns: Mapping[str, Sequence[Any]], house: House) -> dict[str, Sequence[Any]]:
    """Columns of a list with the sign of the house in place of suppressed values, if it has one."""
    if house.mark is None:
        return dict(columns)
    sign = look_of(house).suppressed
    return {**columns, "value": [sign if text is None else text for text in columns["value"]]}
