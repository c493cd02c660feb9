"""One call from a table to its audited release."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.audits.audit import Audit, follow, judge
from csp.audits.second_reading import Columns, Rereading, reread
from csp.clock import Clock
from csp.decoys.guarantee import Guarantee
from csp.decoys.suppress import Defended, defend
from csp.errors import CertificateError, InputError, argument
from csp.exact import units_to_numbers
from csp.formats.files import Together
from csp.problem.problem import Problem
from csp.release.release import Release
from csp.rules.base import as_rule, parts_of
from csp.rules.frequency import Manual
from csp.solve import Progress, Suppression, suppress
from csp.tables.codes import Labels
from csp.tables.table import Table

if TYPE_CHECKING:
    from csp.formats.apriori import Statement
    from csp.mechanism import Mechanism

__all__ = ["Protected", "protect_table"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Protected:
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
    """

    table: Table
    mechanism: Mechanism
    problem: Problem
    suppression: Suppression
    audit: Audit
    release: Release
    defended: Defended | None = None

    @property
    def pattern(self) -> NDArray[np.bool_]:
        """Suppressed cells, shape (n,)."""
        return self.suppression.pattern

    @property
    def proved_ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest values that any outsider can infer, each (n,).

        In units of the release; NaN where the time limit came before the proof.
        """
        # A division that is exact where an end is whole, so that the unit of the table, which
        # suppressed cells may have made finer, does not show.
        unit = 10.0 ** (self.table.scale - self.release.scale)
        low, high = (np.asarray(ends) / unit for ends in self.audit.proved)
        return low, high

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
        from csp.tables.cross.html import cell_texts, notebook_table

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
        return reread(
            self.release, records, columns, str(told.rules),
            width=None if told.width is None else str(told.width), strict=told.strict,
            margins=told.margins, singletons=told.singletons, integer=told.integer,
            named=[tuple(label[i] for i in at) for label in named], apriori=apriori,
        )  # fmt: skip

    def to_frame(
        self, library: str | None = None, *, reveal: bool = False, intervals: bool = False
    ) -> Any:
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
            time limit came before the proof.

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
        from csp.tables.cross.frames import columns_to_frame

        table, hidden = self.table, self.pattern
        taken = {"value", "status", "published", "lower", "upper"} & set(table.names)
        if taken:
            msg = f"dimension {min(taken)!r} has the name of a result column; rename it"
            raise InputError(msg)
        columns: dict[str, Any] = {
            name: Labels.of(table.labels).column(d) for d, name in enumerate(table.names)
        }
        release = self.release
        numbers = (
            units_to_numbers(table.values, table.scale)
            if reveal
            else units_to_numbers(release.published, release.scale)
        ).tolist()
        open_values = [
            None if gone and not reveal else v for v, gone in zip(numbers, hidden, strict=True)
        ]
        status = np.where(hidden, "x", np.where(self.problem.status == "z", "z", "s"))
        if reveal:
            status = np.where(self.problem.primary, "u", status)
        columns |= {
            "value": open_values,
            "status": status.tolist(),
            "published": (~hidden).tolist(),
        }
        if intervals:
            ends = (end / 10.0**release.scale for end in self.proved_ends)
            columns |= dict(zip(("lower", "upper"), (end.tolist() for end in ends), strict=True))
        return columns_to_frame(columns, table.frame if library is None else library)

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
        from csp.problem.jj import write_jj

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


def protect_table(
    mechanism: Mechanism, table: Table, *, keep: Release | None = None,
    apriori: Sequence[Statement] = (), **options: Any,
) -> Protected:  # fmt: skip
    """Pose, solve, audit and release; see `Mechanism.protect`.

    Raises
    ------
    Unprotectable
        If a primary cell misses its levels even with everything suppressed.
    CertificateError
        If the pattern does not pass the audit.
    """
    if len(apriori):
        table = table.replace(notes=(*table.notes, _obeyed(apriori)))
    problem = mechanism.problem(table)
    if len(apriori):
        problem = mechanism.amended(problem, apriori)
    if keep is not None:
        problem = problem.keeping(_earlier(keep).suppressed_in(table))
    integer = mechanism.attacker_is_integer(table)
    _check_unit(mechanism, table, integer=integer)
    if mechanism.defence is not None:
        return _protect_with_decoys(mechanism, problem, integer=integer, **options)
    clock = Clock.of(options.pop("time_limit", None))
    search = clock.part(1 - _LAST_AUDIT)
    found = suppress(problem, integer=integer, time_limit=search.seconds, **options)
    judged = found.audit
    if judged is None or (judged.certificate.pattern != found.pattern).any():
        judged = judge(problem, found.pattern, integer=integer, clock=clock)
    try:
        if options.get("progress") is not None:
            hidden = int(found.pattern.sum())
            options["progress"](Progress("audit", found.bound, found.cost, found.seconds, hidden))
        checked = follow(problem, judged, clock=clock, interruptible=True)
    except KeyboardInterrupt:  # there is a safe pattern: it is kept
        checked = replace(judged, cut_short="interrupt")
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
