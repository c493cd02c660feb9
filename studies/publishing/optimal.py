"""Rules without coins: the canonical pattern, and that for wider intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from csp.clock import UNLIMITED, Clock
from csp.errors import InputError
from csp.exact import Number, exact, number_text
from csp.mechanism import Mechanism
from csp.tables.table import Table
from studies.publishing.pattern_table import PatternTable, parts


class Plain:
    """The cheapest safe pattern, the smallest of equals: cell suppression as it is.

    An attacker who knows it excludes all tables with another cheapest pattern (the matching
    attack of Minami and Abe 2019).

    Parameters
    ----------
    mechanism : Mechanism
    table : Table
        Its relations, bounds and labels; its values are not used.

    Raises
    ------
    InputError
        As `attacks.bayes.rule_table.RuleTable`.

    Examples
    --------
    >>> import numpy as np
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> plain = Plain(Mechanism(MinFrequency(10), width=10, margins="publish"), table)
    >>> pattern = plain.publish(table.values, np.random.default_rng(0))
    >>> int(pattern.sum()), plain.likelihood(pattern, table.values[None])
    (4, array([1.]))
    """

    def __init__(self, mechanism: Mechanism, table: Table) -> None:
        self._rules = PatternTable(mechanism, table)
        self.name = "plain"
        self.words = "the cheapest safe pattern, ties broken in the order of labels"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def publish(
        self, values: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_] | None:
        """See `studies.publishing.publisher.Publisher`."""
        patterns, protected = self._rules.patterns_of(np.asarray(values)[None])
        return patterns[0] if protected[0] else None

    def likelihood(
        self,
        pattern: NDArray[np.bool_],
        values: NDArray[np.int64],
        *,
        clock: Clock = UNLIMITED,
    ) -> NDArray[np.float64]:
        """See `studies.publishing.publisher.Publisher`; 0 or 1."""
        out = np.zeros(len(values))
        for part in parts(len(values), clock):
            out[part] = self._rules.gives(pattern, values[part])
        return out


class Widened(Plain):
    """The cheapest pattern that is safe for a larger width than is asked for.

    The hope is that enough width is left when the attacker has excluded what does not match.
    What it publishes is to be judged at the width of the mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        With a width.
    table : Table
    width : Number
        The larger width.

    Raises
    ------
    InputError
        As `attacks.bayes.rule_table.RuleTable`; if the mechanism has no width, or a larger one.
    """

    def __init__(self, mechanism: Mechanism, table: Table, *, width: Number) -> None:
        if mechanism.width is None:
            msg = "the mechanism has no width to be widened; give it width="
            raise InputError(msg)
        before, wider = exact(mechanism.width), exact(width)
        if wider < before:
            msg = f"the width would shrink to {number_text(wider)}; give a larger one"
            raise InputError(msg)
        super().__init__(replace(mechanism, width=wider), table)
        shown = number_text(wider)
        self.name = f"width {shown}"
        self.words = (
            f"the cheapest pattern that is safe for width {shown} instead of "
            f"{number_text(before)}, ties broken in the order of labels"
        )
