"""Cuts from combinations of relations, in kernel form: what must move needs company everywhere.

In an inclusion-minimal safe pattern every class of cells that it hides moves: a needy one because
it must, any other because it would be hidden for nothing if the published cells determined it. So
wherever a class is a combination of others, ``u_k = sum_i lambda_i u_i``, one of these is hidden
with it: ``sum_i x_i >= x_k`` over the multipliers that are not 0. For one relation these are the
bridgeless cuts of `csp.solve.cuts`; here any combination counts. For a needy class x_k is 1,
capacities sharpen the row, and it holds for every safe pattern.

The combination that a point violates most is found by one program, ``min sum_i x_i |lambda_i|``
over all that give ``u_k`` (the dual of the attacker's, Fischetti and Salazar-Gonzalez 2000), with d
rows. What its solution suggests is brought into whole numbers, and counts only if it is the row
of the class exactly.
"""

from __future__ import annotations

from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.exact import rationalise
from csp.clock import Clock
from csp.exact import UNBOUNDED, Floats, Ints
from csp.highs import Model, Status
from csp.problem.requirements import DOWN, SLIDE, UP, Needs, room
from csp.solve.cuts import Cut, least_weight
from csp.solve.exact.state import Run
from csp.solve.kernel import KernelForm

_VIOLATED = 1e-4

# A multiplier of the solver that counts as none.
_NOTHING = 1e-9

# Cuts of a round: to solve the relaxation again takes as long as some twenty programs.
_ENOUGH = 80

# Added to what the multiplier of each class costs, so that combinations of few classes are found
# among those that a point violates; it shrinks once that leaves few cuts. (A fiftieth from the
# beginning: 3.9 million on hier13 after 20 s in place of 4.1.)
_LONG, _SHORTEST, _FEW = 0.15, 0.01, 20

# Of a number that floats can still hold.
_BITS = 1000

# Classes for each dimension from which there is much to combine, and dimensions up to which a
# program takes some hundredths of a second (two5in6, of 534: no round ends in 45 s).
_CLASSES, _DIMENSIONS = 3, 300

Room = tuple[int | None, int | None, int]
"""How far a class moves up and down, None without end, and what both are divided by."""


def cut_combinations(run: Run, until: Clock, *, long: float = _LONG) -> None:
    """Drive the linear relaxation with cuts of combinations, in rounds.

    Does nothing where a rule looks at sums of suppressed cells: to publish a cell that can be
    computed tells no attacker anything new, but it changes which sums there are.
    """
    if run.problem.union_rule is not None or run.net is not None:
        return
    cells = int((run.alive | run.problem.forced).sum())
    if not _pays(cells, max(1, cells - run.problem.table.relations.shape[0])):
        return
    alive, separator = None, None
    while not until.over:
        if separator is None or alive is not run.alive:
            alive = run.alive
            form = KernelForm.of(run.problem, alive, clock=until)
            if form is None or not _pays(form.n_classes, form.rows.shape[1]):
                return
            separator = Combinations(form, run.seed, long if separator is None else separator.long)
            run.master.add(separator.couplings())
        answer = run.master.relax()
        if answer.x is None:
            return
        run.raise_bound(answer.bound)
        run.report("cuts")
        cuts = separator.cuts(answer.x, until) + run.cutter.bridgeless(answer.x)
        if not run.master.add(cuts):
            return
        run.fix_by_reduced_cost(answer)
        if run.close_enough:
            return


def _pays(classes: int, dimensions: int) -> bool:
    """Whether programs are small and combinations many, as on deep hierarchies."""
    return 0 < dimensions <= _DIMENSIONS and classes >= _CLASSES * dimensions


