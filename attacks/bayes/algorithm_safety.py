"""Whether knowledge of the algorithm changes what an attacker believes, in exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

import numpy as np

from attacks.algorithm_known.matches import Algorithm, matches_of
from attacks.fibre.consistent_tables import Fibre, check_size
from csp.clock import Clock
from csp.errors import InputError
from csp.exact import Ints
from csp.release.release import Release

SAFE = "algorithm-safe"
SAME_VALUES = "cell values unchanged"
CHANGED = "changed"

Weight = Callable[[int], Fraction | int]
Chances = tuple[dict[int, Fraction], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AlgorithmSafety:
    """What the algorithm adds to the beliefs of an attacker who has the release.

    Attributes
    ----------
    verdict : str
        "algorithm-safe": every consistent table is as probable with knowledge of the algorithm as
        without. "cell values unchanged": tables are ruled out, but each cell keeps its
        probabilities. "changed": some cell does not.
    cells : (k,) int64
        Suppressed cells.
    probability, naive : tuple of dict
        For each cell, the probability of each value, with and without the algorithm; exact.
    change : tuple of Fraction
        For each cell, the largest difference between the two.
    """

    verdict: str
    cells: Ints
    probability: Chances
    naive: Chances
    change: tuple[Fraction, ...]

    def __repr__(self) -> str:
        moved = sum(c > 0 for c in self.change)
        return f"AlgorithmSafety({self.verdict}: {moved} of {len(self.cells)} cells changed)"

    @property
    def most_changed(self) -> int:
        """Cell whose probabilities change most, the first of equals."""
        return int(self.cells[self.change.index(max(self.change))])

    @property
    def m(self) -> Fraction:
        """Largest m of m-confidentiality: no value of a suppressed cell is more probable than 1/m.

        Every value counts as sensitive (Wong et al. 2007 leave that to the publisher).
        """
        return 1 / max(max(chances.values()) for chances in self.probability)


def algorithm_safety(
    release: Release,
    algorithm: Algorithm,
    *,
    weight: Weight = lambda _: 1,
    max_tables: int = 200_000,
    time_limit: float | None = None,
) -> AlgorithmSafety:
    """Compare beliefs with and without knowledge of the algorithm, exactly.

    Algorithm-safe is what Jin et al. (2010) call an algorithm that leaves the conditional
    probabilities of tables alone, and m-confidential what Wong et al. (2007) call one that lets
    no attacker be surer than 1/m; Minami and Abe (2019, section 5) discuss both. This is about one
    release.

    Parameters
    ----------
    release : Release
    algorithm : Mechanism or callable
        A function takes a `Table` and returns the (n,) bool pattern that another program
        publishes, or None if it publishes nothing; it must be deterministic.
    weight : callable
        Prior weight of a value of an inner cell, a whole number or fraction of at least 0. Cells
        that are totals of others have none of their own. Uniform by default.
    max_tables : int
        Tables to list at most.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    AlgorithmSafety

    Raises
    ------
    InputError
        If the fibre is larger, a weight is not exact or negative, or no table that the prior
        allows is published like this.
    OutOfTime
        If the time limit passed first.

    Examples
    --------
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    >>> found = algorithm_safety(mechanism.protect(table).release, mechanism)
    >>> found.verdict, str(max(found.change)), str(found.m)
    ('changed', '1/18', '17')
    """
    clock = Clock.of(time_limit)
    fibre = Fibre(release, time_limit=clock.seconds)
    check_size(fibre, max_tables, clock, "give a larger max_tables")
    inner = np.flatnonzero(~fibre.table.margins[fibre.cells])
    known: dict[int, Fraction] = {}

    def weigh(v: int) -> Fraction:
        if v not in known:
            try:
                given = weight(v)
            except (AttributeError, TypeError) as error:
                msg = (
                    "weight must be a function of one whole number; those of attacks.posterior, "
                    f"such as normal_counts, take an array and return logarithms ({error})"
                )
                raise InputError(msg) from error
            if not isinstance(given, (Integral, Fraction)) or given < 0:
                msg = "weight must give a whole number or Fraction of at least 0 for each value"
                raise InputError(msg)
            given = given if isinstance(given, Fraction) else int(given)
            known[v] = Fraction(given)
        return known[v]

    def summed(tables: list[list[int]]) -> tuple[Fraction, list[dict[int, Fraction]]]:
        total = Fraction(0)
        sums: list[dict[int, Fraction]] = [{} for _ in fibre.cells]
        for x in tables:
            clock.check("every table was weighed")
            mass = Fraction(1)
            for e in inner.tolist():
                mass *= weigh(x[e])
            if mass:
                total += mass
                for part, v in zip(sums, x, strict=True):
                    part[v] = part.get(v, Fraction(0)) + mass
        return total, sums

    everything = [x for b in fibre.blocks(time_limit=clock.seconds) for x in b.tolist()]
    whole, before = summed(everything)
    matches = [x for b in matches_of(release, algorithm, fibre, clock) for x in b.tolist()]
    kept, after = summed(matches)
    if not kept:
        msg = (
            "no table to which the prior gives weight is published like this: the algorithm or "
            "the prior cannot be the one behind the release; pass the right one"
        )
        raise InputError(msg)
    naive = tuple({v: w / whole for v, w in part.items()} for part in before)
    aware = tuple(
        {v: part.get(v, Fraction(0)) / kept for v in all_of}
        for part, all_of in zip(after, naive, strict=True)
    )
    change = tuple(max(abs(a[v] - b[v]) for v in b) for a, b in zip(aware, naive, strict=True))
    verdict = SAFE if kept == whole else CHANGED if any(change) else SAME_VALUES
    return AlgorithmSafety(verdict, fibre.cells, aware, naive, change)
