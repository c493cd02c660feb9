"""Clusters that take in the next nearest records until they are safe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from csp.errors import InputError, argument
from microagg.compliance.asked import Asked, Found, finished
from microagg.compliance.search import grown, renumbered


@dataclass(frozen=True, slots=True)
class Grow:
    """Clusters grow until they are safe; they are made anew.

    Attributes
    ----------
    moves : bool
        Whether records move then, where that makes clusters better.
    """

    name: ClassVar[str] = "grow"
    moves: bool = True

    def __call__(self, asked: Asked) -> Found:
        """Make clusters comply."""
        asked.check_signs(self.name)
        if asked.partition is not None:
            msg = (
                "method 'grow' makes its own clusters; leave "
                f"{argument('partition', option='--clusters')} out, or choose 'merge'"
            )
            raise InputError(msg)
        asked.check_possible()
        compared = asked.begin(asked.sized)
        labels = finished(asked.task, renumbered(grown(asked.task)), moves=self.moves)
        return Found(asked.made(labels, self.name), compared)
