"""Scenarios of the experiments of Minami and Abe (2019): what their text leaves open.

Section 4.1 of the paper draws counts from a normal distribution with mean 15 and standard
deviation 10, calls counts below 5 sensitive and asks for intervals of width 8. It does not say what
becomes of negative draws, whether an empty cell is sensitive, whether width 8 itself is enough
(Definition 3 says no, Definition 4 yes), or which of several cheapest patterns is published.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from csp.errors import InputError
from csp.mechanism import Mechanism
from csp.rules import MinFrequency
from csp.tables.table import Table

MEAN, DEVIATION, THRESHOLD, WIDTH = 15, 10, 5, 8

NEGATIVES = ("abs", "lift", "clip", "resample")
TIES = ("label", "small", "large", "values")

_FIRST = 2**30


@dataclass(frozen=True, slots=True)
class TieBy:
    """Cost that counts cells first and then breaks ties by their values.

    Attributes
    ----------
    kind : {"small", "large", "values"}
        Least total suppressed; largest total; or least total of a hash of label and value: a choice
        that depends on the data and has no other meaning, as that of a solver may do.
    """

    kind: str

    @property
    def cellwise(self) -> bool:
        """True: the cost of a cell depends on its label and value alone."""
        return True

    def __call__(self, table: Table) -> NDArray[np.int64]:
        """Cost of each cell: 2**30 and a little."""
        values = np.abs(table.values)
        if self.kind == "small":
            return np.asarray(_FIRST + values)
        if self.kind == "large":
            return np.asarray(_FIRST - values)
        pairs = zip(table.labels, values.tolist(), strict=True)
        return np.array([_FIRST + _hash(label, value) for label, value in pairs])


def _hash(label: tuple[str, ...], value: int) -> int:
    text = "\x1f".join((*label, str(value))).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=2).digest(), "big")


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way to settle what the paper leaves open.

    Attributes
    ----------
    negatives : {"abs", "lift", "clip", "resample"}
        Rounded draws below 0: absolute value; the same, and zeros count 1; 0; drawn anew.
    zero_sensitive : bool
        Whether an empty cell is sensitive.
    strict : bool
        Wider than 8, or at least 8.
    ties : {"label", "small", "large", "values"}
        Which of several cheapest patterns: the smallest in the order of labels, or see `TieBy`.
    """

    negatives: str = "abs"
    zero_sensitive: bool = True
    strict: bool = False
    ties: str = "label"

    def __post_init__(self) -> None:
        for name, known in (("negatives", NEGATIVES), ("ties", TIES)):
            if getattr(self, name) not in known:
                msg = f"{name} {getattr(self, name)!r} is not one of {', '.join(known)}"
                raise InputError(msg)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the experiments."""
        return Mechanism(
            MinFrequency(THRESHOLD, zero_sensitive=self.zero_sensitive),
            width=WIDTH,
            strict=self.strict,
            margins="publish",
            cost="unit" if self.ties == "label" else TieBy(self.ties),
        )

    @property
    def words(self) -> str:
        """A short description."""
        zero = "0 to 4" if self.zero_sensitive else "1 to 4"
        width = "wider than 8" if self.strict else "at least 8"
        ties = {
            "label": "by label",
            "small": "least total",
            "large": "largest total",
            "values": "by a hash of values",
        }
        return f"{self.negatives}; sensitive {zero}; {width}; ties {ties[self.ties]}"


SCENARIOS = {
    "plain": Scenario(),
    "plain-strict": Scenario(strict=True),
    "plain-values": Scenario(ties="values"),
    "positive": Scenario(zero_sensitive=False),
    "positive-strict": Scenario(zero_sensitive=False, strict=True),
    "positive-small": Scenario(zero_sensitive=False, ties="small"),
    "positive-large": Scenario(zero_sensitive=False, ties="large"),
    "positive-values": Scenario(zero_sensitive=False, ties="values"),
    "lift": Scenario("lift", zero_sensitive=False),
    "lift-strict": Scenario("lift", zero_sensitive=False, strict=True),
    "lift-strict-small": Scenario("lift", zero_sensitive=False, strict=True, ties="small"),
    "lift-strict-values": Scenario("lift", zero_sensitive=False, strict=True, ties="values"),
    "clip": Scenario("clip"),
    "resample": Scenario("resample"),
}
"""Scenarios by name."""


def draw_table(scenario: Scenario, side: int, index: int, seed: int) -> Table:
    """Draw the square table of an experiment.

    Parameters
    ----------
    scenario : Scenario
    side : int
        Rows and columns.
    index, seed : int
        The same numbers give the same table, whatever else is drawn.

    Returns
    -------
    Table
    """
    rng = np.random.default_rng([seed, side, index])
    drawn = np.rint(rng.normal(MEAN, DEVIATION, (side, side))).astype(np.int64)
    if scenario.negatives == "clip":
        drawn = np.maximum(drawn, 0)
    elif scenario.negatives == "resample":
        while (drawn < 0).any():
            again = np.rint(rng.normal(MEAN, DEVIATION, (side, side))).astype(np.int64)
            drawn = np.where(drawn < 0, again, drawn)
    else:
        drawn = np.abs(drawn)
        if scenario.negatives == "lift":
            drawn = np.maximum(drawn, 1)
    return Table.from_array(drawn)
