"""Interval ends by linear programming on one live model, made exact afterwards."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csp.attacker.exact import basic_solution, dual_bound, is_deviation, rationalise
from csp.attacker.view import Extreme, View
from csp.errors import CertificateError
from csp.highs import build, new_model, optimise
from csp.numbers import UNBOUNDED

__all__ = ["LpEngine"]


class LpEngine:
    """Interval ends of the cells of any part of a pattern.

    One HiGHS model lives as long as the engine; between calls only the objective changes, so the
    primal simplex starts from the last vertex. Deviations are scaled by a power of two to keep
    the solver's absolute tolerances meaningful for large totals.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        finite = np.concatenate([view.up[view.up < UNBOUNDED], view.down[view.down < UNBOUNDED]])
        largest = float(finite.max(initial=1))
        self._unit = 2.0 ** max(0, int(np.ceil(np.log2(max(largest, 1.0)))) - 20)
        k = len(view.cells)
        zero = np.zeros(len(view.rows))
        self._model = build(
            new_model(presolve="off", solver="simplex", simplex_strategy=4),
            cost=np.zeros(k),
            lower=-_float(view.down, self._unit),
            upper=_float(view.up, self._unit),
            rows=view.matrix,
            row_lower=zero,
            row_upper=zero,
        )
        self._last: int | None = None

    def extreme(self, j: int, sign: int, enough: int | None = None) -> Extreme:
        """Furthest deviation of cell j up (sign=1) or down (sign=-1); see `Extreme`.

        A witness that reaches `enough` units is not asked to be the end.

        Raises
        ------
        CertificateError
            If no exact witness can be made of the solver's answer.
        """
        word = self._solve(j, sign)
        if word == "unbounded":
            ray = LpEngine(self._view.recession()).extreme(j, sign)
            return Extreme(None, ray.witness, ray.denominator, None, 1, exact=False)
        if word != "optimal":
            msg = f"the attacker's LP ended as {word}; it always has the true table as a solution"
            raise CertificateError(msg)
        solution = self._model.getSolution()
        z = np.asarray(solution.col_value) * self._unit
        g = -np.asarray(solution.row_dual)
        witness = self._witness(z)
        if witness is not None and enough is not None:
            reach = _reach(witness, j, sign)
            if reach >= enough:
                return Extreme(reach, witness[0], witness[1], None, 1, exact=False)
        proof = self._proof(j, sign, g, None if witness is None else _reach(witness, j, sign))
        if witness is None or proof is None:
            witness, proof = self._from_basis(j, sign, witness)
        reach = _reach(witness, j, sign)
        exact = proof is not None and dual_bound(self._view, j, sign, *proof) == reach
        numerators, divisor = proof if exact and proof is not None else (None, 1)
        return Extreme(reach, witness[0], witness[1], numerators, divisor, exact)

    def _solve(self, j: int, sign: int) -> str:
        if self._last is not None:
            self._model.changeColCost(self._last, 0.0)
        self._model.changeColCost(j, -float(sign))
        self._last = j
        return optimise(self._model)

    def _witness(self, z: NDArray[np.float64]) -> tuple[NDArray[Any], int] | None:
        for numerators, denominator in rationalise(z):
            clipped = np.minimum(numerators, _times(self._view.up, denominator))
            clipped = np.maximum(clipped, -_times(self._view.down, denominator))
            if is_deviation(self._view, clipped, denominator):
                return clipped, denominator
        return None

    def _proof(
        self, j: int, sign: int, g: NDArray[np.float64], reach: Fraction | None
    ) -> tuple[NDArray[Any], int] | None:
        for numerators, divisor in rationalise(g):
            bound = dual_bound(self._view, j, sign, numerators, divisor)
            if bound is not None and bound == reach:
                return numerators, divisor
        return None

    def _from_basis(
        self, j: int, sign: int, witness: tuple[NDArray[Any], int] | None
    ) -> tuple[tuple[NDArray[Any], int], tuple[NDArray[Any], int] | None]:
        """Solve the final basis in rationals: slower, but exact at any denominators."""
        import highspy

        kind = highspy.HighsBasisStatus
        basis = self._model.getBasis()
        columns, rows = list(basis.col_status), list(basis.row_status)
        up, down = self._view.up, self._view.down
        at = np.array(
            [
                int(up[i]) if s == kind.kUpper else -int(down[i]) if s == kind.kLower else 0
                for i, s in enumerate(columns)
            ],
            dtype=object,
        )
        basic = np.array([i for i, s in enumerate(columns) if s == kind.kBasic], dtype=np.int64)
        tight = np.array([i for i, s in enumerate(rows) if s != kind.kBasic], dtype=np.int64)
        answer = basic_solution(self._view, basic, at, tight, j, sign)
        if answer is not None:
            numerators, denominator, multipliers, divisor = answer
            if is_deviation(self._view, numerators, denominator):
                return (numerators, denominator), (multipliers, divisor)
        if witness is not None:
            return witness, None
        msg = "no exact table could be made of the attacker's LP solution"
        raise CertificateError(msg)


def _reach(witness: tuple[NDArray[Any], int] | None, j: int, sign: int) -> Fraction:
    if witness is None:
        msg = "no exact table could be made of the attacker's LP solution"
        raise CertificateError(msg)
    return Fraction(sign * int(witness[0][j]), witness[1])


def _float(bound: NDArray[np.int64], unit: float) -> NDArray[np.float64]:
    return np.where(bound >= UNBOUNDED, np.inf, bound / unit)


def _times(bound: NDArray[np.int64], denominator: int) -> NDArray[Any]:
    """Scale a bound; object integers where the product may not fit int64."""
    if denominator == 1:
        return bound
    return bound.astype(object) * denominator
