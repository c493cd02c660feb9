"""The public algorithm with its parameters: rules, levels, costs, and what may be suppressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from csp.calls import check_choice, expect, named_errors, named_init
from csp.decoys.decoys import Decoys, number_of
from csp.errors import CellveilError, InputError, OutOfTime, argument
from csp.exact import MAX_VALUE, Number, ceil_fraction, exact, number_text
from csp.formats.reading import as_object
from csp.problem.apriori import apply_apriori
from csp.problem.problem import Problem
from csp.rules import Manual, Rule, Sensitivity, as_rule
from csp.rules.base import counts_of, is_count_table, parts_of, whole_units
from csp.tables.table import Table

if TYPE_CHECKING:
    from csp.formats.apriori import Statement
    from csp.protection import Protected
    from csp.release.release import Release

    Outcome = Protected | CellveilError

__all__ = ["Mechanism", "protect", "protect_many"]

_KEYS = dict.fromkeys(
    ("rules", "width", "strict", "cost", "margins", "singletons", "unions", "integer", "defence"),
    False,
) | {"rules": True}
_TEXT, _FLAG, _CHOICE = (str,), (bool,), (bool, type(None))
_TYPES = {
    "rules": _TEXT, "cost": _TEXT, "margins": _TEXT,
    "strict": _FLAG, "singletons": _CHOICE, "unions": _FLAG, "integer": _CHOICE,
}  # fmt: skip
_SURE = ("strict", "unions")
"""Flags that have no default of their own in tables of counts or of values."""

_WORDS: dict[tuple[type, ...], str] = {
    _TEXT: "a text", _FLAG: "true or false", _CHOICE: "true, false or null",
}  # fmt: skip

Cost = str | Callable[[Table], Any]


@named_init
@dataclass(frozen=True, slots=True)
class Mechanism:
    """Everything about the protection that an adversary is assumed to know.

    Attributes
    ----------
    rules : Rule, str or callable
        What makes a cell sensitive; text is read in τ-ARGUS's words.
    width : Number, optional
        Every primary feasibility interval is at least this wide (a number of the measure, so 10
        means 10.00 where cells have two decimals), on top of the levels that the rules require.
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

    rules: Rule | str | Callable[[Table], Any]
    width: Number | None = None
    strict: bool = False
    cost: Cost = "unit"
    margins: str = "suppress"
    singletons: bool | None = None
    unions: bool = False
    integer: bool | None = None
    defence: Decoys | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", as_rule(self.rules))
        for name in ("strict", "unions", "singletons", "integer"):
            given = getattr(self, name)
            if not isinstance(given, (bool, np.bool_)) and (given is not None or name in _SURE):
                msg = f"{name} must be True or False, got {given!r}"
                raise InputError(msg)
        if self.width is not None:
            try:
                negative = exact(self.width) < 0
            except InputError as error:
                msg = f"width: {error}"
                raise InputError(msg) from error
            if negative:
                msg = f"width must be at least 0, got {self.width!r}"
                raise InputError(msg)
        if self.strict and self.width is None:
            msg = (
                f"{argument('strict', value=True)} asks for intervals wider than a width; give "
                f"{argument('width')} as well"
            )
            raise InputError(msg)
        check_choice("margins", self.margins, ("suppress", "publish"))
        if not callable(self.cost) and self.cost not in ("unit", "value"):
            msg = f"cost must be 'unit', 'value' or a function of the table, got {self.cost!r}"
            raise InputError(msg)
        if self.defence is not None and not isinstance(self.defence, Decoys):
            # Not quoted: it may be the key itself.
            kind = type(self.defence).__name__
            msg = f"defence must be Decoys(rate, key) or None, got a {kind}"
            raise InputError(msg)

    def problem(self, table: Table) -> Problem:
        """Pose the cell suppression problem of a table.

        Parameters
        ----------
        table : Table

        Returns
        -------
        Problem

        Raises
        ------
        InputError
            If a sensitive cell has no protection level (then give width=), or the rules cannot
            read the table.
        """
        publish = self.public_cells(table)
        found = self.requirements(table, publish)
        cost, cost_scale = self.costs(table)
        return Problem.of(
            table,
            found.primary,
            lpl=found.lpl,
            upl=found.upl,
            spl=found.spl,
            cost=cost,
            publish=publish,
            cost_scale=cost_scale,
            singletons=counts_of(table) == 1 if self.guards_singletons(table) else None,
            union_rule=as_rule(self.rules) if self.unions else None,
        )

    def public_cells(self, table: Table) -> NDArray[np.bool_]:
        """Cells that must be published (status z): the margins, where these are public."""
        return table.margins if self.margins == "publish" else np.zeros(table.n_cells, bool)

    def bare_problem(self, table: Table) -> Problem:
        """Problem without primary cells: what may be suppressed, and at what cost.

        It can be posed of any table consistent with a release, whose values may not fit levels.
        """
        cost, scale = self.costs(table)
        none = np.zeros(table.n_cells, bool)
        publish = self.public_cells(table)
        return Problem.of(table, none, cost=cost, publish=publish, cost_scale=scale)

    def amended(self, problem: Problem, statements: Sequence[Statement]) -> Problem:
        """Return a problem changed by what is known of single cells (`csp.apply_apriori`).

        Levels of cells that only a statement makes sensitive are those of this mechanism.

        Raises
        ------
        InputError
            As for `csp.apply_apriori`, and if there is a defence: how often a decoy stands for a
            sensitive cell counts on cells that the rules found.
        """
        if self.defence is not None:
            msg = (
                "decoys hide which cells the rules found sensitive, but not the cells named "
                "beforehand; leave out the a-priori information or the defence"
            )
            raise InputError(msg)
        hand = [rule for rule in parts_of(self.rules) if isinstance(rule, Manual)]
        margins = [exact(rule.margin) for rule in hand if rule.margin is not None]
        widths = [whole_units(rule.width, problem.table.scale) for rule in hand]
        return apply_apriori(
            problem, statements, margin=max(margins, default=None),
            width=max([self.least_width(problem.table), *widths]),
        )  # fmt: skip

    @property
    def cellwise(self) -> bool:
        """Whether the value of a cell in a table of counts tells what is asked of it and its cost.

        If so, a table of counts may be judged cell by cell.
        """
        alone = as_rule(self.rules).cellwise and (
            not callable(self.cost) or getattr(self.cost, "cellwise", False)
        )
        return alone and not self.singletons and not self.unions

    def requirements(self, table: Table, publish: NDArray[np.bool_]) -> Sensitivity:
        """Primary cells and their levels.

        Parameters
        ----------
        table : Table
        publish : (n,) bool
            Cells that must be published (status z), and so are never primary.

        Raises
        ------
        InputError
            As for `problem`.
        """
        found = as_rule(self.rules)(table)
        primary = found.primary & ~publish
        spl = found.spl
        if self.width is not None:
            spl = np.maximum(spl, self.least_width(table))
        elif (found.open & primary).any():
            i = int(np.argmax(found.open & primary))
            msg = (
                f"cell {table.cell(i)} is sensitive, but the rules give it no protection level; "
                "say how wide its interval must be: "
                f"{argument('width')}, or a margin in the rule, such as FREQ(3,10) for 10 percent"
            )
            raise InputError(msg)
        return Sensitivity(primary, found.lpl, found.upl, spl)

    @named_errors
    def protect(
        self, table: Table, *, keep: Release | None = None,
        apriori: Sequence[Statement] = (), method: str = "auto", time_limit: float | None = None,
        gap: float = 0.0, seed: int = 0, progress: Callable[[Any], None] | None = None,
    ) -> Protected:  # fmt: skip
        """Suppress, audit and release a table.

        Parameters
        ----------
        table : Table
        keep : Release, optional
            An earlier release: what it suppressed stays suppressed here (cells are matched by
            label), so that the two do not disclose each other's cells.
        apriori : sequence of Statement
            What is known of single cells beforehand, from `csp.read_apriori`; cells that it makes
            sensitive keep the levels of a MAN(margin) among the rules, or the width.
        method, time_limit, gap, seed, progress
            See `csp.suppress`. The time limit includes the last audit.

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
        from csp.protection import protect_table

        expect(table, Table, "table")
        return protect_table(
            self, table, keep=keep, apriori=apriori, method=method, time_limit=time_limit, gap=gap,
            seed=seed, progress=progress,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `from_dict` makes the same mechanism.

        Of a defence this is what the public knows: the key is not in it.

        Raises
        ------
        InputError
            If the rules or the cost are functions of the user's own, or name single cells.
        """
        text = str(self.rules)
        try:
            same = as_rule(text) == self.rules
        except InputError:
            same = False
        if not same or callable(self.cost):
            msg = (
                "a mechanism with rules or costs that are functions, or with cells named by hand, "
                "cannot be written as data"
            )
            raise InputError(msg)
        facts: dict[str, Any] = {
            "rules": text,
            "width": None if self.width is None else number_text(self.width),
            "strict": self.strict,
            "cost": self.cost,
            "margins": self.margins,
            "singletons": self.singletons,
            "unions": self.unions,
            "integer": self.integer,
        }
        if self.defence is not None:
            facts["defence"] = self.defence.to_dict()
        return facts

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
        options = as_object(data, _KEYS, "a mechanism")
        for key, kinds in _TYPES.items():
            if key in options and type(options[key]) not in kinds:
                msg = f"key {key!r} of a mechanism must be {_WORDS[kinds]}, not {options[key]!r}"
                raise InputError(msg)
        if options.get("width") is not None:
            options["width"] = number_of(options["width"], "width")
        if options.get("defence") is not None:
            options["defence"] = Decoys.from_dict(options["defence"])
        return cls(**options)

    def uniform_width(self, table: Table) -> int | None:
        """Width in units that is asked of every sensitive cell, if nothing else ever is.

        None if hidden values or contributors decide what is asked of a cell.
        """
        fixed = as_rule(self.rules).fixed_width(table)
        if fixed is None:
            return None
        # A sensitive cell without any level is an error, in tables that have one.
        return max(fixed, self.least_width(table)) or None

    def asks_width_alone(self, table: Table) -> bool:
        """Whether one width is all that is ever asked of a sensitive cell of tables like this.

        Who is alone in a hidden cell, and the sums that unions make of hidden contributors, are
        not published facts: a table that has others asks for more than a width.
        """
        people = self.guards_singletons(table) or (self.unions and table.contributors is not None)
        return self.uniform_width(table) is not None and not people

    def decoy_width(self, table: Table) -> int:
        """Width in units that every suppressed cell needs so that any of them may be primary.

        Where hidden values decide what is asked, the width of the mechanism alone.
        """
        uniform = self.uniform_width(table)
        return self.least_width(table) if uniform is None else uniform

    def least_width(self, table: Table) -> int:
        """Width asked by the mechanism itself, in units."""
        if self.width is None:
            return 0
        least = ceil_fraction(exact(self.width) * 10**table.scale) + int(self.strict)
        if least > 2 * MAX_VALUE:
            msg = f"width {number_text(self.width)[:40]} is wider than any cell of such a table"
            raise InputError(msg)
        return least

    def attacker_is_integer(self, table: Table) -> bool:
        """Whether the attacker knows that the cells of this table are whole units."""
        return is_count_table(table) if self.integer is None else self.integer

    def guards_singletons(self, table: Table) -> bool:
        """Whether contributors who are alone in cells of this table count as attackers.

        Unless said otherwise they do in tables of values; in a table of counts a contributor who
        is alone in a cell knows no more than that.
        """
        if self.singletons is not None:
            return self.singletons
        return table.contributors is not None and not is_count_table(table)

    def costs(self, table: Table) -> tuple[NDArray[np.int64], int]:
        """Cost of each cell as a secondary one, and its decimals.

        Raises
        ------
        InputError
            If a cost function returns an array of another shape.
        """
        if callable(self.cost):
            cost = np.asarray(self.cost(table))
            if cost.shape != (table.n_cells,):
                msg = (
                    f"cost gave an array of shape {cost.shape}; {table.n_cells} cells need one each"
                )
                raise InputError(msg)
            return cost, 0
        if self.cost == "unit":
            return np.ones(table.n_cells, dtype=np.int64), 0
        # A free cell would be suppressed at will, so a zero costs one unit.
        return np.clip(np.abs(table.values), 1, MAX_VALUE), table.scale


