"""The matching attack: tables that the mechanism would have published otherwise are thrown out.

Paper 003, Section 3: an adversary who knows the deterministic suppression algorithm runs it on
every completion of the release; only those that reproduce the pattern remain.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attacks import walk as walking
from attacks.box import BoxSearch, takes
from attacks.candidates import Candidates, candidates
from attacks.fibre import Fibre
from attacks.judge import SolverJudge, published_as
from attacks.sampling import draw
from csp.errors import InputError, OutOfTime
from csp.mechanism import Mechanism
from csp.release import Release

__all__ = ["METHODS", "Matching", "Verdict", "match_tables", "matching"]

METHODS = ("auto", "box", "values", "all", "sample", "reference")

Verdict = str
SAFE, UNSAFE, OPEN = "proved safe", "proved unsafe", "undecided"

_NODES = 20_000
_FIRST_DRAWS = 400


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matching:
    """What the matching attack tells about the suppressed cells of a release.

    Attributes
    ----------
    release : Release
    cells : (k,) int64
        Suppressed cells.
    feasible_lower, feasible_upper : (k,) int64
        What the relations alone tell.
    lower, upper : (k,) int64
        Effective feasibility interval (paper 003, Definition 5): hull of the matches found. If
        the attack is complete, exact; otherwise the interval is at least this wide.
    values : tuple of (v,) int64, or None
        Values that matches give each cell: the hull may have gaps. None if only hulls were asked
        for. If the attack is not complete, those found so far.
    verdict : (k,) str
        "proved safe": every match in which the cell is primary leaves it the levels that the
        mechanism promises. "proved unsafe": some match does not. "undecided": the attack was cut
        short.
    named : (k,) str
        Whether the matches tell that a cell is primary: "always", "never" or "sometimes"; "" if
        unknown.
    tested, matched : int
        Tables judged one by one, and matches among them. Methods "auto" and "box" pass over many.
    fibre_size : int or None
        Number of tables that fit the release, if it was counted.
    left_out : float or None
        If tables were drawn: with 95 % confidence, at most this share of the fibre are matches
        outside the hulls found (effective number of draws; for a chain an estimate). Says nothing
        about a single rare table. None if nothing was drawn.
    complete : bool
        Whether every table was judged or proved to tell nothing new.
    method : str
    seconds : float
    """

    release: Release
    cells: NDArray[np.int64]
    feasible_lower: NDArray[np.int64]
    feasible_upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    values: tuple[NDArray[np.int64], ...] | None
    verdict: NDArray[np.str_]
    named: NDArray[np.str_]
    tested: int
    matched: int
    fibre_size: int | None
    complete: bool
    left_out: float | None
    method: str
    seconds: float

    def __repr__(self) -> str:
        tally = ", ".join(
            f"{int((self.verdict == word).sum())} {word}"
            for word in (UNSAFE, SAFE, OPEN)
            if (self.verdict == word).any()
        )
        return f"Matching({len(self.cells)} suppressed cells: {tally})"

    @property
    def width(self) -> NDArray[np.int64]:
        """Width of each effective interval, shape (k,)."""
        return self.upper - self.lower


def matching(
    release: Release,
    mechanism: Mechanism,
    *,
    method: str = "auto",
    marks: NDArray[np.bool_] | None = None,
    limit: float | None = None,
    fibre_limit: int = 200_000,
    draws: int = 3000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Matching:
    """Attack a release with the knowledge of the algorithm behind it.

    The true table is never needed, nor looked at.

    Parameters
    ----------
    release : Release
    mechanism : Mechanism
        What the adversary knows of the algorithm.
    method : {"auto", "box", "values", "all", "sample", "reference"}
        "box" finds hulls, "values" all surviving values, both without judging every table (both
        need a network of up to 64 cells that may be suppressed, and rules that look at cells one
        by one); "all" judges every table; "sample" judges tables that are drawn; "reference" is
        Algorithm 1 of paper 003, one call of the suppression solver for each. "auto" is "box" where
        it applies; else every table is judged that could widen a hull, if there are at most
        `fibre_limit`, and tables that are drawn if there are more.
    marks : (n,) bool, optional
        Primary cells, if the release told them apart.
    limit : float, optional
        Wall seconds; then cells without a proof are "undecided".
    fibre_limit : int
        Tables that "all" and "reference" judge at most.
    draws, seed : int
        Tables to draw (method "sample"), and seed of all draws; it changes no proof.
    progress : callable, optional
        Called with tables tested and matches now and then. KeyboardInterrupt ends the attack like
        the limit.

    Returns
    -------
    Matching

    Raises
    ------
    InputError
        For an unknown method, limits out of range, a release that no table fits or that this
        mechanism does not publish (see `attacks.candidates.candidates`), and methods that do not
        take the release.

    Examples
    --------
    Four suppressed cells: relations leave the first between 0 and 17, the algorithm less.

    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    >>> found = matching(mechanism.protect(table).release, mechanism, method="reference")
    >>> [ends[0].item() for ends in (found.feasible_lower, found.feasible_upper)]
    [0, 17]
    >>> [ends[0].item() for ends in (found.lower, found.upper)]
    [1, 17]
    """
    began = time.monotonic()
    if method not in METHODS:
        msg = f"method {method!r} is not one of {', '.join(METHODS)}"
        raise InputError(msg)
    if limit is not None and not limit > 0:
        msg = f"limit {limit!r} is not a positive number of seconds"
        raise InputError(msg)
    for name, number in (("fibre_limit", fibre_limit), ("draws", draws)):
        if number <= 0:
            msg = f"{name} {number!r} is not a positive number of tables"
            raise InputError(msg)
    given = candidates(release, mechanism, marks=marks)
    deadline = began + (np.inf if limit is None else limit)
    run = _Run(given, deadline, progress)
    fast = takes(given)
    if method == "auto" and fast:
        method = "box"
    if method in ("box", "values") or (method == "all" and fast):
        run.walk(method)
    elif method == "sample" or (method == "auto" and run.many(fibre_limit)):
        method = "sample"
        run.sample(draws, seed)
    else:
        run.judge(method, fibre_limit, seed)
    return run.result(method, time.monotonic() - began)


def match_tables(given: Candidates) -> Iterator[NDArray[np.int64]]:
    """Yield blocks (t, k) of all tables that the mechanism publishes with this pattern.

    Parameters
    ----------
    given : Candidates

    Raises
    ------
    OutOfTime
        Never, unless the solver does.
    """
    if takes(given):
        search = BoxSearch(given, walking.MATCHES)
        while True:
            over = search.step(_NODES)
            block = search.taken()
            if len(block):
                yield block
            if over:
                return
    judge = SolverJudge(given)
    for block in Fibre(given.release, given.table).blocks():
        kept = [x for x in block if judge.matches(x)]
        if kept:
            yield np.stack(kept)


class _Run:
    """State of one attack."""

    def __init__(
        self, given: Candidates, deadline: float, progress: Callable[[int, int], None] | None
    ) -> None:
        self._given, self._deadline, self._progress = given, deadline, progress
        width = int((given.upper - given.lower).max()) + 1
        self._seen = np.zeros((len(given.cells), width), dtype=bool)
        facts = given.facts
        if facts is None:
            none = np.zeros_like(self._seen)
            self._asked = _Asked(none, none.copy(), np.zeros((3, *none.shape), dtype=np.int64))
        else:
            self._asked = _Asked(facts.primary, ~facts.primary, facts.levels)
        self._exact_values = True
        self._tested = self._matched = 0
        self._fibre_size: int | None = None
        self._fibre = Fibre(given.release, given.table)
        self._effective: float | None = None
        self._complete = False

    # ---- engines -------------------------------------------------------------------------------

    def walk(self, method: str) -> None:
        """Compiled walk; see `attacks.box`."""
        # Levels that depend on the value need every value, not only the ends.
        mode = walking.HULL if method == "box" and self._one_level() else walking.VALUES
        if method == "all":
            mode = walking.MATCHES
        search = BoxSearch(self._given, mode)
        self._exact_values = mode != walking.HULL
        self._seen = search.seen
        try:
            over = False
            while not over:
                over = search.step(_NODES)
                for x in search.taken():
                    self._note(x)
                self._tested, self._matched = search.tested, search.matched
                self._tell()
                if time.monotonic() > self._deadline:
                    break
            self._complete = over and search.doubtful == 0
        except KeyboardInterrupt:
            self._complete = False
        if method == "all" and self._complete:
            self._fibre_size = self._fibre.count()

    def many(self, fibre_limit: int) -> bool:
        """Whether more tables fit than may be judged one by one."""
        self._fibre_size = self._fibre.count()
        return self._fibre_size is None or self._fibre_size > fibre_limit

    def judge(self, method: str, fibre_limit: int, seed: int) -> None:
        """Judge table after table with the suppression solver."""
        self._fibre_size = self._fibre.count()
        # Hulls of widths need no table that lies within them.
        hull = method == "auto" and self._one_level()
        self._exact_values = not hull
        tables: Iterator[NDArray[np.int64]] = itertools.islice(self._fibre, fibre_limit)
        if hull and self._fibre_size is not None:
            # A list begins in a corner of the fibre; draws widen hulls sooner, and the list then
            # passes over what lies within them.
            some = draw(self._fibre, min(_FIRST_DRAWS, self._fibre_size // 4), seed)
            tables = itertools.chain(some.tables, tables)
        self._complete = self._judge_all(tables, method, hull=hull) and (
            self._fibre_size is not None and self._fibre_size <= fibre_limit
        )

    def sample(self, draws: int, seed: int) -> None:
        """Judge tables that are drawn; the fibre is not exhausted, whatever they show."""
        drawn = draw(self._fibre, draws, seed)
        self._effective = drawn.effective
        hull = self._one_level()
        self._exact_values = not hull
        if takes(self._given):
            search = BoxSearch(self._given, walking.HULL if hull else walking.VALUES)
            search.judge(drawn.tables)
            self._seen = search.seen
            self._tested, self._matched = search.tested, search.matched
        else:
            self._judge_all(iter(drawn.tables), "sample", hull=hull)

    def _judge_all(self, tables: Iterator[NDArray[np.int64]], method: str, *, hull: bool) -> bool:
        """Judge tables one by one; False if the limit or an interrupt came first."""
        judge = SolverJudge(self._given)
        drawn: set[bytes] = set()
        try:
            for x in tables:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    return False
                if hull:
                    if self._inside(x) or x.tobytes() in drawn:
                        continue
                    if self._tested < _FIRST_DRAWS:
                        drawn.add(x.tobytes())
                self._tested += 1
                if (
                    published_as(self._given, x)
                    if method == "reference"
                    else judge.matches(x, None if left == np.inf else left)
                ):
                    self._matched += 1
                    self._note(x)
                if self._tested % 64 == 0:
                    self._tell()
        except (KeyboardInterrupt, OutOfTime):
            return False
        return True

    def _inside(self, x: NDArray[np.int64]) -> bool:
        """Whether a table lies within the hull of the matches found so far."""
        place = x - self._given.lower
        before = np.maximum.accumulate(self._seen, axis=1)
        after = np.maximum.accumulate(self._seen[:, ::-1], axis=1)[:, ::-1]
        cells = np.arange(len(x))
        return bool((before[cells, place] & after[cells, place]).all())

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._tested, self._matched)

    def _note(self, x: NDArray[np.int64]) -> None:
        place = np.arange(len(x)), x - self._given.lower
        self._seen[place] = True
        if self._given.facts is not None:
            return
        # The mechanism looks at more than one cell: what it asks must be noted match by match.
        problem = self._given.mechanism.problem(self._given.release.table(x))
        cells, asked = self._given.cells, self._asked
        asked.primary[place] |= problem.primary[cells]
        asked.other[place] |= ~problem.primary[cells]
        for level, found in zip(asked.levels, (problem.lpl, problem.upl, problem.spl), strict=True):
            level[place] = np.maximum(level[place], found[cells])

    def _one_level(self) -> bool:
        """Whether every primary value of a cell asks for the same width and nothing else."""
        facts = self._given.facts
        if facts is None:
            return False
        wide = facts.levels[2]
        same = ~facts.primary | (wide == wide.max(axis=1, keepdims=True))
        return bool(same.all() and not facts.levels[:2].any())

    # ---- answers -------------------------------------------------------------------------------

    def result(self, method: str, seconds: float) -> Matching:
        """Verdicts from what was seen."""
        given = self._given
        if self._complete and not self._seen.any():
            msg = (
                "no table that fits the release is published like this by the mechanism: it was "
                "not made by it; give the mechanism that was used"
            )
            raise InputError(msg)
        lower, upper = given.lower.copy(), given.upper.copy()
        values = [low + np.flatnonzero(seen) for low, seen in zip(lower, self._seen, strict=True)]
        some = bool(self._seen.any())
        if some:
            lower = np.array([v[0] for v in values])
            upper = np.array([v[-1] for v in values])
        # A hull that grows may only widen what is promised as a width, and nothing else.
        sure = some and (self._complete or self._one_level())
        kept = self._kept(lower, upper)
        verdict = np.where(kept & sure, SAFE, UNSAFE if self._complete else OPEN)
        may = (self._asked.primary & self._seen).any(axis=1)
        must = ~(self._asked.other & self._seen).any(axis=1)
        named = np.where(must, "always", np.where(may, "sometimes", "never"))
        # Between the ends of a hull there are values that no match may have.
        if not self._complete:
            named[:] = ""
        elif not self._exact_values:
            named[may & ~must] = ""
        return Matching(
            given.release, given.cells, given.lower, given.upper, lower, upper,
            tuple(values) if self._exact_values else None,
            verdict, named, self._tested, self._matched, self._fibre_size, self._complete,
            self._left_out(), method, seconds,
        )  # fmt: skip

    def _left_out(self) -> float | None:
        """No match in N draws: with 95 % confidence the share is at most log(20) / N."""
        return None if self._effective is None else min(1.0, math.log(20) / self._effective)

    def _kept(self, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each cell keeps its levels for every value that was seen."""
        levels = self._asked.levels
        value = self._given.lower[:, None] + np.arange(self._seen.shape[1])
        low, high = lower[:, None], upper[:, None]
        good = (value - levels[0] >= low) & (value + levels[1] <= high) & (levels[2] <= high - low)
        return np.asarray((good | ~(self._asked.primary & self._seen)).all(axis=1))


@dataclass(eq=False)
class _Asked:
    """What matches were asked for: k cells, values counted from the least feasible one."""

    primary: NDArray[np.bool_]
    other: NDArray[np.bool_]
    levels: NDArray[np.int64]
