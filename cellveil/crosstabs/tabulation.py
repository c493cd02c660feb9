"""From records to a protected cross table in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cellveil.crosstabs.crossing import Crossed, crossed
from cellveil.crosstabs.responses import COUNT, Response, responses_of
from cellveil.crosstabs.result import Crosstab
from csp.errors import InputError
from csp.exact import Number
from csp.mechanism import Mechanism, Protected
from csp.release.release import Release
from csp.responses import protect_responses, rules_for_counts
from csp.rules import Manual, Rule
from csp.tables.codes import numbered_codes
from csp.tables.hierarchies.hierarchy import Hierarchy
from csp.tables.hierarchies.orders import in_order
from csp.tables.hierarchies.totals import total_codes
from csp.tables.table import Table

__all__ = ["crosstab", "crosstab_of", "judging", "rules_given", "tables_of"]


def crosstab(
    index: Any, columns: Any = None, values: Any = None, *, rules: Rule | str | None = None,
    data: Any = None, aggfunc: Any = None, normalize: bool | str = False,
    contributor: Any = None, weight: Any = None, where: Any = None, inner: bool = True,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    total: str | Mapping[str, str] | None = None, missing: str | None = None,
    negative: str = "error", decimals: int | None = None, round: bool = False,
    width: Number | None = None, singletons: bool | None = None,
    keep: Release | Protected | Crosstab | None = None, time_limit: float | None = None,
    gap: float = 0.0, seed: int = 0, comment: str = "",
    progress: Callable[[Any], None] | None = None,
) -> Crosstab:  # fmt: skip
    """Make a protected cross table of records.

    Parameters
    ----------
    index, columns : Series, array or name of a column of `data`, or a list of them
        Dimensions that go down and across. Without `columns` there is one line of rows.
    values : Series, array or name, or a list of them, optional
        What is added up. Without it records are counted.
    rules : Rule or str
        What makes a cell sensitive, such as ``"P(10,1)|NK(2,90)|FREQ(10,10)"``. Counts are judged
        by the rules on frequencies among them.
    data : data frame, mapping of columns or path, optional
        Where names are looked up.
    aggfunc : {"count", "sum", "mean"}, or a list of them
        What each cell shows; "count" without values, "sum" with them.
    normalize : bool or {"all", "index", "columns"}
        Shares of the total, of their row or of their column in place of counts or sums. A share
        is shown where both the cell and what it is a share of are published.
    contributor : Series, array or name, optional
        Who a record belongs to; without it each record is a contributor of its own.
    weight : Series, array or name, optional
        Sampling weights.
    where : Series or array of bool, or name, optional
        A condition, such as ``firms.exports > 0``. It becomes a dimension: the table of those who
        meet it and that of all are protected together, for their difference is a table too.
    inner : bool
        Whether cells other than totals are shown. Without them only totals are published, and
        protected so that no intersection of `index` and `columns` follows from them: two
        geographies that nest in part. That nobody is in an intersection is taken for known.
    hierarchies, total, negative, decimals, round
        See `csp.Table.from_microdata`.
    missing : str, optional
        Code for records that lack one. Records without a code are left out otherwise, as are those
        without a value; `Crosstab.left_out` counts them.
    width, singletons
        See `csp.Mechanism`.
    keep : Release, Protected or Crosstab, optional
        An earlier one, whose suppressed cells stay suppressed.
    time_limit, gap, seed, progress
        See `csp.suppress`.
    comment : str
        What you say of the table to its checker; it goes with the results.

    Returns
    -------
    Crosstab
        Totals included. All responses have one pattern: what the sum hides, the mean hides.

    Raises
    ------
    InputError
        If there are no rules, a function is not additive, or columns do not fit together.
    Unprotectable
        If a sensitive cell cannot be protected.

    See Also
    --------
    csp.protect_responses : The same for tables that there are already.

    Examples
    --------
    >>> import cellveil
    >>> firms = {"region": [*"aaabbbbcc"], "size": [*"xxyxyyyxx"], "pay": range(10, 19)}
    >>> found = cellveil.crosstab("region", "size", "pay", data=firms, aggfunc="mean",
    ...                           rules="FREQ(2,20)")
    >>> found
    Crosstab(mean of pay by region x size: 12 cells, 6 suppressed; audited safe)
    >>> found.texts()[11]  # the mean of all
    '14.00'
    """
    checked = rules_given(rules)
    records = crossed(index, columns, values, contributor, weight, where, data).answered(missing)
    responses = responses_of(records.values, aggfunc, normalize)
    tables = tables_of(
        records, responses, hierarchies=hierarchies, total=total, missing=missing,
        negative=negative, decimals=decimals, round=round, empty=None if inner else "drop",
    )  # fmt: skip
    mechanism = Mechanism(judging(checked, tables), width=width, singletons=singletons)
    before = keep.first if isinstance(keep, Crosstab) else keep
    earlier = before.release if isinstance(before, Protected) else before
    if not inner:
        earlier = _without_inner(next(iter(tables.values())), earlier)
    protected = protect_responses(
        tables, mechanism, keep=earlier, time_limit=time_limit, gap=gap, seed=seed,
        progress=progress,
    )  # fmt: skip
    return crosstab_of(records, responses, protected, comment, missing)


def rules_given(rules: Rule | str | None) -> Rule | str:
    """Refuse a table without rules, and show some."""
    if rules is None:
        msg = (
            "rules= says which cells are sensitive; for counts for instance rules='FREQ(10,10)', "
            "for values rules='P(10,1)|NK(2,90)|FREQ(10,10)'"
        )
        raise InputError(msg)
    return rules


def crosstab_of(
    records: Crossed, responses: tuple[Response, ...], protected: Mapping[str, Protected],
    comment: str, missing: str | None,
) -> Crosstab:  # fmt: skip
    """Cross table of protected responses, with what was done to the records."""
    told = [note for one in protected.values() for note in one.table.notes]
    notes = tuple(filter(None, dict.fromkeys([records.note(missing), *told])))
    return Crosstab(
        protected, responses, records.index, records.across, records.library, notes, comment,
        records.left_out,
    )  # fmt: skip


def tables_of(
    records: Crossed, responses: tuple[Response, ...], *,
    hierarchies: Mapping[str, Hierarchy] | None, total: str | Mapping[str, str] | None,
    missing: str | None, negative: str, decimals: int | None, round: bool,
    empty: str | None = None,
) -> dict[str, Table]:  # fmt: skip
    """Tables that responses are made of: of each value, and of counts where these are shown."""
    options: dict[str, Any] = {
        "contributor": records.contributor,
        "weight": records.weight,
        "hierarchies": _trees(records, hierarchies or {}, total, missing),
        "total": total,
        "missing": missing,
        "empty": empty,
    }
    shown = {response.value for response in responses}
    tables = {
        value: Table.from_microdata(
            records.columns, records.by, value, negative=negative, decimals=decimals, round=round,
            **options,
        )
        for value in records.values if value in shown
    }  # fmt: skip
    if any(response.kind != "sum" for response in responses):
        tables[COUNT] = Table.from_microdata(records.columns, records.by, **options)
    return tables


def _without_inner(table: Table, keep: Release | None) -> Release:
    """Return what is withheld from the start where only totals are shown."""
    hidden = ~table.margins
    if keep is not None:
        hidden |= keep.suppressed_in(table)
    return Release.of(table, hidden)


def _trees(
    records: Crossed, given: Mapping[str, Hierarchy], total: str | Mapping[str, str] | None,
    missing: str | None,
) -> dict[str, Hierarchy]:  # fmt: skip
    """Hierarchies, with a flat one for columns whose categories have an order."""
    roots, _ = total_codes(total, records.by)
    found = dict(given)
    for name, order in records.orders.items():
        if name in records.by and name not in found:
            texts = {text or missing for text in numbered_codes(records.columns[name])[0]}
            codes = in_order((text for text in texts if text is not None), order)
            found[name] = Hierarchy.flat(codes, roots[name])
    return found


def judging(rules: Rule | str, tables: Mapping[str, Table]) -> Rule | str:
    """Refuse rules of which none judges counts, where nothing but counts is shown."""
    only = rules_for_counts(rules)
    if set(tables) == {COUNT} and isinstance(only, Manual) and not len(only.cells):
        msg = (
            f"counts are judged by frequency, and none of the rules {rules!s} is on it; add one, "
            "such as FREQ(10,10)"
        )
        raise InputError(msg)
    return rules