class Combinations:
    """Finds violated cuts of combinations for one problem.

    Parameters
    ----------
    form : KernelForm
    seed : int
        Of the solver.
    long : float
        Added to the price of each multiplier, so that combinations are short.
    """

    def __init__(self, form: KernelForm, seed: int = 0, long: float = _LONG) -> None:
        from scipy.sparse import csr_array, hstack

        self.form, self.long = form, long
        self._rooms = _rooms(form)
        needs = Needs.of(form.problem)
        self._needs: dict[int, list[tuple[int, int, int]]] = {}
        for p, kind, need in zip(needs.cell, needs.kind, needs.need, strict=True):
            entry = int(p), int(kind), int(need)
            self._needs.setdefault(int(form.member[p]), []).append(entry)
        self._float = form.rows.astype(np.float64)
        self._largest = int(np.abs(form.rows.data).max(initial=1))
        # Multipliers above and below 0 of each class.
        self._model = Model(
            presolve="off", solver="simplex", random_seed=seed,
            dual_simplex_cost_perturbation_multiplier=0.0,
        ).load(
            cost=0.0, lower=0.0, upper=np.inf,
            rows=csr_array(hstack([self._float.T, -self._float.T])),
        )  # fmt: skip
        self._every_row = np.arange(form.rows.shape[1], dtype=np.int32)

    def couplings(self) -> list[Cut]:
        """Cuts by which a pattern hides all free cells of a class or none, and those of needy ones.

        The latter hold for every safe pattern, the former for inclusion-minimal ones.
        """
        form = self.form
        cells = np.flatnonzero((form.member >= 0) & form.free)
        cells = cells[np.argsort(form.member[cells], kind="stable")]
        of = form.member[cells]
        alike = np.flatnonzero((of[1:] == of[:-1]) & ~form.needy[of[1:]])
        return [
            *(
                Cut(cells[at : at + 1], np.ones(1), 1.0, "combination")
                for at in np.flatnonzero(form.needy[of]).tolist()
            ),
            *(
                Cut(cells[at : at + 2], np.array([sign, -sign]), 0.0, "combination")
                for at in alike.tolist()
                for sign in (1.0, -1.0)
            ),
        ]

    def cuts(self, x: Floats, clock: Clock) -> list[Cut]:
        """Cuts that a point (n,) violates; empty if none is left, or by the clock."""
        while True:
            found = self._round(x, clock)
            if len(found) < _FEW and self.long > _SHORTEST:
                self.long /= 2
            elif not found:
                return found
            if found or clock.over:
                return found

    def _round(self, x: Floats, clock: Clock) -> list[Cut]:
        form = self.form
        least, largest = form.least(x), form.largest(x)
        share = np.clip(np.where(form.choosable, x[least], 1.0), 0.0, 1.0)
        wanted = np.where(form.choosable, x[largest], np.where(form.needy, 1.0, 0.0))
        classes = np.flatnonzero(wanted > _VIOLATED)
        # What costs most is worth most.
        worth = form.cost * wanted
        classes = classes[np.lexsort((-worth[classes], ~form.needy[classes]))]
        self._price(np.arange(form.n_classes), share)
        reached = np.zeros(form.n_classes)
        found: list[Cut] = []
        for k in classes.tolist():
            if clock.over or len(found) >= _ENOUGH:
                break
            # A deviation that moves other classes as far as they may serves these as well.
            if reached[k] >= wanted[k] + self.long - _VIOLATED:
                continue
            weights = self._combine(k, reached, clock)
            combination = None if weights is None else self._exact(k, weights)
            if combination is None:
                continue
            cut = self._cut(k, *combination, x, least, largest)
            if cut is not None and cut.slack(x) < -_VIOLATED:
                found.append(cut)
                self._raise(combination[0], share, wanted[k])
        return found

    # ---- programs ------------------------------------------------------------------------------

    def _combine(self, k: int, reached: Floats, clock: Clock) -> Floats | None:
        """Combine the row of a class from those of the classes, as cheaply as shares allow."""
        wanted = np.zeros(self.form.rows.shape[1])
        span = slice(self.form.rows.indptr[k], self.form.rows.indptr[k + 1])
        wanted[self.form.rows.indices[span]] = self.form.rows.data[span]
        self._model.set_row_bounds(self._every_row, wanted, wanted)
        if self._model.solve(clock) != Status.OPTIMAL:
            return None
        solution = self._model.solution
        deviation = self._float @ np.asarray(solution.row_dual)
        np.maximum(reached, np.abs(deviation), out=reached)
        above, below = np.asarray(solution.col_value).reshape(2, -1)
        return np.asarray(above - below)

    def _raise(self, used: Ints, share: Floats, wanted: float) -> None:
        """Have the next programs of the round find other combinations."""
        missing = wanted - share[used].sum()
        share[used] = np.minimum(1.0, share[used] + max(missing, 0.0) / len(used))
        self._price(used, share)

    def _price(self, classes: Ints, share: Floats) -> None:
        both = np.concatenate([classes, classes + self.form.n_classes]).astype(np.int32)
        self._model.set_costs(both, np.tile(share[classes] + self.long, 2))

    # ---- combinations in whole numbers -----------------------------------------------------------

    def _exact(self, k: int, weights: Floats) -> tuple[Ints, Ints, int] | None:
        """Classes, numerators and divisor of a combination that is exactly the row of a class.

        What rounding leaves is made up for by the classes of the axes.
        """
        rows = self.form.rows
        span = slice(rows.indptr[k], rows.indptr[k + 1])
        answer = next(rationalise(np.where(np.abs(weights) < _NOTHING, 0.0, weights)), None)
        if answer is None or answer[0][k]:
            return None
        numerators, divisor = answer
        if not self._fits(numerators, divisor):
            return None
        left = -(rows.T @ numerators)
        left[rows.indices[span]] += divisor * rows.data[span]
        np.add.at(numerators, self.form.axes, left)
        divisor -= int(numerators[k])
        numerators[k] = 0
        if divisor < 0:
            numerators, divisor = -numerators, -divisor
        if divisor == 0 or not self._fits(numerators, divisor):
            return None
        found = rows.T @ numerators
        found[rows.indices[span]] -= divisor * rows.data[span]
        used = np.flatnonzero(numerators)
        return None if found.any() else (used, numerators[used], divisor)

    def _fits(self, numerators: Ints, divisor: int) -> bool:
        """Whether sums of products with the rows are exact in 64 bits."""
        size = max(int(np.abs(numerators).max(initial=0)), divisor)
        return bool(size * self._largest * (np.count_nonzero(numerators) + 1) < 2**60)

    def _cut(
        self, k: int, used: Ints, numerators: Ints, divisor: int,
        x: Floats, least: Ints, largest: Ints,
    ) -> Cut | None:  # fmt: skip
        """Say of an exact combination what it means for a class: the row that x violates most."""
        if self.form.needy[k]:
            cuts = (
                self._capacity(*need, used, numerators, divisor, least) for need in self._needs[k]
            )
            return min((c for c in cuts if c is not None), key=lambda c: c.slack(x), default=None)
        if not self.form.choosable[used].all():
            return None
        cells = np.append(least[used], largest[k])
        order = np.argsort(cells)
        weights = np.where(order < len(used), 1.0, -1.0)
        return Cut(cells[order], weights, 0.0, "combination")

    def _capacity(
        self, p: int, kind: int, need: int, used: Ints, numerators: Ints, divisor: int, cells: Ints,
    ) -> Cut | None:  # fmt: skip
        """Capacity cut of a requirement: what the combination lets the cell move at most.

        A class moves no further than the narrowest of its cells, in units of the common divisor.
        """
        form = self.form
        rooms = [self._rooms[c] for c in used.tolist()]
        common = divisor * lcm(*(size for *_, size in rooms))
        weight: list[int | None] = []
        for times, (up, down, size) in zip(numerators.tolist(), rooms, strict=True):
            times = times * int(form.factor[p]) * (common // (divisor * size))
            rise, fall = (up, down) if times > 0 else (down, up)
            part = (rise if kind in (UP, SLIDE) else 0, fall if kind in (DOWN, SLIDE) else 0)
            endless = any(side is None for side in part)
            weight.append(None if endless else abs(times) * sum(side or 0 for side in part))
        right = need * common
        for c, size in zip(used.tolist(), weight, strict=True):
            if not form.choosable[c]:
                if size is None:
                    return None
                right -= size
        if right <= 0 or right >= 2**_BITS:
            return None
        chosen = [
            (int(cells[c]), right if size is None else min(size, right))
            for c, size in zip(used.tolist(), weight, strict=True)
            if form.choosable[c] and size != 0
        ]
        if not chosen:
            return None
        chosen.sort()
        where = np.array([cell for cell, _ in chosen], np.int64)
        sizes: NDArray[Any] = np.array([size for _, size in chosen], object)
        return Cut(where, least_weight(sizes, right), 1.0, "combination")


def _rooms(form: KernelForm) -> list[Room]:
    """Room of each class: that of the cell which stops it first."""
    up, down = room(form.problem.table)
    out: list[Room] = [(None, None, 1)] * form.n_classes
    for i in np.flatnonzero(form.member >= 0).tolist():
        factor, c = int(form.factor[i]), int(form.member[i])
        rise, fall = (int(side[i]) for side in ((up, down) if factor > 0 else (down, up)))
        high, low, size = out[c]
        common = lcm(size, abs(factor))
        out[c] = (
            _least(high, common // size, rise, common // abs(factor)),
            _least(low, common // size, fall, common // abs(factor)),
            common,
        )
    return out


def _least(before: int | None, times: int, new: int, new_times: int) -> int | None:
    """Smaller of two rooms that are multiplied by so much; None has no end."""
    kept = None if before is None else before * times
    if new >= UNBOUNDED:
        return kept
    return new * new_times if kept is None else min(kept, new * new_times)
