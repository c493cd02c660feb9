"""How uncertain sensitive cells stay when a table is published rounded, or with noise.

The attacker knows how far any true value may be from the published one, that true values are whole
units, and how they add up: the joint intervals are those of a release in which all cells are
withheld within these bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.audits.audit import audit
from csp.audits.intervals import intervals
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import Bools, Floats
from csp.mechanism import Mechanism
from csp.names.calls import expect, named_errors
from csp.problem.problem import Problem
from csp.rounding.moves import reached
from csp.rounding.perturbed import Perturbed


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoundingAudit:
    """What anybody can infer of the sensitive cells of a perturbed table; for the office.

    Attributes
    ----------
    published : Perturbed
    sensitive : (n,) bool
    lower, upper : (n,) float64
        What an outsider can infer: over all tables of whole units that add up and are near enough
        to the published one, in units; NaN where a cell is not sensitive.
    narrow : (n,) bool
        Sensitive cells whose interval, to an outsider or another attacker of `guards`, does not
        reach their levels.
    known : (n,) bool
        Sensitive cells that can be worked out exactly.
    guards : tuple of str
        Attackers that were looked at.
    """

    published: Perturbed
    sensitive: Bools
    lower: Floats
    upper: Floats
    narrow: Bools
    known: Bools
    guards: tuple[str, ...]

    @property
    def safe(self) -> bool:
        """Whether every sensitive cell keeps its levels."""
        return not self.narrow.any()

    @property
    def narrowest(self) -> float | None:
        """Width of the narrowest interval of a sensitive cell, in units; None without any."""
        widths = (self.upper - self.lower)[self.sensitive]
        return float(widths.min()) if len(widths) else None

    def __repr__(self) -> str:
        word = "safe" if self.safe else "unsafe"
        return f"RoundingAudit({word}; against {', '.join(self.guards)})"

    def sentences(self, *, reveal: bool = False) -> list[str]:
        """Say whether the base is enough.

        Parameters
        ----------
        reveal : bool
            Say how many cells are sensitive and narrower than wanted, and name the first: that
            discloses that they are small.
        """
        if not self.sensitive.any():
            return ["No cell is sensitive."] if reveal else []
        if self.safe:
            return ["Every sensitive cell keeps its levels."]
        if not reveal:
            return ["Some sensitive cells stay narrower than their levels."]
        cells = np.flatnonzero(self.narrow).tolist()
        table = self.published.table
        named = ", ".join(table.cell(i) for i in cells[:5])
        more = f" and {len(cells) - 5} more" if len(cells) > 5 else ""
        return [
            f"{len(cells)} of {int(self.sensitive.sum())} sensitive cells stay narrower than their "
            f"levels: {named}{more}."
        ]


@named_errors
def audit_rounding(
    published: Perturbed, rules: Mechanism | Any, *, time_limit: float | None = None
) -> RoundingAudit:
    """Judge sensitive cells by an attacker who knows that true values are whole and add up.

    Parameters
    ----------
    published : Rounded or Noisy
        From `csp.round_table` or `csp.noisy_table`.
    rules : Mechanism, Rule, str or callable
        What is sensitive and how wide it must stay, as for `csp.protect`.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    RoundingAudit

    Raises
    ------
    InputError
        As for `csp.Mechanism.problem`, and for ``unions=True``.
    OutOfTime
        If the time limit passed before every sensitive cell was judged.

    Examples
    --------
    >>> from csp import Table, round_table
    >>> table = Table.from_array([[7, 1, 60], [10, 60, 11], [60, 12, 60]])
    >>> audit_rounding(round_table(table, 5), "FREQ(4,100)")
    RoundingAudit(safe; against outsider)
    """
    expect(published, Perturbed, "published")
    mechanism = rules if isinstance(rules, Mechanism) else Mechanism(rules)
    check_no_unions(mechanism)
    clock = Clock.of(time_limit)
    table, release = published.table, published.release
    asked = mechanism.problem(table)
    sensitive = asked.primary & release.pattern
    near = table.replace(lower=release.lower, upper=release.upper)
    # A level beyond the stated bounds cannot be kept; what is left of it is judged all the same.
    down, up = table.values - release.lower, release.upper - table.values
    short = sensitive & ((asked.lpl > down) | (asked.upl > up))
    posed = Problem.of(
        near, sensitive, lpl=np.minimum(asked.lpl, down), upl=np.minimum(asked.upl, up),
        spl=asked.spl, singletons=asked.singletons,
    )  # fmt: skip
    judged = audit(posed, release.pattern, integer=True, only_primary=True,
                   time_limit=clock.seconds)  # fmt: skip
    for violation in judged.violations:
        short[violation.cells[0]] = True
    lower, upper = np.full((2, table.n_cells), np.nan)
    low, high = reached(table, published.values, release)
    lower[sensitive], upper[sensitive] = release.lower[sensitive], release.upper[sensitive]
    rest = np.flatnonzero(sensitive & ~(low & high))
    if len(rest):
        ends = intervals(near, release.pattern, integer=True, cells=rest,
                         time_limit=clock.seconds)  # fmt: skip
        lower[rest], upper[rest] = ends.lower[rest], ends.upper[rest]
    known = sensitive & (lower == upper)
    for array in (lower, upper, short, known, sensitive):
        array.flags.writeable = False
    return RoundingAudit(published, sensitive, lower, upper, short, known, judged.guards)


def check_no_unions(mechanism: Mechanism) -> None:
    """Refuse rules for sums of suppressed cells, where no cell is suppressed.

    Raises
    ------
    InputError
    """
    if mechanism.unions:
        msg = (
            "unions=True is for sums of suppressed cells, and in a table that is rounded or "
            "published with noise no cell is suppressed; leave it out"
        )
        raise InputError(msg)
