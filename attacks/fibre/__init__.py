"""The fibre of a release: the integer tables consistent with everything published.

`consistent_tables` has the fibre itself. Below it: `feasible_intervals` of single cells, `counts`
without listing, `enumeration` under any relations, `network_ranges` where the suppressed cells form
a network, and the `kernel_basis`, the moves from one table to the next. `samples` draws tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from attacks.fibre.consistent_tables import Fibre
    from attacks.fibre.kernel_basis import kernel
    from attacks.fibre.samples import Draws, draw

_HOMES = {
    "attacks.fibre.consistent_tables": ("Fibre",),
    "attacks.fibre.kernel_basis": ("kernel",),
    "attacks.fibre.samples": ("Draws", "draw"),
}

__all__ = [
    "Draws",
    "Fibre",
    "draw",
    "kernel",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