@named_errors
def protect(
    table: Table, rules: Rule | str | Callable[[Table], Any], *,
    width: Number | None = None, strict: bool = False, cost: str | Callable[[Table], Any] = "unit",
    margins: str = "suppress", singletons: bool | None = None, unions: bool = False,
    integer: bool | None = None, defence: Decoys | None = None, keep: Release | None = None,
    apriori: Sequence[Statement] = (), method: str = "auto", time_limit: float | None = None,
    gap: float = 0.0, seed: int = 0, progress: Callable[[Any], None] | None = None,
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
        table, keep=keep, apriori=apriori, method=method, time_limit=time_limit, gap=gap, seed=seed,
        progress=progress,
    )  # fmt: skip


@overload
def protect_many(
    tables: Sequence[Table], mechanism: Mechanism | Rule | str, *, method: str = ...,
    time_limit: float | None = ..., gap: float = ..., seed: int = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> list[Outcome]: ...  # fmt: skip
@overload
def protect_many(
    tables: Mapping[str, Table], mechanism: Mechanism | Rule | str, *, method: str = ...,
    time_limit: float | None = ..., gap: float = ..., seed: int = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> dict[str, Outcome]: ...  # fmt: skip
@named_errors
def protect_many(
    tables: Sequence[Table] | Mapping[str, Table], mechanism: Mechanism | Rule | str, *,
    method: str = "auto", time_limit: float | None = None, gap: float = 0.0, seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
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

    from csp.protection import Protected

    named = tables if isinstance(tables, Mapping) else dict(enumerate(tables))
    for name, table in named.items():
        expect(table, Table, f"tables[{name!r}]")
    given = mechanism if isinstance(mechanism, Mechanism) else Mechanism(mechanism)
    options = {"method": method, "time_limit": time_limit, "gap": gap, "seed": seed}
    found: list[Outcome] = []
    try:
        together = Parallel(return_as="generator")
        for outcome in together(delayed(_protect)(given, t, options) for t in named.values()):
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


def _protect(mechanism: Mechanism, table: Table, options: dict[str, Any]) -> Outcome:
    """Protect one table; an error is a result."""
    try:
        return mechanism.protect(table, **options)
    except CellveilError as error:
        return error
