"""What an outsider can infer from a pattern: one interface, engines picked by structure.

Every engine answers ``ends(targets, signs)`` for a part of a pattern (`csp.attacker.view.View`):
how far cells can move up or down, with exact witnesses and, where there are any, exact proofs.
`flow` is the engine of networks, by the compiled `maxflow`; `lp` that of all other tables, whose
answers are made exact in `exact` and `elimination`. `ilp` knows that cells are whole units, and
`boxes` are the simplest deviations of a cross table, and `null_space` has exact
bases of all deviations; `integer_matrices` is the exact algebra of small dense matrices, and
`kernel_simplex` judges one pattern in thousands of tables, `kernel_prices` says why one misses a
level.

Interval ends are checked by an exact simplex, by enumeration of all integer tables, by the programs
in PuLP, and flows against linear programs (`tests/csp/attacker`); a basis whose numbers break a
bound is refined: the program is solved again for what is missing, in a smaller unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from csp.attacker.flow import FlowEngine, as_network
from csp.attacker.ilp import integer_extreme
from csp.attacker.lp import LpEngine
from csp.attacker.view import Extreme, View, components
from csp.clock import UNLIMITED, Clock
from csp.exact import Ints

__all__ = ["Engine", "Extreme", "View", "components", "engine", "integer_extreme"]


class Engine(Protocol):
    """Anything that finds the ends of feasibility intervals."""

    def ends(
        self,
        targets: Ints,
        signs: Ints,
        enough: Ints | None = None,
        clock: Clock = UNLIMITED,
    ) -> list[Extreme]:
        """Furthest deviation of each target in its direction.

        Parameters
        ----------
        targets : (t,) int64
            Positions within the view.
        signs : (t,) int64
            1 for up, -1 for down; no pair of target and sign twice.
        enough : (t,) int64, optional
            Units after which a target need not be followed: its answer then is not a proved end,
            and may share its witness with others.
        clock : Clock

        Returns
        -------
        list of Extreme

        Raises
        ------
        OutOfTime
            If the time runs out first.
        CertificateError
            If no exact witness can be made of a solver's answer.
        """
        ...


def engine(
    view: View, witnesses: Sequence[tuple[Ints, int]] = (), *, whole: bool = False
) -> Engine:
    """Pick the engine for a part of a pattern: flows for a network, else linear programming.

    Parameters
    ----------
    view : View
    witnesses : sequence of ((k,) int64, int)
        Numerators on the cells of the view, and their denominator, of vectors that may be
        deviations far enough for some targets.
    whole : bool
        Whether deviations that serve many targets should be in whole units.
    """
    network = as_network(view)
    return LpEngine(view, witnesses, whole=whole) if network is None else FlowEngine(view, network)
