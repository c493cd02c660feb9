"""What a group of records lacks, in whole numbers, for compiled loops.

A group is known by its total and its largest contributions in every column; a column is an
attribute, or one sign of it. Other columns hold codes of values, from 1 and 0 where missing, of
which a group must have a given number: then the largest different codes are kept. Written plainly;
`search` compiles copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from microagg.records import Ints

__all__ = ["Demand", "absorb", "collect", "empty_group", "gather", "shortfall", "take_in", "unsafe"]


class Demand(NamedTuple):
    """What is asked of every group of records.

    Shares are the contributions and codes of the records, (n, c); weights (f, m) and units (f,) the
    forms of the rule; needs, (c,), different codes that a group must have, 0 for contributions; k
    and `most` the least and largest size.
    """

    shares: Ints
    weights: Ints
    units: Ints
    needs: Ints
    k: int
    most: int


def empty_group(demand: Demand) -> tuple[Ints, Ints]:
    """Largest entries, (c, m), and total, (c,), of a group without records."""
    columns = demand.shares.shape[1]
    return np.zeros((columns, demand.weights.shape[1]), np.int64), np.zeros(columns, np.int64)


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
    """Add a record to a group."""
    shares, needs = demand.shares, demand.needs
    for j in range(shares.shape[1]):
        if needs[j] > 0:
            meet(top[j], shares[row, j])
        else:
            total[j] += shares[row, j]
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


def absorb(top: Ints, total: Ints, other_top: Ints, other_total: Ints, demand: Demand) -> None:
    """Add a second group to a first one."""
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
    """Add every record to its group, all groups empty at first: (g, c, m) and (g, c)."""
    for i in range(len(labels)):
        take_in(i, demand, top[labels[i]], total[labels[i]])


def count_unsafe(top: Ints, total: Ints, demand: Demand, found: Ints) -> None:
    """Count the columns in which each group fails."""
    for g in range(len(found)):
        found[g] = unsafe(top[g], total[g], demand)


def collect(members: Ints, demand: Demand, top: Ints, total: Ints) -> None:
    """Compute a group anew from its records."""
    top[:] = 0
    total[:] = 0
    for i in members:
        take_in(i, demand, top, total)


def gather(first: int, after: Ints, without: int, demand: Demand, top: Ints, total: Ints) -> None:
    """Compute a group anew from its records, one of them left out (-1 for none).

    Records follow one another in `after`, from `first` until -1.
    """
    top[:] = 0
    total[:] = 0
    i = first
    while i >= 0:
        if i != without:
            take_in(i, demand, top, total)
        i = after[i]
