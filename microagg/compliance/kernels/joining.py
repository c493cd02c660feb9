"""Joining clusters until none has a sensitive cell.

Sums of safe cells are safe: the largest contributions of a union are at most those of its parts
together, and totals add up. So joining never undoes what is safe, and it ends: either with safe
clusters, or with the whole file as one cluster that is not; or, where sizes are capped, with
clusters that fit no other.
"""

from __future__ import annotations

import numpy as np

from csp.exact import Floats, Ints
from microagg.compliance.kernels.sensitivity import (
    Demand,
    absorb,
    empty_group,
    gather,
    take_in,
    unsafe,
)


def join(
    top: Ints, total: Ints, sums: Floats, sizes: Ints, faults: Ints, into: Ints, labels: Ints,
    demand: Demand, steps: int,
) -> int:  # fmt: skip
    """Join at most `steps` clusters; return how many were joined.

    The cluster with most sensitive cells joins the one for which the squared error grows least
    for each sensitive cell that disappears (or grows least, if none does). All arrays are changed:
    the largest contributions (g, c, m) and totals (g, c) of clusters, the sums of their points
    (g, d), their sizes (0 if one has joined another), how many of their cells are sensitive, and
    into which each has gone (itself if none). Labels, (n,), are the clusters of the records before
    any joined; records are read only where one contributor may have several.
    """
    groups, d = sums.shape
    owned = len(demand.owners) > 0
    first, last, after = chains(labels, into)
    trial_top, trial_total = empty_group(demand)
    stuck = np.zeros(groups, np.bool_)  # too large for every other cluster, and they for it
    step = 0
    while step < steps:
        worst = -1
        for g in range(groups):
            if sizes[g] == 0 or faults[g] == 0 or stuck[g]:
                continue
            if worst < 0 or faults[g] > faults[worst]:
                worst = g
        if worst < 0:
            return step
        best, best_fixed, best_cost = -1, 0, 0.0
        for g in range(groups):
            if g == worst or sizes[g] == 0 or sizes[worst] + sizes[g] > demand.most:
                continue
            cost = 0.0
            for j in range(d):
                gap = sums[worst, j] / sizes[worst] - sums[g, j] / sizes[g]
                cost += gap * gap
            cost *= sizes[worst] * sizes[g] / (sizes[worst] + sizes[g])
            # All cells of both are the most that a union can fix.
            both = faults[worst] + faults[g]
            if best >= 0 and best_fixed > 0 and cost * best_fixed >= best_cost * both:
                continue
            if owned:
                gather(first[worst], after, -1, demand, trial_top, trial_total)
                i = first[g]
                while i >= 0:
                    take_in(i, demand, trial_top, trial_total)
                    i = after[i]
            else:
                trial_top[:] = top[worst]
                trial_total[:] = total[worst]
                absorb(trial_top, trial_total, top[g], total[g], demand)
            fixed = both - unsafe(trial_top, trial_total, demand)
            if best < 0 or (fixed > 0 and best_fixed == 0):
                better = True
            elif fixed > 0:
                better = cost * best_fixed < best_cost * fixed
            else:
                better = best_fixed == 0 and cost < best_cost
            if better:
                best, best_fixed, best_cost = g, fixed, cost
        if best < 0:
            stuck[worst] = True
            continue
        step += 1
        if owned:
            after[last[best]] = first[worst]
            last[best] = last[worst]
            gather(first[best], after, -1, demand, top[best], total[best])
        else:
            absorb(top[best], total[best], top[worst], total[worst], demand)
        sums[best] += sums[worst]
        sizes[best] += sizes[worst]
        sizes[worst] = 0
        into[worst] = best
        faults[worst] = 0
        faults[best] = unsafe(top[best], total[best], demand)
    return steps


def chains(labels: Ints, into: Ints) -> tuple[Ints, Ints, Ints]:
    """First and last record of each cluster, (g,), and the one after each, (n,); -1 for none."""
    first = np.full(len(into), -1, np.int64)
    last = np.full(len(into), -1, np.int64)
    after = np.full(len(labels), -1, np.int64)
    for i in range(len(labels)):
        g = labels[i]
        while into[g] != g:
            g = into[g]
        if first[g] < 0:
            first[g] = i
        else:
            after[last[g]] = i
        last[g] = i
    return first, last, after
