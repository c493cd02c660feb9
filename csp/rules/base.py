"""What all rules share: how they combine, their parameters, and what they read of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import reduce, singledispatch
from operator import or_
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError, NoContributors, argument, phrase
from csp.exact import Ints, Number, ceil_fraction, exact, number_text
from csp.rules.sensitivity import Sensitivity
from csp.rules.words import Word, register
from csp.tables.contributors import Contributors
from csp.tables.table import Table


class Rule(ABC):
    """A rule takes a table and says which of its cells are sensitive.

    Rules combine with ``|``: a cell is sensitive if one of them says so, and the larger level of
    each kind counts. Any callable that takes a table and returns a bool array or a `Sensitivity`
    may stand on either side.

    ``str(rule)`` is its text in τ-ARGUS's words, which `csp.parse_rules` reads back; a `Custom`
    rule has no such text, and a `Manual` one names its cells apart. A class that has a `word` is
    known to `csp.parse_rules`, the command line and jobs by that word.
    """

    __slots__ = ()
    word: ClassVar[Word | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.word is not None:
            register(cls.word, cls)

    @classmethod
    def from_text(
        cls, numbers: Sequence[Fraction], named: Mapping[str, Fraction], cells: Sequence[Any]
    ) -> Rule:
        """Make the rule that a text asks for.

        Parameters
        ----------
        numbers, named : sequence and mapping of Fraction
            Parameters, as many and such as `word` has.
        cells : sequence of labels, or (n,) bool
            Cells that are named by hand.
        """
        del cells
        return cls(*numbers, **named)

    @abstractmethod
    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels of a table."""

    @property
    def cellwise(self) -> bool:
        """Whether it judges each cell of a table of counts by the value of that cell alone."""
        return False

    def fixed_width(self, table: Table) -> int | None:
        """Width in units that it asks of every sensitive cell, whatever the hidden values.

        None if what it asks depends on values or contributors, or is more than a width.
        """
        del table
        return None

    def __or__(self, other: Rule | Callable[[Table], Any]) -> AnyOf:
        return AnyOf((self, as_rule(other)))

    def __ror__(self, other: Callable[[Table], Any]) -> AnyOf:
        return AnyOf((as_rule(other), self))

    def __repr__(self) -> str:
        # Only dataclasses derive from Rule, so every parameter is a field.
        shown = (f"{f.name}={_shown(getattr(self, f.name))}" for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


def as_rule(rule: Rule | str | Callable[[Table], Any]) -> Rule:
    """Return a rule for a rule, a text in τ-ARGUS's words, or a callable.

    Text is read by `csp.rules.parse`, which knows all rules.

    Parameters
    ----------
    rule : Rule, str or callable

    Raises
    ------
    InputError
        If it is none of these, or the text cannot be read.
    """
    return made_rule(rule)


@singledispatch
def made_rule(rule: Any) -> Rule:
    """Make a rule of anything but text, for which `csp.rules.parse` registers a function."""
    if isinstance(rule, Rule):
        return rule
    if callable(rule) and not isinstance(rule, type):
        return Custom(rule)
    name = getattr(rule, "__name__", type(rule).__name__)
    msg = (
        f"{name} is not a rule; give a rule such as PPercent(10), a text such as 'P(10,1)', "
        "or a function of a table"
    )
    raise InputError(msg)


@dataclass(frozen=True, slots=True, repr=False)
class Custom(Rule):
    """A function of a table that returns a bool array or a `Sensitivity`.

    Attributes
    ----------
    function : callable
        A bool array leaves the levels open.
    """

    function: Callable[[Table], Any]

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`.

        Raises
        ------
        InputError
            If the function returns anything else, or an array of another length.
        """
        found = self.function(table)
        if not isinstance(found, Sensitivity):
            return Sensitivity.of(table, np.asarray(found))
        if len(found.primary) != table.n_cells:
            msg = f"{self!r} judged {len(found.primary)} cells; the table has {table.n_cells}"
            raise InputError(msg)
        return found if table.structural is None else found.without(table.structural)


@dataclass(frozen=True, slots=True, repr=False)
class AnyOf(Rule):
    """Sensitive to one rule at least.

    Attributes
    ----------
    rules : tuple of Rule
        At least one; nested alternatives are flattened.
    """

    rules: Sequence[Rule]

    def __post_init__(self) -> None:
        flat = tuple(part for rule in self.rules for part in parts_of(rule))
        object.__setattr__(self, "rules", flat)
        if not self.rules:
            msg = "AnyOf needs at least one rule"
            raise InputError(msg)

    def __call__(self, table: Table) -> Sensitivity:
        """Sensitive cells and levels; see `Rule`."""
        return reduce(or_, (rule(table) for rule in self.rules))

    @property
    def cellwise(self) -> bool:
        """Whether all of its rules are."""
        return all(as_rule(rule).cellwise for rule in self.rules)

    def fixed_width(self, table: Table) -> int | None:
        """Largest of its rules, if all have one."""
        widths = [as_rule(rule).fixed_width(table) for rule in self.rules]
        known = [width for width in widths if width is not None]
        return max(known) if len(known) == len(widths) else None

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.rules))

    def __str__(self) -> str:
        return "|".join(map(str, self.rules))


# ---- facts about a table -------------------------------------------------------------------


def is_count_table(table: Table) -> bool:
    """Whether every unit of a cell is one contributor."""
    return table.countable


def counts_of(table: Table, *, weighted: bool = False) -> Ints:
    """Count the contributors of each cell.

    Parameters
    ----------
    table : Table
    weighted : bool
        Count what they stand for under sampling weights.

    Raises
    ------
    InputError
        If nothing is known of contributors, or the values cannot be counts (cell named).
    """
    if table.contributors is not None:
        return numbers_of(table.contributors, weighted=weighted)
    if not table.counts:
        msg = (
            "the rule needs the number of contributors of each cell, and the table does not hold "
            f"it; name its column with {argument('count')}, and if the values themselves are "
            f"counts of contributors, let {argument('count')} name the column of the values"
        )
        raise NoContributors(msg)
    if table.scale or (table.values < 0).any():
        where = table.cell(int(np.argmax(table.values < 0)) if not table.scale else 0)
        why = f"it has {table.scale} decimals" if table.scale else "it is negative"
        msg = (
            f"cell {where} is not a count: {why}; "
            + phrase(
                "give the table contributors=, or tabulate it from microdata",
                "name the column of counts with --count",
            )
            + ", so that the rule knows how many stand behind each cell"
        )
        raise NoContributors(msg)
    return table.values


def numbers_of(contributors: Contributors, *, weighted: bool = False) -> Ints:
    """Count the contributors of each cell, those of the other sign among them."""
    sides = [*sides_of(contributors)]
    weights = [side.weighted for side in sides if side.weighted is not None]
    if not weighted or not weights:
        return np.array(np.sum([side.count for side in sides], axis=0), np.int64)
    unit = 10**contributors.weight_scale
    found: Ints = (2 * np.sum(weights, axis=0) + unit) // (2 * unit)
    return found


def sides_of(contributors: Contributors | None) -> Iterator[Contributors]:
    """Yield the contributors and, under negative="split", those of the other sign."""
    while contributors is not None:
        yield contributors
        contributors = contributors.opposite


def percent_of_value(table: Table, percent: Number | None) -> NDArray[Any]:
    """Percentage of each cell's size, rounded up to units and at least 1; 0 for None."""
    if percent is None:
        return np.zeros(table.n_cells, dtype=np.int64)
    share = exact(percent) / 100
    size = np.abs(table.values).astype(object)
    level: NDArray[Any] = np.maximum(1, -(-size * share.numerator // share.denominator))
    return level


def whole_units(level: Number | None, scale: int) -> int:
    """Level of the measure in units of ``10**-scale``, rounded up; 0 for None."""
    return 0 if level is None else ceil_fraction(exact(level) * 10**scale)


# ---- parameters ----------------------------------------------------------------------------


def set_parameter(
    rule: Rule,
    name: str,
    *,
    whole: bool = False,
    positive: bool = True,
    most: int | None = None,
    percent: bool = False,
) -> None:
    """Replace a parameter of a frozen rule by the exact number it stands for; None stays.

    A `percent` below 1 is a fraction, or a text with the sign, "0.5%": a float such as 0.1 is taken
    for a slip, since other programs mean 10 percent by it.

    Raises
    ------
    InputError
        If it is not a finite number, not positive (or negative), above `most`, or not whole.
    """
    given = getattr(rule, name)
    if given is None:
        return
    signed = isinstance(given, str) and given.strip().endswith("%")
    number = exact(given.strip().rstrip("%").strip()) if signed else exact(given)
    if percent and 0 < number < 1 and not signed and not isinstance(given, Fraction):
        text = number_text(number)
        msg = (
            f"{type(rule).__name__} takes {name} in percent, got {text}: write "
            f"{number_text(100 * number)} for {number_text(100 * number)} percent, or '{text}%' if "
            "that is meant"
        )
        raise InputError(msg)
    if number < 0 or (positive and number == 0) or (most is not None and number > most):
        wanted = ("above 0" if positive else "0 or more") + (f" and at most {most}" if most else "")
        msg = f"{type(rule).__name__} needs {name} {wanted}, got {number_text(number)}"
        raise InputError(msg)
    if whole and number.denominator != 1:
        msg = f"{type(rule).__name__} needs a whole number {name}, got {number_text(number)}"
        raise InputError(msg)
    object.__setattr__(rule, name, int(number) if whole else number)


def percent_text(number: Number) -> str:
    """Text of a percentage; below one the sign says that it is meant."""
    return number_text(number) + ("%" if exact(number) < 1 else "")


def _shown(value: Any) -> str:
    return number_text(value) if isinstance(value, Fraction) else repr(value)


def parts_of(rule: Any) -> tuple[Rule, ...]:
    """Rules of which a cell is sensitive to any: those of an `AnyOf`, or the rule alone."""
    found = as_rule(rule)
    return tuple(found.rules) if isinstance(found, AnyOf) else (found,)
