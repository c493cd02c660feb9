"""What those learn who know one cell, against ranks and programs; sums of two cells as well."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from sympy import Matrix

from attacks.large_releases.engine import determined_cells
from attacks.large_releases.parallel_cells import parallel_cells
from attacks.large_releases.signed_classes import KERNELS, signed_classes
from csp import Release
from csp.compiled import at_once
from instances.synthetic import frequency_nd
from tests.attacks.large_releases.test_engine import releases
from tests.support.shared import examples


def rank(rows) -> int:
    return Matrix(rows).rank()


@examples(60)
@given(releases())
def test_classes_are_bound_and_other_cells_of_cross_tables_are_not(drawn) -> None:
    _, release = drawn
    found = determined_cells(release)
    pairs = parallel_cells(found)
    matrix = release.relations[:, pairs.cells].toarray().tolist()
    full = rank(matrix) if matrix else 0
    place = {cell: at for at, cell in enumerate(pairs.cells.tolist())}
    sums = 0
    learned = pairs.learned_by(np.ones(len(release.pattern), bool))
    for first, second in combinations(pairs.cells.tolist(), 2):
        together = second in learned.get(first, ())
        assert together == (first in learned.get(second, ()))
        if not together:
            continue
        unit = [0] * len(place)
        same = pairs.signs[place[first]] == pairs.signs[place[second]]
        unit[place[first]], unit[place[second]] = 1, -1 if same else 1
        # The difference or the sum is a combination of relations.
        assert rank([*matrix, unit]) == full
        sums += not same
    assert pairs.known_sums == sums


def test_in_a_cross_table_nothing_is_missed() -> None:
    for seed in range(12):
        table = frequency_nd((4, 4), seed, mean=3, sd=3)
        pattern = np.random.default_rng(seed).random(table.n_cells) < 0.45
        release = Release.of(table, pattern)
        found = determined_cells(release)
        pairs = parallel_cells(found)
        learned = pairs.learned_by(np.ones(table.n_cells, bool))
        cells = pairs.cells.tolist()
        matrix = release.relations[:, pairs.cells].toarray().tolist()
        for at, cell in enumerate(cells):
            told = [*matrix, [int(i == at) for i in range(len(cells))]]
            full = rank(told)
            more = {
                other for i, other in enumerate(cells)
                if other != cell and rank([*told, [int(j == i) for j in range(len(cells))]]) == full
            }  # fmt: skip
            assert {*learned.get(cell, ())} == more


@examples(30)
@given(releases())
def test_compiled_classes_are_those_of_the_plain_functions(drawn) -> None:
    matrix = drawn[1].relations[:, np.flatnonzero(drawn[1].pattern)]
    seen = []
    for compiled in (False, True):
        left = np.ones(matrix.shape[0], bool)
        if compiled:
            with at_once():
                classes, signs = signed_classes(matrix, left)
        else:
            before, KERNELS._pays = KERNELS._pays, False
            classes, signs = signed_classes(matrix, left)
            KERNELS._pays = before
        seen.append((classes.tolist(), signs.tolist(), left.tolist()))
    assert seen[0] == seen[1]
