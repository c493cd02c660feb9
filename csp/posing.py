"""The problem that rules, levels and costs make of a table: what the algorithm asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from csp.decoys.decoys import Decoys, number_of
from csp.errors import InputError, argument, subject
from csp.exact import MAX_VALUE, Bools, Ints, Number, ceil_fraction, exact, number_text
from csp.formats.apriori import Statement
from csp.formats.reading import as_object
from csp.names.calls import check_choice
from csp.problem.apriori import apply_apriori
from csp.problem.problem import Problem
from csp.rules import Manual, Rule, Sensitivity, as_rule
from csp.rules.base import counts_of, is_count_table, parts_of, whole_units
from csp.tables.table import Table

Cost = str | Callable[[Table], Any]


@dataclass(frozen=True, slots=True)
class Posing:
    """What is asked of tables, and the problem that follows; `csp.Mechanism` says what each is."""

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
        if self.width is not None:
            try:
                negative = exact(self.width) < 0
            except InputError as error:
                msg = f"width: {error}"
                raise InputError(msg) from error
            if negative:
                msg = f"{subject('width')} must be at least 0, got {self.width!r}"
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

    def public_cells(self, table: Table) -> Bools:
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

    def requirements(self, table: Table, publish: Bools) -> Sensitivity:
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

    def costs(self, table: Table) -> tuple[Ints, int]:
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


# ---- as plain data -------------------------------------------------------------------------------

_TEXT, _FLAG, _CHOICE = (str,), (bool,), (bool, type(None))
_TYPES: dict[str, tuple[type, ...]] = {
    "rules": _TEXT, "cost": _TEXT, "margins": _TEXT,
    "strict": _FLAG, "singletons": _CHOICE, "unions": _FLAG, "integer": _CHOICE,
}  # fmt: skip
_WORDS: dict[tuple[type, ...], str] = {
    _TEXT: "a text", _FLAG: "true or false", _CHOICE: "true, false or null",
}  # fmt: skip
_NAMES = [part.name for part in fields(Posing)]


def posing_data(asked: Posing) -> dict[str, Any]:
    """Plain data of what is asked; see `csp.Mechanism.to_dict`."""
    text = str(asked.rules)
    try:
        same = as_rule(text) == asked.rules
    except InputError:
        same = False
    if not same or callable(asked.cost):
        msg = (
            "a mechanism with rules or costs that are functions, or with cells named by hand, "
            "cannot be written as data"
        )
        raise InputError(msg)
    facts = {name: getattr(asked, name) for name in _NAMES}
    facts["rules"] = text
    facts["width"] = None if asked.width is None else number_text(asked.width)
    defence = facts.pop("defence")
    return facts if defence is None else facts | {"defence": defence.to_dict()}


def posing_options(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what plain data ask for; see `csp.Mechanism.from_dict`."""
    options = as_object(data, {name: name == "rules" for name in _NAMES}, "a mechanism")
    for key, kinds in _TYPES.items():
        if key in options and type(options[key]) not in kinds:
            msg = f"key {key!r} of a mechanism must be {_WORDS[kinds]}, not {options[key]!r}"
            raise InputError(msg)
    if options.get("width") is not None:
        options["width"] = number_of(options["width"], "width")
    if options.get("defence") is not None:
        options["defence"] = Decoys.from_dict(options["defence"])
    return options
