"""The one schedule of the cut loop: its phases by priority, when each applies, and its time.

A phase is a plug-in of one of SCIP's roles (Achterberg 2009) and what the driver needs to know of
it. It is a function of the run and a clock, which changes the run alone: heuristics offer patterns,
relaxations and separators raise the bound, branching closes the gap. Most apply while the gap asked
for is not reached; the driver sees to that.

First patterns come first. The other phases follow one another in rounds, each of which is as long
as all of the time before it, and share the time of their round. So what is done in the first twenty
seconds does not depend on the time limit, and a longer limit never gives a worse answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from csp.clock import Clock, now
from csp.solve.exact.branching.programs import search_programs
from csp.solve.exact.branching.tree import branch
from csp.solve.exact.heuristics.construction import follow_relaxation
from csp.solve.exact.heuristics.first_patterns import (
    begin_locally,
    first_patterns,
    improve_locally,
    suppress_everything,
)
from csp.solve.exact.heuristics.part_programs import improve_parts
from csp.solve.exact.heuristics.subspaces import (
    VERY_LARGE,
    improve,
    subspaces_fail,
    subspaces_lead,
    takes_subspaces,
)
from csp.solve.exact.separation import SEPARATORS
from csp.solve.exact.separators.capacity import bound_by_relations, cut_relaxation, cut_sums
from csp.solve.exact.separators.combinations import cut_combinations
from csp.solve.exact.separators.root_cuts import root_cuts
from csp.solve.exact.state import Run
from csp.solve.fallback import grace
from csp.solve.large.engine import begins
from csp.solve.witnesses.axes import Axes

# A gap that a tree is expected to close, and one that bounds do not close on a large table.
_SMALL_GAP, _WIDE_GAP = 0.05, 0.2

# Share of the rest of a round for what is only to find a better incumbent early.
_BRIEF = 0.2

# Number of cells up to which trees find patterns and bounds without programs over parts and those
# of the root.
_SMALL_TABLE = 400


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """One entry of the schedule.

    Attributes
    ----------
    name : str
    role : {"heuristic", "relaxation", "separator", "branching"}
        A heuristic that runs out of time ends alone; others end the run.
    work : callable
        What is done, until a clock.
    when : callable
        Whether it applies.
    until : callable
        Its clock.
    stage : str
        What is reported after it; see `csp.solve.result.Progress`.
    once : bool
        Whether it is done once, before the rounds.
    """

    name: str
    role: Literal["heuristic", "relaxation", "separator", "branching"]
    work: Callable[[Run, Clock], None]
    when: Callable[[Run], bool]
    until: Callable[[Run], Clock]
    stage: str
    once: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Phases by priority, under the name of a method.

    Attributes
    ----------
    method : str
    phases : tuple of Phase
    """

    method: str
    phases: tuple[Phase, ...]

    @property
    def first(self) -> tuple[Phase, ...]:
        """Those that are done once."""
        return tuple(phase for phase in self.phases if phase.once)

    @property
    def rounds(self) -> tuple[Phase, ...]:
        """Those that are done in rounds; each goes on where it stopped."""
        return tuple(phase for phase in self.phases if not phase.once)


# ---- time ----------------------------------------------------------------------------------------


def _left(share: float) -> Callable[[Run], Clock]:
    """Return a share of the time that is left of a round."""
    return lambda run: run.clock.part(share)


def _all(run: Run) -> Clock:
    return run.clock


def _ahead(share: float) -> Callable[[Run], Clock]:
    """Return the time for a first pattern; the rest is kept for other ways to one."""
    return lambda run: run.limit.within(share * run.limit.left)


def _to_the_end(run: Run) -> Clock:
    return run.limit


def _as_long(run: Run, share: float) -> Clock:
    """Return a clock for a share of the time used so far."""
    return run.clock.within(share * (now() - run.began))


def _first(run: Run) -> Clock:
    """Leave what the audit of full suppression needs, unless there is a pattern."""
    return _ahead(0.5 if run.best is None else 0.7)(run)


def _late(run: Run) -> Clock:
    """Full suppression is better than nothing, even a little late."""
    return Clock(run.limit.end + grace(run.limit.end - run.began))


