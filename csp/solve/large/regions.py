"""Cheaper patterns of whole regions, of which those that share no relation are solved side by side.

A region is a product of branches of the dimensions, some hundred cells, and everything outside
stays. A region knows no more than its arrays, so that a task of its own can solve it on any machine
(`csp.solve.large.region_programs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csc_array, csr_array, vstack

from csp.clock import Clock
from csp.exact import Bools, Floats, Ints
from csp.solve.large.cut_pool import CutPool
from csp.solve.large.region_programs import Proposal, Region, propose
from csp.solve.large.relaxation import conditions, least
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.book import Book
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.exchange import exchange
from csp.solve.witnesses.field import Field

# Cells of a region, and relations to go from it to reach the cells that may help.
_MOST = 700
_HOPS = 2

# Regions solved side by side, whatever the number of workers, so that results do not depend on it;
# and regions among which these are looked for.
_BATCH = 8
_AHEAD = 32


def regions(book: Book, axes: Axes, price: Floats, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield regions, as cells, that together hold every suppressed cell that costs something."""
    field = book.field
    room = np.minimum(field.up, field.down)
    done = np.zeros(len(price), dtype=bool)
    suppressed = np.flatnonzero((book.used > 0) & (price > 0))
    turn = rng.exponential(size=len(suppressed)) / price[suppressed]
    for p in suppressed[np.argsort(turn)].tolist():
        if done[p]:
            continue
        growth = [0] * axes.codes.shape[1]
        tops = axes.around(p, tuple(growth))
        grown = True
        while grown:
            grown = False
            for k in rng.permutation(len(growth)).tolist():
                growth[k] += 1
                wider = axes.around(p, tuple(growth))
                if wider != tops and axes.size(wider) <= _MOST:
                    tops, grown = wider, True
                else:
                    growth[k] -= 1
        big = axes.size(tops) > 2 * _MOST
        cells = axes.near(p, tops, price, room, _MOST) if big else axes.within(tops)
        done[cells] = True
        yield cells


def region_of(
    book: Book, pool: CutPool, price: Floats, pattern: Bools, cells: Ints,
) -> Region | None:  # fmt: skip
    """Cut a region out of a problem; None if nothing in it can be published.

    Parameters
    ----------
    book : Book
    pool : CutPool
        Cuts that earlier regions found.
    price : (n,) float64
    pattern : (n,) bool
        Of the book.
    cells : (c,) int64
    """
    field = book.field
    inside = cells[field.open[cells] & (price[cells] > 0)]
    # What is kept for good stays.
    kept = np.array([book.used[c] > len(book.through(c)) for c in inside.tolist()], dtype=bool)
    inside = inside[~kept]
    if not pattern[inside].any():
        return None
    live = pattern & field.open
    live[inside] = True
    near = np.zeros(len(price), dtype=bool)
    near[cells] = True
    for _ in range(_HOPS):
        rows = np.unique(csc_array(field.columns[:, np.flatnonzero(near)]).indices)
        near[csr_array(field.relations[rows]).indices] = True
    around = np.flatnonzero(near & live)
    matrix = csr_array(field.columns[:, around])
    relations = np.flatnonzero(np.diff(matrix.indptr))
    matrix = csr_array(matrix[relations]).astype(np.int64)
    beside = csr_array(field.relations[np.unique(csc_array(field.columns[:, inside]).indices)])
    asked = conditions(field, beside, book.attackers)
    fixed = pattern.astype(np.float64)
    fixed[inside] = 0
    lower, asked = -(asked @ fixed), csr_array(asked[:, inside])
    pooled, more = pool.asked(inside, fixed)
    asked, lower = csr_array(vstack([asked, pooled])), np.concatenate([lower, more])
    keep = np.flatnonzero(lower > least(asked))
    first, last = field.first[around], field.first[around + 1]
    gone = frozenset[int]().union(*(book.through(c) for c in inside[pattern[inside]].tolist()))
    numbers = {i: w for w, i in enumerate(sorted(gone))}
    through = np.zeros((len(numbers), len(inside)), dtype=bool)
    for i, w in numbers.items():
        moved = book.witnesses[i].cells
        at = np.minimum(np.searchsorted(inside, moved), len(inside) - 1)
        through[w, at[inside[at] == moved]] = True
    checked: list[int] = []
    links: list[tuple[int, int]] = []
    for r in (r for a, b in zip(first.tolist(), last.tolist(), strict=True) for r in range(a, b)):
        if not book.settled(r, gone):
            # Against a lone contributor others may serve it, which do not against another.
            links += [(len(checked), numbers[i]) for i in book.serving(r) & gone]
            checked.append(r)
    at_row, at_witness = np.array(links, np.int64).reshape(-1, 2).T
    requirements = np.array(checked, np.int64)
    return Region(
        around, relations, matrix, field.up[around], field.down[around], pattern[around],
        np.searchsorted(around, inside), price[inside], csr_array(asked[keep]), lower[keep],
        np.searchsorted(around, field.cell[requirements]), field.kind[requirements],
        field.need[requirements], through,
        csr_array(
            (np.ones(len(links), np.int64), (at_row, at_witness)), (len(checked), len(numbers))
        ),
    )  # fmt: skip


