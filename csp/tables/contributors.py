"""Who stands behind a cell: how many contributors, and the largest of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from csp.errors import InputError
from csp.exact import Ints


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contributors:
    """Counts and largest contributions of each cell, as the sensitivity rules see them.

    Attributes
    ----------
    count : (n,) int64
        Number of contributors: records, or those who are named as contributors. Sampling weights
        do not change it: a single respondent is one, whatever it stands for.
    total : (n,) int64
        Sum of all contributions as the rules see them, in table units. Equals the cell's value
        unless a mode for negative contributions changed the contributions.
    top : (n, k) int64
        The k largest contributions, in descending order, 0 where there are fewer. All >= 0.
    ids : (n, k) int64 or None
        Contributor behind each entry of `top`, -1 where there is none. None if contributors were
        not identified; then contributions of different cells count as different contributors.
    opposite : Contributors or None
        Only for negative="split": the same for the negative contributions, signs dropped. A cell
        is sensitive if either side is.
    weighted : (n,) int64 or None
        Estimated number of contributors in the population: the sum of the sampling weights, in
        units of ``10**-weight_scale``. None without weights.
    counted : bool
        Whether `count` is known; if not, it counts those in `top`, of whom there may be more.
    shift : int
        What was taken from each contribution, under negative="shift": the smallest of all, or 0.
    shadow : bool
        Whether the contributions are those of another variable than the cells, in its own units:
        rules judge them, and their levels are carried over as shares of the cell.
    signed : bool
        Whether some contributions to a shadow are negative, and count by their size.
    weight_scale : int
        Decimals of `weighted`. It is rounded, half up, where it is compared and not before: two
        halves are one.
    """

    count: Ints
    total: Ints
    top: Ints
    ids: Ints | None = None
    opposite: Contributors | None = None
    weighted: Ints | None = None
    counted: bool = True
    shadow: bool = False
    shift: int = 0
    weight_scale: int = 0
    signed: bool = False

    def __post_init__(self) -> None:
        n = len(self.count)
        if self.total.shape != (n,) or self.top.ndim != 2 or self.top.shape[0] != n:
            msg = (
                f"contributors of {n} cells need total of shape ({n},) and top of shape ({n}, k); "
                f"got {self.total.shape} and {self.top.shape}"
            )
            raise InputError(msg)
        if self.ids is not None and self.ids.shape != self.top.shape:
            msg = f"ids of shape {self.ids.shape} do not match top of shape {self.top.shape}"
            raise InputError(msg)
        if self.weighted is not None and self.weighted.shape != (n,):
            msg = f"weighted has shape {self.weighted.shape}; {n} cells need ({n},)"
            raise InputError(msg)
        for array in (self.count, self.total, self.top, self.ids, self.weighted):
            if array is not None:
                array.flags.writeable = False

    def __repr__(self) -> str:
        n, k = self.top.shape
        return f"Contributors({n} cells, {k} largest known)"

    def of_shadow(self, values: Ints) -> Contributors:
        """Return the same as contributions of a shadow variable with these values."""
        opposite = None if self.opposite is None else self.opposite.of_shadow(values)
        signed = bool((self.total != values).any())
        return replace(self, shadow=True, opposite=opposite, signed=signed)

    def take(self, cells: Ints) -> Contributors:
        """Return those of some cells, in the order in which these are given."""
        return self.mapped(lambda array, _: array[cells])

    def mapped(self, change: Callable[[Ints, int], Ints]) -> Contributors:
        """Return those of other cells, made array by array.

        Parameters
        ----------
        change : callable
            Takes an array and what it holds where there is no contributor: 0, or -1 in `ids`.
        """
        return Contributors(
            change(self.count, 0),
            change(self.total, 0),
            change(self.top, 0),
            None if self.ids is None else change(self.ids, -1),
            None if self.opposite is None else self.opposite.mapped(change),
            None if self.weighted is None else change(self.weighted, 0),
            self.counted,
            self.shadow,
            self.shift,
            self.weight_scale,
            self.signed,
        )
