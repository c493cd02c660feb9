"""The audit: what an outsider can infer from a pattern, proved without the optimiser.

Interval ends come with witness tables in integers (or rationals) and with proofs by weak duality;
`csp.certificate` checks both without a solver. A pattern is called safe only if every primary cell
reaches its protection levels by checked witnesses.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.attacker import check_time, components, engine, integer_extreme
from csp.certificate import Certificate, Claim, claims_of
from csp.errors import InputError
from csp.patterns import as_pattern
from csp.problem import Problem
from csp.singletons import insiders
from csp.table import Table

__all__ = ["Audit", "Violation", "audit", "interval_claims", "intervals"]


@dataclass(frozen=True, slots=True)
class Violation:
    """One promise that a pattern does not keep.

    Attributes
    ----------
    kind : {"published", "suppressed", "lower", "upper", "sliding", "singleton", "union"}
    cells : tuple of int
        The cell concerned; for "union" all cells of the sum, for "singleton" the cell and the
        one whose contributor learns too much.
    need, attained : int, Fraction
        Width or distance required and attained, in units; 0 where it does not apply.
    words : str
        The violation in words. Amounts stay out: a level is a share of a value, and what is
        attained may be the value of a neighbour.
    relation : int or None
        For "union": the relation that publishes the sum.
    """

    kind: str
    cells: tuple[int, ...]
    need: int
    attained: Fraction
    words: str
    relation: int | None = None

    def __repr__(self) -> str:
        # What is needed or attained can be the value of a cell: it stays out of what is printed.
        return f"Violation({self.kind}: {self.words})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit:
    """What an outsider can infer from a pattern.

    Attributes
    ----------
    safe : bool
        Whether every promise of the problem is kept; proved, never assumed.
    lower, upper : (n,) float64
        Feasibility interval of every cell in table units (the value itself where published;
        infinite where there is no end). The exact ends are in the certificate.
    violations : tuple of Violation
    certificate : Certificate
    integer : bool
        Whether the attacker knows that cells are whole units.
    guards : tuple of str
        Which attackers were considered: "outsider", and "singletons", "unions" where asked for.
    """

    safe: bool
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    violations: tuple[Violation, ...]
    certificate: Certificate
    integer: bool
    guards: tuple[str, ...]

    def __repr__(self) -> str:
        word = "safe" if self.safe else f"unsafe, {len(self.violations)} violations"
        return f"Audit({word}; against {', '.join(self.guards)})"


def audit(
    problem: Problem,
    pattern: ArrayLike,
    *,
    integer: bool = False,
    only_primary: bool = False,
    time_limit: float | None = None,
    witnesses: Sequence[tuple[NDArray[np.int64], int]] = (),
) -> Audit:
    """Check that a pattern keeps every promise of a problem.

    Parameters
    ----------
    problem : Problem
    pattern : (n,) bool
        Suppressed cells.
    integer : bool
        Judge levels on integer intervals (the attacker knows that cells are whole units).
    only_primary : bool
        Judge only: primary intervals are followed until their levels are reached, and the
        intervals of secondary cells are left out (`lower` and `upper` are inner ends or NaN).
    time_limit : float, optional
        Wall seconds.
    witnesses : sequence of ((n,) int64, int)
        Numerators and denominator of deviations from the values, in units, that may settle some
        levels at once. Each is checked; one that is no deviation within the pattern is left
        aside.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If the pattern has the wrong shape.
    OutOfTime
        If the time limit passed before the verdict.
    CertificateError
        If a claim cannot be proved in exact arithmetic.

    Notes
    -----
    Definitions 2 and 3 of paper 003, with levels on either side as in the handbook on
    statistical disclosure control. All comparisons are between integers and fractions.
    """
    table = problem.table
    deadline = time.monotonic() + (np.inf if time_limit is None else time_limit)
    suppressed = as_pattern(table, pattern)
    violations = list(_misplaced(problem, suppressed))
    targets = suppressed & problem.primary if only_primary else suppressed
    enough = _needs(problem) if only_primary else None
    ends = interval_claims(
        table,
        suppressed,
        np.flatnonzero(targets),
        integer=integer,
        enough=enough,
        deadline=deadline,
        witnesses=witnesses,
    )
    for p in np.flatnonzero(problem.primary & suppressed).tolist():
        violations += _short(problem, p, *ends[p])
    claims = [claim for pair in ends.values() for claim in pair]
    guards = ["outsider"]
    if problem.singletons.any():
        guards.append("singletons")
        found, extra = _singletons(
            problem, suppressed, ends, integer=integer, enough=enough, deadline=deadline
        )
        violations += found
        claims += extra
    if problem.union_rule is not None:
        guards.append("unions")
        violations += _unions(problem, suppressed, ends, integer=integer, deadline=deadline)
    certificate = Certificate(table, suppressed, tuple(claims))
    certificate.verify()
    lower, upper = _arrays(table, suppressed, ends)
    return Audit(
        not violations, lower, upper, tuple(violations), certificate, integer, tuple(guards)
    )


def intervals(
    table: Table, pattern: ArrayLike, *, integer: bool = False, cells: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Feasibility interval of every cell (paper 003, Definition 2).

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    integer : bool
        Over integer tables only.
    cells : array of int, optional
        Only these suppressed cells; NaN elsewhere.

    Returns
    -------
    lower, upper : (n,) float64
        In table units; the value itself where published, infinite where there is no end.

    Examples
    --------
    Figure 2 of paper 003: four suppressed cells, the first is between 0 and 17.

    >>> import numpy as np
    >>> from csp import Table, intervals
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> pattern = np.zeros((4, 4), bool)
    >>> pattern[:2, :2] = True
    >>> lower, upper = intervals(table, pattern.ravel())
    >>> float(lower[0]), float(upper[0])
    (0.0, 17.0)
    """
    suppressed = as_pattern(table, pattern)
    wanted = np.flatnonzero(suppressed) if cells is None else np.asarray(cells, dtype=np.int64)
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < table.n_cells):
        msg = f"cells must be positions from 0 to {table.n_cells - 1}"
        raise InputError(msg)
    ends = interval_claims(table, suppressed, wanted, integer=integer)
    Certificate(table, suppressed, tuple(c for pair in ends.values() for c in pair)).verify()
    return _arrays(table, suppressed, ends)


