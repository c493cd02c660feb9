"""Rules that draw one of several safe patterns.

Coins are fresh in each draw: publishing a table twice discloses more than publishing it once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.mechanism import Mechanism
from csp.tables.table import Table
from studies.publishing.pattern_table import PatternTable, parts


class Exponential:
    """A minimal safe pattern, with a probability that falls exponentially with its size.

    Patterns that are safe, stay so without no secondary cell, and have up to `slack` cells more
    than the smallest one, are drawn with probability proportional to
    ``exp(-epsilon * (size - smallest size))``. This is the exponential mechanism of McSherry and
    Talwar (2007) in form only: which patterns are safe depends on the table, so it promises no
    differential privacy.

    Parameters
    ----------
    mechanism : Mechanism
    table : Table
        Its relations, bounds and labels; its values are not used.
    epsilon : float
        0: all are equally probable.
    slack : int
    node_limit : int
        Nodes of the search for the patterns of one table.

    Raises
    ------
    InputError
        As `attacks.bayes.rule_table.RuleTable`; if epsilon is negative or not finite, or slack is
        negative.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    >>> drawn = Exponential(mechanism, table, epsilon=2, slack=2)
    >>> pattern = drawn.publish(table.values, np.random.default_rng(0))
    >>> int(pattern.sum()), drawn.likelihood(pattern, table.values[None]).round(3)
    (4, array([0.246]))
    """

    def __init__(
        self,
        mechanism: Mechanism,
        table: Table,
        *,
        epsilon: float,
        slack: int,
        node_limit: int = 10_000_000,
    ) -> None:
        if not (np.isfinite(epsilon) and epsilon >= 0):
            msg = f"epsilon must be finite and at least 0, got {epsilon!r}"
            raise InputError(msg)
        if slack < 0 or slack != int(slack):
            msg = f"slack must be a whole number of at least 0, got {slack!r}"
            raise InputError(msg)
        self._rules = PatternTable(mechanism, table, node_limit=node_limit)
        self._slack = int(slack)
        self._weights = np.exp(-epsilon * np.arange(self._slack + 1))
        self.name = f"exponential {epsilon:g}, up to {self._slack} more"
        self.words = (
            f"one of the minimal safe patterns with up to {self._slack} cells more than the "
            f"smallest, drawn with probability proportional to exp(-{epsilon:g} per cell)"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def publish(
        self, values: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        """See `studies.publishing.publisher.Publisher`.

        Raises
        ------
        SolverError
            If the patterns are too many to list.
        """
        patterns = self._rules.minimal(np.asarray(values), self._slack)
        if not len(patterns):
            return None
        sizes = patterns.sum(axis=1)
        weights = self._weights[sizes - sizes[0]]
        return np.asarray(patterns[rng.choice(len(patterns), p=weights / weights.sum())])

    def likelihood(
        self,
        pattern: NDArray[np.bool_],
        values: NDArray[np.int64],
        *,
        clock: Clock = UNLIMITED,
    ) -> NDArray[np.float64]:
        """See `studies.publishing.publisher.Publisher`.

        Raises
        ------
        SolverError
            If the patterns of a table are too many to count.
        """
        out = np.zeros(len(values))
        for part in parts(len(values), clock):
            found = self._rules.census(pattern, values[part], self._slack)
            has = found.excess >= 0
            chances = self._weights[found.excess[has]] / (found.counts[has] @ self._weights)
            out[part][has] = chances
        return out


class UniformOptimal(Exponential):
    """One of the cheapest safe patterns, all equally probable.

    Parameters
    ----------
    mechanism : Mechanism
    table : Table
    node_limit : int

    Raises
    ------
    InputError
        As `attacks.bayes.rule_table.RuleTable`.
    """

    def __init__(self, mechanism: Mechanism, table: Table, *, node_limit: int = 10_000_000) -> None:
        super().__init__(mechanism, table, epsilon=0, slack=0, node_limit=node_limit)
        self.name = "uniform among optimal"
        self.words = "one of the cheapest safe patterns, all equally probable"
