"""Clusters that join others until they are safe, then move records where that saves most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from microagg.compliance.asked import Asked, Found, finished


@dataclass(frozen=True, slots=True)
class Merge:
    """Unsafe clusters join others.

    Attributes
    ----------
    moves : bool
        Whether records move then, where that makes clusters better.
    """

    name: ClassVar[str] = "merge"
    moves: bool = True

    def __call__(self, asked: Asked) -> Found:
        """Make clusters comply."""
        asked.check_signs(self.name)
        asked.check_possible()
        start = asked.begin(asked.sized)
        labels = finished(asked.task, start.labels, moves=self.moves)
        return Found(asked.made(labels, self.name), start)
