"""Cells of a large release that only whole numbers disclose, window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attacks.large_releases.windows import OpenPart, Window, windows
from csp.attacker import integer_extreme
from csp.attacker.flow import as_network
from csp.attacker.lp import LpEngine
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, OutOfTime
from csp.exact import Bools, Ints

_SECONDS = 20.0
"""Seconds of a window; most take some hundredths of one."""


@dataclass(frozen=True, slots=True, eq=False)
class OnlyWhole:
    """Cells that are left one whole number.

    Attributes
    ----------
    cells, values : (c,) int64
        Cells, and that number.
    looked_at : (k,) bool
        Cells in the middle of a window that was judged: cells at its edge are known less often.
    """

    cells: Ints
    values: Ints
    looked_at: Bools


def only_whole(part: OpenPart, wanted: Bools, clock: Clock = UNLIMITED, **size: int) -> OnlyWhole:
    """Find cells to which tables of whole numbers leave one value.

    What a window rules out is ruled out by programs over whole numbers (`csp.attacker.ilp`).

    Parameters
    ----------
    part : OpenPart
    wanted : (k,) bool
        Cells that are looked at.
    clock : Clock
        Windows for which it does not suffice are left out.
    **size : int
        As in `windows`.

    Returns
    -------
    OnlyWhole

    Raises
    ------
    InputError
        If no table of whole numbers is consistent with a window.
    """
    looked_at = np.zeros(len(wanted), bool)
    cells, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for window in windows(part, wanted, looked_at, **size):
        if clock.over:
            break
        here = window.cells
        targets = np.flatnonzero(wanted[here] & window.middle & ~looked_at[here])
        try:
            fixed, table = _fixed(window, targets, clock.within(_SECONDS))
        except (OutOfTime, CertificateError):
            # Not looked at, which is said: other windows are about other cells.
            continue
        looked_at[here[window.middle]] = True
        cells.append(here[fixed])
        values.append(table[fixed])
    return OnlyWhole(np.concatenate(cells), np.concatenate(values), looked_at)


def _fixed(window: Window, targets: Ints, clock: Clock) -> tuple[Ints, Ints]:
    """Targets that no table of whole numbers in a window moves, and one such table."""
    # The ends of networks are whole numbers: fractions have found all that there is.
    if not len(targets) or as_network(window.view()) is not None:
        return targets[:0], window.lower
    table = window.table(clock)
    view = window.view(table)
    engine = LpEngine(view, whole=True)
    moved = np.zeros(len(table), bool)
    # Few tables move nearly all cells; programs of their own are for the rest.
    both, signs = np.tile(targets, 2), np.repeat([-1, 1], len(targets))
    for found in engine.shared(both, signs, np.ones(len(both), np.int64), clock):
        if found.denominator == 1:
            moved[found.moved] = True
    for j in targets.tolist():
        for sign in (-1, 1):
            if not moved[j]:
                clock.check()
                relaxed = engine.extreme(j, sign, clock=clock)
                moved[integer_extreme(view, j, sign, relaxed, clock).moved] = True
    return targets[~moved[targets]], table
