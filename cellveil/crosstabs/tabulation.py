"""From records to a protected cross table in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from cellveil.crosstabs.crossing import Crossed
from cellveil.crosstabs.making import Making, RecordOptions, rules_given
from cellveil.crosstabs.responses import Response, responses_of
from cellveil.crosstabs.result import Crosstab
from csp.mechanism import Protected
from csp.release.release import Release
from csp.responses import protect_responses
from csp.rules import Rule
from csp.solve.result import SearchOptions
from csp.tables.table import Table


class CrosstabOptions(RecordOptions, SearchOptions, total=False):
    """What is said of records, and of the search."""


def crosstab(
    index: Any, columns: Any = None, values: Any = None, *, rules: Rule | str | None = None,
    data: Any = None, aggfunc: Any = None, normalize: bool | str = False,
    where: Any = None, inner: bool = True, decimals: int | None = None, round: bool = False,
    keep: Release | Protected | Crosstab | None = None, comment: str = "",
    **options: Unpack[CrosstabOptions],
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
    width, singletons : optional
        See `csp.Mechanism`.
    keep : Release, Protected or Crosstab, optional
        An earlier one, whose suppressed cells stay suppressed.
    time_limit, gap, seed, progress : optional
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
    given = dict[str, Any](options)
    search = {name: given.pop(name) for name in SearchOptions.__annotations__ if name in given}
    making = Making(data, **given)
    records = making.records(index, columns, values, where).answered(making.missing)
    responses = responses_of(records.values, aggfunc, normalize)
    tables = making.tables(
        records, responses, decimals=decimals, round=round, empty=None if inner else "drop"
    )
    mechanism = making.mechanism(checked, tables)
    before = keep.first if isinstance(keep, Crosstab) else keep
    earlier = before.release if isinstance(before, Protected) else before
    if not inner:
        earlier = _without_inner(next(iter(tables.values())), earlier)
    protected = protect_responses(tables, mechanism, keep=earlier, **search)
    return crosstab_of(records, responses, protected, comment, making.missing)


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


def _without_inner(table: Table, keep: Release | None) -> Release:
    """Return what is withheld from the start where only totals are shown."""
    hidden = ~table.margins
    if keep is not None:
        hidden |= keep.suppressed_in(table)
    return Release.of(table, hidden)
