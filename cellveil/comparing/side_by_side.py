"""One table, published in several ways: what each changes, hides, and leaves to an attacker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.comparing.ways import Noise, Trials, Way, check_methods, levels_of
from csp.clock import Clock
from csp.decoys.key import Key
from csp.exact import number_text
from csp.mechanism import Mechanism
from csp.names.calls import expect, named_errors
from csp.names.guesses import Guided
from csp.rules import Rule
from csp.tables.cross.frames import columns_to_frame
from csp.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(metaclass=Guided):
    """Ways to publish one table, beside each other.

    It is for the office, like the table: errors and verdicts are worked out from true values.
    Which way is best is not said, since that depends on what readers need.

    Attributes
    ----------
    table : Table
    mechanism : Mechanism
        What is sensitive, and how uncertain it must stay.
    ways : tuple of Way
        In the order in which methods were given.
    """

    table: Table
    mechanism: Mechanism
    ways: tuple[Way, ...]

    def __repr__(self) -> str:
        return f"Comparison({self.table.n_cells} cells by {', '.join(w.method for w in self.ways)})"

    def of(self, method: str) -> Way:
        """One way by its name.

        Raises
        ------
        InputError
            If there is none.
        """
        from csp.names.calls import check_choice

        check_choice("method", method, [way.method for way in self.ways])
        return next(way for way in self.ways if way.method == method)

    def summary(self) -> dict[str, dict[str, Any]]:
        """Facts by method, as plain data ready for JSON; not for publication.

        Returns
        -------
        dict of str to dict
            reason (why there is no such table, else None); cells; withheld (no value is published,
            though an interval may be), changed (another number than the true one is published);
            mean_error and largest_error of published numbers; proven (whether no other result of
            the method is better by its own measure; None for numbers of another program).
            Of an outsider: sensitive, short (sensitive cells narrower than their levels), known
            (sensitive cells that can be worked out exactly); narrowest and wanted: width of the
            sensitive cell that is furthest below one of its levels or closest to it, and the width
            that they ask for. short_inside: sensitive cells narrower than their levels to an
            outsider, or to a contributor who is alone in a cell and knows its value (None if
            the rules do not guard against these). Of an outsider who knows the method as well:
            method_short, method_known (None if not tried), tables and left (consistent ones, and
            those left), method_words (why not, or how far). seconds of CPU time.
        """
        return {way.method: _facts(way) for way in self.ways}

    def to_frame(self, library: str | None = None) -> Any:
        """Return a data frame with a row for each method; not for publication.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            The first that is installed by default.

        Returns
        -------
        data frame
            method, and the columns that `summary` names.
        """
        facts = self.summary()
        columns: dict[str, list[Any]] = {"method": list(facts)}
        for name in next(iter(facts.values())):
            columns[name] = [one[name] for one in facts.values()]
        return columns_to_frame(columns, self.table.frame if library is None else library)

    def levels(self) -> dict[str, list[Any]]:
        """Errors by level of the hierarchy, as columns; not for publication.

        Returns
        -------
        dict of str to list
            method; level (0 for the grand total, larger below); cells; withheld, changed;
            mean_error and largest_error of published numbers, None where there are none.
        """
        found: dict[str, list[Any]] = {
            name: []
            for name in ("method", "level", "cells", "withheld", "changed", "mean_error",
                         "largest_error")
        }  # fmt: skip
        level = levels_of(self.table)
        for way in self.ways:
            if way.reason:
                continue
            for number in np.unique(level).tolist():
                here = level == number
                row = (way.method, number, int(here.sum()), *_errors(way, here))
                for column, value in zip(found.values(), row, strict=True):
                    column.append(value)
        return found

    def text(self) -> str:
        """Say what was found, a paragraph for each method; not for publication."""
        return "\n".join(_sentence(name, facts) for name, facts in self.summary().items())

    def plot(self) -> Figure:
        """Draw errors by level, and widths of sensitive cells against what they must have.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            If matplotlib is missing.
        """
        # Matplotlib is optional.
        from cellveil.render.ways import plot_ways

        rooms = {way.method: way.rooms for way in self.ways if not way.reason}
        return plot_ways(self.levels(), rooms)


@named_errors
def compare(
    table: Table, rules: Mechanism | Rule | str | Callable[[Table], Any],
    methods: Sequence[str | Noise] = ("suppress", "intervals", "round:5"), *,
    key: Key | None = None, name: str = "", attack: bool = True, time_limit: float | None = None,
) -> Comparison:  # fmt: skip
    """Publish one table in several ways, and judge them by one audit.

    Parameters
    ----------
    table : Table
    rules : Mechanism, Rule, str or callable
        What makes a cell sensitive, and how uncertain it must stay, as for `csp.protect`.
    methods : sequence of str or Noise
        "suppress": cells are left blank. "intervals" or "intervals:GRID": the same with what anyone
        could work out in place of blanks, and an additive table inside. "round:BASE": the closest
        additive table of multiples of a base. "random:BASE": one that a secret key chooses.
        "round:BASE:small", "random:BASE:small": the same of inner cells below the base alone. A
        `Noise` names the numbers of another program.
    key : Key, optional
        Of random rounding; a new one by default, so that its figures differ from call to call.
    name : str
        Of the table in random rounding, as for `csp.round_table`.
    attack : bool
        Whether to find out what an attacker learns who knows the method, where that is feasible.
    time_limit : float, optional
        Wall seconds for each method, its attack included.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        For methods that do not exist, and as for `csp.protect`. A table that cannot be protected or
        rounded is part of the result, with its reason.

    Examples
    --------
    >>> from csp import Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> found = compare(table, Mechanism("FREQ(8)", width=8), ["suppress", "round:5"])
    >>> found
    Comparison(16 cells by suppress, round:5)
    >>> found.summary()["round:5"]["changed"], found.summary()["suppress"]["withheld"]
    (11, 4)
    """
    expect(table, Table, "table")
    expect(attack, bool, "attack")
    expect(name, str, "name")
    if key is not None:
        expect(key, Key, "key")
    Clock.of(time_limit)  # that it is a limit is seen before the work
    mechanism = rules if isinstance(rules, Mechanism) else Mechanism(rules)
    check_methods(table, mechanism, methods)
    trials = Trials(
        table, mechanism, Key.new() if key is None else key, lambda: Clock.of(time_limit),
        name=name, attack=attack,
    )  # fmt: skip
    return Comparison(table, mechanism, tuple(trials.tried(method) for method in methods))


_NAMES = (
    "reason", "cells", "withheld", "changed", "mean_error", "largest_error", "proven", "sensitive",
    "short", "short_inside", "known", "narrowest", "wanted", "method_short", "method_known",
    "tables", "left", "method_words", "seconds",
)  # fmt: skip


def _facts(way: Way) -> dict[str, Any]:
    facts: dict[str, Any] = dict.fromkeys(_NAMES)
    primary, told = way.problem.primary, way.told
    facts |= {"cells": way.table.n_cells, "sensitive": int(primary.sum()), "seconds": way.seconds}
    if way.reason:
        return facts | {"reason": way.reason}
    everywhere = np.ones(way.table.n_cells, dtype=bool)
    names = ("withheld", "changed", "mean_error", "largest_error")
    facts |= dict(zip(names, _errors(way, everywhere), strict=True))
    facts["proven"], facts["short"] = way.proven, int(way.short.sum())
    facts["short_inside"] = None if way.inside is None else int(way.inside.sum())
    facts["known"] = int((primary & (way.lower == way.upper)).sum())
    if primary.any():
        unit = 10.0**way.table.scale
        wanted = way.wanted[primary]
        least = int(np.argmin(way.slack))
        facts["narrowest"] = float(way.widths[least]) / unit
        facts["wanted"] = float(wanted[least]) / unit
    facts |= {
        "method_short": told.short, "method_known": told.known, "tables": told.tables,
        "left": told.left, "method_words": told.words or None,
    }  # fmt: skip
    return facts


def _errors(way: Way, here: Any) -> tuple[int, int, float | None, float | None]:
    """Cells withheld and changed, and the mean and the largest error of published numbers."""
    errors = way.errors(np.flatnonzero(here))
    withheld, changed = int(way.withheld[here].sum()), sum(error > 0 for error in errors)
    if not errors:
        return withheld, changed, None, None
    unit = 10**way.table.scale
    mean = sum(errors, Fraction(0)) / (len(errors) * unit)
    return withheld, changed, float(mean), float(max(errors) / unit)


def _sentence(name: str, facts: dict[str, Any]) -> str:
    if facts["reason"]:
        return f"{name}: {facts['reason']}"
    said = [f"{facts['withheld']} of {facts['cells']} cells withheld, {facts['changed']} changed"]
    if facts["changed"]:
        mean, most = (number_text(round(facts[f"{n}_error"], 3)) for n in ("mean", "largest"))
        said.append(f"off by {mean} on average and {most} at most")
    if facts["sensitive"]:
        many, narrow = facts["sensitive"], facts["narrowest"]
        said.append(f"{facts['short']} of {many} sensitive cells narrower than their levels")
        if facts["short_inside"] is not None:
            said.append(f"{facts['short_inside']} with lone contributors among the attackers")
        if np.isfinite(narrow):
            wide, wanted = number_text(round(narrow, 3)), number_text(round(facts["wanted"], 3))
            said.append(f"the closest call {wide} wide where {wanted} are asked for")
        said.append(f"{facts['known']} known exactly")
    if facts["method_short"] is not None:
        said.append(
            f"to an attacker who knows the method {facts['method_short']} are narrower, "
            f"{facts['method_known']} known"
        )
    if facts["left"] is not None:
        said.append(f"{facts['left']:,} of {facts['tables']:,} consistent tables are left")
    if facts["method_words"]:
        said.append(f"method known: {facts['method_words']}")
    if facts["proven"] is False:
        said.append("not proved to be the best result of the method")
    return f"{name}: {'; '.join(said)}."