def _cuts(run: Run) -> Clock:
    """Cuts give way to what tightens them and to searches after half of the round.

    They raise the bound of toy3dsarah by less from the 140th to the 200th second than these in 20.
    On networks they lead further. Where subspaces lead the gap stays wide: to search on for half of
    the time costs a twentieth of the bound of hier13 and gains as much of its pattern.
    """
    if _stays_wide(run):
        return run.clock.part(0.1)
    return run.until(0.5) if run.net is None else run.soft_clock


def _bound(run: Run) -> Clock:
    """Keep for the bound what a long search for patterns must not take away."""
    return max(run.soft_clock, run.clock.part(0.4))


def _brief(run: Run) -> Clock:
    """Take a share of the time used so far; less on very large tables, whose bound takes longer."""
    return min(_as_long(run, 0.1 if _very_large(run) else 0.5), run.clock.part(_BRIEF))


def _before_branching(run: Run) -> Clock:
    """Take the less, the smaller the gap: a tree that closes it finds patterns on the way.

    A tree that will not be closed within the time limit is worth less than a good pattern. On very
    large tables it seldom is, and where subspaces lead it hardly moves the bound.
    """
    until = _as_long(run, 0.25)
    if run.best_cost is not None and run.best_cost - run.bound > _SMALL_GAP * run.best_cost:
        until = max(until, run.clock.part(0.4))
    if (_very_large(run) or _stays_wide(run)) and run.limit.end < np.inf:
        until = max(until, run.clock.part(0.8))
    return min(until, run.clock)


def _branching(run: Run) -> Clock:
    """Let a tree go on to the end that is expected to close the gap.

    So does one where there are no better patterns to search for in between. (In rounds table7 took
    57 s in place of 37, from a gap of 1 % after 4 s on.)
    """
    closes = not run.best_cost or run.best_cost - run.bound <= _SMALL_GAP * run.best_cost
    searches = _late_parts(run) or _late_subspaces(run)
    return run.clock if searches and not closes else run.limit


# ---- when ----------------------------------------------------------------------------------------


def _always(_: Run) -> bool:
    return True


def _branches(run: Run) -> bool:
    """Whether a tree may move the bound: not in a wide gap of a very large table."""
    return not (_very_large(run) and _late_subspaces(run) and _is_wide(run))


def _very_large(run: Run) -> bool:
    return run.problem.table.n_cells >= VERY_LARGE


def _is_wide(run: Run) -> bool:
    """Whether the gap is wide, so that better patterns are worth more than a better bound."""
    return run.best_cost is not None and run.best_cost - run.bound > _WIDE_GAP * run.best_cost


def _stays_wide(run: Run) -> bool:
    """Whether the gap is wide and cuts do not close it: on deep hierarchies, or in their time."""
    return _is_wide(run) and (subspaces_lead(run) or run.cut_short)


def _unrelated(run: Run) -> bool:
    """Whether what relations ask is to come: where the engine for large tables has found most."""
    return not run.related and (_stays_wide(run) or run.local is not None)


def _in_parts(run: Run) -> bool:
    """Whether witnesses in parts of the table come first.

    Against lone contributors they always do: the other searches know the outsider only.
    """
    problem = run.problem
    if problem.alone.any():
        return problem.union_rule is None and Axes(problem.table).regular
    return run.net is None and begins(problem, integer=run.integer)


def _combines(run: Run) -> bool:
    """Whether combinations of relations are worth a search: the gap is wide on a larger table."""
    return run.problem.table.n_cells >= _SMALL_TABLE and _is_wide(run)


def _combines_on(run: Run) -> bool:
    """Whether what subspaces leave of the time is theirs: a tree hardly moves such a bound."""
    return _late_subspaces(run) and _combines(run)


def _cut_enough(run: Run) -> bool:
    """Whether cuts have come to an end, beyond which programs lead; they are not taken up again."""
    return not run.cut_short


def _unsettled(run: Run) -> bool:
    return not run.settled


def _has_none(run: Run) -> bool:
    return run.best is None


def _has_points(run: Run) -> bool:
    """Whether a point of the relaxation says more than what has been found without."""
    return not run.begun_locally and not subspaces_lead(run)


def _improvable(run: Run) -> bool:
    return run.best is not None and run.net is None


def _begun_locally(run: Run) -> bool:
    return run.begun_locally


def _local(run: Run) -> bool:
    """Whether the engine for large tables searches on: for lone contributors, or in a wide gap.

    Others know the outsider only. Where few cells cost nearly all, its regions and exchanges gain
    most: 9,956 cells by value cost 4.1 billion after a minute in place of 5.3. Near the optimum
    programs over parts gain more.
    """
    search = run.local
    wanted = bool(run.problem.alone.any()) or _is_wide(run)
    return wanted and search is not None and search.best is not None and bool(search.ways)


