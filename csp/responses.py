"""One pattern for several responses of the same cells: counts, sums of several values, and means.

A reader who has the mean and the number of a cell has its sum. What one response hides the others
must hide too, so the patterns of all are joined until they agree, and each is audited with the
pattern that all of them have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from csp.clock import Clock
from csp.errors import InputError
from csp.exact import Bools, Ints
from csp.mechanism import Mechanism, Protected
from csp.names.calls import expect
from csp.problem.problem import Problem
from csp.release.release import Release
from csp.rules import Manual, Rule
from csp.rules.base import AnyOf, Custom, parts_of
from csp.rules.concentration import Concentration
from csp.rules.sensitivity import Sensitivity
from csp.solve.result import SearchOptions
from csp.tables.link import link
from csp.tables.table import Table


def protect_responses(
    tables: Mapping[str, Table], mechanism: Mechanism | Rule | str, *,
    beside: Mapping[str, Sequence[Protected]] | None = None, keep: Release | None = None,
    method: str = "auto", **options: Unpack[SearchOptions],
) -> dict[str, Protected]:  # fmt: skip
    """Protect several responses of the same cells, and suppress the same cells in all of them.

    Parameters
    ----------
    tables : mapping of str to Table
        Of the same records: the same cells, in the same order.
    mechanism : Mechanism, Rule or str
        For all of them. Tables of counts are judged by its rules but those on concentration.
    beside : mapping of str to sequence of Protected, optional
        For each response what is out already, of the same records. What it shows stays shown, what
        it suppresses stays suppressed, and its sensitive cells keep their levels by the rules that
        found them; the new table is protected and audited together with it. A figure that is out
        already may be of a cell whose other figures are withheld: then the new table withholds it
        too, and hides nothing.
    keep, method, time_limit, gap, seed, progress
        As for `Mechanism.protect`; the limit is for all tables together.

    Returns
    -------
    dict of str to Protected
        Each audited with the pattern that all of them have. Beside earlier tables, intervals are
        those that follow from all of them.

    Raises
    ------
    InputError
        If there is no table, two of them have different cells, or a cell that is out already is
        sensitive by these rules.
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
    posed = {
        name: _Beside.of(
            replace(given, rules=rules_for_counts(given.rules)) if table.counts else given,
            table, (beside or {}).get(name, ()),
        )
        for name, table in alike.items()
    }  # fmt: skip
    time_limit = options.pop("time_limit", None)
    clock = Clock.of(time_limit)
    kept = np.zeros(next(iter(alike.values())).n_cells, bool)
    if keep is not None:
        kept |= keep.suppressed_in(next(iter(alike.values())))
    found: dict[str, Protected] = {}
    while len(found) < len(posed) or any((kept != one.pattern).any() for one in found.values()):
        for left, (name, one) in zip(range(len(posed), 0, -1), posed.items(), strict=True):
            limit = None if time_limit is None else clock.part(1 / left).seconds
            found[name] = one.protected(kept, method=method, time_limit=limit, **options)
            kept = found[name].pattern
    return found


def audited_together(results: Sequence[Protected]) -> list[Protected]:
    """Audit tables of one response as one, and give each the intervals that follow from all.

    Parameters
    ----------
    results : sequence of Protected
        Of the same records.

    Raises
    ------
    Unprotectable, CertificateError
        If they are not safe together.
    """
    if len(results) < 2:
        return list(results)
    whole = link(*(one.table for one in results))
    hidden, public = np.zeros((2, whole.n_cells), bool)
    for part, one in zip(whole.parts, results, strict=True):
        hidden[part.cells[one.pattern]] = True
        public[part.cells[~one.pattern]] = True
    needs = _together(whole, [one.problem for one in results])
    hidden &= ~public
    joint = replace(results[0].mechanism, rules=Custom(lambda _: needs)).protect(
        whole, keep=Release.of(whole, hidden), public=~hidden
    )
    found = []
    for part, one in zip(whole.parts, results, strict=True):
        ends = {n: getattr(joint.audit, n)[part.cells] for n in ("lower", "upper", "exact")}
        found.append(replace(one, audit=replace(one.audit, **ends)))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """A table beside others that are out already.

    Attributes
    ----------
    mechanism, joint : Mechanism
        That of the table, and one that asks of all what each of them was asked for.
    table : Table
    whole : Table
        All of them as one.
    own : (n,) int64
        Which cell of the whole each cell of the table is.
    hidden, public : (m,) bool
        Cells of the whole that the others suppress and show.
    """

    mechanism: Mechanism
    joint: Mechanism
    table: Table
    whole: Table
    own: Ints
    hidden: Bools
    public: Bools

    @classmethod
    def of(cls, mechanism: Mechanism, table: Table, earlier: Sequence[Protected]) -> _Beside:
        """Link a table with those that are out.

        Raises
        ------
        InputError
            If sums of suppressed cells are to pass the rules too, which nobody can judge here.
        """
        none = np.zeros(table.n_cells, bool)
        if not earlier:
            return cls(mechanism, mechanism, table, table, np.arange(table.n_cells), none, none)
        if mechanism.unions:
            msg = "unions=True is for a table of its own; leave it out beside earlier tables"
            raise InputError(msg)
        whole = link(table, *(one.table for one in earlier))
        hidden, public = np.zeros((2, whole.n_cells), bool)
        for part, one in zip(whole.parts[1:], earlier, strict=True):
            hidden[part.cells[one.pattern]] = True
            public[part.cells[~one.pattern]] = True
        problems = [mechanism.problem(table), *(one.problem for one in earlier)]
        needs = _together(whole, problems)
        joint = replace(mechanism, rules=Custom(lambda _: needs))
        own = whole.parts[0].cells
        return cls(mechanism, joint, table, whole, own, hidden & ~public, public)

    def protected(self, kept: Bools, **options: Any) -> Protected:
        """Protect the table with some of its cells suppressed beforehand."""
        hidden = self.hidden.copy()
        # What is out cannot be taken back, though another figure of the cell is withheld.
        hidden[self.own[kept]] = True
        hidden &= ~self.public
        joint = self.joint.protect(
            self.whole, keep=Release.of(self.whole, hidden), public=self.public, **options
        )
        if self.whole is self.table:
            return joint
        pattern = joint.pattern[self.own] | kept
        alone = self.mechanism.protect(
            self.table, keep=Release.of(self.table, pattern), public=~pattern
        )
        ends = {n: getattr(joint.audit, n)[self.own] for n in ("lower", "upper", "exact")}
        return replace(alone, audit=replace(alone.audit, **ends))


def _together(whole: Table, problems: Sequence[Problem]) -> Sensitivity:
    """Join what linked tables are asked for, as cells and levels of the whole."""
    primary = np.zeros(whole.n_cells, bool)
    levels = {name: np.zeros(whole.n_cells, np.int64) for name in ("lpl", "upl", "spl")}
    for part, problem in zip(whole.parts, problems, strict=True):
        primary[part.cells[problem.primary]] = True
        unit = 10 ** (whole.scale - problem.table.scale)
        for name, found in levels.items():
            mine = np.where(problem.primary, getattr(problem, name), 0) * unit
            np.maximum.at(found, part.cells, mine)
    return Sensitivity(primary, **levels, open=np.zeros(whole.n_cells, bool))


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
