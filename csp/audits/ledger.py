"""Many claims checked at once: the same integers as one by one, in a few sparse products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from csp.exact import UNBOUNDED

if TYPE_CHECKING:
    from csp.audits.certificate import Claim
    from csp.tables.table import Table

__all__ = ["doubtful"]

# Claims checked in one product: a table may have millions, whose witnesses would fill the memory.
_AT_ONCE = 200_000


def doubtful(
    claims: Sequence[Claim],
    table: Table,
    pattern: NDArray[np.bool_],
    up: NDArray[np.int64],
    down: NDArray[np.int64],
) -> list[int]:
    """Claims that this check does not settle, in ascending order; all others hold.

    Proofs against insiders, claims of endless intervals, with wide numbers or with anything odd
    about them are left to `csp.audits.certificate`, which knows what to say about them.

    Parameters
    ----------
    claims : sequence of Claim
    table : Table
    pattern : (n,) bool
    up, down : (n,) int64
        Room of each cell (`csp.attacker.view.room`).

    Returns
    -------
    list of int
    """
    plain = np.array([_plain(claim, table, pattern) for claim in claims], dtype=bool)
    where = np.flatnonzero(plain)
    for begin in range(0, len(where), _AT_ONCE):
        part = where[begin : begin + _AT_ONCE]
        chosen = [claims[i] for i in part.tolist()]
        plain[part] &= _witnesses_hold(chosen, table, pattern, up, down)
    proofs = np.array(
        [i for i in np.flatnonzero(plain).tolist() if claims[i].exact], dtype=np.int64
    )
    if len(proofs):
        plain[proofs] &= _proofs_hold(
            [claims[i] for i in proofs.tolist()], table, pattern, up, down
        )
    return np.flatnonzero(~plain).tolist()


def _plain(claim: Claim, table: Table, pattern: NDArray[np.bool_]) -> bool:
    """Whether the form of a claim is in order and its numbers fit."""
    return (
        type(claim.reach) is Fraction
        and claim.reach.numerator >= 0
        and (not claim.known or not claim.exact)
        and claim.sign in (1, -1)
        and 1 <= claim.denominator < 2**40
        and 1 <= claim.divisor < 2**20
        and (claim.denominator == 1 or not claim.integer)
        and 0 <= claim.cell < table.n_cells
        and bool(pattern[claim.cell])
        and claim.cells.dtype == claim.steps.dtype == claim.rows.dtype == np.int64
        and claim.multipliers.dtype == np.int64
        and len(claim.cells) == len(claim.steps)
        and len(claim.rows) == len(claim.multipliers)
        # A proof that is not claimed is still looked at: leave it to the other check.
        and (claim.exact or not len(claim.rows))
    )


def _witnesses_hold(
    claims: list[Claim], table: Table, pattern: NDArray[np.bool_],
    up: NDArray[np.int64], down: NDArray[np.int64],
) -> NDArray[np.bool_]:  # fmt: skip
    from scipy.sparse import csc_array

    n = table.n_cells
    number: dict[tuple[int, int, int], int] = {}
    witness = np.empty(len(claims), np.int64)
    kept = np.array([_leaves_known(claim) for claim in claims], dtype=bool)
    used: list[Claim] = []
    for i, claim in enumerate(claims):
        key = (id(claim.cells), id(claim.steps), claim.denominator)
        if key not in number:
            number[key] = len(used)
            used.append(claim)
        witness[i] = number[key]
    size = np.array([len(c.cells) for c in used])
    indptr = np.concatenate([[0], np.cumsum(size)])
    cells = np.concatenate([c.cells for c in used])
    steps = np.concatenate([c.steps for c in used])
    owner = np.repeat(np.arange(len(used)), size)
    if len(cells) and not (cells.min() >= 0 and cells.max() < n):
        return np.zeros(len(claims), dtype=bool)
    weight = int(np.abs(table.relations.data).max(initial=1))
    most = max(int(steps.max(initial=0)), -int(steps.min(initial=0)))
    if most * weight * max(1, int(size.max(initial=1))) >= 2**62:
        return np.zeros(len(claims), dtype=bool)
    good = np.ones(len(used), dtype=bool)
    place = owner * n + cells
    order = np.argsort(place, kind="stable")
    twice = place[order][1:] == place[order][:-1]
    good[owner[order][1:][twice]] = False
    limit = np.where(steps > 0, up[cells], down[cells])
    scale = np.array([c.denominator for c in used], dtype=np.int64)[owner]
    bounded = limit < UNBOUNDED
    # No step passes 2**62, so products that would may be cut off there.
    most_steps = 2**62 // scale
    beyond = np.abs(steps) > np.where(bounded & (limit < most_steps), limit, most_steps) * scale
    good[owner[(bounded & beyond) | ~pattern[cells]]] = False
    moves = csc_array((steps, cells, indptr), shape=(n, len(used)))
    balance = csc_array(table.relations @ moves)
    off = np.repeat(np.arange(len(used)), np.diff(balance.indptr))[balance.data != 0]
    good[off] = False
    # How far each witness moves the cell of each of its claims.
    targets = witness * n + np.array([c.cell for c in claims], dtype=np.int64)
    at = np.searchsorted(place[order], targets)
    at = np.minimum(at, max(0, len(order) - 1))
    hit = place[order][at] == targets if len(order) else np.zeros(len(claims), dtype=bool)
    moved = np.where(hit, steps[order][at], 0) if len(order) else np.zeros(len(claims), np.int64)
    far = [
        c.sign * step * int(c.reach.denominator) >= int(c.reach.numerator) * int(c.denominator)
        if c.reach is not None
        else False
        for c, step in zip(claims, moved.tolist(), strict=True)
    ]
    return np.asarray(kept & good[witness] & np.array(far, dtype=bool))


def _leaves_known(claim: Claim) -> bool:
    """Whether neither the cell of a claim nor its witness is among what the attacker knows."""
    if not claim.known:
        return True
    known = set(claim.known)
    return claim.cell not in known and known.isdisjoint(claim.cells.tolist())


def _proofs_hold(
    claims: list[Claim], table: Table, pattern: NDArray[np.bool_],
    up: NDArray[np.int64], down: NDArray[np.int64],
) -> NDArray[np.bool_]:  # fmt: skip
    from scipy.sparse import csc_array, csr_array

    nothing = np.zeros(len(claims), dtype=bool)
    m = table.relations.shape[0]
    size = np.array([len(c.rows) for c in claims])
    rows = np.concatenate([c.rows for c in claims])
    factors = np.concatenate([c.multipliers for c in claims])
    owner = np.repeat(np.arange(len(claims)), size)
    place = owner * m + rows
    if len(rows) and not (rows.min() >= 0 and rows.max() < m):
        return nothing
    if len(np.unique(place)) < len(place):
        return nothing
    most = max(int(factors.max(initial=0)), -int(factors.min(initial=0)))
    if most >= 2**31 or most * int(np.abs(table.relations.data).max(initial=1)) * m >= 2**50:
        return nothing
    divisor = np.array([c.divisor for c in claims], dtype=np.int64)
    sign = np.array([c.sign for c in claims], dtype=np.int64)
    hidden = np.flatnonzero(pattern)
    position = np.full(table.n_cells, -1, np.int64)
    position[hidden] = np.arange(len(hidden))
    own = position[[c.cell for c in claims]]
    shape = (len(hidden), len(claims))
    indptr = np.concatenate([[0], np.cumsum(size)])
    given = csc_array((factors, rows, indptr), shape=(m, len(claims)))
    part = csr_array(table.relations[:, hidden]).T
    target: Any = csc_array((sign * divisor, (own, np.arange(len(claims)))), shape=shape)
    c = csc_array(target - csc_array(part @ given))
    c.eliminate_zeros()
    claim_of = np.repeat(np.arange(len(claims)), np.diff(c.indptr))
    cells = hidden[c.indices]
    side = np.where(c.data > 0, up[cells], down[cells])
    endless = side >= UNBOUNDED
    weights = np.abs(c.data)
    # Each product and each sum must stay within 62 bits.
    biggest = int(weights.max(initial=0)) * int(side[~endless].max(initial=0))
    if biggest * max(1, int(np.diff(c.indptr).max(initial=1))) >= 2**62:
        return nothing
    bound = np.zeros(len(claims), np.int64)
    np.add.at(bound, claim_of, np.where(endless, 0, weights * np.where(endless, 0, side)))
    ends = bound.tolist()
    holds = np.array(
        [_within(claim, end) for claim, end in zip(claims, ends, strict=True)],
        dtype=bool,
    )
    holds[claim_of[endless]] = False
    return holds


def _within(claim: Claim, bound: int) -> bool:
    """Whether a proved bound (times the divisor) leaves no room beyond the claim's reach."""
    if claim.integer:
        bound = bound // claim.divisor * claim.divisor
    return claim.reach is not None and bound <= claim.reach * claim.divisor
