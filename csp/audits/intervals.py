"""Feasibility intervals: how far each suppressed cell can move, with a claim for either end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from csp.attacker import Extreme, View, components, engine, integer_extreme
from csp.audits.claims import Certificate, Claim
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, InputError, argument
from csp.exact import Bools, Floats, Ints
from csp.names.calls import expect, named_errors
from csp.tables.patterns import as_pattern
from csp.tables.table import Table

# Cells followed between two looks at the clock, and cells whose integer programs are.
_SLICE = 64
_INTEGER_SLICE = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intervals:
    """Feasibility intervals of the cells of a table; unpacks as ``lower, upper``.

    Attributes
    ----------
    table : Table
    lower, upper : (n,) float64
        In table units; the value itself where published, infinite where there is no end, NaN
        where none was asked for.
    exact : (n, 2) bool
        Whether the lower and the upper end are proved. An end that is not is an inner one: the
        cell reaches so far, and perhaps further.
    """

    table: Table
    lower: Floats
    upper: Floats
    exact: Bools

    def __repr__(self) -> str:
        return f"Intervals({len(self.lower)} cells)"

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.lower, self.upper))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Floats:
        return (self.lower, self.upper)[i]

    def require_exact(self) -> Intervals:
        """Return these intervals if every end that was asked for is proved.

        Raises
        ------
        CertificateError
            Naming cells with an end that is not.
        """
        asked = ~np.isnan(np.stack([self.lower, self.upper], axis=1))
        open_ends = np.flatnonzero((asked & ~self.exact).any(axis=1)).tolist()
        if open_ends:
            names = ", ".join(self.table.cell(i) for i in open_ends[:4])
            more = f" and {len(open_ends) - 4} more" if len(open_ends) > 4 else ""
            msg = (
                f"no proof was found that the intervals of these cells end where they seem to: "
                f"{names}{more}; use {argument('integer', value=False)}, or allow more time"
            )
            raise CertificateError(msg)
        return self


@named_errors
def intervals(
    table: Table,
    pattern: ArrayLike,
    *,
    integer: bool = False,
    cells: ArrayLike | None = None,
    time_limit: float | None = None,
) -> Intervals:
    """Feasibility interval of every cell (Minami and Abe 2019, Definition 2).

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    integer : bool
        Over integer tables only.
    cells : array of int, optional
        Only these suppressed cells; NaN elsewhere.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Intervals
        Unpacks as ``lower, upper``, in table units; `Intervals.exact` says which ends are proved.

    Raises
    ------
    InputError
        If the pattern has the wrong shape or cells do not exist.
    OutOfTime
        If the time limit passed before every interval was known.

    Examples
    --------
    Figure 2 of Minami and Abe (2019): four suppressed cells, the first is between 0 and 17.

    >>> import numpy as np
    >>> from csp import Table, intervals
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[:2, :2] = True
    >>> lower, upper = intervals(table, pattern.ravel())
    >>> float(lower[0]), float(upper[0])
    (0.0, 17.0)
    """
    clock = Clock.of(time_limit)
    expect(table, Table, "table")
    suppressed = as_pattern(table, pattern)
    wanted = np.flatnonzero(suppressed) if cells is None else as_positions(cells, table.n_cells)
    ends = interval_claims(table, suppressed, wanted, integer=integer, clock=clock)
    found = Certificate(table, suppressed, tuple(c for pair in ends.values() for c in pair))
    found.verify()
    return Intervals(table, *as_arrays(found))


def as_positions(cells: ArrayLike, n: int) -> Ints:
    """Positions of some of n cells as an array.

    Raises
    ------
    InputError
        For anything but whole numbers from 0 to n - 1.
    """
    array = np.asarray(cells)
    if array.size and array.dtype.kind not in "iu":
        msg = "cells are positions, whole numbers from 0; for a mask write np.flatnonzero(mask)"
        raise InputError(msg)
    wanted = array.astype(np.int64).ravel()
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < n):
        msg = (
            f"cells must be positions from 0 to {n - 1}, got some from {wanted.min()} to "
            f"{wanted.max()}"
        )
        raise InputError(msg)
    return wanted


def interval_claims(
    table: Table,
    pattern: Bools,
    targets: Iterable[int],
    *,
    integer: bool = False,
    known: tuple[int, ...] = (),
    enough: Ints | None = None,
    clock: Clock = UNLIMITED,
    witnesses: Sequence[tuple[Ints, int]] = (),
    found: dict[int, tuple[Claim, Claim]] | None = None,
) -> dict[int, tuple[Claim, Claim]]:
    """Lower and upper claim of every target among the suppressed cells.

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    targets : iterable of int
        Suppressed cells; others are skipped.
    integer : bool
    known : tuple of int
        Suppressed cells whose value this attacker knows.
    enough : (n,) or (2, n) int64, optional
        Units after which an end need not be followed further; one row for either side.
    clock : Clock
    witnesses : sequence of ((n,) int64, int)
        See `audit`.
    found : dict, optional
        Claims are added to it as they are found, so that it holds some if the time runs out.

    Returns
    -------
    dict of int to (Claim, Claim)
        (lower, upper) for each target, and what was in `found`.
    """
    found = {} if found is None else found
    wanted = np.zeros(table.n_cells, dtype=bool)
    wanted[list(targets)] = True
    for view in components(table, pattern, known=known):
        here = np.flatnonzero(wanted[view.cells])
        if not len(here):
            continue
        clock.check("the pattern was judged")
        known_tables = [(z[view.cells], scale) for z, scale in witnesses if not z[~pattern].any()]
        attacker = engine(view, known_tables, whole=integer)
        # Deviations that are enough serve many cells; ends are followed one by one, and those
        # that are found before the time runs out are kept.
        width = len(here)
        if enough is None and clock < UNLIMITED:
            width = _INTEGER_SLICE if integer else _SLICE
        for first in range(0, len(here), width):
            part = here[first : first + width]
            ends, signs = np.tile(part, 2), np.repeat([-1, 1], len(part))
            limits = None
            if enough is not None:
                sides = np.broadcast_to(enough, (2, table.n_cells))
                limits = sides[(signs > 0).astype(np.int64), view.cells[ends]]
            answers = attacker.ends(ends, signs, limits, clock)
            if integer:
                for t, (j, sign) in enumerate(zip(ends.tolist(), signs.tolist(), strict=True)):
                    clock.check("the pattern was judged")
                    answers[t] = integer_extreme(view, j, sign, answers[t], clock)
            claims = claims_of(view, ends, signs, answers, known, integer=integer)
            for low, high in zip(claims, claims[len(part) :], strict=False):
                found[low.cell] = low, high
    return found


def claims_of(
    view: View,
    targets: Ints,
    signs: Ints,
    extremes: list[Extreme],
    known: tuple[int, ...] = (),
    *,
    integer: bool = False,
) -> list[Claim]:
    """Turn an engine's answers about a part of a pattern into claims about the table.

    Answers that share a witness become claims that share it.
    """
    places: dict[int, Ints] = {}
    claims = []
    for j, sign, extreme in zip(targets.tolist(), signs.tolist(), extremes, strict=True):
        cells = places.get(id(extreme.moved))
        if cells is None:
            cells = places[id(extreme.moved)] = view.cells[extreme.moved]
        rows = view.rows[extreme.rows] if len(extreme.rows) else extreme.rows
        claims.append(
            Claim(
                int(view.cells[j]), sign, known, extreme.reach, cells, extreme.steps,
                extreme.denominator, rows, extreme.multipliers, extreme.divisor, extreme.exact,
                integer,
            )
        )  # fmt: skip
    return claims


def as_arrays(certificate: Certificate) -> tuple[Floats, Floats, Bools]:
    """Intervals of an outsider: `lower`, `upper` and `exact`."""
    table, pattern = certificate.table, certificate.pattern
    lower = np.where(pattern, np.nan, table.values.astype(np.float64))
    upper = lower.copy()
    exact = np.repeat(~pattern[:, None], 2, axis=1)
    for claim in certificate:
        if claim.known:
            continue
        i, side = claim.cell, upper if claim.sign > 0 else lower
        reach, endless = claim.reach, claim.reach is None
        if reach is None:
            end = claim.sign * np.inf
        else:  # integers: fractions take five times as long, and there may be millions
            whole = int(table.values[i]) * reach.denominator + claim.sign * reach.numerator
            end = whole / reach.denominator
        # Several witnesses may speak of one end: the interval reaches as far as any of them.
        if np.isnan(side[i]) or claim.sign * end > claim.sign * side[i]:
            side[i] = end
        exact[i, int(claim.sign > 0)] |= claim.exact or endless
    for array in (lower, upper, exact):
        array.flags.writeable = False
    return lower, upper, exact
