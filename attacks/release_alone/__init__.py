"""What a release discloses to an attacker who does not know how it was made.

`bound_proofs` and `exhaustive_proofs` prove bounds; `disclosed_cells` and `cell_sums` list what
follows from one release, `several_releases` from releases that are combined. `insider_knowledge`
adds what contributors know, `coalitions` finds the fewest who disclose a cell together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from attacks.release_alone.cell_sums import Sum, Sums, with_sum
    from attacks.release_alone.coalitions import Coalition
    from attacks.release_alone.insider_knowledge import Insight
    from attacks.release_alone.several_releases import Differencing

_HOMES = {
    "attacks.release_alone.cell_sums": ("Sum", "Sums", "with_sum"),
    "attacks.release_alone.coalitions": ("Coalition",),
    "attacks.release_alone.insider_knowledge": ("Insight",),
    "attacks.release_alone.several_releases": ("Differencing",),
}

__all__ = [
    "Coalition",
    "Differencing",
    "Insight",
    "Sum",
    "Sums",
    "with_sum",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