def interval_claims(
    table: Table,
    pattern: NDArray[np.bool_],
    targets: Iterable[int],
    *,
    integer: bool = False,
    known: tuple[int, ...] = (),
    enough: NDArray[np.int64] | None = None,
    deadline: float = np.inf,
    witnesses: Sequence[tuple[NDArray[np.int64], int]] = (),
) -> dict[int, tuple[Claim, Claim]]:
    """Lower and upper claim of every target among the suppressed cells.

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    targets : iterable of int
        Suppressed cells; others are skipped.
    integer : bool
    known : tuple of int
        Suppressed cells whose value this attacker knows.
    enough : (n,) int64, optional
        Units after which an end need not be followed further.
    deadline : float
        `time.monotonic` value after which `OutOfTime` is raised.
    witnesses : sequence of ((n,) int64, int)
        See `audit`.

    Returns
    -------
    dict of int to (Claim, Claim)
        (lower, upper) for each target.
    """
    wanted = np.zeros(table.n_cells, dtype=bool)
    wanted[list(targets)] = True
    ends: dict[int, tuple[Claim, Claim]] = {}
    for view in components(table, pattern, known=known):
        here = np.flatnonzero(wanted[view.cells])
        if not len(here):
            continue
        check_time(deadline)
        targets, signs = np.tile(here, 2), np.repeat([-1, 1], len(here))
        limits = None if enough is None else enough[view.cells[targets]]
        known_tables = [(z[view.cells], scale) for z, scale in witnesses if not z[~pattern].any()]
        answers = engine(view, known_tables).ends(targets, signs, limits, deadline)
        if integer:
            for t, (j, sign) in enumerate(zip(targets.tolist(), signs.tolist(), strict=True)):
                check_time(deadline)
                answers[t] = integer_extreme(view, j, sign, answers[t])
        found = claims_of(view, targets, signs, answers, known, integer=integer)
        ends |= zip(
            view.cells[here].tolist(), zip(found, found[len(here) :], strict=False), strict=False
        )
    return ends


def _needs(problem: Problem) -> NDArray[np.int64]:
    """Largest level of each cell: reaching it on one side settles every promise about it.

    At least one unit, so that a cell that moves at all is seen to move.
    """
    return np.maximum(np.maximum(np.maximum(problem.lpl, problem.upl), problem.spl), 1)


