"""What a group of records lacks, in whole numbers, for compiled loops.

A group is known by its total and its largest contributions in every column; a column is an
attribute, or one sign of it. Other columns hold codes of values, from 1 and 0 where missing, of
which a group must have a given number: then the largest different codes are kept. Written plainly;
`search` compiles copies.

Where several records may belong to one contributor, its contributions to a group are one, their
sum. Safe groups stay safe when they join, then too. A form calls a group sensitive if ``f(s)``,
the sum of its weights times the largest contributions s, exceeds a multiple of their total. Its
weights never rise, so f(s) is the largest sum of weights times contributions over all orders of
these, and hence ``f(a + b) <= f(a) + f(b)`` for the contributions a and b of each contributor to
two groups; totals add up, as do both sides of ``f(a) <= u * sum(a)`` and ``f(b) <= u * sum(b)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from csp.exact import Ints


class Demand(NamedTuple):
    """What is asked of every group of records.

    Shares are the contributions and codes of the records, (n, c); weights (f, m) and units (f,) the
    forms of the rule; needs, (c,), different codes that a group must have, 0 for contributions; k
    and `most` the least and largest size.

    Owners, (n,), are the contributors of the records, or (0,) if each is its own. Then what each of
    them contributes to the group at hand is held, (owners, c), as far as its stamp, (owners,), is
    the number of that group, `turn`, (1,).
    """

    shares: Ints
    weights: Ints
    units: Ints
    needs: Ints
    k: int
    most: int
    owners: Ints
    held: Ints
    stamps: Ints
    turn: Ints


def empty_group(demand: Demand) -> tuple[Ints, Ints]:
    """Largest entries, (c, m), and total, (c,), of a group without records."""
    columns = demand.shares.shape[1]
    demand.turn[0] += 1
    return np.zeros((columns, demand.weights.shape[1]), np.int64), np.zeros(columns, np.int64)


def begin(demand: Demand, top: Ints, total: Ints) -> None:
    """Empty a group: what is taken in from here on is its own."""
    top[:] = 0
    total[:] = 0
    demand.turn[0] += 1


def unsafe(top: Ints, total: Ints, demand: Demand) -> int:
    """Count the columns in which a group fails.

    `top`, (c, m), holds the largest contributions, or the largest different codes, descending, and
    0 beyond; `total` is (c,).
    """
    weights, units, needs = demand.weights, demand.units, demand.needs
    count = 0
    for j in range(top.shape[0]):
        if needs[j] > 0:
            count += top[j, needs[j] - 1] == 0
            continue
        for f in range(len(units)):
            strong = 0
            for i in range(weights.shape[1]):
                strong += weights[f, i] * top[j, i]
            if strong > units[f] * total[j]:
                count += 1
                break
    return count


def shortfall(top: Ints, total: Ints, demand: Demand) -> float:
    """By how much a group fails, in shares of totals and of codes needed; 0 only if it passes."""
    weights, units, needs = demand.weights, demand.units, demand.needs
    found = 0.0
    for j in range(top.shape[0]):
        if needs[j] > 0:
            for i in range(needs[j]):
                if top[j, i] == 0:
                    found += 1.0 / needs[j]
            continue
        for f in range(len(units)):
            strong = 0
            for i in range(weights.shape[1]):
                strong += weights[f, i] * top[j, i]
            if strong > units[f] * total[j]:
                found += (strong - units[f] * total[j]) / (units[f] * total[j])
    return found


def take_in(row: int, demand: Demand, top: Ints, total: Ints) -> None:
    """Add a record to the group at hand."""
    shares, needs, held = demand.shares, demand.needs, demand.held
    owned = len(demand.owners) > 0
    owner = 0
    if owned:
        owner = demand.owners[row]
        if demand.stamps[owner] != demand.turn[0]:
            demand.stamps[owner] = demand.turn[0]
            for j in range(shares.shape[1]):
                held[owner, j] = 0
    for j in range(shares.shape[1]):
        if needs[j] > 0:
            meet(top[j], shares[row, j])
            continue
        total[j] += shares[row, j]
        if owned:
            before = held[owner, j]
            held[owner, j] += shares[row, j]
            enlarge(top[j], before, held[owner, j])
        else:
            offer(top[j], shares[row, j])


def meet(top: Ints, code: int) -> None:
    """Put a code into a list of the largest different ones, if it is new and among them."""
    if code <= top[-1]:
        return
    i = 0
    while top[i] > code:
        i += 1
    if top[i] == code:
        return
    for place in range(len(top) - 1, i, -1):
        top[place] = top[place - 1]
    top[i] = code


def offer(top: Ints, amount: int) -> None:
    """Put a contribution into one list of the largest, if it is among them."""
    i = len(top) - 1
    if amount <= top[i]:
        return
    while i > 0 and top[i - 1] < amount:
        top[i] = top[i - 1]
        i -= 1
    top[i] = amount


def enlarge(top: Ints, before: int, after: int) -> None:
    """Let a contribution grow in one list of the largest; 0 before if it is new."""
    i = len(top) - 1
    if after == before or after <= top[i]:
        return
    if before > 0 and before >= top[i]:  # it is among them; equal ones are as good
        while top[i] != before:
            i -= 1
    while i > 0 and top[i - 1] < after:
        top[i] = top[i - 1]
        i -= 1
    top[i] = after


def absorb(top: Ints, total: Ints, other_top: Ints, other_total: Ints, demand: Demand) -> None:
    """Add a second group to a first one; for records that are contributors of their own."""
    for j in range(top.shape[0]):
        if demand.needs[j] > 0:
            for i in range(top.shape[1]):
                meet(top[j], other_top[j, i])
            continue
        total[j] += other_total[j]
        for i in range(top.shape[1]):
            if other_top[j, i] <= top[j, -1]:
                break
            offer(top[j], other_top[j, i])


def tally(labels: Ints, demand: Demand, top: Ints, total: Ints) -> None:
    """Compute all groups from the records: (g, c, m) and (g, c)."""
    at_hand = -1
    for i in np.argsort(labels, kind="mergesort"):
        g = labels[i]
        if g != at_hand:
            begin(demand, top[g], total[g])
            at_hand = g
        take_in(i, demand, top[g], total[g])


def count_unsafe(top: Ints, total: Ints, demand: Demand, found: Ints) -> None:
    """Count the columns in which each group fails."""
    for g in range(len(found)):
        found[g] = unsafe(top[g], total[g], demand)


def collect(members: Ints, demand: Demand, top: Ints, total: Ints) -> None:
    """Compute a group anew from its records."""
    begin(demand, top, total)
    for i in members:
        take_in(i, demand, top, total)


def gather(first: int, after: Ints, without: int, demand: Demand, top: Ints, total: Ints) -> None:
    """Compute a group anew from its records, one of them left out (-1 for none).

    Records follow one another in `after`, from `first` until -1.
    """
    begin(demand, top, total)
    i = first
    while i >= 0:
        if i != without:
            take_in(i, demand, top, total)
        i = after[i]
