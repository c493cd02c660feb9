"""The public view of a release: what the mechanism implies for the tables consistent with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attacks.algorithm_known.views.checks import check_callable, check_exact, check_told
from attacks.algorithm_known.views.value_answers import ValueAnswers, ValueRules
from attacks.fibre.consistent_tables import Fibre
from attacks.fibre.feasible_intervals import feasible
from attacks.fibre.shapes import Shape, network_of
from csp.audits.audit import audit
from csp.clock import UNLIMITED, Clock
from csp.decoys.width import Wide
from csp.errors import InputError, NoContributors, argument
from csp.exact import Bools, Ints, units_text
from csp.mechanism import Mechanism
from csp.problem.problem import Problem
from csp.release.completion import complete
from csp.release.release import Release
from csp.solve.small.flow import Net
from csp.tables.cells import as_flags
from csp.tables.table import Table

_MOST_RULES = 4_000_000
_MOST_VALUES = 20_000_000


class NeverPublished(InputError):
    """The mechanism cannot have produced the release, whatever the hidden values."""

    @classmethod
    def because(cls, why: str) -> NeverPublished:
        """Error with its reason."""
        return cls(f"{why}: this mechanism cannot have produced the release; pass the one that did")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Consistent:
    """The tables consistent with a release."""

    release: Release
    table: Table  # one of them
    cells: Ints  # (k,) suppressed cells
    lower: Ints  # (k,) this and the next are their integer feasibility intervals
    upper: Ints

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.cells)} suppressed cells)"

    def fibre(self) -> Fibre:
        """All of them, to be counted, listed or drawn."""
        return Fibre(self.release, self.table, bounds=(self.lower, self.upper))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublicView(_Consistent):
    """The tables consistent with a release, seen through a mechanism.

    Of a defence only the public part counts: that there is a key is known, the key is not.
    """

    mechanism: Mechanism
    # None where the mechanism looks at more than the value of a cell, or ranges are very long.
    value_rules: ValueRules | None
    hides: Bools  # (n,) cells that the mechanism may suppress
    cost: Ints  # (n,) as secondary cells of `table`
    shape: Shape
    net: Net | None  # the suppressed cells, if they are a network of up to 64
    marks: Bools | None = None  # (k,) which suppressed cells are primary, if known

    @classmethod
    def of(
        cls, release: Release, mechanism: Mechanism, *, marks: Bools | None = None,
        clock: Clock = UNLIMITED, shape: Shape | None = None, answers: ValueAnswers | None = None,
    ) -> PublicView:  # fmt: skip
        """View a release through a mechanism.

        Marks (n,) are the primary cells, where the release told them apart from secondary ones. If
        the time runs out while the mechanism is asked about single values, `value_rules` is None.
        Shape and answers are those of a release of the same shape that was viewed before.

        Raises
        ------
        OutOfTime
            If the time runs out before the intervals of the cells are known.
        InputError
            If no table is consistent with the release, infinitely many are, the mechanism reads
            more than a release contains, or it would never have published this: a published cell
            that it calls sensitive, or a suppressed one that must be published (cell named).
        """
        check_exact(release)
        clock.check("a table that agrees with the release was found")
        shape = Shape.of(release) if shape is None else shape
        ranged = shape.ranged(release)
        if ranged is None:
            table = complete(release, time_limit=clock.seconds)
        else:
            table = release.table(ranged.values)
        public = mechanism.public_cells(table)
        if table.structural is not None:
            public = public | table.structural
        # A function may give costs that no problem takes.
        checked = callable(mechanism.cost)
        cost = mechanism.bare_problem(table).cost if checked else mechanism.costs(table)[0]
        _check_published(release, mechanism, table, public)
        if mechanism.defence is not None:
            _check_wide(release, mechanism, mechanism.bare_problem(table), clock)
        ends = None if ranged is None else (ranged.lower, ranged.upper)
        net = network_of(table, release.pattern) if ranged is None else ranged.net
        cells, lower, upper = _ranges(release, table, clock, ends)
        value_rules = None
        if mechanism.cellwise and len(cells) * int((upper - lower).max() + 1) <= _MOST_RULES:
            answers = ValueAnswers(mechanism) if answers is None else answers
            value_rules = answers.rules(release, table, lower, upper, clock)
        told = None
        if marks is not None:
            flags = as_flags(marks, len(release.pattern), "marks")
            if (flags & ~release.pattern).any():
                msg = "marks need one flag for each cell, and none at a published cell"
                raise InputError(msg)
            told = flags[cells]
            if value_rules is not None:
                fits = value_rules.primary == told[:, None]
                value_rules = replace(value_rules, allowed=value_rules.allowed & fits)
        return cls(
            release, table, cells, lower, upper, mechanism, value_rules, ~public, cost, shape, net,
            told,
        )  # fmt: skip

    @property
    def integer(self) -> bool:
        """Whether the attacker knows that cells are whole units."""
        return self.mechanism.attacker_is_integer(self.table)

    def protects(self, problem: Problem, clock: Clock) -> bool:
        """Whether the pattern keeps the levels of the primary cells of a consistent table."""
        return audit(
            problem, self.release.pattern, integer=self.integer, only_primary=True,
            time_limit=clock.seconds,
        ).safe  # fmt: skip

    @property
    def excludes_nothing(self) -> bool:
        """Whether every consistent table may have been published so (the theorem of decoys)."""
        mechanism = self.mechanism
        return (
            mechanism.defence is not None
            and self.marks is None
            and mechanism.asks_width_alone(self.table)
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlackBoxView(_Consistent):
    """The tables consistent with a release, and a function in place of the mechanism.

    Nothing is known of the function but what it does: it gives the (n,) bool pattern of a table, or
    None. What it promises is a least width of the interval of every suppressed cell; in the form of
    rules, every value of every cell must keep the width.
    """

    algorithm: Callable[[Table], Any]
    value_rules: ValueRules
    marks = None
    excludes_nothing = False

    @classmethod
    def of(
        cls, release: Release, algorithm: Callable[[Table], Any], width: int, clock: Clock
    ) -> BlackBoxView:
        """View a release of a function that promises a width, in units.

        Raises
        ------
        InputError
            If it is not a function, no table is consistent with the release, or too many values
            are feasible.
        OutOfTime
            If the time runs out before the intervals of the cells are known.
        """
        check_callable(algorithm)
        check_exact(release)
        table = complete(release, time_limit=clock.seconds)
        cells, lower, upper = _ranges(release, table, clock)
        shape = len(cells), int((upper - lower).max()) + 1
        asked = np.array([0, 0, width], dtype=np.int64)[:, None, None]
        every = np.broadcast_to(np.True_, shape)
        rules = ValueRules(
            every, np.broadcast_to(asked, (3, *shape)), np.broadcast_to(np.int64(0), shape), every
        )
        return cls(release, table, cells, lower, upper, algorithm, rules)


View = PublicView | BlackBoxView


def _ranges(
    release: Release, table: Table, clock: Clock, known: tuple[Ints, Ints] | None = None,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Suppressed cells with their least and largest feasible values, worked out if not known."""
    lower, upper = known or feasible(table, release.pattern, clock)
    cells = np.flatnonzero(release.pattern)
    width = int((upper - lower).max()) + 1
    if len(cells) * width > _MOST_VALUES:
        i = int(cells[np.argmax(upper - lower)])
        msg = (
            f"the relations leave suppressed cell {table.cell(i)} {width} values, and every "
            f"value of every cell is looked at (up to {_MOST_VALUES} in all); attack a table "
            "in a larger unit, or with tighter bounds"
        )
        raise InputError(msg)
    return cells, lower, upper


