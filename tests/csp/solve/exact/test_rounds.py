"""A longer time limit changes nothing of what is done first, and never gives a worse answer."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import posed
from csp import Problem, Progress, Suppression, clock, compiled, suppress
from csp.clock import Clock
from csp.highs import Model, interrupts
from csp.solve.exact import cut_loop, schedule, state
from csp.solve.exact.heuristics import subspaces

TICK = 2.0**-10
LIMITS = (1.0, 2.0, 3.0)

TABLES = {
    "counts": lambda: posed.cube(5, 5, 6),
    "guarded": lambda: posed.office(((3, 3), (3,), (3,)), 150, singletons=True),
    "values": lambda: posed.tree_magnitudes(((2, 3), (2, 3), (3,))),
}

Event = tuple[str, int, int | None, float]


@pytest.fixture
def ticking(monkeypatch: Any) -> None:
    """Time by the number of looks at the clock, so that runs can be compared event by event."""
    passed = [0.0]

    def tick() -> float:
        passed[0] += TICK
        return passed[0]

    true = Model.set_option

    def untimed(self: Model, name: str, value: Any) -> None:
        # HiGHS has a clock of its own.
        if name != "time_limit":
            true(self, name, value)

    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=tick))
    monkeypatch.setattr(compiled, "leave_out", lambda _: None)
    monkeypatch.setattr(Model, "set_option", untimed)
    monkeypatch.setattr(interrupts, "_PATIENCE", 600.0)  # who watches over it has one too
    # Small tables are searched like larger ones, in short rounds.
    monkeypatch.setattr(state, "_FIRST_ROUND", 0.5)
    monkeypatch.setattr(schedule, "_SMALL_TABLE", 0)
    monkeypatch.setattr(subspaces, "_LARGE", 0)


def followed(problem: Problem, limit: float) -> tuple[Suppression, list[Event]]:
    """Solve within a limit; what is reported before it."""
    events: list[Event] = []

    def note(said: Progress) -> None:
        events.append((said.phase, said.bound, said.best, said.seconds))

    found = suppress(problem, method="branch", time_limit=limit, progress=note)
    # A search begins a little after its clock.
    return found, [event for event in events if event[-1] < limit - 0.1]


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("name", TABLES)
def test_a_longer_limit_goes_on_where_a_shorter_one_ends(name: str) -> None:
    problem = TABLES[name]()
    runs = [followed(problem, limit) for limit in LIMITS]
    for (short, before), (long, after) in pairwise(runs):
        assert long.cost <= short.cost
        assert long.bound >= short.bound
        assert [one[:3] for one in before] == [one[:3] for one in after[: len(before)]]
    assert len(runs[-1][1]) > len(runs[0][1]) > 3


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize(("share", "goes_on"), [(0.98, True), (0.1, False)])
def test_a_search_that_takes_its_time_goes_on_to_the_limit_without_gain(
    share: float, goes_on: bool
) -> None:
    """One that ends early and has found nothing would find nothing the next time either."""
    run = state.Run(posed.cube(3, 3, 3), Clock.of(10.0), 0.0, False, 0, None)
    rounds = []

    def search(run: state.Run, until: Clock) -> None:
        rounds.append(1)
        last = until.end - (1 - share) * (until.end - clock.now())
        while clock.now() < min(last, run.limit.end):
            pass

    phase = schedule.Phase(
        "search", "heuristic", search, lambda _: True, lambda run: run.clock, "search"
    )
    run.try_incumbent(run.problem.forced | run.problem.free)
    ended = cut_loop._follow_all(run, schedule.Schedule("branch", (phase,)))
    assert (ended, len(rounds) > 2) == (("time", True) if goes_on else ("precision", False))


def test_rounds_are_as_long_as_what_has_passed_whatever_the_limit() -> None:
    """Shares of a round are shares of its length, and the limit ends all of them."""
    start = clock.now()
    for limit in (10.0, 100.0):
        whole = Clock(start + limit)
        one = whole.round(40)
        assert one.end == pytest.approx(start + 40, abs=1)
        assert one.part(0.5).end == pytest.approx(start + 20, abs=1)
        assert one.within(30).end == pytest.approx(start + 30, abs=1)
        assert one.left == pytest.approx(min(limit, 40), abs=1)
        assert one.part(0.5).left == pytest.approx(min(limit, 20), abs=1)
        assert one.limits
    assert not Clock().round(40).part(0.5).over
