"""The audit: what an outsider can infer from a pattern, proved without the optimiser.

Interval ends come with witness tables in integers (or rationals) and with proofs by weak duality;
`csp.certificate` checks both without a solver. A pattern is called safe only if every primary cell
reaches its protection levels by checked witnesses.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from csp.attacker import components, engine, integer_extreme
from csp.attacker.view import room
from csp.boxes import Boxes
from csp.calls import expect, named_errors
from csp.certificate import Certificate, Claim, claims_of
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, InputError, OutOfTime, argument
from csp.patterns import as_pattern
from csp.problem import Problem
from csp.singletons import Insider, insiders
from csp.table import Table

__all__ = [
    "Audit",
    "Intervals",
    "Violation",
    "audit",
    "follow",
    "interval_claims",
    "intervals",
    "judge",
]

# Cells followed between two looks at the clock, and cells whose integer programs are.
_SLICE = 64
_INTEGER_SLICE = 8

# Boxes looked at for a cell before and after the engine has judged many cells at once.
_FEW_BOXES = 1000
_MANY_BOXES = 20_000


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
        infinite where there is no end; NaN where it was not followed). The exact ends are in the
        certificate.
    exact : (n, 2) bool
        Whether the lower and the upper end are proved. An end that is not is an inner one: the
        cell reaches so far, and perhaps further. Published cells have proved ends.
    violations : tuple of Violation
    certificate : Certificate
    integer : bool
        Whether the attacker knows that cells are whole units.
    guards : tuple of str
        Which attackers were considered: "outsider", and "singletons", "unions" where asked for.
    cut_short : {"", "time", "interrupt"}
        What ended the audit before every interval was followed; the verdict stands.
    """

    safe: bool
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    exact: NDArray[np.bool_]
    violations: tuple[Violation, ...]
    certificate: Certificate
    integer: bool
    guards: tuple[str, ...]
    cut_short: str = ""

    @property
    def proved(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends that are proved, NaN where they are not.

        These may be published. An end that is not proved is as far as one witness went from the
        true value, and so can disclose it.
        """
        low, high = self.exact.T
        return np.where(low, self.lower, np.nan), np.where(high, self.upper, np.nan)

    def __repr__(self) -> str:
        word = "safe" if self.safe else f"unsafe, {len(self.violations)} violations"
        return f"Audit({word}; against {', '.join(self.guards)})"


@named_errors
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
        Wall seconds. The verdict comes first; ends that there was no time to follow are inner
        ones (see `Audit.exact`).
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
        If the pattern has the wrong shape, or a witness is no such pair.
    OutOfTime
        If the time limit passed before the verdict.
    CertificateError
        If a claim cannot be proved in exact arithmetic.

    Notes
    -----
    Definitions 2 and 3 of paper 003, with levels on either side as in the handbook on
    statistical disclosure control. All comparisons are between integers and fractions.
    """
    expect(problem, Problem, "problem")
    clock = Clock.of(time_limit)
    suppressed = as_pattern(problem.table, pattern)
    witnesses = _pairs(witnesses, problem.table.n_cells)
    if not only_primary and clock == UNLIMITED:
        return _audited(problem, suppressed, integer=integer, witnesses=witnesses)
    judged = judge(problem, suppressed, integer=integer, clock=clock, witnesses=witnesses)
    return judged if only_primary else follow(problem, judged, clock=clock)


def _pairs(witnesses: Any, n: int) -> list[tuple[NDArray[np.int64], int]]:
    """Witnesses of a caller: whole numbers, one a cell, and a whole number each."""
    try:
        pairs = [(np.asarray(numbers), operator.index(scale)) for numbers, scale in witnesses]
    except (TypeError, ValueError):
        pairs = None
    if pairs is None or any(z.shape != (n,) or z.dtype.kind != "i" for z, _ in pairs):
        msg = (
            f"witnesses must be pairs of {n} whole numbers, one a cell, and a whole number that "
            "divides them"
        )
        raise InputError(msg)
    return [(z.astype(np.int64), scale) for z, scale in pairs]


def judge(
    problem: Problem,
    pattern: NDArray[np.bool_],
    *,
    integer: bool = False,
    clock: Clock = UNLIMITED,
    witnesses: Sequence[tuple[NDArray[np.int64], int]] = (),
) -> Audit:
    """Audit that follows primary cells until their levels are reached, and no other cells.

    Parameters
    ----------
    problem, pattern, integer, witnesses
        See `audit`.
    clock : Clock

    Raises
    ------
    OutOfTime, CertificateError
        As for `audit`.
    """
    return _audited(
        problem, pattern, integer=integer, enough=_needs(problem), clock=clock, witnesses=witnesses
    )


def follow(
    problem: Problem, judged: Audit, *, clock: Clock = UNLIMITED, interruptible: bool = False
) -> Audit:
    """Follow the intervals of all suppressed cells, as far as the time goes.

    Parameters
    ----------
    problem : Problem
    judged : Audit
        By `judge`, of this problem: what it proved stands where there is no time for more.
    clock : Clock
    interruptible : bool
        Whether KeyboardInterrupt ends the work like the clock, rather than going on to the
        caller.

    Returns
    -------
    Audit
    """
    pattern = judged.certificate.pattern
    ends: dict[int, tuple[Claim, Claim]] = {}
    cut_short = ""
    try:
        return _audited(problem, pattern, integer=judged.integer, clock=clock, ends=ends)
    except OutOfTime:
        cut_short = "time"
    except (CertificateError, InputError):
        # Safety has been proved; that some end cannot be followed exactly does not change it.
        if not judged.safe:
            raise
    except KeyboardInterrupt:
        if not interruptible:
            raise
        cut_short = "interrupt"
    proved = {(c.cell, c.known, c.sign): c for c in judged.certificate}
    violations = [*judged.violations, *_misplaced(problem, pattern)]
    for p in np.flatnonzero(problem.primary & pattern).tolist():
        violations += _short(problem, p, proved[p, (), -1], proved[p, (), 1])
    kept = [c for c in judged.certificate if c.known or c.cell not in ends]
    claims = (*(c for pair in ends.values() for c in pair), *kept)
    certificate = Certificate(problem.table, pattern, claims)
    certificate.verify()
    lower, upper, exact = _arrays(problem.table, pattern, certificate)
    return replace(
        judged, safe=not violations, violations=tuple(dict.fromkeys(violations)),
        certificate=certificate, lower=lower, upper=upper, exact=exact, cut_short=cut_short,
    )  # fmt: skip


def _audited(
    problem: Problem,
    pattern: NDArray[np.bool_],
    *,
    integer: bool,
    enough: NDArray[np.int64] | None = None,
    clock: Clock = UNLIMITED,
    witnesses: Sequence[tuple[NDArray[np.int64], int]] = (),
    ends: dict[int, tuple[Claim, Claim]] | None = None,
) -> Audit:
    """Audit one pattern: of primary cells, up to `enough`; or of all cells without it.

    What has been found so far is in `ends` if the time runs out.
    """
    table = problem.table
    violations = list(_misplaced(problem, pattern))
    targets = pattern if enough is None else pattern & problem.primary
    ends = {} if ends is None else ends
    for pair in _claims(
        table, pattern, np.flatnonzero(targets),
        integer=integer, enough=enough, clock=clock, witnesses=witnesses,
    ):  # fmt: skip
        ends[pair[0].cell] = pair
    for p in np.flatnonzero(problem.primary & pattern).tolist():
        violations += _short(problem, p, *ends[p])
    claims = [claim for pair in ends.values() for claim in pair]
    guards = ["outsider"]
    if problem.singletons is not None:
        guards.append("singletons")
        found, extra = _singletons(
            problem, pattern, ends, integer=integer, clock=clock, witnesses=witnesses
        )
        violations += found
        claims += extra
    if problem.union_rule is not None:
        guards.append("unions")
        violations += _unions(problem, pattern, ends, integer=integer, clock=clock)
    certificate = Certificate(table, pattern, tuple(claims))
    certificate.verify()
    return Audit(
        not violations, *_arrays(table, pattern, certificate), tuple(violations), certificate,
        integer, tuple(guards),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Intervals:
    """Feasibility intervals of the cells of a table; unpacks as ``lower, upper``.

    Attributes
    ----------
    table : Table
    lower, upper : (n,) float64
        In table units; the value itself where published, infinite where there is no end, NaN
        where none was asked for.
    exact : (n, 2) bool
        Whether the lower and the upper end are proved. An end that is not is an inner one: the
        cell reaches so far, and perhaps further.
    """

    table: Table
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    exact: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"Intervals({len(self.lower)} cells)"

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter((self.lower, self.upper))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> NDArray[np.float64]:
        return (self.lower, self.upper)[i]

    def require_exact(self) -> Intervals:
        """Return these intervals if every end that was asked for is proved.

        Raises
        ------
        CertificateError
            Naming cells with an end that is not.
        """
        asked = ~np.isnan(np.stack([self.lower, self.upper], axis=1))
        open_ends = np.flatnonzero((asked & ~self.exact).any(axis=1)).tolist()
        if open_ends:
            names = ", ".join(self.table.cell(i) for i in open_ends[:4])
            more = f" and {len(open_ends) - 4} more" if len(open_ends) > 4 else ""
            msg = (
                f"no proof was found that the intervals of these cells end where they seem to: "
                f"{names}{more}; use {argument('integer', value=False)}, or allow more time"
            )
            raise CertificateError(msg)
        return self


@named_errors
def intervals(
    table: Table,
    pattern: ArrayLike,
    *,
    integer: bool = False,
    cells: ArrayLike | None = None,
    time_limit: float | None = None,
) -> Intervals:
    """Feasibility interval of every cell (paper 003, Definition 2).

    Parameters
    ----------
    table : Table
    pattern : (n,) bool
    integer : bool
        Over integer tables only.
    cells : array of int, optional
        Only these suppressed cells; NaN elsewhere.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Intervals
        Unpacks as ``lower, upper``, in table units; `Intervals.exact` says which ends are proved.

    Raises
    ------
    InputError
        If the pattern has the wrong shape or cells do not exist.
    OutOfTime
        If the time limit passed before every interval was known.

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
    clock = Clock.of(time_limit)
    expect(table, Table, "table")
    suppressed = as_pattern(table, pattern)
    wanted = np.flatnonzero(suppressed) if cells is None else _positions(cells)
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < table.n_cells):
        msg = f"cells must be positions from 0 to {table.n_cells - 1}"
        raise InputError(msg)
    ends = interval_claims(table, suppressed, wanted, integer=integer, clock=clock)
    found = Certificate(table, suppressed, tuple(c for pair in ends.values() for c in pair))
    found.verify()
    return Intervals(table, *_arrays(table, suppressed, found))


def _positions(cells: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(cells)
    if array.size and array.dtype.kind not in "iu":
        msg = "cells are positions, whole numbers from 0; for a mask write np.flatnonzero(mask)"
        raise InputError(msg)
    return array.astype(np.int64).ravel()


def interval_claims(
    table: Table,
    pattern: NDArray[np.bool_],
    targets: Iterable[int],
    *,
    integer: bool = False,
    known: tuple[int, ...] = (),
    enough: NDArray[np.int64] | None = None,
    clock: Clock = UNLIMITED,
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
    clock : Clock
    witnesses : sequence of ((n,) int64, int)
        See `audit`.

    Returns
    -------
    dict of int to (Claim, Claim)
        (lower, upper) for each target.
    """
    found = _claims(
        table, pattern, targets,
        integer=integer, known=known, enough=enough, clock=clock, witnesses=witnesses,
    )  # fmt: skip
    return {pair[0].cell: pair for pair in found}


def _claims(
    table: Table,
    pattern: NDArray[np.bool_],
    targets: Iterable[int],
    *,
    integer: bool = False,
    known: tuple[int, ...] = (),
    enough: NDArray[np.int64] | None = None,
    clock: Clock = UNLIMITED,
    witnesses: Sequence[tuple[NDArray[np.int64], int]] = (),
) -> Iterator[tuple[Claim, Claim]]:
    """Yield the claims of `interval_claims` as they are found."""
    wanted = np.zeros(table.n_cells, dtype=bool)
    wanted[list(targets)] = True
    for view in components(table, pattern, known=known):
        here = np.flatnonzero(wanted[view.cells])
        if not len(here):
            continue
        clock.check("the pattern was judged")
        known_tables = [(z[view.cells], scale) for z, scale in witnesses if not z[~pattern].any()]
        attacker = engine(view, known_tables)
        # Deviations that are enough serve many cells; ends are followed one by one, and those
        # that are found before the time runs out are kept.
        width = len(here)
        if enough is None and clock < UNLIMITED:
            width = _INTEGER_SLICE if integer else _SLICE
        for first in range(0, len(here), width):
            part = here[first : first + width]
            ends, signs = np.tile(part, 2), np.repeat([-1, 1], len(part))
            limits = None if enough is None else enough[view.cells[ends]]
            answers = attacker.ends(ends, signs, limits, clock)
            if integer:
                for t, (j, sign) in enumerate(zip(ends.tolist(), signs.tolist(), strict=True)):
                    clock.check("the pattern was judged")
                    answers[t] = integer_extreme(view, j, sign, answers[t], clock)
            found = claims_of(view, ends, signs, answers, known, integer=integer)
            yield from zip(found, found[len(part) :], strict=False)


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
    clock: Clock,
    witnesses: Sequence[tuple[NDArray[np.int64], int]] = (),
) -> tuple[list[Violation], list[Claim]]:
    """Check every primary cell against the contributors who are alone in another cell.

    A witness that leaves the cells where they are that an attacker knows serves it as well. One
    that leaves those of all attackers of a cell settles the cell. Such witnesses are looked for
    among those at hand, then among boxes, then by the engine, for as many cells as possible at
    once; only what they leave is judged attacker by attacker.
    """
    violations: list[Violation] = []
    claims: list[Claim] = []
    attackers = insiders(problem)
    knows = [np.array([c for c in one.knows if pattern[c]], np.int64) for one in attackers]
    hurt = _Guarded(problem, pattern, attackers, knows, ends)
    enough = _needs(problem)
    claims += hurt.settle_by(_deviations(problem.table, pattern, witnesses), integer=integer)
    clock.check("the pattern was judged")
    claims += hurt.settle_by_boxes(enough, _FEW_BOXES, integer=integer, clock=clock)
    for groups, boxes in ((hurt.strangers, _MANY_BOXES), (hurt.groups, 0)):
        for known, cells in groups():
            seen = interval_claims(
                problem.table, pattern, cells, integer=integer, known=known, enough=enough,
                clock=clock,
            )  # fmt: skip
            claims += hurt.settle(seen)
        if boxes:
            claims += hurt.settle_by_boxes(enough, boxes, integer=integer, clock=clock)
    for a, known_cells in enumerate(knows):
        cells = hurt.exposed(a)
        if not cells:
            continue
        seen = interval_claims(
            problem.table, pattern, cells, integer=integer, known=tuple(known_cells.tolist()),
            enough=enough, clock=clock,
        )  # fmt: skip
        for p in cells:
            violations += _short(problem, p, *seen[p])
            claims += seen[p]
            hurt.remember(p, seen[p])
    return violations, claims


class _Guarded:
    """Primary cells that have not yet been settled against the contributors who are alone."""

    def __init__(
        self, problem: Problem, pattern: NDArray[np.bool_], attackers: Sequence[Insider],
        knows: Sequence[NDArray[np.int64]], ends: dict[int, tuple[Claim, Claim]],
    ) -> None:  # fmt: skip
        self._problem, self._pattern, self._knows = problem, pattern, knows
        self._shared = np.zeros(problem.table.n_cells, np.int64)
        for cells in knows:
            self._shared[cells] += 1
        primaries = np.flatnonzero(problem.primary & pattern)
        # Those who take part in a cell do not attack it: they are few.
        against = np.zeros((len(attackers), problem.table.n_cells), dtype=bool)
        for a, one in enumerate(attackers):
            against[a, list(one.against)] = True
        useful = np.array([len(cells) > 0 for cells in knows], dtype=bool)
        self._against = against & useful[:, None]
        attacked = self._against.any(axis=0)
        self._left: dict[int, list[tuple[Claim, Claim]]] = {}
        self._fixed: dict[int, NDArray[np.bool_]] = {}
        for p in primaries.tolist():
            if not attacked[p]:
                continue
            fixed = self._fixed_for(p)
            if any(fixed[claim.cells].any() for claim in ends[p]):
                self._left[p], self._fixed[p] = [ends[p]], fixed

    def _fixed_for(self, p: int) -> NDArray[np.bool_]:
        """Cells that some attacker of a cell knows."""
        count = self._shared.copy()
        for a in np.flatnonzero(~self._against[:, p]).tolist():
            count[self._knows[a]] -= 1
        return np.asarray(count > 0)

    def settle(self, seen: dict[int, tuple[Claim, Claim]]) -> list[Claim]:
        """Take out the cells that claims settle against all attackers; return these claims."""
        claims: list[Claim] = []
        for p, pair in seen.items():
            if not _short(self._problem, p, *pair):
                claims += pair
                self._left.pop(p, None)
                self._fixed.pop(p, None)
        return claims

    def settle_by(self, found: Sequence[_Deviation], *, integer: bool) -> list[Claim]:
        """Settle cells by deviations that are known to be possible."""
        from scipy.sparse import csr_array

        at_hand = [z for z in found if z.denominator == 1 or not integer]
        at_hand += [
            _Deviation(c.cells, c.steps, c.denominator)
            for p in self._left for pair in self._left[p] for c in pair
            if c.reach is not None and c.steps.dtype == np.int64
        ]  # fmt: skip
        at_hand = list({(id(z.cells), id(z.steps)): z for z in at_hand}.values())
        if not at_hand:
            return []
        size = [len(z.cells) for z in at_hand]
        steps = np.concatenate([z.steps for z in at_hand])
        cells = np.concatenate([z.cells for z in at_hand])
        owner = np.repeat(np.arange(len(at_hand)), size)
        shape = (self._problem.table.n_cells, len(at_hand))
        table = csr_array((steps, (cells, owner)), shape=shape)
        scale = np.array([z.denominator for z in at_hand])
        seen: dict[int, tuple[Claim, Claim]] = {}
        for p in self._left:
            span = slice(table.indptr[p], table.indptr[p + 1])
            columns, moves = table.indices[span], table.data[span]
            reach = moves / scale[columns]
            pair = []
            for sign in (-1, 1):
                best: _Deviation | None = None
                for i in np.argsort(-sign * reach, kind="stable").tolist():
                    if sign * reach[i] <= 0:
                        break
                    z = at_hand[int(columns[i])]
                    if not self._fixed[p][z.cells].any():
                        best = z
                        break
                pair.append(self._claim(p, sign, best, integer=integer))
            seen[p] = (pair[0], pair[1])
        return self.settle(seen)

    def settle_by_boxes(
        self, enough: NDArray[np.int64], most: int, *, integer: bool, clock: Clock
    ) -> list[Claim]:
        """Settle cells by the best of so many boxes."""
        if not self._left:
            return []
        boxes = Boxes(self._problem.table)
        up, down = room(self._problem.table)
        seen: dict[int, tuple[Claim, Claim]] = {}
        for p in self._left:
            clock.check("the pattern was judged")
            open_cells = self._pattern & ~self._fixed[p]
            rooms = np.where(open_cells, up, 0), np.where(open_cells, down, 0)
            pair = [
                self._claim(p, sign, None if box is None else _Deviation(*box, 1), integer=integer)
                for sign, box in zip(
                    (-1, 1), boxes.through(p, int(enough[p]), *rooms, most), strict=True
                )
            ]
            seen[p] = (pair[0], pair[1])
        return self.settle(seen)

    def _claim(self, p: int, sign: int, z: _Deviation | None, *, integer: bool) -> Claim:
        """Claim that a cell moves as far as a deviation goes; nowhere without one."""
        none = np.empty(0, np.int64)
        if z is None:
            z, reach = _Deviation(none, none, 1), Fraction(0)
        else:
            reach = Fraction(sign * int(z.steps[z.cells == p][0]), z.denominator)
        known = tuple(np.flatnonzero(self._fixed[p]).tolist())
        return Claim(
            p, sign, known, reach, z.cells, z.steps, z.denominator, none, none, 1,
            exact=False, integer=integer,
        )  # fmt: skip

    def strangers(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """Cells that no attacker knows, to be judged against all attackers together."""
        cells = [p for p in self._left if self._shared[p] == 0]
        known = tuple(np.flatnonzero(self._shared > 0).tolist())
        return [(known, cells)] if cells else []

    def groups(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """Pool what the attackers of a cell know; and the cells to judge against it."""
        found: dict[bytes, list[int]] = {}
        everything = (self._shared > 0).tobytes()
        for p, fixed in self._fixed.items():
            key = fixed.tobytes()
            if key != everything and int(self._against[:, p].sum()) > 1:
                found.setdefault(key, []).append(p)
        return [
            (tuple(np.flatnonzero(np.frombuffer(key, dtype=bool)).tolist()), cells)
            for key, cells in found.items()
        ]

    def exposed(self, a: int) -> list[int]:
        """Cells that no pair of claims seen so far settles against one attacker."""
        mask = np.zeros(len(self._shared), dtype=bool)
        mask[self._knows[a]] = True
        return [
            p
            for p, pairs in self._left.items()
            if self._against[a, p]
            and all(any(mask[claim.cells].any() for claim in pair) for pair in pairs)
        ]

    def remember(self, p: int, pair: tuple[Claim, Claim]) -> None:
        """Keep claims that may settle a cell against other attackers as well."""
        if not _short(self._problem, p, *pair):
            self._left[p].append(pair)


@dataclass(frozen=True, slots=True, eq=False)
class _Deviation:
    """Cells that move in a table that a release allows, by how much, and a denominator."""

    cells: NDArray[np.int64]
    steps: NDArray[Any]
    denominator: int


def _deviations(
    table: Table, pattern: NDArray[np.bool_], witnesses: Sequence[tuple[NDArray[np.int64], int]]
) -> list[_Deviation]:
    """Vectors that are deviations within a pattern."""
    up, down = room(table)
    weight = int(np.abs(table.relations.data).max(initial=1)) * table.n_cells
    found = []
    for z, scale in witnesses:
        if z.dtype != np.int64 or z[~pattern].any():
            continue
        largest = max(int(z.max(initial=0)), -int(z.min(initial=0)))
        if largest * weight >= 2**62 or not 1 <= scale < 2**40:
            continue
        limit = np.where(z > 0, up, down)
        most = 2**62 // scale
        if (np.abs(z) > np.minimum(limit, most) * scale).any() or (table.relations @ z).any():
            continue
        cells = np.flatnonzero(z)
        found.append(_Deviation(cells, z[cells], scale))
    return found


def _unions(
    problem: Problem,
    pattern: NDArray[np.bool_],
    ends: dict[int, tuple[Claim, Claim]],
    *,
    integer: bool,
    clock: Clock,
) -> list[Violation]:
    """Find sums of suppressed cells that a relation publishes and the rule calls sensitive."""
    from csp.rules import union_sensitive

    table, rule = problem.table, problem.union_rule
    assert rule is not None
    missing = [i for i in np.flatnonzero(pattern).tolist() if i not in ends]
    barely = np.ones(table.n_cells, dtype=np.int64)
    ends = ends | interval_claims(
        table, pattern, missing, integer=integer, enough=barely, clock=clock
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
    table: Table, pattern: NDArray[np.bool_], certificate: Certificate
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Intervals of an outsider: `lower`, `upper` and `exact`."""
    lower = np.where(pattern, np.nan, table.values.astype(np.float64))
    upper = lower.copy()
    exact = np.repeat(~pattern[:, None], 2, axis=1)
    for claim in certificate:
        if claim.known:
            continue
        i, side = claim.cell, upper if claim.sign > 0 else lower
        endless = claim.reach is None
        side[i] = (
            claim.sign * np.inf
            if claim.reach is None
            else float(int(table.values[i]) + claim.sign * claim.reach)
        )
        exact[i, int(claim.sign > 0)] = claim.exact or endless
    for array in (lower, upper, exact):
        array.flags.writeable = False
    return lower, upper, exact
