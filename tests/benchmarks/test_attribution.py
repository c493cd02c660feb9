"""Parts of large problems: cells and relations of the whole, and optima below its own."""

from __future__ import annotations

import numpy as np

from benchmarks.attribution import measured, part_of
from benchmarks.posed import count_tree
from csp import audit, suppress


def test_a_part_holds_whole_relations_of_the_whole_and_is_bounded_by_it() -> None:
    problem = count_tree(((3, 2), (2, 2)))
    whole = problem.table
    places = {label: i for i, label in enumerate(whole.labels)}
    part = part_of(problem, 20, 1)
    cells = [places[label] for label in part.table.labels]
    assert 20 <= len(cells) < whole.n_cells
    assert (part.table.values == whole.values[cells]).all()
    assert (part.primary == problem.primary[cells]).all()
    dense = np.zeros((part.table.relations.shape[0], whole.n_cells), int)
    dense[:, cells] = part.table.relations.toarray()
    wanted = whole.relations.toarray()
    inside = ~wanted[:, np.setdiff1d(np.arange(whole.n_cells), cells)].any(axis=1)
    assert {tuple(row) for row in dense} == {tuple(row) for row in wanted[inside]}
    found = measured(part)
    assert found.proven
    assert found.bound <= found.optimum <= found.pattern
    # What protects the whole protects the part, of which fewer relations are known.
    assert found.optimum <= suppress(problem).cost
    assert audit(part, suppress(problem).pattern[cells]).safe
