"""The public algorithm, and the audited release that comes of it.

A `Mechanism` poses the problem of a table, looks for a pattern, audits it and releases it:
`Protected` is what comes of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from csp.audits.audit import Audit, follow, judge
from csp.audits.second_reading import Columns, Rereading, reread
from csp.clock import Clock
from csp.decoys.guarantee import Guarantee
from csp.decoys.suppress import Defended, defend
from csp.errors import CertificateError, InputError, argument
from csp.exact import Bools, Floats, units_text, units_to_numbers
from csp.formats.apriori import Statement
from csp.formats.files import Together
from csp.names.calls import expect, named_errors, named_init
from csp.names.guesses import Guided
from csp.outputs import output
from csp.posing import Posing, posing_data, posing_options
from csp.problem.jj import write_jj
from csp.problem.problem import Problem
from csp.release.ranges import Ranges, outward, published_as
from csp.release.release import Release
from csp.release.result_columns import result_columns
from csp.rules import Manual, as_rule
from csp.rules.base import parts_of
from csp.solve import Progress, Suppression, suppress
from csp.solve.own_patterns import OwnMethod
from csp.solve.result import SearchOptions
from csp.tables.cross.frames import columns_to_frame
from csp.tables.cross.html import cell_texts, notebook_table
from csp.tables.table import Part, Table


@named_init
@dataclass(frozen=True, slots=True)
class Mechanism(Posing):
    """Everything about the protection that an adversary is assumed to know.

    Attributes
    ----------
    rules : Rule, str or callable
        What makes a cell sensitive; text is read in τ-ARGUS's words.
    width : Number, optional
        Every primary feasibility interval is at least this wide (a number of the measure, so 10
        means 10.00 where cells have two decimals), where the rules do not require more: of counts
        `MinFrequency(n)` asks for n, unless it is given a width of its own.
    strict : bool
        Wider than `width`, by at least one unit of the table (Minami and Abe 2019, Definition 3, in
        place of Definition 4).
    cost : {"unit", "value"} or callable
        Cost of a secondary cell: 1, its value (at least one unit), or a function of the table
        that returns a whole number for each cell. A function with a true attribute ``cellwise``
        promises that the cost of a cell depends on its label and value alone.
    margins : {"suppress", "publish"}
        "suppress": the rules apply to margins and they may be suppressed. "publish": margins are
        public, neither tested nor suppressible.
    singletons : bool or None
        Protect each primary cell also from a contributor who is alone in other cells and so knows
        their values. None: in tables of values, where contributors are known. False leaves such a
        contributor able to subtract its own cells from published totals.
    unions : bool
        Sums of suppressed cells that a relation publishes must pass the rules too.
    integer : bool or None
        Whether the attacker knows that cells are whole units. None: in tables of counts.
    defence : Decoys, optional
        Keeps what is suppressed hidden from an attacker who knows all of this but the key.

    Examples
    --------
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> protected = Mechanism(MinFrequency(10), width=10, margins="publish").protect(table)
    >>> protected
    Protected(16 cells: 4 suppressed, proven optimum; safe against outsider)
    """

    @named_errors
    def protect(
        self, table: Table, *, keep: Release | None = None, public: ArrayLike | None = None,
        apriori: Sequence[Statement] = (), publish: str = "blanks",
        method: str | OwnMethod = "auto", **options: Unpack[SearchOptions],
    ) -> Protected:  # fmt: skip
        """Suppress, audit and release a table.

        Parameters
        ----------
        table : Table
        keep : Release, optional
            An earlier release: what it suppressed stays suppressed here (cells are matched by
            label), so that the two do not disclose each other's cells.
        public : (n,) bool, optional
            Cells that must be published, as those that an earlier table shows already.
        apriori : sequence of Statement
            What is known of single cells beforehand, from `csp.read_apriori`; cells that it makes
            sensitive keep the levels of a MAN(margin) among the rules, or the width.
        publish : str
            What stands in place of withheld values: "blanks", or "intervals", those that anyone
            could work out, rounded outwards to whole units or to a grid ("intervals:10").
        method, time_limit, gap, seed, progress
            See `csp.suppress`; a method of your own is a function of the problem. The time limit
            includes the last audit.

        Returns
        -------
        Protected

        Raises
        ------
        Unprotectable
            If a primary cell misses its levels even with everything suppressed.
        CertificateError
            If the result does not pass the audit; nothing is returned then.
        """
        expect(table, Table, "table")
        return protect_table(
            self, table, keep=keep, public=public, apriori=apriori, publish=publish, method=method,
            **options,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `from_dict` makes the same mechanism.

        Of a defence this is what the public knows: the key is not in it.

        Raises
        ------
        InputError
            If the rules or the cost are functions of the user's own, or name single cells.
        """
        return posing_data(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Mechanism:
        """Mechanism from plain data.

        Parameters
        ----------
        data : mapping
            Keys as in `to_dict`; only rules must be there.

        Raises
        ------
        InputError
            If a key is unknown, rules are missing, or a value is of another type than `to_dict`
            gives it: nothing is taken for true or for a number that is not.
        """
        return cls(**posing_options(data))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protected(metaclass=Guided):
    """A table with an audited suppression pattern.

    Attributes
    ----------
    table : Table
        The true table; it does not leave this object unless asked for with ``reveal=True``.
    mechanism : Mechanism
    problem : Problem
    suppression : Suppression
        How the pattern was found; with a defence, not for publication.
    audit : Audit
        Of this pattern; always safe.
    release : Release
        What may be published.
    defended : Defended or None
        How the decoys of the mechanism's defence were used; not for publication.
    ranges : Ranges or None
        The intervals that are published in place of blanks, if they were asked for.
    amended : bool
        Whether single cells were spoken of: an earlier release, what is public, a-priori
        information.
    """

    table: Table
    mechanism: Mechanism
    problem: Problem
    suppression: Suppression
    audit: Audit
    release: Release
    defended: Defended | None = None
    ranges: Ranges | None = None
    amended: bool = False

    @property
    def pattern(self) -> Bools:
        """Suppressed cells, shape (n,)."""
        return self.suppression.pattern

    @property
    def repeatable(self) -> bool:
        """Whether the mechanism alone makes this pattern again, as the matching attack supposes.

        Not so where cells were spoken of, or a search may end before the preferred pattern is known
        (whether it did is not for publication).
        """
        found = self.suppression
        return not self.amended and not found.limited and found.canonical

    @property
    def proved_ends(self) -> tuple[Floats, Floats]:
        """Lowest and highest values that any outsider can infer, each (n,).

        In units of the release; NaN where the time limit came before the proof.
        """
        # A division that is exact where an end is whole, so that the unit of the table, which
        # suppressed cells may have made finer, does not show.
        unit = 10.0 ** (self.table.scale - self.release.scale)
        low, high = (np.asarray(ends) / unit for ends in self.audit.proved)
        return low, high

    @property
    def published_ends(self) -> tuple[Floats, Floats]:
        """Ends of the interval of each cell as results show them, each (n,); see `proved_ends`.

        Those of `ranges` where intervals are published, infinite where there is no end.
        """
        return self.proved_ends if self.ranges is None else self.ranges.ends

    @property
    def guarantee(self) -> Guarantee | None:
        """What the defence promises; None without one."""
        return None if self.defended is None else self.defended.guarantee

    @property
    def guards(self) -> tuple[str, ...]:
        """Attackers that the result is safe against, also where a table has none of them."""
        asked = ("singletons",) if self.mechanism.guards_singletons(self.table) else ()
        return tuple(dict.fromkeys(("outsider", *asked, *self.audit.guards)))

    def __repr__(self) -> str:
        facts, guards = self.summary(), ", ".join(self.guards)
        how = f", {self.suppression.quality}"
        if self.defended is not None:
            # How many of the suppressed cells are primary would tell what the decoys hide.
            how, guards = " with decoys", f"{guards}, algorithm known"
        return (
            f"Protected({facts['cells']} cells: {facts['suppressed']} suppressed{how}; "
            f"safe against {guards})"
        )

    def _repr_html_(self) -> str:

        release = self.release
        text = cell_texts(release.published, release.pattern, release.structural, release.scale)
        return notebook_table(release, text, [repr(self)])

    def reread(
        self,
        records: Any,
        columns: Columns,
        *,
        apriori: Iterable[tuple[tuple[str, ...], str, tuple[str, ...]]] = (),
    ) -> Rereading:
        """Judge the release by a second reading of its records, which shares no code with this one.

        Parameters
        ----------
        records : mapping of columns, or data frame
            As in the file; not the table.
        columns : Columns
            What they mean, said once more.
        apriori : iterable of (codes, word, numbers)
            What is known of single cells beforehand, from
            `csp.audits.second_reading.statements_of`.

        Returns
        -------
        Rereading

        Raises
        ------
        InputError
            As for `csp.reread`.
        """
        told, at = self.mechanism, [self.table.names.index(name) for name in columns.names]
        named = [
            self.table.labels[cell]
            for rule in parts_of(as_rule(told.rules))
            if isinstance(rule, Manual) and len(rule.cells)
            for cell in np.flatnonzero(rule(self.table).primary).tolist()
        ]
        found = reread(
            self.release, records, columns, str(told.rules),
            width=None if told.width is None else str(told.width), strict=told.strict,
            margins=told.margins, singletons=told.singletons, integer=told.integer,
            named=[tuple(label[i] for i in at) for label in named], apriori=apriori,
        )  # fmt: skip
        once = {
            "sums of suppressed cells": told.unions,
            "what decoys promise": told.defence is not None,
        }
        if any(once.values()):
            what = " and ".join(words for words, asked in once.items() if asked)
            note = f"Judged once, and not read twice: {what}."
            found = replace(found, notes=(*found.notes, note))
        return found

    def to_frame(
        self, library: str | None = None, *, reveal: bool = False, intervals: bool = False,
        inside: bool = False,
    ) -> Any:  # fmt: skip
        """Return the result as a data frame, one row per cell.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            That of the caller's data by default, or the first that is installed.
        reveal : bool
            Put suppressed values into ``value`` and tell primary ("u") from secondary cells and
            decoys ("x") in ``status``. For internal files only.
        intervals : bool
            Add columns ``lower`` and ``upper``: what any outsider can infer; missing where the
            time limit came before the proof. With ``publish="intervals"`` they are there in any
            case, rounded outwards.
        inside : bool
            With ``publish="intervals"``: add a column ``inside``, a complete additive table within
            the intervals (`csp.release.ranges.Ranges.inside`).

        Returns
        -------
        data frame
            A column for each dimension; ``value`` (missing where suppressed); ``status`` (s
            published, x suppressed, z must be published); ``published`` (bool).

        Raises
        ------
        InputError
            If a dimension has the name of one of these columns, or the library is missing.
        """
        columns = self._columns(reveal=reveal)
        if inside and self.ranges is None:
            msg = f"there are no intervals to be inside of; give {argument('publish', 'intervals')}"
            raise InputError(msg)
        if inside and self.ranges is not None:
            units = self.ranges.inside()
            columns["inside"] = units_to_numbers(units, self.release.scale).tolist()
        if intervals and self.ranges is None:
            scale = self.release.scale
            ends = (end / 10.0**scale for end in self.proved_ends)
            columns |= dict(zip(("lower", "upper"), (end.tolist() for end in ends), strict=True))
        return columns_to_frame(columns, self.table.frame if library is None else library)

    def _columns(self, *, reveal: bool = False) -> dict[str, Any]:
        """Columns of the result: dimensions, value, status, published, and ends if asked for."""
        columns = result_columns(self.problem, self.release, reveal=reveal)
        return columns if self.ranges is None else columns | self.ranges.columns

    def tables(self, library: str | None = None) -> tuple[Any, ...]:
        """Return the result as a data frame for each of the tables that were linked.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            As in `to_frame`.

        Returns
        -------
        tuple of data frame
            In the order in which `csp.link` was given the tables, with their dimensions; one frame
            for a table that was not linked.
        """
        columns = self._columns()
        own = columns.keys() - set(self.table.names)
        taken = self.table.frame if library is None else library
        found = []
        for part in self.table.parts or (Part(self.table.names, np.arange(self.table.n_cells)),):
            kept = [*part.names, *(name for name in columns if name in own)]
            rows = part.cells.tolist()
            found.append(columns_to_frame({n: [columns[n][i] for i in rows] for n in kept}, taken))
        return tuple(found)

    def crosstab(
        self, down: str | Sequence[str] | None = None, across: str | Sequence[str] | None = None,
        *, library: str | None = None, mark: str | None = None,
    ) -> Any:  # fmt: skip
        """Return the published table as rows by columns.

        Parameters
        ----------
        down, across : str or sequence of str, optional
            Dimensions of rows and columns. By default all but one go down.
        library, mark
            As in `cellveil.crosstabs.figures.Figures.to_frame`.

        Returns
        -------
        data frame
        """
        return output("crosstab")(self, down, across, library=library, mark=mark)

    def to_excel(
        self, path: str | os.PathLike[str], *, mark: str | None = None, title: str | None = None,
        footnotes: Sequence[str] = (), reveal: bool = False,
    ) -> None:  # fmt: skip
        """Write a workbook: the cross table, one row per cell, and the facts.

        Parameters
        ----------
        path : path
        mark : str, optional
            Sign of suppressed cells, or an office whose signs are used: "destatis", "statcan", ...
        title : str, optional
            Above the table.
        footnotes : sequence of str
            Below it, after the legend of the signs.
        reveal : bool
            Show suppressed values, and mark sensitive cells. For internal files only.

        Raises
        ------
        InputError
            If openpyxl is not installed, or the file cannot be written.
        """
        output("excel")(self, path, mark=mark, title=title, footnotes=footnotes, reveal=reveal)

    def report(
        self, path: str | os.PathLike[str], *, title: str = "", attack: bool = True,
        time_limit: float | None = None, reveal: bool = False,
    ) -> None:  # fmt: skip
        """Write one page to read (.html), and its facts beside it as .json.

        Parameters
        ----------
        path : path
        title : str, optional
        attack : bool
            Whether every attack that applies is run on the release first.
        time_limit : float, optional
            Seconds for these attacks.
        reveal : bool
            Show suppressed values, costs and sensitive cells. For internal files only.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        output("report")(
            self, path, title=title, attack=attack, time_limit=time_limit, reveal=reveal
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the release, with the mechanism, for later releases and for attacks.

        Parameters
        ----------
        path : path
            ``survey.json``; the cells stand beside it in ``survey.csv``.

        Raises
        ------
        InputError
            If a file cannot be written.
        """
        output("release")(self, path)

    def to_jj(
        self, path: str | os.PathLike[str], *, reveal: bool = False, files: Together | None = None
    ) -> None:
        """Write the problem with its pattern (status x) as a JJ file.

        Raises
        ------
        InputError
            Unless ``reveal=True``: a JJ file holds every value, suppressed ones too. Also if the
            file cannot be written, or the mechanism asks for singletons or unions, which JJ files
            cannot say. Singletons that are guarded by default are left out of the file.
        """
        if not reveal:
            msg = (
                "a JJ file holds every value, suppressed ones too; pass "
                f"{argument('reveal', value=True)} to write it"
            )
            raise InputError(msg)
        secondary = self.pattern & (self.problem.status == "s")
        posed = replace(self.problem, status=np.where(secondary, "x", self.problem.status))
        if self.mechanism.singletons is None:
            posed = replace(posed, singletons=None)
        write_jj(posed, path, files=files)

    def summary(self, *, reveal: bool = False) -> dict[str, Any]:
        """Facts about the result as plain data, ready for JSON.

        Parameters
        ----------
        reveal : bool
            Add what depends on suppressed values and may disclose them: how many cells are primary
            and secondary, cost, bound and gap, the share of the value suppressed, and how many
            claims the audit checked.

        Returns
        -------
        dict
        """
        facts: dict[str, Any] = {
            "dimensions": list(self.table.names),
            **(self.defended or self.suppression).facts(self.problem, reveal=reveal),
            "rules": str(self.mechanism.rules),
            "width": None if self.mechanism.width is None else str(self.mechanism.width),
            "strict": self.mechanism.strict,
            "margins": self.mechanism.margins,
            "safe": self.audit.safe,
            "guards": list(self.guards),
            "integer_attacker": self.audit.integer,
        }
        if self.ranges is not None:
            facts["publish"] = "intervals"
            facts["grid"] = units_text(self.ranges.grid, self.release.scale)
        if self.table.notes:
            facts["notes"] = [*facts.get("notes", ()), *self.table.notes]
        if self.defended is not None:
            assert self.mechanism.defence is not None
            facts["defence"] = self.mechanism.defence.to_dict()
            facts["guarantee"] = self.defended.guarantee.to_dict()
        if reveal:
            # How many there are depends on who is alone in suppressed cells.
            facts["claims_verified"] = len(self.audit.certificate.claims)
            sizes = np.abs(self.table.values).astype(np.float64)
            share = sizes[self.pattern].sum() / max(1.0, sizes.sum())
            facts["share_suppressed"] = float(share)
        return facts


# Share of a time limit that the search leaves to the last audit.
_LAST_AUDIT = 0.15

# Seconds for intervals after an interrupt: who pressed Ctrl-C waits for the answer.
_PATIENCE = 5.0


def protect_table(
    mechanism: Mechanism, table: Table, *, keep: Release | None = None,
    public: ArrayLike | None = None, apriori: Sequence[Statement] = (), publish: str = "blanks",
    **options: Any,
) -> Protected:  # fmt: skip
    """Pose, solve, audit and release; see `Mechanism.protect`.

    Raises
    ------
    Unprotectable
        If a primary cell misses its levels even with everything suppressed.
    CertificateError
        If the pattern does not pass the audit.
    """
    intervals, grid = published_as(publish)
    clock = Clock.of(options.pop("time_limit", None))
    if len(apriori):
        table = table.replace(notes=(*table.notes, _obeyed(apriori)))
    problem = mechanism.problem(table)
    if len(apriori):
        problem = mechanism.amended(problem, apriori)
    amended = len(apriori) > 0 or (public is not None and bool(np.any(public)))
    if keep is not None:
        kept = _earlier(keep).suppressed_in(table)
        amended = amended or bool(kept.any())
        problem = problem.keeping(kept)
    if public is not None:
        problem = problem.publishing(public)
    integer = mechanism.attacker_is_integer(table)
    _check_unit(mechanism, table, integer=integer)
    protected = (
        _protect(mechanism, problem, integer=integer, clock=clock, **options)
        if mechanism.defence is None
        else _protect_with_decoys(
            mechanism, problem, integer=integer, time_limit=clock.seconds, **options
        )
    )
    protected = replace(protected, amended=amended)
    if not intervals:
        return protected
    return replace(
        protected, ranges=outward(table, protected.audit, protected.release, grid, clock)
    )


def _protect(
    mechanism: Mechanism, problem: Problem, *, integer: bool, clock: Clock, **options: Any
) -> Protected:
    """Search without a defence, audit and release."""
    table = problem.table
    search = clock.part(1 - _LAST_AUDIT)
    found = suppress(problem, integer=integer, time_limit=search.seconds, **options)
    judged = found.audit
    if judged is None or (judged.certificate.pattern != found.pattern).any():
        judged = judge(problem, found.pattern, integer=integer, clock=clock)
    if found.stopped == "interrupt":
        clock = clock.within(_PATIENCE)
    try:
        if options.get("progress") is not None:
            hidden = int(found.pattern.sum())
            options["progress"](Progress("audit", found.bound, found.cost, found.seconds, hidden))
        checked = follow(problem, judged, clock=clock, interruptible=True)
    except KeyboardInterrupt:  # there is a safe pattern: it is kept
        checked = replace(judged, cut_short="interrupt", followed=~found.pattern)
    if checked.cut_short == "interrupt":
        found = replace(found, stopped="interrupt")
    if not checked.safe:
        msg = f"the pattern fails its audit, nothing is released: {checked.violations[0].words}"
        raise CertificateError(msg)
    return Protected(table, mechanism, problem, found, checked, Release.of(table, found.pattern))


def _check_unit(mechanism: Mechanism, table: Table, *, integer: bool) -> None:
    """Refuse a unit that only the data state where the public must know it.

    A release has the decimals of its published cells, and those of suppressed ones may be more.

    Raises
    ------
    InputError
    """
    stated = table.scale if table.least_scale is None else table.least_scale
    if stated < table.scale and (integer or mechanism.defence is not None):
        who = "the attacker is taken to know the unit of cells" if integer else "decoys need a unit"
        mend = f"give {argument('decimals', table.scale)} where the table is made"
        if table.contributors is not None and table.contributors.weighted is not None:
            mend = "weights make them so: leave out what asks for whole units"
        msg = f"{who}, and the data have {table.scale} decimal places that nobody stated; {mend}"
        raise InputError(msg)


def _obeyed(apriori: Sequence[Statement]) -> str:
    """Say, for readers of the guarantee, that some cells may not be guarded as the rules ask."""
    words = {statement.word for statement in apriori}
    found = []
    if words & {"s", "p", "pl"}:
        found.append(
            "the rules do not bind cells that a-priori information calls safe or public, nor those "
            "it gives levels of their own"
        )
    if "m" in words:
        found.append(
            "cells that a-priori information suppresses (m) are withheld, not protected: they may "
            "be worked out where the rules do not find them sensitive (u makes them so)"
        )
    return "; ".join(found) or "a-priori information about single cells was obeyed"


def _earlier(keep: Any) -> Release:
    found = keep.release if isinstance(keep, Protected) else keep
    if not isinstance(found, Release):
        msg = (
            f"keep is a {type(keep).__name__}; give the earlier release (protected.release, or "
            "csp.release_file.read_release), whose cells are matched by label"
        )
        raise InputError(msg)
    return found


def _protect_with_decoys(
    mechanism: Mechanism, problem: Problem, *, integer: bool, **options: Any
) -> Protected:
    table, decoys = problem.table, mechanism.defence
    assert decoys is not None
    if mechanism.singletons and table.contributors is None:
        msg = (
            f"{argument('singletons', value=True)} in a table of counts makes the value of a cell "
            "decide who is alone in it, and decoys do not hide that; leave singletons or the "
            "defence out"
        )
        raise InputError(msg)
    found = defend(
        problem, decoys, integer=integer, width=mechanism.decoy_width(table),
        complete=mechanism.asks_width_alone(table), **options,
    )  # fmt: skip
    release = Release.of(table, found.pattern)
    return Protected(table, mechanism, problem, found.suppression, found.audit, release, found)
