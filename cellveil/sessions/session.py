"""A session: all tables of one data set, each protected beside those before it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from cellveil.crosstabs.crossing import Crossed, answers
from cellveil.crosstabs.making import Making, RecordOptions, rules_given
from cellveil.crosstabs.responses import COUNT, Response, responses_of
from cellveil.crosstabs.result import Crosstab
from cellveil.crosstabs.tabulation import crosstab_of
from cellveil.sessions import folder as files
from cellveil.sessions.asking import Asked, Decision
from cellveil.sessions.checks import (
    as_released,
    check_nesting,
    check_options,
    check_same_records,
    check_words,
    check_zeros,
    judged_together,
)
from csp.errors import InputError
from csp.exact import Bools
from csp.mechanism import Mechanism, Protected
from csp.names.guesses import Guided
from csp.release.release import Release
from csp.responses import protect_responses, rules_for_counts
from csp.rules import Rule
from csp.solve.result import SearchOptions
from csp.tables.codes import text_codes
from csp.tables.columns import column_names, named_columns, read_columns
from csp.tables.sources.frames import native_frame
from csp.tables.table import Table


class Session(metaclass=Guided):
    """All tables of one data set: each is protected beside those before it.

    Two tables of the same records share cells, and a reader of both learns more than from each. A
    session therefore links every new table with the earlier ones: what they show stays shown, what
    they suppress stays suppressed, and the new one is chosen so that all are safe together, as far
    as shared cells and totals go. What follows from which combinations of further dimensions are
    empty is not considered: where many cells are, ask for one table of all dimensions.

    Parameters
    ----------
    folder : path, optional
        Where `write` puts the tables. Those that an earlier session wrote there are read again, and
        count as released: they are made of `data` anew and compared with what was written.
    data : data frame, mapping of columns or path, optional
        The records. Without it columns are given as Series.
    rules : Rule or str, optional
        For all tables whose call gives none.
    contributor, weight : str, optional
        Columns of `data`; see `cellveil.crosstab`.
    complete : sequence of str
        Columns that a record needs to be in any table. All tables of a session are of the same
        records: counts of all beside means of those who answered disclose those who did not.
    missing : str, optional
        Code for records that lack one.
    hierarchies : mapping of str to Hierarchy, optional
    total : str or mapping of dimension to str, optional
    negative : {"error", "abs", "shift", "split"}
    width : Number, optional
    singletons : bool, optional
        See `csp.Mechanism`.
    title : str
        What the tables are of, for the files.

    Attributes
    ----------
    tables : mapping of str to Crosstab
        By their names, in the order in which they were made.

    Raises
    ------
    InputError
        If the folder holds tables of other data.

    Examples
    --------
    >>> import cellveil
    >>> firms = {"region": [*"aaabbbbcc"], "size": [*"xxyxyyyxx"], "pay": range(10, 19)}
    >>> session = cellveil.Session(data=firms, rules="FREQ(2,20)")
    >>> session.crosstab("region", "size", comment="Firms by size")
    Crosstab(count by region x size: 12 cells, 4 suppressed; audited safe)
    >>> session.crosstab("region", values="pay", aggfunc="mean")
    Crosstab(mean of pay by region: 4 cells, 0 suppressed; audited safe)
    >>> list(session.tables)
    ['table 1', 'table 2']
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, data: Any = None, *,
        rules: Rule | str | None = None, complete: Sequence[str] = (), title: str = "",
        **options: Unpack[RecordOptions],
    ) -> None:  # fmt: skip
        self._folder = None if folder is None else Path(folder)
        self._data = None if data is None else named_columns(native_frame(data))
        self._making = Making(self._data, **options)
        self._rules = rules
        self._complete = (complete,) if isinstance(complete, str) else tuple(complete)
        self._title = title
        self._used: Bools | None = None
        self._tables: dict[str, Crosstab] = {}
        self._asked: dict[str, Asked] = {}
        self._decided: dict[str, Decision] = {}
        self._since: dict[str, int] = {}  # tables made since one was rejected
        self._seen: dict[str, list[str]] = {}
        self._released: frozenset[str] = frozenset()
        if self._folder is not None:
            self._read_back(self._folder)

    def __repr__(self) -> str:
        released = f", {len(self._released)} of them released before" if self._released else ""
        return f"Session({len(self._tables)} tables{released})"

    def _repr_html_(self) -> str:
        from csp.tables.cross.html import notebook_list

        rows = [
            [name, ", ".join(map(str, one.responses)), " x ".join([*one.index, *one.columns]),
             f"{int(one.pattern.sum())} of {len(one.pattern)}", self._decided[name].verdict,
             one.comment]
            for name, one in self._tables.items()
        ]  # fmt: skip
        heads = ["table", "shows", "by", "suppressed", "decision", "comment"]
        return notebook_list([repr(self)], heads, rows)

    @property
    def tables(self) -> dict[str, Crosstab]:
        """Tables by their names, in the order in which they were made."""
        return dict(self._tables)

    @property
    def decisions(self) -> dict[str, Decision]:
        """What was decided of each table."""
        return dict(self._decided)

    # ---- tables ----------------------------------------------------------------------------------

    def crosstab(
        self, index: Any, columns: Any = None, values: Any = None, *, name: str = "",
        rules: Rule | str | None = None, aggfunc: Any = None, normalize: bool | str = False,
        where: Any = None, decimals: int | None = None, round: bool = False, comment: str = "",
        **options: Unpack[SearchOptions],
    ) -> Crosstab:  # fmt: skip
        """Make a table, protected beside those that the session has.

        Parameters
        ----------
        name : str, optional
            What the table is called in the session; "table 1" and so on otherwise.
        index, columns, values, rules, aggfunc, normalize, where, decimals, round, comment
            See `cellveil.crosstab`.
        time_limit, gap, seed, progress : optional
            See `csp.suppress`.

        Returns
        -------
        Crosstab

        Raises
        ------
        InputError
            As `cellveil.crosstab`; also for a name that is taken, for records other than those of
            the tables before, and for a cell that is shown already and sensitive by these rules.
        Unprotectable
            If the table cannot be protected beside those that are there.
        """
        name = name or f"table {len(self._tables) + 1}"
        if name in self._tables:
            msg = f"there is a table {name!r} already; choose another name, or remove it first"
            raise InputError(msg)
        records = self._records(index, columns, values, where)
        responses = responses_of(records.values, aggfunc, normalize)
        judged = rules_given(self._rules if rules is None else rules)
        if self._folder is not None:
            self._check_repeatable(records, judged, None if where is None else records.index[0])
        asked = Asked(
            tuple(n for n in records.index if not (where is not None and n == records.index[0])),
            records.across, records.values, tuple(dict.fromkeys(one.kind for one in responses)),
            str(judged), responses[0].share_of, records.index[0] if where is not None else "",
            decimals, round, comment,
        )  # fmt: skip
        self._add(name, asked, self._protected(records, responses, judged, asked, options))
        return self._tables[name]

    def remove(self, name: str) -> None:
        """Take a table out of the session, as if it had not been asked for.

        Raises
        ------
        InputError
            If there is no such table, or it was released before.
        """
        self._check_name(name)
        if name in self._released:
            msg = f"{name!r} was released before; it cannot be taken back"
            raise InputError(msg)
        for kept in (self._tables, self._asked, self._decided):
            del kept[name]

    def decide(self, name: str, verdict: str, *, by: str = "", reason: str = "") -> None:
        """Note what an output checker decided of a table.

        Parameters
        ----------
        name : str
        verdict : {"accepted", "rejected", "open"}
            A table that is rejected is not written, and later ones are protected without it.
        by, reason : str

        Raises
        ------
        InputError
            If there is no such table, or no such verdict.
        """
        self._check_name(name)
        if verdict == "rejected" and name in self._released:
            msg = f"{name!r} was released before; it cannot be taken back"
            raise InputError(msg)
        decision = Decision(verdict, by, reason)
        if name in self._rejected and verdict != "rejected" and self._since.get(name, 0):
            msg = (
                f"{name!r} was rejected, and tables that were made since are not protected beside "
                "it; remove it, and ask for it anew"
            )
            raise InputError(msg)
        if name not in self._rejected:
            self._since[name] = 0
        self._decided[name] = decision

    def write(self, folder: str | os.PathLike[str] | None = None) -> list[Path]:
        """Write what may be published, for an output checker.

        Tables that were rejected are left out. Nothing is written unless all of it can be.

        Parameters
        ----------
        folder : path, optional
            That of the session by default.

        Returns
        -------
        list of Path
            ``tables.xlsx`` (where openpyxl is installed), ``report.html`` with its facts,
            ``results.json`` with a CSV of each table as ACRO writes them, the releases, and
            ``session.json``, by which a later session knows the tables.

        Raises
        ------
        InputError
            If there is no table or no folder, or a file cannot be written.
        """
        to = self._folder if folder is None else Path(folder)
        if to is None:
            msg = "there is no folder to write to; give one here or to the session"
            raise InputError(msg)
        if to != self._folder and (to / files.MEMORY).exists():
            msg = (
                f"{str(to)!r} holds tables of another session; begin one with that folder, so that "
                "these are protected beside them, or take another folder"
            )
            raise InputError(msg)
        kept = {n: one for n, one in self._tables.items() if n not in self._rejected}
        if not kept and files.clear(to):
            return []
        if not kept:
            msg = "there is no table to write; ask for one with session.crosstab(...)"
            raise InputError(msg)
        return files.write(
            to, judged_together(kept), self._asked, self._decided, self._title, self._options
        )

    finalise = write

    # ---- inside ----------------------------------------------------------------------------------

    @property
    def _options(self) -> dict[str, Any]:
        """What a later session has to say too, as plain data."""
        how = self._making
        return {
            "contributor": how.contributor, "weight": how.weight,
            "complete": list(self._complete), "missing": how.missing,
            "total": dict(how.total) if isinstance(how.total, Mapping) else how.total,
            "negative": how.negative, "width": None if how.width is None else str(how.width),
            "singletons": how.singletons, "hierarchies": sorted(how.hierarchies or {}),
        }  # fmt: skip

    @property
    def _rejected(self) -> set[str]:
        return {name for name, one in self._decided.items() if one.verdict == "rejected"}

    def _check_name(self, name: str) -> None:
        if name not in self._tables:
            there = ", ".join(map(repr, self._tables)) or "none"
            msg = f"there is no table {name!r}; there are {there}"
            raise InputError(msg)

    def _check_repeatable(self, records: Crossed, rules: Rule | str, where: str | None) -> None:
        """Refuse what a later session could not make again from the names of columns."""
        check_words(rules)
        if self._data is None:
            return
        for name in (*records.by, *records.values):
            numbers = [name] if name in records.values else []
            if self._texts(name, numbers) != text_codes(records.columns[name]):
                msg = (
                    f"a later session could not make the table again: data= has no column {name!r} "
                    f"with these entries; add it to the data first (data[{name!r}] = ...)"
                )
                raise InputError(msg)

    def _texts(self, name: str, numbers: Sequence[str]) -> list[str]:
        """Entries of a column of the data as text, of the records in use; none if there is none."""
        if name not in column_names(self._data):
            return []
        return text_codes(read_columns(self._data, [name], numbers).arrays[0][self._used])

    def _add(self, name: str, asked: Asked, made: Crosstab) -> None:
        self._since = {one: count + 1 for one, count in self._since.items()}
        self._tables[name], self._asked[name] = made, asked
        self._decided[name] = Decision()

    def _records(self, index: Any, columns: Any, values: Any, where: Any) -> Crossed:
        """Take the records of a table, which must be those of the tables before."""
        found = self._making.records(index, columns, values, where)
        needed = dict(found.columns)
        if self._complete:
            if self._data is None:
                msg = "complete= names columns of data=, which the session has none of"
                raise InputError(msg)
            needed |= {name: answers(self._data, name) for name in self._complete}
        whole = replace(found, columns=needed, complete=self._complete).answered(
            self._making.missing
        )
        n = len(next(iter(found.columns.values())))
        used = np.ones(n, bool) if whole.used is None else whole.used
        if self._used is None or not self._tables:
            self._used = used
        else:
            check_same_records(self._used, used)
        return replace(
            whole, columns={name: whole.columns[name] for name in found.columns},
        )  # fmt: skip

    def _protected(
        self, records: Crossed, responses: tuple[Response, ...], rules: Rule | str, asked: Asked,
        options: SearchOptions,
    ) -> Crosstab:  # fmt: skip
        self._seen = check_nesting(self._seen, records)
        tables = self._made(records, responses, asked)
        check_zeros(rules)
        mechanism = self._making.mechanism(rules, tables)
        earlier = [one for name, one in self._tables.items() if name not in self._rejected]
        beside = {
            of: [one.protected[of] for one in earlier if of in one.protected] for of in tables
        }
        found = protect_responses(tables, mechanism, beside=beside, **options)
        return crosstab_of(records, responses, found, asked.comment, self._making.missing)

    def _made(
        self, records: Crossed, responses: tuple[Response, ...], asked: Asked
    ) -> dict[str, Table]:
        """Tables of the responses; which cells have no record is known of all of them."""
        how = self._making
        trees = {n: tree for n, tree in (how.hierarchies or {}).items() if n in records.by}
        total = how.total
        if isinstance(total, Mapping):
            total = {name: code for name, code in total.items() if name in records.by}
        tables = replace(how, hierarchies=trees, total=total).tables(
            records, responses, decimals=asked.decimals, round=asked.round
        )
        if COUNT in tables:
            counts = tables[COUNT]
            tables[COUNT] = counts.replace(structural=counts.values == 0)
        return tables

    def _read_back(self, folder: Path) -> None:
        """Make the tables that were written before, and compare them."""
        check_options(self._options, files.options_of(folder), folder)
        for name, (asked, decision, releases) in files.read(folder).items():
            if self._data is None:
                msg = (
                    f"{str(folder)!r} holds tables of an earlier session; give their records as "
                    "data=, so that the new ones can be protected beside them"
                )
                raise InputError(msg)
            wanted = {*asked.index, *asked.columns, *asked.values, *filter(None, [asked.where])}
            lacking = sorted(wanted - set(column_names(self._data)))
            if lacking:
                msg = (
                    f"{name!r} of the earlier session is of a column {lacking[0]!r}, which the "
                    "data do not have; give data= with all columns that tables were made of"
                )
                raise InputError(msg)
            records = self._records(
                list(asked.index), list(asked.columns) or None, list(asked.values) or None,
                asked.where or None,
            )  # fmt: skip
            responses = responses_of(records.values, list(asked.aggfunc), asked.normalize or False)
            tables = self._made(records, responses, asked)
            mechanism = self._making.mechanism(asked.rules, tables)
            protected = {
                of: _again(table, as_released(table, releases.get(of), name), mechanism)
                for of, table in tables.items()
            }
            self._add(
                name,
                asked,
                crosstab_of(records, responses, protected, asked.comment, self._making.missing),
            )
            self._decided[name] = decision
        self._released = frozenset(self._tables)


def _again(table: Table, kept: Release, mechanism: Mechanism) -> Protected:
    """Protect a table as it was released."""
    if table.counts:
        mechanism = replace(mechanism, rules=rules_for_counts(mechanism.rules))
    return mechanism.protect(table, keep=kept, public=~kept.pattern)
