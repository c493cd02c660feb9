"""Which values of a cell a known algorithm rules out, which it does not, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attacks.algorithm_known.match_tests import published_as
from attacks.algorithm_known.matches import match_test_of
from attacks.algorithm_known.views.public_view import PublicView
from attacks.descriptions import cell_name, number
from attacks.fibre.consistent_tables import check_size
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, InputError
from csp.exact import Ints
from csp.mechanism import Mechanism
from csp.release.release import Release

REASONS = (
    "no cell would be primary, so nothing would be suppressed",
    "the pattern would not protect the cells that are primary",
    "another pattern is cheaper or preferred",
)
"""Why a table would have been published otherwise."""

_LOOKED_AT = 300


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Survivors:
    """Values of one cell over all tables consistent with a release."""

    release: Release
    mechanism: Mechanism
    cell: int
    # Values of the cell in consistent tables, ascending, in units. Empty where the theorem of
    # decoys says that no table is excluded, so that none needs to be tested.
    values: tuple[int, ...]
    fits: tuple[int, ...]  # how many consistent tables have each value
    published: tuple[int, ...]  # how many of those get the pattern of the release
    # For each value that is excluded: for how many of its tables each of `REASONS` holds; empty for
    # the others. The first few hundred tables are looked at.
    reasons: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return f"Survivors(cell {cell_name(self.release, self.cell)})"

    def lines(self, *, reveal: bool = False) -> list[str]:
        """Sentences that say what is excluded and why; values and numbers only with `reveal`."""
        name, scale = f"cell {cell_name(self.release, self.cell)}", self.release.scale
        if not self.values:
            return [
                f"knowing the algorithm does not exclude a value of {name}: some key publishes "
                "every consistent table with this pattern"
            ]
        fallen = [k for k, count in enumerate(self.published) if not count]
        if not reveal:
            if not fallen:
                return [f"knowing the algorithm does not exclude a value of {name}"]
            which = [r for j, r in enumerate(REASONS) if any(self.reasons[k][j] for k in fallen)]
            return [
                f"values of {name} are excluded, because the algorithm would not have published "
                f"this pattern: {'; '.join(which)}"
            ]
        kept = [number(v, scale) for v, count in zip(self.values, self.published, strict=True)
                if count]  # fmt: skip
        lines = [
            f"{sum(self.fits)} tables are consistent with the release, and the algorithm publishes "
            f"{sum(self.published)} of them with this pattern",
            f"{name} keeps {len(kept)} of {len(self.values)} values: {', '.join(kept)}",
        ]
        for k in fallen:
            why = [
                f"{count} x {reason}"
                for count, reason in zip(self.reasons[k], REASONS, strict=True)
                if count
            ]
            seen = sum(self.reasons[k])
            note = f" (of {seen} looked at)" if seen < self.fits[k] else ""
            lines.append(
                f"{number(self.values[k], scale)} is excluded: of {self.fits[k]} tables with it, 0 "
                f"would have been published so: {'; '.join(why)}{note}"
            )
        return lines

    def check(self, release: Release | None = None, *, clock: Clock = UNLIMITED) -> None:
        """Test every table again, by running the suppression solver on it.

        With decoys, by auditing the pattern for its sensitive cells (see
        `attacks.algorithm_known.match_tests.published_as`).

        Raises
        ------
        CertificateError
            If the numbers differ.
        OutOfTime
            If the time runs out first.
        """
        view = PublicView.of(
            self.release if release is None else release, self.mechanism, clock=clock
        )
        if view.excludes_nothing and not self.values:
            return
        place = int(np.searchsorted(view.cells, self.cell))
        counted: dict[int, list[int]] = {}
        for block in view.fibre().blocks(time_limit=clock.seconds):
            for x in block:
                clock.check("every table was tested again")
                entry = counted.setdefault(int(x[place]), [0, 0])
                entry[0] += 1
                entry[1] += published_as(view, x, clock)
        rows = zip(self.fits, self.published, strict=True)
        claimed = dict(zip(self.values, map(list, rows), strict=True))
        if claimed != counted:
            msg = f"{self!r}: the solver tests the consistent tables differently"
            raise CertificateError(msg)


def survivors_of(
    release: Release,
    mechanism: Mechanism,
    cell: int,
    *,
    max_tables: int = 100_000,
    clock: Clock = UNLIMITED,
) -> Survivors:
    """Count, for every value of a suppressed cell, the consistent tables and those that survive.

    Raises
    ------
    InputError
        If more tables are consistent than max_tables, infinitely many are, or the mechanism
        contradicts the release (see `attacks.algorithm_known.views.public_view.PublicView.of`).
    OutOfTime
        If the time ran out before every table was tested.
    """
    view = PublicView.of(release, mechanism, clock=clock)
    if view.excludes_nothing:
        return Survivors(release, mechanism, cell, (), (), (), ())
    fibre = view.fibre()
    mend = "allow more, or use attacks.matching, which need not test every table"
    check_size(fibre, max_tables, clock, mend)
    place = int(np.searchsorted(view.cells, cell))
    first = int(view.lower[place])
    width = int(view.upper[place]) - first + 1
    fits, published = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    for block in fibre.blocks(time_limit=clock.seconds):
        fits += np.bincount(block[:, place] - first, minlength=width)
    for block in match_test_of(view).listed(clock):
        published += np.bincount(block[:, place] - first, minlength=width)
    if not published.any():
        msg = (
            "the mechanism publishes none of the consistent tables with this pattern: it cannot "
            "have produced the release; pass the one that did"
        )
        raise InputError(msg)
    fallen = (fits > 0) & (published == 0)
    reasons = np.zeros((width, len(REASONS)), dtype=np.int64)
    for block in fibre.blocks(time_limit=clock.seconds):
        for x in block[fallen[block[:, place] - first]]:
            v = int(x[place]) - first
            if reasons[v].sum() < _LOOKED_AT:
                clock.check("every table was tested")
                reasons[v, _reason(view, x, clock)] += 1
    here = np.flatnonzero(fits)
    return Survivors(
        release, mechanism, cell, tuple((here + first).tolist()), tuple(fits[here].tolist()),
        tuple(published[here].tolist()),
        tuple(tuple(reasons[v].tolist()) if fallen[v] else () for v in here),
    )  # fmt: skip


def _reason(view: PublicView, x: Ints, clock: Clock) -> int:
    """Which of `REASONS` holds for a table that is not a match."""
    if view.mechanism.defence is not None:
        # Decoys need no primary cell, and their key may prefer any pattern.
        return 1
    problem = view.mechanism.problem(view.release.table(x))
    if not problem.forced.any():
        return 0
    return 2 if view.protects(problem, clock) else 1
