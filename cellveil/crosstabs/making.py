"""How records become tables and a mechanism: what is said once, for one table or for several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from cellveil.crosstabs.crossing import Crossed, crossed
from cellveil.crosstabs.responses import COUNT, Response
from csp.errors import InputError
from csp.exact import Number
from csp.mechanism import Mechanism
from csp.names.calls import states
from csp.responses import rules_for_counts
from csp.rules import Manual, Rule
from csp.tables.codes import numbered_codes
from csp.tables.columns import source_of
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.orders import in_order
from csp.tables.hierarchies.totals import total_codes
from csp.tables.microdata.repeats import EACH, repeats_note
from csp.tables.sources.frames import native_frame
from csp.tables.table import Table


class RecordOptions(TypedDict, total=False):
    """What is said of records, whichever table is made of them; see `Making` for defaults."""

    contributor: Any
    weight: Any
    hierarchies: Mapping[str, Hierarchy] | None
    total: str | Mapping[str, str] | None
    missing: str | None
    negative: str
    width: Number | None
    singletons: bool | None


@states(RecordOptions)
@dataclass(frozen=True, slots=True, eq=False)
class Making:
    """Records and what is said of them; see `cellveil.crosstab`."""

    data: Any = None
    contributor: Any = None
    weight: Any = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    total: str | Mapping[str, str] | None = None
    missing: str | None = None
    negative: str = "error"
    width: Number | None = None
    singletons: bool | None = None

    def records(self, index: Any, columns: Any, values: Any, where: Any) -> Crossed:
        """Read what is crossed, of all records."""
        return crossed(index, columns, values, self.contributor, self.weight, where, self.data)

    def mechanism(self, rules: Rule | str, tables: Mapping[str, Table]) -> Mechanism:
        """Mechanism of some tables; refused if no rule judges what they show."""
        return Mechanism(_judging(rules, tables), width=self.width, singletons=self.singletons)

    def tables(
        self, records: Crossed, responses: tuple[Response, ...], *, decimals: int | None,
        round: bool, empty: str | None = None,
    ) -> dict[str, Table]:  # fmt: skip
        """Tables that responses are made of: of each value, and of counts where these are shown."""
        options: dict[str, Any] = {
            "contributor": records.contributor,
            "weight": records.weight,
            "hierarchies": self._trees(records),
            "total": self.total,
            "missing": self.missing,
            "empty": empty,
        }
        shown = {response.value for response in responses}
        tables = {
            value: Table.from_microdata(
                records.columns, records.by, value, negative=self.negative, decimals=decimals,
                round=round, **options,
            )
            for value in records.values if value in shown
        }  # fmt: skip
        if any(response.kind != "sum" for response in responses):
            tables[COUNT] = Table.from_microdata(records.columns, records.by, **options)
        return self._told_of_repeats(records, tables)

    def _told_of_repeats(self, records: Crossed, tables: dict[str, Table]) -> dict[str, Table]:
        """Name a column of the data that may say who reports, where nobody does.

        The tables are made of the columns that are crossed, and so know of no other.
        """
        if records.contributor is not None or self.data is None:
            return tables
        n = len(records.columns[records.index[0]])
        told = repeats_note(source_of(native_frame(self.data)), records.columns, n)
        if not told:
            return tables
        return {
            name: table.replace(
                notes=tuple(told if note.startswith(EACH) else note for note in table.notes)
            )
            for name, table in tables.items()
        }

    def _trees(self, records: Crossed) -> dict[str, Hierarchy]:
        """Hierarchies, with a flat one for columns whose categories have an order."""
        roots, _ = total_codes(self.total, records.by)
        found = dict(self.hierarchies or {})
        for name, order in records.orders.items():
            if name in records.by and name not in found:
                texts = {text or self.missing for text in numbered_codes(records.columns[name])[0]}
                codes = in_order((text for text in texts if text is not None), order)
                found[name] = Hierarchy.flat(codes, roots[name])
        return found


def rules_given(rules: Rule | str | None) -> Rule | str:
    """Refuse a table without rules, and show some."""
    if rules is None:
        msg = (
            "rules= says which cells are sensitive; for counts for instance rules='FREQ(10,10)', "
            "for values rules='P(10,1)|NK(2,90)|FREQ(10,10)'"
        )
        raise InputError(msg)
    return rules


def _judging(rules: Rule | str, tables: Mapping[str, Table]) -> Rule | str:
    """Refuse rules of which none judges counts, where nothing but counts is shown."""
    only = rules_for_counts(rules)
    if set(tables) == {COUNT} and isinstance(only, Manual) and not len(only.cells):
        msg = (
            f"counts are judged by frequency, and none of the rules {rules!s} is on it; add one, "
            "such as FREQ(10,10)"
        )
        raise InputError(msg)
    return rules