def _check_published(release: Release, mechanism: Mechanism, table: Table, fixed: Bools) -> None:
    try:
        primary = mechanism.requirements(table, fixed).primary
    except NoContributors as error:
        check_told(release, "the rules of the mechanism ask for these")
        msg = (
            "the rules of the mechanism look at contributors, which a release does not hold; this "
            "attack needs a table of counts, or the rule as a function of a table whose cells are "
            "the contributions"
        )
        raise InputError(msg) from error
    if mechanism.singletons is not False:
        check_told(release, "of sums, the mechanism would guard lone contributors as well")
    if not release.of_counts and mechanism.singletons is not False:
        msg = (
            "where cells are sums, the mechanism guards against contributors who are alone in some "
            "unless told otherwise, and a release does not hold who these are; if it did not, say "
            f"so ({argument('singletons', value=False)})"
        )
        raise InputError(msg)
    open_cells = ~release.pattern
    if mechanism.cellwise and (primary & open_cells).any():
        i = int(np.argmax(primary & open_cells))
        shown = units_text(int(release.published[i]), release.scale)
        msg = f"cell {table.cell(i)} is published with {shown}, which the mechanism calls sensitive"
        raise NeverPublished.because(msg)
    forced = fixed & release.pattern
    if forced.any():
        i = int(np.argmax(forced))
        msg = (
            f"cell {table.cell(i)} is suppressed, but must be published (status z; "
            f"margins={mechanism.margins!r})"
        )
        raise NeverPublished.because(msg)


def _check_wide(
    release: Release, mechanism: Mechanism, cost_problem: Problem, clock: Clock
) -> None:
    """Every cell that decoys suppress is wide, in every table alike."""
    assert mechanism.defence is not None
    table, pattern = cost_problem.table, release.pattern
    asked = Wide.of(cost_problem, mechanism.defence, mechanism.decoy_width(table))
    integer = mechanism.attacker_is_integer(table)
    narrow = pattern & ~asked.holds(cost_problem, pattern, pattern, integer=integer, clock=clock)
    if narrow.any():
        i = int(np.argmax(narrow))
        msg = (
            f"suppressed cell {table.cell(i)} is narrower than the defence allows "
            f"({asked.words(table)})"
        )
        raise NeverPublished.because(msg)
