"""Exact algebra of small matrices, by elimination in fractions and by definition."""

from __future__ import annotations

import ast
from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp.attacker.integer_matrices import (
    generates_whole_lattice,
    inverse,
    null_vectors,
    reduced_rows,
    short_basis,
    solve,
)
from tests.csp.highs.test_highs import LIBRARY, imported
from tests.support.shared import ROOT


def echelon(rows: list[list[int]]) -> list[list[Fraction]]:
    """Reduced echelon form, by elimination in fractions."""
    left = [list(map(Fraction, row)) for row in rows]
    done: list[list[Fraction]] = []
    for j in range(len(rows[0])):
        pivot = next((row for row in left if row[j]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        pivot = [v / pivot[j] for v in pivot]
        for lines in (left, done):
            lines[:] = [[v - row[j] * w for v, w in zip(row, pivot, strict=True)] for row in lines]
        done.append(pivot)
    return done


@st.composite
def matrices(draw: st.DrawFn, most: int = 4) -> list[list[int]]:
    m, n = draw(st.integers(1, most)), draw(st.integers(1, most))
    return draw(
        st.lists(st.lists(st.integers(-3, 3), min_size=n, max_size=n), min_size=m, max_size=m)
    )


@given(matrices())
def test_reduced_rows_and_null_vectors(rows: list[list[int]]) -> None:
    reduced = echelon(rows)
    assert reduced_rows(rows) == reduced
    kernel = null_vectors(rows)
    assert len(kernel) == len(rows[0]) - len(reduced)
    if kernel:
        assert len(echelon(kernel)) == len(kernel)
        assert not (np.array(rows) @ np.array(kernel).T).any()
        assert {gcd(*vector) for vector in kernel} == {1}


@given(matrices(), st.data())
def test_solutions_and_inverses(rows: list[list[int]], data: st.DataObject) -> None:
    size = min(len(rows), len(rows[0]))
    square = [row[:size] for row in rows[:size]]
    right = data.draw(st.lists(st.lists(st.integers(-5, 5), min_size=2, max_size=2),
                               min_size=size, max_size=size))  # fmt: skip
    found = solve(square, right)
    if len(echelon(square)) < size:
        assert found is None
        return
    assert found is not None
    numerators, divisor = found
    assert divisor > 0
    assert (np.array(square) @ np.array(numerators) == divisor * np.array(right)).all()
    unit = np.array(square, dtype=object) @ np.array(inverse(square), dtype=object)
    assert (unit == np.eye(size, dtype=int)).all()


@given(matrices(3))
def test_lattices(rows: list[list[int]]) -> None:
    """A lattice is whole if all vectors of its span with small entries are whole combinations."""
    while len(echelon(rows)) < len(rows):
        rows = rows[:-1]
        if not rows:
            return
    short = short_basis(rows)
    for a, b in ((rows, short), (short, rows)):
        assert all(coordinates(vector, b) is not None for vector in a)
    n, d = len(rows[0]), len(rows)
    # The index of a lattice whose vectors are short divides a minor: combinations with a divisor
    # up to the largest of them are tried, one by one.
    largest = max(abs(round(float(np.linalg.det(np.array(rows)[:, list(columns)]))))
                  for columns in product(range(n), repeat=d))  # fmt: skip
    whole = not any(
        all(sum(c * row[j] for c, row in zip(shares, rows, strict=True)) % p == 0 for j in range(n))
        for p in range(2, largest + 1) if all(p % q for q in range(2, p))
        for shares in product(range(p), repeat=d) if any(shares)
    )  # fmt: skip
    assert generates_whole_lattice(rows) == whole


def coordinates(vector: list[int], basis: list[list[int]]) -> list[Fraction] | None:
    """Whole coordinates of a vector of the lattice of a basis; None if it is not one."""
    system = echelon([[*column, v] for *column, v in zip(*basis, vector, strict=True)])
    if len(system) != len(basis):
        return None
    found = [row[-1] for row in system]
    return found if all(v.denominator == 1 for v in found) else None


def test_sympy_and_flint_are_called_through_one_door() -> None:
    door = ROOT / "csp" / "attacker" / "integer_matrices.py"
    callers = set()
    for path in (path for name in LIBRARY for path in (ROOT / name).rglob("*.py")):
        names = imported(ast.parse(path.read_text()))
        if any(name.split(".")[0] in ("sympy", "flint") for name in names):
            callers.add(path)
    assert callers == {door}
