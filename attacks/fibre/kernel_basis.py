"""The integer kernel: all whole-number deviations that no published relation notices.

A rational null space is not enough: clearing its denominators may span a proper sublattice, and
the tables in between are then missed. Unimodular row operations lose nothing (Minami and Abe
2019, Section 3.2, where the null space stands for the lattice).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from csp.attacker.integer_matrices import generates_whole_lattice, short_basis
from csp.attacker.view import graph_parts
from csp.errors import CertificateError, InputError
from csp.exact import Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def kernel(relations: csr_array | Ints, support: ArrayLike | None = None) -> Ints:
    """Basis of the integer vectors on some cells that satisfy every relation.

    Parameters
    ----------
    relations : (m, n) csr_array or array of int
    support : (n,) bool, optional
        Cells that may be different from 0; all by default.

    Returns
    -------
    (n, d) int64
        Every integer ``z`` with ``relations @ z = 0`` and ``z = 0`` off the support is exactly one
        integer combination of the columns. Columns are reduced (Lenstra, Lenstra and Lovász) part
        by part, ordered by the first cell of their part; the first entry of each is positive.

    Raises
    ------
    InputError
        If the support has a wrong shape, or an entry of the basis does not fit into int64.

    Examples
    --------
    Example 2 of Minami and Abe (2019): two rows and two columns of suppressed cells.

    >>> import numpy as np
    >>> kernel(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])).T.tolist()
    [[1, -1, -1, 1]]
    """
    from scipy.sparse import csr_array

    matrix = csr_array(relations)
    n = matrix.shape[1]
    flags = np.ones(n, dtype=bool) if support is None else np.asarray(support, dtype=bool)
    if flags.shape != (n,):
        msg = f"the support has shape {flags.shape}; {n} cells need ({n},)"
        raise InputError(msg)
    cells = np.flatnonzero(flags)
    columns: list[Ints] = []
    for part, rows in graph_parts(csr_array(matrix[:, cells])):
        block = matrix[rows][:, cells[part]].toarray().tolist() if len(rows) else []
        for vector in short_basis(_null_lattice(block, len(part))):
            column = np.zeros(n, dtype=np.int64)
            try:
                column[cells[part]] = vector
            except OverflowError as error:
                msg = "the integer kernel has entries beyond int64; scale the relations down"
                raise InputError(msg) from error
            columns.append(column if column[np.flatnonzero(column)[0]] > 0 else -column)
    return np.stack(columns, axis=1) if columns else np.zeros((n, 0), dtype=np.int64)


def with_pairs(basis: Ints) -> Ints:
    """Rows: the columns of a basis (k, d), and sums and differences of any two of them."""
    vectors = basis.T
    pairs = (a + sign * b for a, b in combinations(vectors, 2) for sign in (1, -1))
    return np.vstack([vectors, *pairs])


def check_whole(basis: Ints) -> None:
    """Check that vectors (k, d) generate every integer vector of the space that they span.

    Raises
    ------
    CertificateError
        If they do not: tables would be missed.
    """
    if basis.shape[1] and not generates_whole_lattice(basis.T.tolist()):
        msg = "the kernel vectors do not generate the whole kernel, so tables would be missed"
        raise CertificateError(msg)


def _null_lattice(rows: list[list[int]], k: int) -> list[list[int]]:
    """Basis of the lattice of integer vectors of length k that all rows annihilate.

    The rows are met one after the other: a unimodular change of the basis so far leaves one
    vector that does not satisfy the row (a greatest common divisor), and that one is dropped.
    """
    basis = [[int(i == j) for j in range(k)] for i in range(k)]
    for row in sorted(rows, key=lambda r: sum(v != 0 for v in r)):
        entries = [(j, v) for j, v in enumerate(row) if v]
        values = [sum(v * vector[j] for j, v in entries) for vector in basis]
        wrong = [i for i, value in enumerate(values) if value]
        while len(wrong) > 1:
            # Sparse vectors first: they fill the others least.
            pivot = min(wrong, key=lambda i: (abs(values[i]), sum(v != 0 for v in basis[i])))
            for i in wrong:
                times = values[i] // values[pivot] if i != pivot else 0
                if times:
                    values[i] -= times * values[pivot]
                    basis[i] = [v - times * w for v, w in zip(basis[i], basis[pivot], strict=True)]
            wrong = [i for i in wrong if values[i]]
        if wrong:
            del basis[wrong[0]]
    return basis
