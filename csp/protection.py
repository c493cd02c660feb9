"""Tables protected in one call: a single one, or several side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack, overload

from csp.decoys.decoys import Decoys
from csp.errors import CellveilError, OutOfTime
from csp.exact import Number
from csp.formats.apriori import Statement
from csp.mechanism import Mechanism, Protected
from csp.names.calls import each_named, expect, named_errors
from csp.release.release import Release
from csp.rules import Rule
from csp.solve.own_patterns import OwnMethod
from csp.solve.result import SearchOptions
from csp.tables.table import Table

Outcome = Protected | CellveilError
"""What becomes of one of several tables."""


@named_errors
def protect(
    table: Table, rules: Rule | str | Callable[[Table], Any], *, width: Number | None = None,
    strict: bool = False, cost: str | Callable[[Table], Any] = "unit", margins: str = "suppress",
    singletons: bool | None = None, unions: bool = False, integer: bool | None = None,
    defence: Decoys | None = None, keep: Release | None = None, apriori: Sequence[Statement] = (),
    publish: str = "blanks", method: str | OwnMethod = "auto", **options: Unpack[SearchOptions],
) -> Protected:  # fmt: skip
    """Protect a table in one call: ``Mechanism(rules, ...).protect(table, ...)``.

    Parameters
    ----------
    table : Table
    rules : Rule, str or callable
        Such as ``"P(10,1)|FREQ(3,10)"``.
    width, strict, cost, margins, singletons, unions, integer, defence
        See `Mechanism`.
    keep : Release, optional
        An earlier release, whose suppressed cells stay suppressed.
    apriori : sequence of Statement
        What is known of single cells beforehand; see `Mechanism.protect`.
    publish : str
        "blanks", "intervals" or "intervals:GRID": what stands in place of withheld values; see
        `Mechanism.protect`.
    method, time_limit, gap, seed, progress
        See `csp.suppress`.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        For an argument that does not exist, and as for `Mechanism`.
    Unprotectable
        If a primary cell misses its levels even with everything suppressed.
    """
    expect(table, Table, "table")
    mechanism = Mechanism(rules, width, strict, cost, margins, singletons, unions, integer, defence)
    return mechanism.protect(
        table, keep=keep, apriori=apriori, publish=publish, method=method, **options
    )


@overload
def protect_many(
    tables: Sequence[Table], mechanism: Mechanism | Rule | str, *,
    method: str | OwnMethod = ..., time_limit: float | None = ..., gap: float = ...,
    seed: int = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> list[Outcome]: ...  # fmt: skip
@overload
def protect_many(
    tables: Mapping[str, Table], mechanism: Mechanism | Rule | str, *,
    method: str | OwnMethod = ..., time_limit: float | None = ..., gap: float = ...,
    seed: int = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> dict[str, Outcome]: ...  # fmt: skip
@named_errors
def protect_many(
    tables: Sequence[Table] | Mapping[str, Table], mechanism: Mechanism | Rule | str, *,
    method: str | OwnMethod = "auto", time_limit: float | None = None, gap: float = 0.0,
    seed: int = 0, progress: Callable[[int, int], None] | None = None,
) -> list[Outcome] | dict[str, Outcome]:  # fmt: skip
    """Protect tables side by side, each on its own.

    joblib does the work, one table after the other unless it is told otherwise:
    ``with joblib.parallel_config(backend="loky", n_jobs=4): ...`` puts it on four processes, the
    backend "dask" on the workers of a cluster. Results do not depend on that, unless a time limit
    cuts a search short.

    Parameters
    ----------
    tables : sequence of Table, or mapping of names to them
        Tables of the same records that share cells must be linked (`csp.link`) and protected as
        one, not one by one: a reader of both would learn more than from each.
    mechanism : Mechanism, Rule or str
        For all of them.
    method, time_limit, gap, seed
        See `csp.suppress`; the limit is one for each table.
    progress : callable, optional
        Called with the number of tables that are done and the number of all.

    Returns
    -------
    list or dict of Protected or CellveilError
        In the order or under the names of the tables. The error of one table does not cost the
        others; after Ctrl-C the tables that were not begun have an `OutOfTime`.

    Raises
    ------
    InputError
        If something is not a table, or the rules are wrong.

    See Also
    --------
    csp.protect : A single table.

    Examples
    --------
    >>> from csp import Table, protect_many
    >>> tables = [Table.from_array([[20, 50, 10], [n, 19, 22], [17, 32, 12]]) for n in (3, 8)]
    >>> [int(one.pattern.sum()) for one in protect_many(tables, "FREQ(4,3)")]
    [4, 0]
    """
    from joblib import Parallel, delayed

    named = each_named(tables, Table, "tables")
    given = mechanism if isinstance(mechanism, Mechanism) else Mechanism(mechanism)
    options = {"method": method, "time_limit": time_limit, "gap": gap, "seed": seed}
    found: list[Outcome] = []
    try:
        together = Parallel(return_as="generator")
        for outcome in together(delayed(_outcome)(given, t, options) for t in named.values()):
            found.append(outcome)
            if progress is not None:
                progress(len(found), len(named))
            if isinstance(outcome, Protected) and outcome.suppression.stopped == "interrupt":
                break
    except KeyboardInterrupt:
        pass
    left = len(named) - len(found)
    found += [OutOfTime("interrupted before this table was protected") for _ in range(left)]
    if isinstance(tables, Mapping):
        return dict(zip(tables, found, strict=True))
    return found


def _outcome(mechanism: Mechanism, table: Table, options: dict[str, Any]) -> Outcome:
    """Protect one table; an error is a result."""
    try:
        return mechanism.protect(table, **options)
    except CellveilError as error:
        return error
