"""Random decoys and mechanisms to compare them with: what they publish, how probable that is.

For tables of which up to 64 cells may be suppressed and whose relations form a network, and rules
that look at one cell at a time. Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from attacks.defences.base import Publisher
    from attacks.defences.choosing import Exponential, UniformOptimal
    from attacks.defences.deterministic import Plain, Widened
    from attacks.defences.fixpoint import SequentialFixpoint

# No module may share its name with something offered here: importing it would hide that.
_HOMES = {
    "attacks.defences.base": ("Publisher",),
    "attacks.defences.choosing": ("Exponential", "UniformOptimal"),
    "attacks.defences.deterministic": ("Plain", "Widened"),
    "attacks.defences.fixpoint": ("SequentialFixpoint",),
}

__all__ = [
    "Exponential",
    "Plain",
    "Publisher",
    "SequentialFixpoint",
    "UniformOptimal",
    "Widened",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
