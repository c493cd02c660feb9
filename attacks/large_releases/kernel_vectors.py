"""Random vectors that move cells and keep every relation; cells that none moves may be known.

Floats only suggest here: what they suggest is proved in `proofs`, or left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csp.exact import Bools, Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_RIDGE = 1e-7
"""Added to the diagonal, since relations depend on each other; refinement takes it out again."""

_REFINED = 4
"""Rounds of refinement, each of which divides what is left by about a million."""

_STILL = 1e-7
"""Entry of a random vector of unit variance below which a cell counts as not moved: what must be
zero is about 1e-12, and few others come that close to it in all of several vectors."""


def factor(matrix: csr_array, weights: Floats | None = None) -> Any:
    """Factor ``A W A'`` with a small ridge: a symmetric positive definite system.

    Parameters
    ----------
    matrix : (r, k) csr_array of float64
    weights : (k,) float64, optional
        Diagonal of W; 1 by default.

    Returns
    -------
    SuperLU
    """
    from scipy.sparse import csc_array, diags_array
    from scipy.sparse.linalg import splu

    scaled = matrix if weights is None else matrix @ diags_array(weights)
    normal = csc_array(scaled @ matrix.T)
    ridge = _RIDGE if weights is None else _RIDGE * normal.diagonal()
    normal = csc_array(normal + diags_array(np.broadcast_to(ridge, normal.shape[0])))
    # Without pivoting and with an order for symmetric matrices this is a Cholesky factor.
    return splu(
        normal, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )


def kernel_vectors(matrix: csr_array, count: int, rng: np.random.Generator) -> Floats:
    """Draw vectors with ``A z = 0`` by projecting normal ones.

    Parameters
    ----------
    matrix : (r, k) csr_array of float64
    count : int
    rng : numpy Generator

    Returns
    -------
    (count, k) float64
    """
    solver = factor(matrix)
    turned = matrix.T.tocsr()
    found = rng.standard_normal((count, matrix.shape[1]))
    for z in found:
        for _ in range(_REFINED):
            z -= turned @ solver.solve(matrix @ z)
    return found


def unmoved(matrix: csr_array, rng: np.random.Generator, count: int = 3) -> Bools:
    """Cells that no random kernel vector moves: candidates for being known by the relations."""
    if not matrix.shape[0] or not matrix.shape[1]:
        return np.zeros(matrix.shape[1], bool)
    vectors = kernel_vectors(matrix.astype(np.float64), count, rng)
    return np.asarray((np.abs(vectors) < _STILL).all(axis=0))
