"""One pattern for several responses of the same cells: counts, sums of several values, and means.

A reader who has the mean and the number of a cell has its sum. What one response hides the others
must hide too, so the patterns of all are joined until they agree, and each is audited with the
pattern that all of them have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from csp.clock import Clock
from csp.errors import InputError
from csp.mechanism import Mechanism, Protected
from csp.names.calls import expect
from csp.release.release import Release
from csp.rules import Manual, Rule
from csp.rules.base import AnyOf, parts_of
from csp.rules.concentration import Concentration
from csp.tables.table import Table

__all__ = ["protect_responses", "rules_for_counts"]


def protect_responses(
    tables: Mapping[str, Table], mechanism: Mechanism | Rule | str, *,
    keep: Release | None = None, method: str = "auto", time_limit: float | None = None,
    gap: float = 0.0, seed: int = 0, progress: Callable[[Any], None] | None = None,
) -> dict[str, Protected]:  # fmt: skip
    """Protect several responses of the same cells, and suppress the same cells in all of them.

    Parameters
    ----------
    tables : mapping of str to Table
        Of the same records: the same cells, in the same order.
    mechanism : Mechanism, Rule or str
        For all of them. Tables of counts are judged by its rules but those on concentration.
    keep, method, time_limit, gap, seed, progress
        As for `Mechanism.protect`; the limit is for all tables together.

    Returns
    -------
    dict of str to Protected
        Each audited with the pattern that all of them have.

    Raises
    ------
    InputError
        If there is no table, or two of them have different cells.
    Unprotectable
        If a table cannot be protected.

    Notes
    -----
    Each table in turn keeps what the others suppress. The pattern only grows, so this ends. It is
    the cheapest pattern of each table given those of the others, not of all together.

    Examples
    --------
    >>> from csp import Table
    >>> from csp.responses import protect_responses
    >>> data = {"r": [*"aabbcc"], "s": [*"xyxyxy"], "pay": [40, 30, 5, 20, 9, 30]}
    >>> pay = Table.from_microdata(data, ["r", "s"], "pay")
    >>> number = Table.from_microdata(data, ["r", "s"])
    >>> found = protect_responses({"pay": pay, "number": number}, "NK(1,60)")
    >>> bool((found["pay"].pattern == found["number"].pattern).all())
    True
    """
    given = mechanism if isinstance(mechanism, Mechanism) else Mechanism(mechanism)
    alike = _with_same_cells(tables)
    asked = {
        name: replace(given, rules=rules_for_counts(given.rules)) if table.counts else given
        for name, table in alike.items()
    }
    clock = Clock.of(time_limit)
    found: dict[str, Protected] = {}
    while len({one.pattern.tobytes() for one in found.values()}) != 1 or len(found) < len(alike):
        for left, (name, table) in zip(range(len(alike), 0, -1), alike.items(), strict=True):
            limit = None if time_limit is None else clock.part(1 / left).seconds
            found[name] = asked[name].protect(
                table, keep=keep, method=method, time_limit=limit, gap=gap, seed=seed,
                progress=progress,
            )  # fmt: skip
            keep = found[name].release
    return found


def rules_for_counts(rules: Any) -> Rule:
    """Return the rules that judge a table of counts: all but those on concentration.

    Parameters
    ----------
    rules : Rule, str or callable
    """
    parts = [part for part in parts_of(rules) if not isinstance(part, Concentration)]
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts)) if parts else Manual(())


def _with_same_cells(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables, with cells that one of them knows to be empty known so in all."""
    if not tables:
        msg = "there are no tables; give at least one by its name"
        raise InputError(msg)
    for name, table in tables.items():
        expect(table, Table, f"tables[{name!r}]")
    first, whole = next(iter(tables.items()))
    for name, table in tables.items():
        if table.labels != whole.labels or table.names != whole.names:
            own, its = set(whole.labels), set(table.labels)
            odd = next(iter(sorted(own ^ its)), None)
            where = "" if odd is None else f"; {odd} is in one of them only"
            msg = (
                f"{name!r} has other cells than {first!r}{where}; make both tables of the same "
                "records and dimensions"
            )
            raise InputError(msg)
    flags = [table.structural for table in tables.values() if table.structural is not None]
    if not flags:
        return dict(tables)
    empty = np.logical_or.reduce(flags)
    return {name: table.replace(structural=empty) for name, table in tables.items()}
