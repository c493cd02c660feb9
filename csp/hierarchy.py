"""Code hierarchies: how the codes of one dimension add up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from csp.errors import InputError

__all__ = ["Hierarchy"]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A rooted tree of codes; every inner code is the sum of its children.

    Attributes
    ----------
    codes : tuple of str
        All codes in postorder: children before their parent, siblings in their given order, the
        root (the total) last.
    parent : tuple of int
        Position of each code's parent in `codes`; -1 for the root.
    """

    codes: tuple[str, ...]
    parent: tuple[int, ...]

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = "Total") -> Hierarchy:
        """All codes directly below one total, in the given order."""
        leaves = tuple(codes)
        if total in leaves:
            msg = f"code {total!r} is both a category and the total; choose another name for the total"
            raise InputError(msg)
        return cls((*leaves, total), (*(len(leaves) for _ in leaves), -1))

    @property
    def root(self) -> str:
        """Code of the total."""
        return self.codes[-1]

    def children(self, position: int) -> tuple[int, ...]:
        """Positions of the children of the code at `position`, in order."""
        return tuple(i for i, p in enumerate(self.parent) if p == position)

    @property
    def leaves(self) -> tuple[int, ...]:
        """Positions of the codes without children, in order."""
        inner = set(self.parent)
        return tuple(i for i in range(len(self.codes)) if i not in inner)
