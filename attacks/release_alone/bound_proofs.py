"""What a release proves of a cell or a sum: combinations of its relations, in published numbers.

For whole multipliers ``g`` of the relations and a divisor ``d > 0``, moving the published cells to
the right gives ``d * x_j + sum w_i x_i = T`` over suppressed cells. Putting the worst bound of each
``x_i`` into that is weak duality: whatever the multipliers are, the end is never too narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

import numpy as np

from csp.attacker import components, engine, integer_extreme
from csp.attacker.exact import rationalise
from csp.attacker.view import Extreme, View
from csp.audits.claims import Certificate, Claim
from csp.audits.intervals import claims_of
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, SolverError
from csp.exact import UNBOUNDED, Bools, Floats, Ints
from csp.highs import Model, Status
from csp.release.release import Release
from csp.sparse import entries
from csp.tables.table import Table

_LARGEST = 1500


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Equation:
    """What a proof says, in numbers: ``divisor * goal + sum of others = total``."""

    amounts: tuple[int, ...]  # what each relation leaves for suppressed cells, times its multiplier
    total: int  # their sum
    others: tuple[tuple[int, int, int], ...]  # cells that remain: cell, coefficient, bound put in
    divisor: int
    end: Fraction  # of the goal, in units

    def __repr__(self) -> str:
        return f"Equation({len(self.amounts)} relations, {len(self.others)} bounds)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Proof:
    """Combination of relations that bounds a cell, or a sum of cells."""

    goal: tuple[tuple[int, int], ...]  # suppressed cells and coefficients; ((cell, 1),) for a cell
    sign: int  # upper (1) or lower (-1) end
    rows: tuple[int, ...]  # relations
    multipliers: tuple[int, ...]  # how often each is added; none of them 0
    divisor: int  # of the combination in the end

    @classmethod
    def of(cls, cells: Iterable[int], sign: int, factors: Mapping[int, int], divisor: int) -> Proof:
        """Proof of an end of the sum of some cells, in lowest terms."""
        common = gcd(divisor, *factors.values())
        # Whatever is added comes first: "row 1 + row 2 - column 4".
        rows = sorted(factors, key=lambda row: (factors[row] < 0, row))
        multipliers = tuple(factors[row] // common for row in rows)
        goal = tuple((cell, 1) for cell in cells)
        return cls(goal, sign, tuple(rows), multipliers, divisor // common)

    @property
    def length(self) -> Fraction:
        """How often relations are added in all, for each time that the goal is."""
        return Fraction(sum(map(abs, self.multipliers)), self.divisor)

    def __repr__(self) -> str:
        side = "upper" if self.sign > 0 else "lower"
        return f"Proof({side} end from {len(self.rows)} relations)"

    def equation(self, release: Release) -> Equation:
        """Put the published numbers in, in exact integers.

        Raises
        ------
        CertificateError
            If a cell or relation does not exist, the goal is not suppressed, or a suppressed cell
            that remains has no bound on the side that is needed.
        """
        relations, pattern = release.relations, release.pattern
        n, m = len(pattern), relations.shape[0]
        goal = dict(self.goal)
        if (
            self.divisor < 1
            or self.sign not in (1, -1)
            or len(self.rows) != len(self.multipliers)
            or not all(0 <= cell < n and pattern[cell] for cell in goal)
            or not all(0 <= row < m for row in self.rows)
        ):
            msg = "the proof does not belong to this release: it names other cells or relations"
            raise CertificateError(msg)
        left: dict[int, int] = {}
        amounts = []
        for row, factor in zip(self.rows, self.multipliers, strict=True):
            amount = 0
            for cell, a in entries(relations, row):
                if pattern[cell]:
                    left[cell] = left.get(cell, 0) + factor * a
                else:
                    amount -= factor * a * int(release.published[cell])
            amounts.append(amount)
        for cell, a in goal.items():
            left[cell] = left.get(cell, 0) - self.divisor * a
        total, others, rest = sum(amounts), [], 0
        for cell in sorted(left):
            weight = left[cell]
            if not weight:
                continue
            # goal = (total - weight * x) / divisor grows as x falls, for a positive weight.
            low = (weight > 0) == (self.sign > 0)
            bound = int(release.lower[cell] if low else release.upper[cell])
            if abs(bound) >= UNBOUNDED:
                msg = f"the proof needs a bound of cell {release.labels[cell]}, which has none"
                raise CertificateError(msg)
            others.append((cell, weight, bound))
            rest += weight * bound
        end = Fraction(total - rest, self.divisor)
        return Equation(tuple(amounts), total, tuple(others), self.divisor, end)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ends:
    """Least and largest value of a suppressed cell, in units, and the claims that say so.

    An end is None if there is none.
    """

    lower: Fraction | None
    upper: Fraction | None
    claims: tuple[Claim, Claim]

    @classmethod
    def of(cls, table: Table, claims: tuple[Claim, Claim]) -> Ends:
        """Read the ends that a lower and an upper claim state about a cell of a table."""
        lower, upper = (
            None if claim.reach is None
            else int(table.values[claim.cell]) + claim.sign * Fraction(claim.reach)
            for claim in claims
        )  # fmt: skip
        return cls(lower, upper, claims)

    @property
    def pair(self) -> tuple[Fraction | None, Fraction | None]:
        """Both ends."""
        return self.lower, self.upper

    @property
    def known(self) -> bool:
        """Whether they leave one value."""
        return self.lower is not None and self.lower == self.upper

    @property
    def proved(self) -> bool:
        """Whether every end that there is has a proof."""
        return all(claim.exact or claim.reach is None for claim in self.claims)

    def proofs(self) -> list[Proof | None]:
        """Proofs behind both claims, free of the true values; None for a claim without one."""
        found: list[Proof | None] = []
        for claim in self.claims:
            pairs = zip(claim.rows.tolist(), claim.multipliers.tolist(), strict=True)
            factors = {int(row): claim.sign * int(factor) for row, factor in pairs if factor}
            has_proof = claim.exact and claim.reach is not None
            found.append(
                Proof.of([claim.cell], claim.sign, factors, int(claim.divisor))
                if has_proof else None
            )  # fmt: skip
        return found


def ends(
    table: Table,
    pattern: Bools,
    *,
    integer: bool = True,
    cells: Iterable[int] | None = None,
    clock: Clock = UNLIMITED,
) -> tuple[dict[int, Ends], dict[int, Ends]]:
    """Rational and whole-number ends of suppressed cells, each linear program once, checked.

    `table` may be any completion of the release; `cells` are all suppressed ones by default.
    Without `integer` the rational ends stand for the whole-number ones as well.

    Raises
    ------
    CertificateError
        If a claim cannot be proved; for whole numbers also if cells have more than 10**9 units of
        room and the rational end is a fraction.
    OutOfTime
        If the time runs out.
    """
    rational: list[Claim] = []
    whole: list[Claim] = []
    wanted = pattern if cells is None else np.isin(np.arange(table.n_cells), list(cells))
    for view in components(table, pattern):
        here = np.flatnonzero(wanted[view.cells])
        if not len(here):
            continue
        clock.check()
        targets, signs = np.tile(here, 2), np.repeat([-1, 1], len(here))
        answers = engine(view).ends(targets, signs, None, clock)
        rational += claims_of(view, targets, signs, answers)
        if integer:
            tight = _whole(view, targets, signs, answers, clock)
            whole += claims_of(view, targets, signs, tight, integer=True)
    Certificate(table, pattern, (*rational, *whole)).verify()
    wide = _paired(table, rational)
    return wide, _paired(table, whole) if integer else wide


def _paired(table: Table, claims: list[Claim]) -> dict[int, Ends]:
    low, high = ({claim.cell: claim for claim in claims if claim.sign == s} for s in (-1, 1))
    return {cell: Ends.of(table, (low[cell], high[cell])) for cell in low}


def as_floats(found: Iterable[Ends]) -> Floats:
    """Lower and upper ends as two rows; infinite where there is none."""
    rows = [
        (
            -np.inf if one.lower is None else float(one.lower),
            np.inf if one.upper is None else float(one.upper),
        )
        for one in found
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 2).T.copy()


def _whole(
    view: View, targets: Ints, signs: Ints, answers: list[Extreme], clock: Clock,
) -> list[Extreme]:  # fmt: skip
    """Whole-number ends; deviations found for one cell serve others that they move as far."""
    k = len(view.cells)
    pool = [a.witness(k) for a in answers if a.denominator == 1 and a.reach is not None]
    tight = []
    for j, sign, answer in zip(targets.tolist(), signs.tolist(), answers, strict=True):
        clock.check()
        found = answer
        if answer.denominator != 1:
            shared = None
            if answer.exact and answer.reach is not None:
                end = answer.reach.numerator // answer.reach.denominator
                shared = next((z for z in pool if sign * int(z[j]) == end), None)
            if shared is None:
                found = integer_extreme(view, j, sign, answer, clock)
                if found.reach is not None:
                    pool.append(found.witness(k))
            else:
                moved = np.flatnonzero(shared)
                found = replace(
                    answer, reach=Fraction(end), moved=moved, steps=shared[moved], denominator=1
                )
        tight.append(found)
    return tight


def shortened(
    release: Release, proof: Proof, view: View, *, bounds: bool = True, clock: Clock = UNLIMITED
) -> Proof:
    """Proof of the same end with smaller multipliers, where one is found, else the one given.

    `view` is the part of the pattern that holds the goal. Without `bounds` the relations must do
    alone. The answer of the linear program is only a suggestion: its end is recomputed in integers.
    """
    size = len(view.rows) + len(view.cells)
    if clock.over or size > _LARGEST or proof.length <= 1:
        return proof
    end = proof.equation(release).end
    guess = _smallest(release, proof, view, end, clock, bounds=bounds)
    if guess is None:
        return proof
    goal = [cell for cell, _ in proof.goal]
    for numerators, divisor in rationalise(guess):
        pairs = zip(view.rows.tolist(), numerators.tolist(), strict=True)
        factors = {int(row): int(v) for row, v in pairs if v}
        found = Proof.of(goal, proof.sign, factors, divisor)
        try:
            equation = found.equation(release)
        except CertificateError:
            continue
        good = equation.end == end and (bounds or not equation.others)
        if good and found.length < proof.length:
            return found
    return proof


def _smallest(
    release: Release, proof: Proof, view: View, end: Fraction, clock: Clock, *, bounds: bool
) -> Floats | None:
    """Multipliers of least absolute sum that prove an end, in floats."""
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    cells, rows = view.cells, view.rows
    r, k = len(rows), len(cells)
    goal = np.zeros(k)
    for cell, a in proof.goal:
        goal[np.searchsorted(cells, cell)] = a
    shown = np.where(release.pattern, 0, release.published)
    right = -(release.relations[rows] @ shown).astype(np.float64)
    # goal = M'g - w with w = plus - minus; w > 0 needs the lower bound in an upper end.
    first, second = release.lower[cells], release.upper[cells]
    if proof.sign < 0:
        first, second = second, first
    endless = np.abs([first, second]) >= UNBOUNDED
    top = np.where(endless | (not bounds), 0, np.inf)
    first, second = np.where(endless, 0, [first, second]).astype(np.float64)
    unit = max(1.0, float(np.abs(right).max(initial=0)))
    turned = csr_array(view.matrix.T).astype(np.float64)
    eye = eye_array(k)
    left = hstack([turned, -turned, -eye, eye], format="csr")
    value = proof.sign * np.concatenate([right, -right, -first, second]) / unit
    upper = np.concatenate([np.full(2 * r, np.inf), *top])
    rows_of = csr_array(vstack([left, csr_array(value[None, :])], format="csr"))
    most = proof.sign * float(end) / unit
    model = Model().load(
        cost=np.concatenate([np.ones(2 * r), np.full(2 * k, 1e-3)]),
        lower=np.zeros(2 * r + 2 * k), upper=upper, rows=rows_of,
        row_lower=np.append(goal, -np.inf), row_upper=np.append(goal, most),
    )  # fmt: skip
    try:
        if model.solve(clock) != Status.OPTIMAL:
            return None
    except SolverError:
        # A longer proof is a proof.
        return None
    return np.asarray(model.values[:r] - model.values[r : 2 * r])
