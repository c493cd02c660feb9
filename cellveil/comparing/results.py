"""What a study found: a frame of all trials, a summary by method, and a table for a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.comparing.latex import BY_METHOD, BY_TABLE, tabular
from cellveil.comparing.trials import TALLY, Trial
from csp.errors import InputError, argument
from csp.exact import Floats
from csp.mechanism import Mechanism
from csp.names.calls import check_choice
from csp.tables.cross.frames import columns_to_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COSTS = ("cost", "bound", "gap", "cost_mean", "gap_mean")
"""What may be a sum of suppressed values, or be worked out to one."""

_ROWS = ("methods", "tables")
_KINDS = ("profile", "unsafe", "widths")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Study:
    """Methods compared over tables: one trial for each method on each table.

    It is internal, like the tables: how many cells are primary and secondary depends on suppressed
    values. What may be a sum of them (costs that are values, and gaps) is shown with `reveal` only.

    Attributes
    ----------
    trials : tuple of Trial
        Table by table, methods in the order in which they were given.
    mechanism : Mechanism
    attack : str or None
    missing : int
        Trials that Ctrl-C left out.
    """

    trials: tuple[Trial, ...]
    mechanism: Mechanism
    attack: str | None
    missing: int = 0

    def __repr__(self) -> str:
        methods = ", ".join(self.methods)
        left = f"; {self.missing} trials left out" if self.missing else ""
        return f"Study({len(self.tables)} tables by {methods}{left})"

    def _repr_html_(self) -> str:
        from csp.tables.cross.html import notebook_list

        words = {True: "safe", False: "unsafe", None: "not judged"}
        rows = [(one.table, one.method, words[one.safe]) for one in self.trials]
        return notebook_list([repr(self)], ["table", "method", "verdict"], rows)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables."""
        return tuple(dict.fromkeys(trial.table for trial in self.trials))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods."""
        return tuple(dict.fromkeys(trial.method for trial in self.trials))

    def of(self, method: str) -> tuple[Trial, ...]:
        """Trials of a method, one a table."""
        check_choice("method", method, self.methods)
        return tuple(trial for trial in self.trials if trial.method == method)

    def to_frame(self, library: str | None = None, *, reveal: bool = False) -> Any:
        """Return a data frame with a row for each trial.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            The first that is installed by default.
        reveal : bool
            Show costs, bounds and gaps also where the mechanism counts values as costs.

        Returns
        -------
        data frame
            table, method; cells, primary, secondary; cost (of secondary cells), bound (the best
            that any method of the study knows) and gap (of safe patterns); safe (by the exact
            audit), violations; seconds, cpu; narrowest (interval of a primary cell). With an
            attack: attacked, attacked_primary, unsafe, unsafe_primary, undecided (cells),
            attack_seconds. reason (why something is missing).

        Raises
        ------
        InputError
            If the library is unknown or missing.
        """
        return columns_to_frame(self._columns(reveal=reveal), library or "")

    def _columns(self, *, reveal: bool) -> dict[str, list[Any]]:
        names = ["table", "method", "cells", "primary", "secondary", "cost", "bound", "gap", "safe"]
        columns: dict[str, list[Any]] = {
            name: [getattr(trial, name) for trial in self.trials] for name in names
        }
        columns["violations"] = [
            None if trial.safe is None else len(trial.violations) for trial in self.trials
        ]
        for name in ("seconds", "cpu", "narrowest"):
            columns[name] = [getattr(trial, name) for trial in self.trials]
        if self.attack is not None:
            tallies = [trial.tally() for trial in self.trials]
            columns |= {name: [tally[name] for tally in tallies] for name in TALLY}
            columns["attack_seconds"] = [
                None if trial.attacked is None else trial.attacked.seconds for trial in self.trials
            ]
        columns["reason"] = [trial.reason for trial in self.trials]
        if not self.shows_costs(reveal=reveal):
            columns = {
                name: [None] * len(column) if name in _COSTS else column
                for name, column in columns.items()
            }
        return columns

    def shows_costs(self, *, reveal: bool) -> bool:
        """Whether costs may be shown: numbers of cells may, sums of values with `reveal` only."""
        return reveal or self.mechanism.cost == "unit"

    def summary(self, *, reveal: bool = False) -> dict[str, dict[str, Any]]:
        """Facts by method, as plain data ready for JSON.

        Parameters
        ----------
        reveal : bool
            As for `to_frame`.

        Returns
        -------
        dict of str to dict
            tables; failed (without a pattern or a verdict), safe, not_safe; compared: tables on
            which every method is safe that ever is, and cost_mean over these alone; gap_mean over
            the safe patterns; cheapest: tables on which no method's safe pattern costs less;
            secondary_mean, seconds_mean and cpu_mean over patterns; narrowest. With an attack: sums
            over cells, named as in `to_frame`. None where there is nothing to count.
        """
        open_costs = self.shows_costs(reveal=reveal)
        found = {}
        for method in self.methods:
            facts = self._facts(method)
            found[method] = {
                name: None if name in _COSTS and not open_costs else value
                for name, value in facts.items()
            }
        return found

    def _facts(self, method: str) -> dict[str, Any]:
        trials = self.of(method)
        there = [trial for trial in trials if trial.pattern is not None]
        safe = [trial for trial in trials if trial.safe]
        common = self._all_safe()
        best = self.cheapest()
        narrow = [trial.narrowest for trial in trials if trial.narrowest is not None]
        facts: dict[str, Any] = {
            "tables": len(trials),
            "failed": sum(trial.safe is None for trial in trials),
            "safe": len(safe),
            "not_safe": sum(trial.safe is False for trial in trials),
            "compared": len(common),
            "cost_mean": _mean(trial.cost for trial in safe if trial.table in common),
            "gap_mean": _mean(trial.gap for trial in safe),
            "cheapest": sum(trial.cost == best[trial.table] for trial in safe),
            "secondary_mean": _mean(trial.secondary for trial in there),
            "seconds_mean": _mean(trial.seconds for trial in there),
            "cpu_mean": _mean(trial.cpu for trial in there),
            "narrowest": min(narrow, default=None),
        }
        if self.attack is not None:
            tallies = [trial.tally() for trial in trials if trial.attacked is not None]
            facts |= {name: sum(tally[name] or 0 for tally in tallies) for name in TALLY}
        return facts

    def cheapest(self) -> dict[str, float]:
        """Least cost of a safe pattern of each table that has one."""
        best: dict[str, float] = {}
        for trial in self.trials:
            if trial.safe and trial.cost is not None:
                best[trial.table] = min(trial.cost, best.get(trial.table, trial.cost))
        return best

    def _all_safe(self) -> set[str]:
        """Tables on which every method has a safe pattern that has one on any table."""
        able = {trial.method for trial in self.trials if trial.safe}
        safe = Counter(trial.table for trial in self.trials if trial.safe)
        return {table for table, n in safe.items() if n == len(able)}

    def to_latex(self, rows: str = "methods", *, reveal: bool = False) -> str:
        r"""Write a LaTeX table, which needs no package.

        Parameters
        ----------
        rows : {"methods", "tables"}
            One row for each method, with means, or for each method on each table.
        reveal : bool
            As for `to_frame`; columns that may not be shown are left out.

        Returns
        -------
        str
            A ``tabular``.

        Raises
        ------
        InputError
            If rows is another word.
        """
        check_choice("rows", rows, _ROWS)
        if rows == "tables":
            columns, heads = self._columns(reveal=reveal), BY_TABLE
        else:
            by_method = self.summary(reveal=reveal)
            columns, heads = {"method": list(by_method)}, BY_METHOD
            for name in next(iter(by_method.values()), {}):
                columns[name] = [facts[name] for facts in by_method.values()]
        if not self.shows_costs(reveal=reveal):
            heads = {name: head for name, head in heads.items() if name not in _COSTS}
        return tabular(columns, heads)

    def plot(self, kind: str = "profile", *, reveal: bool = False) -> Figure:
        """Draw the study.

        Parameters
        ----------
        kind : {"profile", "unsafe", "widths"}
            Performance profile of costs (Dolan and Moré 2002), a pattern that is not safe counting
            as none; share of sensitive cells that the attack proves unsafe, by the size of a table;
            or widths of the intervals of sensitive cells: what the attack leaves, if there was one.
        reveal : bool
            Needed for the profile where the mechanism counts values as costs.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            If kind is another word, there is nothing to draw, or matplotlib is missing.
        """
        # Matplotlib is optional.
        from cellveil.render.studies import plot_performance, plot_unsafe_shares, plot_widths

        check_choice("kind", kind, _KINDS)
        if kind == "widths":
            attacked = self.attack is not None
            return plot_widths(
                {method: self._widths(method) for method in self.methods}, known=attacked
            )
        if kind == "unsafe":
            return plot_unsafe_shares(
                {method: list(_counted(self.of(method))) for method in self.methods}
            )
        if not self.shows_costs(reveal=reveal):
            msg = (
                "costs are sums of values here, and a profile may disclose them; give "
                f"{argument('reveal', value=True)} for internal use"
            )
            raise InputError(msg)
        best = self.cheapest()
        ratios = {
            method: [_ratio(trial, best) for trial in self.of(method)] for method in self.methods
        }
        return plot_performance(ratios, internal=self.mechanism.cost != "unit")

    def _widths(self, method: str) -> Floats:
        """Widths of intervals of primary cells, over all tables."""
        if self.attack is not None:
            found = [trial.effective for trial in self.of(method)]
        else:
            found = [trial.widths for trial in self.of(method) if trial.widths is not None]
        return np.concatenate([np.empty(0), *found])


def finished(
    trials: Iterable[Trial], given: int, mechanism: Mechanism, attack: str | None
) -> Study:
    """Study of trials, each with the best bound that any method knows of its table.

    Parameters
    ----------
    trials : iterable of Trial
    given : int
        Trials that were asked for.
    mechanism : Mechanism
    attack : str or None
    """
    made = list(trials)
    bounds: dict[str, float] = {}
    for trial in made:
        if trial.bound is not None:
            bounds[trial.table] = max(trial.bound, bounds.get(trial.table, trial.bound))
    known = tuple(_bounded(trial, bounds.get(trial.table)) for trial in made)
    return Study(known, mechanism, attack, given - len(made))


def _bounded(trial: Trial, bound: float | None) -> Trial:
    """Give a trial the best bound; say so if that cannot be."""
    if trial.safe and bound is not None and trial.cost is not None and trial.cost < bound:
        wrong = "costs less than the bound of another method: use neither, and report the problem"
        return replace(trial, bound=bound, reason=wrong)
    return replace(trial, bound=bound)


def _ratio(trial: Trial, best: Mapping[str, float]) -> float:
    """Cost as a multiple of the cheapest; infinite without a safe pattern."""
    if not trial.safe or trial.cost is None:
        return np.inf
    least = best[trial.table]
    if least > 0:
        return trial.cost / least
    return 1.0 if trial.cost == 0 else np.inf


def _counted(trials: Iterable[Trial]) -> Iterator[tuple[int, int, int]]:
    """Cells of each table, and its sensitive cells that were attacked and proved unsafe."""
    for trial in trials:
        tally = trial.tally()
        yield trial.cells or 0, tally["attacked_primary"] or 0, tally["unsafe_primary"] or 0


def _mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known else None
