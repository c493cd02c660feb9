"""Subtables one after the other: each is protected by itself, and flat tables at the optimum."""

from __future__ import annotations

import numpy as np
import pytest

import csp
import instances
from cellveil.comparing.modular import modular, trees_of
from cellveil.comparing.own_methods import study
from csp import InputError, Mechanism, Problem, Release, Table, audit
from csp.solve.result import cost_of
from instances import synthetic
from tests.support import oracles
from tests.support.independent_audit import unmet

MECHANISM = Mechanism("FREQ(5)", width=5)


@pytest.mark.parametrize("seed", range(8))
def test_a_flat_table_is_one_subtable(seed: int) -> None:
    table = synthetic.frequency_2d(3, 2, seed, mean=8, sd=6)
    problem = MECHANISM.problem(table)
    best = oracles.best_pattern(problem)
    if best is None:
        return
    assert cost_of(problem, modular(problem)) == oracles.pattern_cost(problem, best)


@pytest.mark.parametrize("seed", range(6))
def test_every_subtable_is_safe_by_itself(seed: int) -> None:
    table = synthetic.hierarchical(seed, ((2, 3), (3,)), mean=10, sd=8)
    problem = MECHANISM.problem(table)
    pattern = modular(problem)
    assert pattern[problem.primary].all()
    values = dict(zip(table.labels, table.values.tolist(), strict=True))
    hidden = dict(zip(table.labels, pattern.tolist(), strict=True))
    primary = dict(zip(table.labels, problem.primary.tolist(), strict=True))
    rows, columns = trees_of(table)
    for parent in set(rows.values()):
        below = [code for code, above in rows.items() if above == parent]
        across = list(columns)
        inner = [[values[r, c] for c in across] for r in below]
        flat = Table.from_array(inner, names=table.names, codes=[below, across])
        named = {
            (a if a != "Total" else parent, b): i for i, (a, b) in enumerate(flat.labels)
        }  # fmt: skip
        mask = np.zeros(flat.n_cells, bool)
        sensitive = np.zeros(flat.n_cells, bool)
        for (r, c), i in named.items():
            mask[i], sensitive[i] = hidden[r, c], primary[r, c]
        alone = Problem.of(flat, sensitive, spl=5)
        assert oracles.is_safe(alone, mask.tolist())
    assert (
        cost_of(problem, pattern) >= csp.suppress(problem).cost or not audit(problem, pattern).safe
    )


def test_it_is_the_same_each_time_and_seldom_far_from_the_optimum() -> None:
    costs = []
    for seed in range(8):
        problem = MECHANISM.problem(synthetic.hierarchical(seed))
        pattern = modular(problem)
        assert (pattern == modular(problem)).all()
        best = csp.suppress(problem)
        costs.append((cost_of(problem, pattern), best.cost))
        if audit(problem, pattern, only_primary=True).safe:
            assert cost_of(problem, pattern) >= best.cost
    assert sum(mine for mine, _ in costs) <= 1.3 * sum(best for _, best in costs)


def test_what_subtables_disclose_together_is_not_seen() -> None:
    # Each subtable is safe by itself, and linear programs over all relations find narrow cells.
    mechanism = Mechanism("FREQ(5)", width=8)
    problem = mechanism.problem(synthetic.hierarchical(5, ((2, 2), (2, 2)), mean=7, sd=6))
    pattern = modular(problem)
    narrow = unmet(problem, pattern)
    assert len(narrow) > 0
    assert narrow == sorted({v.cells[0] for v in audit(problem, pattern).violations})
    trial = study(problem.table, mechanism, "modular").trials[0]
    assert trial.safe is False
    assert len(trial.violations) == len(narrow)


def test_contributors_and_cells_suppressed_beforehand() -> None:
    demo = instances.load("demo")
    assert isinstance(demo, Table)
    problem = Mechanism("P(10,1)|FREQ(3,10)").problem(demo)
    before = np.zeros(demo.n_cells, bool)
    before[np.flatnonzero(problem.free)[0]] = True
    pattern = modular(problem.keeping(before))
    assert pattern[problem.primary | before].all()
    assert not Release.of(demo, pattern).pattern[problem.status == "z"].any()


def test_other_tables_are_refused() -> None:
    table = synthetic.linked(1)
    with pytest.raises(InputError, match="not a full cross of hierarchies"):
        modular(MECHANISM.problem(table))