def improve_regions(
    book: Book, builder: Builder, axes: Axes, pool: CutPool, price: Floats,
    clock: Clock, rng: np.random.Generator, note: Callable[[str], None],
) -> bool:  # fmt: skip
    """Try once for every region to do with less; keep what costs no more.

    Regions that share no relation are solved side by side, by joblib: its `parallel_config` says
    where. What is found does not depend on that.

    Parameters
    ----------
    book, builder, price, rng
        As for `csp.solve.witnesses.exchange.drop_cells`.
    axes : Axes
    pool : CutPool
        Takes in the cuts that regions find.
    clock : Clock
        Where the time ends, the sweep ends, after what is under way (which keeps that of the
        builder).
    note : callable
        Told of workers that were lost; their regions stay as they are.

    Returns
    -------
    bool
        Whether the pattern has become cheaper.
    """
    gained = 0.0
    for batch in _batches(book.field, regions(book, axes, price, rng)):
        if clock.over:
            break
        pattern = book.pattern()
        parts = [region_of(book, pool, price, pattern, cells) for cells in batch]
        tasks = [
            (part, int(rng.integers(2**31)), builder.clock.seconds)
            for part in parts
            if part is not None
        ]
        for proposal in _side_by_side(tasks, note):
            pool.add(proposal.objections)
            if len(proposal.published):
                offered = [book.field.along(*steps) for steps in proposal.witnesses]
                saved = exchange(
                    book, builder, price, proposal.published, offered=offered,
                    chosen=proposal.chosen, banned=False,
                )  # fmt: skip
                gained += saved or 0.0
    return gained > 1e-9


def _side_by_side(
    tasks: list[tuple[Region, int, float | None]], note: Callable[[str], None]
) -> list[Proposal]:
    """Solve regions wherever joblib is told to."""
    from joblib import Parallel, delayed

    together = Parallel()
    try:
        return list(together(delayed(propose)(*task) for task in tasks))
    except Exception as error:
        # Errors of one's own pass; what else goes wrong is the loss of a worker, under the name
        # that each backend has for it.
        if together.n_jobs == 1:
            raise
        note(f"regions were left as they are: a worker was lost ({type(error).__name__})")
        return []


def _batches(field: Field, found: Iterator[Ints]) -> Iterator[list[Ints]]:
    """Collect regions of which no two share a relation."""
    waiting: list[tuple[Ints, Ints]] = []

    def disjoint() -> list[Ints]:
        taken = np.zeros(field.relations.shape[0], dtype=bool)
        batch: list[Ints] = []
        left: list[tuple[Ints, Ints]] = []
        for cells, rows in waiting:
            if len(batch) < _BATCH and not taken[rows].any():
                taken[rows] = True
                batch.append(cells)
            else:
                left.append((cells, rows))
        waiting[:] = left
        return batch

    for cells in found:
        waiting.append((cells, np.unique(csc_array(field.columns[:, cells]).indices)))
        if len(waiting) >= _AHEAD:
            yield disjoint()
    while waiting:
        yield disjoint()