def _misplaced(problem: Problem, pattern: NDArray[np.bool_]) -> Iterator[Violation]:
    table = problem.table
    for i in np.flatnonzero(problem.forced & ~pattern).tolist():
        words = f"cell {table.cell(i)} must be suppressed and is published"
        yield Violation("published", (i,), 0, Fraction(0), words)
    for i in np.flatnonzero((problem.status == "z") & pattern).tolist():
        words = f"cell {table.cell(i)} must be published and is suppressed"
        yield Violation("suppressed", (i,), 0, Fraction(0), words)


def _short(problem: Problem, p: int, low: Claim, high: Claim) -> list[Violation]:
    """Levels of one primary cell that its interval does not reach."""
    table = problem.table
    found = []
    width = None if low.reach is None or high.reach is None else low.reach + high.reach
    whom = f" from the contributor of cell {table.cell(low.known[0])}" if low.known else ""
    for kind, need, attained in (
        ("lower", int(problem.lpl[p]), low.reach),
        ("upper", int(problem.upl[p]), high.reach),
        ("sliding", int(problem.spl[p]), width),
    ):
        if attained is not None and attained < need:
            much = "nothing" if attained == 0 else "too little"
            words = f"cell {table.cell(p)} keeps {much} of its {kind} protection level{whom}"
            found.append(
                Violation(
                    "singleton" if low.known else kind, (p, *low.known), need, attained, words
                )
            )
    return found


def _singletons(
    problem: Problem,
    pattern: NDArray[np.bool_],
    ends: dict[int, tuple[Claim, Claim]],
    *,
    integer: bool,
    enough: NDArray[np.int64] | None,
    deadline: float,
) -> tuple[list[Violation], list[Claim]]:
    """Check every primary cell against the contributors who are alone in another cell."""
    violations: list[Violation] = []
    claims: list[Claim] = []
    for insider in insiders(problem):
        known = tuple(c for c in insider.knows if pattern[c])
        # A witness that leaves the known cells where they are serves this attacker as well.
        cells = [
            p
            for p in insider.against
            if pattern[p] and any(np.isin(known, claim.cells).any() for claim in ends[p])
        ]
        if not cells:
            continue
        seen = interval_claims(
            problem.table, pattern, cells,
            integer=integer, known=known, enough=enough, deadline=deadline,
        )  # fmt: skip
        for p in cells:
            violations += _short(problem, p, *seen[p])
            claims += seen[p]
    return violations, claims


def _unions(
    problem: Problem,
    pattern: NDArray[np.bool_],
    ends: dict[int, tuple[Claim, Claim]],
    *,
    integer: bool,
    deadline: float,
) -> list[Violation]:
    """Find sums of suppressed cells that a relation publishes and the rule calls sensitive."""
    from csp.rules import union_sensitive

    table, rule = problem.table, problem.union_rule
    assert rule is not None
    missing = [i for i in np.flatnonzero(pattern).tolist() if i not in ends]
    barely = np.ones(table.n_cells, dtype=np.int64)
    ends = ends | interval_claims(
        table, pattern, missing, integer=integer, enough=barely, deadline=deadline
    )
    moves = np.zeros(table.n_cells, dtype=bool)
    for i, (low, high) in ends.items():
        moves[i] = low.reach != 0 or high.reach != 0
    found = []
    for row in range(table.relations.shape[0]):
        span = slice(table.relations.indptr[row], table.relations.indptr[row + 1])
        inside = moves[table.relations.indices[span]]
        cells = table.relations.indices[span][inside]
        signs = table.relations.data[span][inside]
        # A sum with both signs, or with weights, is not what a cell of the sum would be.
        if len(cells) < 2 or np.any(signs != signs[0]):
            continue
        if union_sensitive(rule, table, cells):
            names = ", ".join(table.cell(int(c)) for c in cells[:4]) + (
                ", ..." if len(cells) > 4 else ""
            )
            words = f"the sum of {len(cells)} suppressed cells is published and sensitive: {names}"
            found.append(Violation("union", tuple(cells.tolist()), 0, Fraction(0), words, row))
    return found


def _arrays(
    table: Table, pattern: NDArray[np.bool_], ends: dict[int, tuple[Claim, Claim]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    lower = np.where(pattern, np.nan, table.values.astype(np.float64))
    upper = lower.copy()
    for i, (low, high) in ends.items():
        value = int(table.values[i])
        lower[i] = -np.inf if low.reach is None else float(value - low.reach)
        upper[i] = np.inf if high.reach is None else float(value + high.reach)
    for array in (lower, upper):
        array.flags.writeable = False
    return lower, upper
