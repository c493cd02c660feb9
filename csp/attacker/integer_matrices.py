"""Exact algebra of small dense matrices, in sympy's domains: the one door to them.

With python-flint installed, as it is with this package, sympy works in it. Large sparse relations
have elimination of their own (`csp.attacker.null_space`, `csp.attacker.elimination`). sympy is
loaded at the first call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Rows = Sequence[Sequence[int]]


def short_basis(rows: Rows) -> list[list[int]]:
    """Reduce a lattice basis (Lenstra, Lenstra and Lovász 1982).

    Parameters
    ----------
    rows : (d, n) int
        Vectors that generate the lattice; independent ones.

    Returns
    -------
    (d, n) list of int
        Short vectors that generate the same lattice.

    Examples
    --------
    >>> short_basis([[1, 0, 4], [0, 1, 5]])
    [[-1, 1, 1], [2, -1, 3]]
    """
    if len(rows) < 2:
        return [list(map(int, row)) for row in rows]
    return _whole(_matrix(rows).lll())


def null_vectors(rows: Rows) -> list[list[int]]:
    """Basis over the rationals of the vectors that all rows (m, n) of at least one annihilate.

    Each is whole and without a common divisor. They need not generate every whole vector.

    Examples
    --------
    >>> null_vectors([[1, 1, -1], [0, 2, -1]])
    [[1, 1, 2]]
    """
    kernel = _whole(_matrix(rows).nullspace())
    return [[v // math.gcd(*vector) for v in vector] for vector in kernel]


def solve(square: Rows, right: Rows) -> tuple[list[list[int]], int] | None:
    """Solve ``square @ x = right`` exactly.

    Parameters
    ----------
    square : (n, n) int
    right : (n, k) int

    Returns
    -------
    numerators : (n, k) list of int
    divisor : int
        Of all of them, positive. None in place of both if the matrix is singular.

    Examples
    --------
    >>> solve([[2, 1], [0, 3]], [[4], [1]])
    ([[11], [2]], 6)
    """
    from sympy.polys.matrices.exceptions import DMNonInvertibleMatrixError

    try:
        exact = _matrix(square).convert_to(_rationals())
        answer = exact.lu_solve(_matrix(right).convert_to(_rationals()))
    except DMNonInvertibleMatrixError:
        return None
    divisor, numerators = answer.clear_denoms(convert=True)
    return _whole(numerators), int(divisor.element)


def inverse(square: Rows) -> list[list[Fraction]]:
    """Invert a regular matrix (n, n).

    Examples
    --------
    >>> inverse([[2, 1], [0, 3]])[0]
    [Fraction(1, 2), Fraction(-1, 6)]
    """
    return _fractions(_matrix(square).convert_to(_rationals()).inv())


def reduced_rows(rows: Sequence[Sequence[Fraction | int]]) -> list[list[Fraction]]:
    """Bring rows (m, n) into reduced echelon form: those that are not zero, as many as the rank.

    Examples
    --------
    >>> reduced_rows([[2, 4], [1, 2]])
    [[Fraction(1, 1), Fraction(2, 1)]]
    """
    from sympy.polys.matrices import DomainMatrix

    if not rows or not rows[0]:
        return []
    domain = _rationals()
    exact = [[domain(v.numerator, v.denominator) for v in row] for row in rows]
    reduced, pivots = DomainMatrix(exact, (len(rows), len(rows[0])), domain).rref()
    return _fractions(reduced)[: len(pivots)]


def generates_whole_lattice(rows: Rows) -> bool:
    """Whether independent vectors (d, n) generate every whole vector of the space they span.

    They do exactly if they are independent modulo every prime, which only a prime that divides one
    of their maximal minors can prevent.

    Examples
    --------
    >>> generates_whole_lattice([[1, 1]]), generates_whole_lattice([[2, 2]])
    (True, False)
    """
    from sympy import GF, factorint

    matrix, size = _matrix(rows), len(rows)
    divisor = 0
    # Two minors, of the first and of the last columns: their common divisor has few primes.
    for turned in (rows, [list(reversed(row)) for row in rows]):
        columns = _matrix(turned)
        pivots = columns.convert_to(_rationals()).rref()[1]
        if len(pivots) < size:
            return False
        minor = columns.extract(list(range(size)), list(pivots)).to_dense().det()
        divisor = math.gcd(divisor, int(minor))
    return all(matrix.convert_to(GF(p)).rank() == size for p in factorint(divisor))


def _rationals() -> Any:
    from sympy import QQ

    return QQ


def _matrix(rows: Rows) -> Any:
    from sympy import ZZ
    from sympy.polys.matrices import DomainMatrix

    whole = [[ZZ(int(v)) for v in row] for row in rows]
    return DomainMatrix(whole, (len(whole), len(whole[0])), ZZ)


def _whole(matrix: Any) -> list[list[int]]:
    return [[int(v) for v in row] for row in matrix.to_list()]


def _fractions(matrix: Any) -> list[list[Fraction]]:
    return [
        [Fraction(int(v.numerator), int(v.denominator)) for v in row] for row in matrix.to_list()
    ]
