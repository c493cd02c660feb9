"""Disclosure by linear algebra, bounds and whole numbers, against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import ceil, floor, inf

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from attacks.release_alone.bound_proofs import Proof, ends, shortened
from attacks.release_alone.disclosed_cells import determined, disclosed
from csp import InputError, Table
from csp.attacker.view import components
from csp.errors import CertificateError, OutOfTime
from csp.release.release import Release
from tests.support import oracles
from tests.support.shared import examples
from tests.support.strategies import small_releases

MOST = 1500
"""Tables that brute force lists at most."""


def as_float(end: Fraction | int | None, none: float) -> float:
    return none if end is None else float(end)


@examples(40)
@given(small_releases())
def test_intervals_and_flags_equal_brute_force(case: tuple[Table, Release]) -> None:
    table, release = case
    found = disclosed(release)
    unknown = oracles.hidden_cells(release.pattern)
    basis = oracles.null_space(oracles.equations(table, unknown), unknown)
    tables: list[tuple[int, ...]] = []
    if np.isfinite([found.lower, found.upper]).all():
        tables = list(islice(oracles.integer_tables(table, release.pattern), MOST))
    for k, cell in enumerate(found.cells.tolist()):
        low, high = oracles.rational_interval(table, release.pattern, cell)
        assert found.linear[k] == (not any(basis[unknown.index(cell)]))
        assert found.exact[k] == (low is not None and low == high)
        assert found.lower[k] == as_float(low, -inf)
        assert found.upper[k] == as_float(high, inf)
        proof = found.proofs[k]
        assert (proof is not None) == found.linear[k]
        if proof is not None:
            equation = proof.equation(release)
            assert not equation.others
            assert equation.end == table.values[cell]
        if not 0 < len(tables) < MOST:
            continue
        least, most = (end(t[cell] for t in tables) for end in (min, max))
        assert found.whole_lower[k] == least
        assert found.whole_upper[k] == most
        assert found.whole[k] == (least == most)
        assert found.narrower[k] == ((low, high) != (least, most))


@examples(30)
@given(small_releases())
def test_proofs_give_the_ends_in_published_numbers(case: tuple[Table, Release]) -> None:
    table, release = case
    rational, _ = ends(table, release.pattern, integer=False)
    for view in components(table, release.pattern):
        for cell in view.cells.tolist():
            for end, proof in zip(rational[cell].pair, rational[cell].proofs(), strict=True):
                if proof is None:
                    assert end is None
                    continue
                assert proof.equation(release).end == end
                short = shortened(release, proof, view)
                assert short.equation(release).end == end
                assert sum(map(abs, short.multipliers)) * proof.divisor <= (
                    sum(map(abs, proof.multipliers)) * short.divisor
                )


@examples(80)
@given(
    st.integers(1, 5).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(-3, 3), min_size=k, max_size=k), min_size=1, max_size=5
        )
    )
)
def test_the_echelon_form_finds_exactly_the_unit_vectors_of_the_row_space(
    rows: list[list[int]],
) -> None:
    matrix = np.array(rows)
    found = determined(csr_array(matrix))
    k = matrix.shape[1]
    system = [({j: v for j, v in enumerate(row) if v}, 0) for row in rows if any(row)]
    basis = oracles.null_space(system, range(k))
    assert sorted(found) == [j for j in range(k) if not any(basis[j])]
    for j, (factors, divisor) in found.items():
        total = sum(v * matrix[i] for i, v in factors.items())
        assert divisor > 0
        assert total.tolist() == [divisor * (i == j) for i in range(k)]


def test_whole_numbers_can_tell_what_a_linear_program_does_not() -> None:
    # 2 x + 2 y + z = 7 with z in 0..1: only whole numbers force z = 1.
    table = Table(
        np.array([1, 2, 1, 7]), csr_array([[2, 2, 1, -1]]), np.zeros(4, int),
        np.array([9, 9, 1, 99]), (("x",), ("y",), ("z",), ("t",)),
    )  # fmt: skip
    release = Release.of(table, np.array([True, True, True, False]))
    found = disclosed(release)
    assert (found.lower[2], found.upper[2]) == (0, 1)
    assert found.whole[2]
    assert not found.exact[2]
    assert found.narrower[2]
    assert not found.proved[2]
    rational = disclosed(release, integer=False)
    assert np.isnan(rational.whole_lower).all()
    assert not rational.narrower.any()
    assert (ceil(found.lower[0]), floor(found.upper[0])) == (0, 3)


def test_a_wrong_proof_is_refused_and_never_too_narrow() -> None:
    table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    pattern = np.zeros((4, 4), bool)
    pattern[:2, :2] = True
    release = Release.of(table, pattern.ravel())
    cell = ((0, 1),)
    for bad in (
        Proof(((15, 1),), 1, (), (), 1), Proof(cell, 1, (99,), (1,), 1),
        Proof(cell, 1, (), (), 0), Proof(cell, 2, (), (), 1), Proof(cell, 1, (1,), (), 1),
    ):  # fmt: skip
        with pytest.raises(CertificateError, match="does not belong"):
            bad.equation(release)
    with pytest.raises(CertificateError, match="has none"):
        Proof(cell, 1, (), (), 1).equation(release)
    for row in range(8):
        for factor in (-2, -1, 1, 2):
            try:
                end = Proof(cell, 1, (row,), (factor,), 1).equation(release).end
            except CertificateError:
                continue
            assert end >= 17


def test_bad_input_is_refused() -> None:
    table = Table.from_array([[1, 2], [3, 4]])
    with pytest.raises(InputError, match="no suppressed cell"):
        disclosed(Release.of(table, np.zeros(9, bool)))
    release = Release.of(table, ~table.margins)
    with pytest.raises(InputError, match="positive number of seconds"):
        disclosed(release, time_limit=0)
    with pytest.raises(OutOfTime):
        disclosed(release, time_limit=1e-9)


@examples(40)
@given(st.integers(2, 7), st.integers(2, 7), st.data())
def test_linear_algebra_finds_the_bridges_of_a_two_way_pattern(
    rows: int, columns: int, data: st.DataObject
) -> None:
    """Suppressed cells of a two-way table are edges between its row and its column equations."""
    table = Table.from_array(np.full((rows, columns), 9))
    flags = data.draw(st.lists(st.booleans(), min_size=table.n_cells, max_size=table.n_cells))
    flags[0] = True  # without a suppressed cell there is nothing to attack
    found = disclosed(Release.of(table, np.array(flags)))
    edges = {
        i: (("row", label[0]), ("column", label[1]))
        for i, label in enumerate(table.labels)
        if flags[i]
    }
    # A row's equation has its total too, in the column of totals; so has a column's.
    graph = nx.Graph(edges.values())
    bridges = {frozenset(edge) for edge in nx.bridges(graph)}
    wanted = [frozenset(edges[i]) in bridges for i in found.cells.tolist()]
    assert found.linear.tolist() == wanted
