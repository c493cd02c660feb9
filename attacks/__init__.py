"""Attacks on released tables: what the public can infer, with and without knowing the algorithm.

Everything here starts from a `csp.Release`; the true table is never needed. Names load when they
are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attacks.bayes import Posterior as Posterior
    from attacks.bayes import normal_counts as normal_counts
    from attacks.bayes import posterior as posterior
    from attacks.bayes import uniform as uniform
    from attacks.completion import complete as complete
    from attacks.fibre import Fibre as Fibre
    from attacks.lattice import kernel as kernel
    from attacks.matches import Matching as Matching
    from attacks.matches import matching as matching
    from attacks.sampling import Draws as Draws
    from attacks.sampling import draw as draw

# No module may share its name with a function of the package: importing it would hide the function.
_HOMES = {
    "attacks.bayes": ("Posterior", "normal_counts", "posterior", "uniform"),
    "attacks.completion": ("complete",),
    "attacks.fibre": ("Fibre",),
    "attacks.lattice": ("kernel",),
    "attacks.matches": ("Matching", "matching"),
    "attacks.sampling": ("Draws", "draw"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Draws",
    "Fibre",
    "Matching",
    "Posterior",
    "complete",
    "draw",
    "kernel",
    "matching",
    "normal_counts",
    "posterior",
    "uniform",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module 'attacks' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
