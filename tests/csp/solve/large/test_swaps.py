"""Pairs of cells that serve sparse tables: exact, enough, and none of them spare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from csp import Mechanism, Problem, Table, link, suppress
from csp.clock import Clock
from csp.errors import OutOfTime
from csp.solve.large import engine
from csp.solve.large import swaps as module
from csp.solve.large.swaps import occupied, swaps
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.field import Field, movable
from instances import synthetic
from tests.support.independent_audit import unmet
from tests.support.shared import uncompiled


def survey(records: int = 90, seed: int = 1, *, singletons: bool = False) -> Problem:
    """Place by age by trade: 1,144 combinations, few of which anybody reports."""
    trees = {
        "place": synthetic.tree((4, 3), "p"),
        "age": synthetic.tree((5,), "a"),
        "trade": synthetic.tree((3, 3), "t"),
    }
    codes = {name: [h.codes[i] for i in h.leaves] for name, h in trees.items()}
    data = synthetic.microdata(records, seed, codes)
    table = Table.from_microdata(
        data, list(trees), "value", contributor="contributor", hierarchies=trees, empty="drop"
    )
    return Mechanism("P(10,1)|FREQ(3,10)", singletons=singletons).problem(table)


def moved(problem: Problem, integer: bool = False) -> tuple[Field, list[Any]]:
    field = Field(problem, integer=integer)
    return field, list(swaps(field, Axes(problem.table), field.price))


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_pair_is_a_deviation_that_leaves_the_public_cells(seed: int, integer: bool) -> None:
    problem = survey(seed=seed)
    table = problem.table
    _, found = moved(problem, integer)
    assert found
    for witness in found:
        step = np.zeros(table.n_cells, np.int64)
        step[witness.cells] = witness.steps
        assert set(witness.steps.tolist()) == {-1, 1}
        assert not (table.relations @ step).any()
        for sign, (far, unit) in ((1, witness.forward), (-1, witness.back)):
            assert (table.values * unit + sign * step * far >= table.lower * unit).all()
            assert not integer or unit == 1


@pytest.mark.parametrize("seed", range(4))
def test_pairs_serve_what_they_say_and_none_is_spare(seed: int) -> None:
    problem = survey(seed=seed)
    field, found = moved(problem)
    served = [set(field.served(w).tolist()) for w in found]
    times = np.bincount([r for some in served for r in some], minlength=len(field.cell))
    assert all(any(times[r] == 1 for r in some) for some in served)
    pattern = problem.forced.copy()
    for witness in found:
        pattern[witness.cells] = True
    # By other programs: what is said to be served is safe in the pattern of all pairs.
    unsafe = set(unmet(problem, pattern))
    assert not unsafe & set(field.cell[np.flatnonzero(times)].tolist())
    assert (times > 0).mean() > 0.9


def test_compiled_pairs_equal_their_plain_twins() -> None:
    problem = survey(50)
    _, compiled = moved(problem)
    with uncompiled(module.KERNELS):
        _, plain = moved(problem)
    assert [w.cells.tolist() for w in plain] == [w.cells.tolist() for w in compiled]
    assert [w.steps.tolist() for w in plain] == [w.steps.tolist() for w in compiled]


def test_the_first_pair_is_the_cheapest_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = survey(30, seed=3)
    monkeypatch.setattr(module, "_REACH", problem.table.n_cells)
    field, found = moved(problem)
    relations = problem.table.relations
    totals: dict[int, set[int]] = {}
    for a, b in zip(relations.indptr[:-1], relations.indptr[1:], strict=True):
        cells, signs = relations.indices[a:b], relations.data[a:b]
        for cell in cells[signs > 0].tolist():
            totals.setdefault(cell, set()).update(cells[signs < 0].tolist())

    def above(cell: int) -> frozenset[int]:
        return frozenset({cell}.union(*(above(t) for t in totals.get(cell, ()))))

    room = np.minimum(field.up, field.down)
    need = dict(zip(field.cell.tolist(), field.need.tolist(), strict=True))
    coarsest = min(need, key=lambda c: (len(above(c)), c))
    whole = set(relations.indices[relations.data < 0].tolist())
    finest = [c for c in range(problem.table.n_cells) if c not in whole]
    inside = max((c for c in finest if coarsest in above(c)), key=lambda c: (int(room[c]), -c))
    prices = [
        float(field.price[list(above(inside) ^ above(j))].sum())
        for j in finest
        if coarsest not in above(j) and min(room[list(above(inside) ^ above(j))]) >= need[coarsest]
    ]
    (first,) = [w for w in found if {inside, coarsest} <= set(w.cells.tolist())][:1]
    assert len(prices) > 1
    assert float(field.price[first.cells].sum()) == min(prices)


def test_cells_of_linked_tables_move_only_with_all_their_totals() -> None:
    trees = {"place": synthetic.tree((3, 2), "p"), "trade": synthetic.tree((4,), "t")}
    codes = {name: [h.codes[i] for i in h.leaves] for name, h in trees.items()}
    data = synthetic.microdata(60, 2, codes | {"size": ["x", "y", "z"]})
    tables = [
        Table.from_microdata(
            data, names, "value", contributor="contributor",
            hierarchies={n: trees[n] for n in names if n in trees},
        )
        for names in (["place", "trade"], ["place", "size"])
    ]  # fmt: skip
    problem = Mechanism("P(10,1)|FREQ(3,10)").problem(link(*tables))
    # Every cell of one table is part of a margin that the other divides otherwise.
    _, found = moved(problem)
    assert not found


@pytest.mark.parametrize("singletons", [False, True])
def test_sparse_tables_are_protected_by_pairs_and_audited(
    monkeypatch: pytest.MonkeyPatch, singletons: bool
) -> None:
    problem = survey(120, seed=5, singletons=singletons)
    share = occupied(Axes(problem.table))
    assert share < 0.6
    monkeypatch.setattr(engine, "_SPARSE", share + 0.1)
    found = suppress(problem, method="large", time_limit=2)
    assert found.audit is not None
    assert found.audit.safe
    assert unmet(problem, found.pattern) == []


def test_cells_that_cannot_move_are_left_out_as_an_elimination_says() -> None:
    problem = survey(60, seed=2)
    field = Field(problem)
    cells, _ = movable(field.columns, np.flatnonzero(problem.forced & field.open))
    left = set(np.flatnonzero(problem.forced & field.open).tolist())
    rows = [
        set(problem.table.relations.indices[a:b].tolist())
        for a, b in zip(
            problem.table.relations.indptr[:-1], problem.table.relations.indptr[1:], strict=True
        )
    ]
    while alone := {next(iter(row & left)) for row in rows if len(row & left) == 1}:
        left -= alone
    assert set(cells.tolist()) == left


def test_pairs_keep_the_time() -> None:
    problem = survey()
    field = Field(problem)
    with pytest.raises(OutOfTime):
        list(swaps(field, Axes(problem.table), field.price, Clock.of(1e-9)))