def _early_subspaces(run: Run) -> bool:
    """Whether subspaces are searched before the relaxation is tightened, for a short time.

    Not again where they have gained nothing yet: on 8x8x8 counts that was a tenth of a minute.
    (hier13x7x7d costs 3 percent more where they rest after one search in vain.)
    """
    return _improvable(run) and not run.begun_locally and not run.subspaces_rest


def _tightens(run: Run) -> bool:
    """Whether the solver's cuts are worth an integer program: a tree closes a small gap sooner."""
    small = run.net is None and run.problem.table.n_cells < _SMALL_TABLE
    return not small and not _stays_wide(run)


def _late_parts(run: Run) -> bool:
    """Whether programs over parts come before the gap is closed: subspaces do where they lead."""
    large = run.problem.table.n_cells >= _SMALL_TABLE
    return _improvable(run) and large and not _late_subspaces(run)


def _late_subspaces(run: Run) -> bool:
    """Whether subspaces lead, or it is their turn: in a wide gap, where parts gained nothing.

    (hier13x13x7d costs 1.87 million after a minute in place of 1.92.)
    """
    follow = run.parts_rest and _is_wide(run) and takes_subspaces(run) and not subspaces_fail(run)
    return _improvable(run) and (subspaces_lead(run) or follow)


# ---- the schedule --------------------------------------------------------------------------------

_PHASES = (
    # Patterns, of which any is needed, and what is known of the bound without cuts.
    Phase("regions", "heuristic", begin_locally, _in_parts, _ahead(0.7), "start", once=True),
    Phase("first patterns", "heuristic", first_patterns, _unsettled, _first, "start", once=True),
    Phase("everything", "heuristic", suppress_everything, _has_none, _late, "start", once=True),
    Phase("sums", "separator", cut_sums, _always, _all, "start", once=True),
    # The bound, and patterns near it.
    Phase("relations", "relaxation", bound_by_relations, _unrelated, _left(0.1), "relations"),
    Phase("combinations", "separator", cut_combinations, _combines, _left(0.25), "cuts"),
    Phase("cuts", "separator", cut_relaxation, _always, _cuts, "cuts"),
    Phase("rounding", "heuristic", follow_relaxation, _has_points, _all, "guided"),
    # A better incumbent leaves fewer cells to what follows.
    Phase("regions", "heuristic", improve_locally, _local, _left(0.2), "improved"),
    Phase("parts, early", "heuristic", improve_parts, _begun_locally, _left(0.2), "parts"),
    Phase(
        "subspaces, early", "heuristic", partial(improve, patience=5), _early_subspaces, _brief,
        "improved",
    ),
    Phase("root cuts", "separator", root_cuts, _tightens, _bound, "tightened"),
    Phase("parts", "heuristic", improve_parts, _late_parts, _before_branching, "parts"),
    Phase(
        "subspaces", "heuristic", partial(improve, patience=None), _late_subspaces,
        _before_branching, "improved",
    ),
    Phase(
        "combinations", "separator", partial(cut_combinations, long=0.05), _combines_on, _all,
        "tightened",
    ),
    # What is left of the time, where no tree is worth it (two5in6: a quarter, without gain).
    Phase(
        "subspaces", "heuristic", partial(improve, patience=None),
        lambda run: not _branches(run), _all, "improved",
    ),
)  # fmt: skip

CUTS = Schedule(
    "cuts",
    (*_PHASES, Phase("programs", "branching", search_programs, _cut_enough, _to_the_end, "search")),
)
"""Relaxations of networks are nearly integral, so that few programs close the gap."""

BRANCH = Schedule(
    "branch", (*_PHASES, Phase("tree", "branching", branch, _branches, _branching, "branch"))
)
"""Those of other tables leave a gap, and the tree is kept."""

NAMES = (*dict.fromkeys(phase.name for phase in (*CUTS.phases, *BRANCH.phases)), *SEPARATORS)
"""All phases and separators."""


def schedule_of(method: str, run: Run) -> Schedule:
    """Schedule of a method; by "auto", the structure decides."""
    if method == "auto":
        return BRANCH if run.net is None else CUTS
    return {"cuts": CUTS, "branch": BRANCH}[method]
