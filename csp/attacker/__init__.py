"""What an outsider can infer from a pattern: one interface, engines picked by structure.

Every engine answers ``extreme(j, sign)`` for a part of a pattern (`csp.attacker.view.View`): how
far cell j can move up or down, with an exact witness and, where there is one, an exact proof.
"""

from __future__ import annotations

from typing import Protocol

from csp.attacker.flow import FlowEngine, as_network
from csp.attacker.ilp import integer_extreme
from csp.attacker.lp import LpEngine
from csp.attacker.view import Extreme, View, components

__all__ = ["Engine", "Extreme", "View", "components", "engine", "integer_extreme"]


class Engine(Protocol):
    """Anything that finds the ends of feasibility intervals."""

    def extreme(self, j: int, sign: int, enough: int | None = None) -> Extreme:
        """Furthest deviation of cell j up (sign=1) or down (sign=-1), or `enough` of it."""
        ...


def engine(view: View) -> Engine:
    """Pick the engine for a part of a pattern: flows for a network, else linear programming."""
    network = as_network(view)
    return LpEngine(view) if network is None else FlowEngine(view, network)
