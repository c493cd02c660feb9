"""What a run does when a solver, a proof, the clock or the user lets it down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import csp.audits.audit
import csp.audits.intervals
import csp.solve
import csp.solve.incumbent as run_module
from csp import (
    InputError,
    Mechanism,
    MinFrequency,
    Problem,
    Table,
    Unprotectable,
    audit,
    intervals,
    suppress,
)
from csp.audits.audit import follow, judge
from csp.clock import UNLIMITED, Clock
from csp.errors import CertificateError, OutOfTime, SolverError
from csp.highs import Model, Status, retries
from csp.solve.cuts import CutFactory
from csp.solve.exact import schedule
from csp.solve.exact.master import Master
from csp.solve.exact.state import Run
from csp.solve.fallback import EVERYTHING, TOO_FAR_APART
from csp.solve.general import separate
from csp.solve.general.separate import Separator
from tests.support.schedules import replace_phases


def cube(*shape: int) -> Problem:
    table = Table.from_array(np.random.default_rng(3).poisson(6, size=shape))
    primary = (table.values < 3) & (table.values > 0) & ~table.margins
    return Problem.of(table, primary, lpl=1, upl=3, spl=3, publish=table.margins)


CUBE = cube(4, 4, 4)
FLAT = cube(6, 6)


def thirds() -> Table:
    """``a = 3 b`` with a in 1 .. 5: fractions of b let a reach its bounds, whole numbers do not."""
    return Table(
        np.array([3, 1]), csr_array(np.array([[1, -3]])), np.array([1, 0]), np.array([5, 9]),
        (("a",), ("b",)),
    )  # fmt: skip


# ---- ends ---------------------------------------------------------------------------------------


def test_an_end_without_a_proof_is_marked() -> None:
    both = np.ones(2, dtype=bool)
    whole = intervals(thirds(), both, integer=True)
    assert (whole.lower[0], whole.upper[0]) == (3, 3)
    assert whole.exact.tolist() == [[False, False], [True, True]]
    with pytest.raises(CertificateError, match="seem to"):
        whole.require_exact()
    rational = intervals(thirds(), both)
    assert rational.exact.all()
    assert rational.require_exact() is rational
    lower, upper = rational
    assert (lower[0], upper[0]) == (1, 5)
    assert len(rational) == 2
    assert rational[1] is upper
    assert "3" not in repr(whole)


def test_an_audit_says_which_ends_are_proved() -> None:
    found = suppress(CUBE)
    full, short = audit(CUBE, found.pattern), audit(CUBE, found.pattern, only_primary=True)
    assert full.exact.all()
    assert short.exact[~found.pattern].all()
    secondary = found.pattern & ~CUBE.primary
    assert not short.exact[secondary].any()
    assert np.isnan(short.lower[secondary]).all()
    assert found.audit is not None
    assert (found.audit.certificate.pattern == found.pattern).all()
    found.audit.certificate.verify()


def test_attacks_take_proved_ends_only() -> None:
    from attacks.fibre.feasible_intervals import feasible

    low, high = feasible(thirds(), np.ones(2, dtype=bool))
    assert low.tolist() == [3, 1]
    assert high.tolist() == [3, 1]


def test_attacks_refuse_ends_that_they_cannot_prove(monkeypatch: Any) -> None:
    from attacks.fibre import feasible_intervals, kernel_walk

    def unfinished(*given: Any) -> kernel_walk.Walk:
        search = started(*given)
        search.state[kernel_walk.DEPTH] = 0
        return search

    started = kernel_walk.start
    monkeypatch.setattr(kernel_walk, "start", unfinished)
    monkeypatch.setattr(feasible_intervals, "_MOST_NODES", 0)
    with pytest.raises(CertificateError, match="no proof was found"):
        feasible_intervals.feasible(thirds(), np.ones(2, dtype=bool))


def test_too_much_room_for_whole_numbers_is_an_input_error() -> None:
    table = thirds().replace(
        values=np.array([3 * 10**9, 10**9]), lower=np.array([1, 0]), upper=np.array([7 * 10**9] * 2)
    )
    with pytest.raises(InputError, match="integer=False"):
        intervals(table, np.ones(2, dtype=bool), integer=True)


# ---- the clock and the user ---------------------------------------------------------------------


@pytest.mark.parametrize("reason", [OutOfTime, KeyboardInterrupt])
@pytest.mark.parametrize("calls", [0, 1, 5])
def test_a_last_audit_cut_short_keeps_the_verdict(
    reason: type[BaseException], calls: int, monkeypatch: Any
) -> None:
    pattern = suppress(CUBE).pattern
    judged, whole = judge(CUBE, pattern), audit(CUBE, pattern)
    true, count = csp.audits.intervals.claims_of, [0]

    def stopped(*args: Any, **options: Any) -> Any:
        count[0] += 1
        if count[0] > calls:
            raise reason
        return true(*args, **options)

    monkeypatch.setattr(csp.audits.intervals, "claims_of", stopped)
    monkeypatch.setattr(csp.audits.intervals, "_SLICE", 2)
    short = follow(CUBE, judged, clock=Clock.of(600), interruptible=True)
    assert short.safe
    short.certificate.verify()
    assert short.exact.sum() >= 2 * (~pattern).sum()
    assert (short.lower[short.exact[:, 0]] == whole.lower[short.exact[:, 0]]).all()
    assert (short.upper[short.exact[:, 1]] == whole.upper[short.exact[:, 1]]).all()
    inner = ~np.isnan(short.lower) & CUBE.primary
    assert (short.lower[inner] >= whole.lower[inner]).all()
    assert (short.upper[inner] <= whole.upper[inner]).all()
    # An unsafe pattern stays unsafe.
    monkeypatch.setattr(csp.audits.intervals, "claims_of", true)
    bare = judge(CUBE, CUBE.forced)
    monkeypatch.setattr(csp.audits.intervals, "claims_of", stopped)
    assert not follow(CUBE, bare, clock=Clock.of(600), interruptible=True).safe


def test_an_interrupt_of_the_last_audit_of_protect_keeps_the_pattern(monkeypatch: Any) -> None:
    table = Table.from_array(np.random.default_rng(3).poisson(6, size=(4, 4, 4)))
    mechanism = Mechanism(MinFrequency(3), width=3, margins="publish")
    whole = mechanism.protect(table)
    true = csp.audits.audit._audited

    def press(*args: Any, **options: Any) -> Any:
        if options.get("ends") is not None:
            raise KeyboardInterrupt
        return true(*args, **options)

    monkeypatch.setattr(csp.audits.audit, "_audited", press)
    kept = mechanism.protect(table)
    assert kept.audit.safe
    assert (kept.release.pattern == whole.release.pattern).all()
    assert not kept.audit.exact[kept.release.pattern].all()


@pytest.mark.parametrize("method", ["cuts", "branch", "small", "ilp"])
def test_an_interrupt_before_the_first_pattern_suppresses_everything(
    method: str, monkeypatch: Any
) -> None:
    from csp.solve.ilp import suppression as ilp
    from csp.solve.small import slices

    def press(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    replace_phases(monkeypatch, {"first patterns": press})
    monkeypatch.setattr(ilp, "_Search", press)
    monkeypatch.setattr(slices, "SmallSearch", press)
    found = suppress(FLAT, method=method)
    assert found.stopped == "interrupt"
    assert (found.pattern == (FLAT.free | FLAT.forced)).all()
    assert audit(FLAT, found.pattern).safe
    assert not found.proven
    assert found.gap == 1.0
    assert found.notes
    unsafe = replace(FLAT, spl=np.where(FLAT.primary, 10**6, 0))
    # Integer programs begin with an audit of everything suppressed.
    with pytest.raises(Unprotectable if method == "ilp" else KeyboardInterrupt):
        suppress(unsafe, method=method)


def test_no_time_for_a_first_pattern_suppresses_everything(monkeypatch: Any) -> None:
    def late(*_: Any) -> Any:
        raise OutOfTime

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    replace_phases(monkeypatch, {"first patterns": late, "cuts": interrupted})
    found = suppress(CUBE, time_limit=30)
    assert found.stopped == "interrupt"
    assert (found.pattern == (CUBE.free | CUBE.forced)).all()


def test_a_pattern_whose_audit_did_not_end_is_audited_later(monkeypatch: Any) -> None:
    from csp.solve.exact.heuristics import first_patterns as module

    true, first, begun, late = Run.try_incumbent, module._first_patterns, [], []

    def try_incumbent(self: Any, pattern: Any, shown: Any = None, share: float = 1.0) -> Any:
        begun.append(pattern.tolist())
        if late:
            raise OutOfTime
        return true(self, pattern, shown, share)

    def without_time(run: Run) -> None:
        late.append(run)
        first(run)
        late.clear()
        assert run.waiting

    monkeypatch.setattr(Run, "try_incumbent", try_incumbent)
    monkeypatch.setattr(module, "_first_patterns", without_time)
    monkeypatch.setattr(schedule, "VERY_LARGE", 0)
    replace_phases(monkeypatch, {"cuts": lambda *_: pytest.fail("that is later")})
    seen: list[int | None] = []
    with pytest.raises(pytest.fail.Exception):
        suppress(CUBE, progress=lambda p: seen.append(p.best))
    everything = int(CUBE.cost[CUBE.free | CUBE.forced].sum())
    assert begun[-1] == begun[-2]
    assert seen[-1] is not None
    assert seen[-1] < everything


@pytest.mark.parametrize("limit", [0, -1, True, "5", float("nan")])
def test_limits_that_are_none_are_refused(limit: Any) -> None:
    for call in (
        lambda: suppress(FLAT, time_limit=limit),
        lambda: audit(FLAT, FLAT.forced, time_limit=limit),
        lambda: intervals(FLAT.table, FLAT.forced, time_limit=limit),
    ):
        with pytest.raises(InputError, match="time_limit"):
            call()


# ---- solvers ------------------------------------------------------------------------------------


def test_a_bound_above_a_safe_pattern_is_an_error(monkeypatch: Any) -> None:
    true = Master.relax

    def boast(self: Master, objective: Any = None) -> Any:
        answer = true(self, objective)
        return replace(answer, bound=answer.bound + 1000)

    monkeypatch.setattr(Master, "relax", boast)
    for method in ("cuts", "branch"):
        found = suppress(CUBE, method=method)
        assert not found.proven
        assert not found.canonical
        assert found.stopped == "precision"
        assert found.notes == ("a bound passed the cost of a safe pattern",)
        assert found.notes[0] in repr(found)
        assert found.bound == 0
        assert audit(CUBE, found.pattern).safe


@pytest.mark.parametrize("method", ["auto", "cuts", "branch", "large", "small"])
def test_a_program_that_the_solver_gives_up_leaves_everything_suppressed(
    method: str, monkeypatch: Any
) -> None:
    def gives_up(*_: Any, **__: Any) -> Any:
        raise SolverError("HiGHS ended with status kSolveError")

    monkeypatch.setattr(csp.solve, "_solve", gives_up)
    found = suppress(FLAT, method=method)
    assert (found.pattern == (FLAT.free | FLAT.forced)).all()
    assert found.stopped == "precision"
    assert not found.proven
    assert found.notes == (EVERYTHING, "HiGHS ended with status kSolveError")
    assert audit(FLAT, found.pattern).safe
    with pytest.raises(SolverError, match="kSolveError"):
        suppress(FLAT, method="ilp")


@pytest.mark.parametrize("method", ["auto", "cuts", "branch", "large", "small", "ilp"])
def test_what_cannot_be_followed_exactly_leaves_everything_suppressed(
    method: str, monkeypatch: Any
) -> None:
    def far_apart(*_: Any, **__: Any) -> Any:
        raise CertificateError("numbers of cell HIDDEN")

    monkeypatch.setattr(csp.solve, "_solve", far_apart)
    found = suppress(FLAT, method=method)
    assert (found.pattern == (FLAT.free | FLAT.forced)).all()
    assert found.stopped == "precision"
    assert not found.proven
    assert audit(FLAT, found.pattern).safe
    assert TOO_FAR_APART in found.notes
    assert "HIDDEN" not in str(found.notes)
    primary = np.zeros(FLAT.table.n_cells, bool)
    primary[0] = True
    alone = Problem.of(FLAT.table, primary, spl=10**9, publish=~primary)
    with pytest.raises(CertificateError, match="HIDDEN"):  # not even that is safe
        suppress(alone, method=method)


def test_a_pattern_is_kept_where_the_next_cannot_be_followed_exactly() -> None:
    run = Run(FLAT, UNLIMITED, 0.0, integer=False, seed=0, progress=None)

    def search() -> str:
        raise CertificateError("too far apart")

    with pytest.raises(CertificateError):
        run.ended_by(search)
    run.try_incumbent(FLAT.free | FLAT.forced)
    assert run.ended_by(search) == "precision"


def test_a_safe_pattern_below_the_bound_is_an_error() -> None:
    run = Run(FLAT, UNLIMITED, 0.0, integer=False, seed=0, progress=None)
    run.raise_bound(1e9)
    with pytest.raises(SolverError, match="costs less than the bound"):
        run.try_incumbent(FLAT.free | FLAT.forced)
    assert run.best is not None
    assert run.bound == run.constant


def test_the_cost_of_a_cell_that_is_published_hides_no_alarm() -> None:
    fixed = int(np.flatnonzero(FLAT.status == "z")[0])
    cost = FLAT.cost.copy()
    cost[fixed] = 10**9
    run = Run(replace(FLAT, cost=cost), UNLIMITED, 0.0, integer=False, seed=0, progress=None)
    run.try_incumbent(FLAT.free | FLAT.forced)
    assert run.best_cost is not None
    with pytest.raises(SolverError, match="a bound passed the cost"):
        run.raise_bound(float(run.best_cost + 1))
    assert run.bound == run.constant


def test_a_cutoff_may_pass_the_incumbent() -> None:
    run = Run(FLAT, UNLIMITED, 0.0, integer=False, seed=0, progress=None)
    run.try_incumbent(FLAT.free | FLAT.forced)
    run.raise_bound(1e9, cutoff=True)
    assert run.bound == run.best_cost


@pytest.mark.parametrize("method", ["cuts", "branch"])
@pytest.mark.parametrize("problem", [CUBE, FLAT])
@pytest.mark.parametrize("which", [1, 2, 3, 4])
def test_a_pattern_without_a_proof_does_not_end_the_run(
    problem: Problem, method: str, which: int, monkeypatch: Any
) -> None:
    optimum = suppress(problem)
    true, count = run_module.judge, [0]
    refused: list[int] = []

    def doubtful(given: Problem, pattern: Any, **options: Any) -> Any:
        count[0] += 1
        if count[0] == which:
            refused.append(int(given.cost[pattern & given.free].sum()))
            raise CertificateError("nothing can be proved")
        return true(given, pattern, **options)

    monkeypatch.setattr(run_module, "judge", doubtful)
    found = suppress(problem, method=method, time_limit=60)
    assert audit(problem, found.pattern).safe
    assert found.bound <= optimum.cost <= found.cost
    if refused:
        assert any("left aside" in note for note in found.notes)
        # Not in the words of the audit, which name a sensitive cell.
        assert not any("nothing can be proved" in note for note in found.notes)
        assert found.bound <= refused[0]
        assert not found.proven or found.cost == optimum.cost


def test_every_call_of_the_solver_is_checked() -> None:
    one = np.ones(1)
    model = Model().load(
        cost=one, lower=0 * one, upper=one, rows=csr_array((0, 1)), row_lower=one[:0],
        row_upper=one[:0],
    )  # fmt: skip
    far = np.array([7], np.int32)
    for call in (
        lambda: model.set_option("no such option", 1),
        lambda: model.set_costs(far, one),
        lambda: model.set_bounds(far, one, one),
        lambda: model.delete_rows(far),
        lambda: model.add_rows(csr_array(np.ones((1, 5))), one, one),
        lambda: Model(threads="many"),
    ):
        with pytest.raises(SolverError, match="HiGHS refuses"):
            call()
    assert model.solve() == Status.OPTIMAL
    assert model.objective == 0


def test_further_tries_are_counted(monkeypatch: Any) -> None:
    import highspy

    one = np.ones(1)
    model = Model().load(
        cost=one, lower=one, upper=one, rows=csr_array((0, 1)), row_lower=one[:0],
        row_upper=one[:0],
    )  # fmt: skip
    before, true, turns = retries(), highspy.Highs.run, [0]

    def failing(solver: Any) -> Any:
        turns[0] += 1
        outcome = true(solver)
        return highspy.HighsStatus.kError if turns[0] < 3 else outcome

    monkeypatch.setattr(highspy.Highs, "run", failing)
    assert model.solve() == Status.OPTIMAL
    assert retries() == before + 2
    assert "solver_retries" in suppress(CUBE).stats


def test_a_start_that_is_not_the_optimum_reported_is_forgotten(monkeypatch: Any) -> None:
    # min x + y with x + y >= 1 in whole numbers, and HiGHS 1.16.0: the start has come back with the
    # objective of something better.
    model = Model().load(
        cost=np.ones(2), lower=np.zeros(2), upper=np.ones(2), rows=csr_array(np.ones((1, 2))),
        row_lower=np.ones(1), row_upper=np.full(1, np.inf), integer=True,
    )  # fmt: skip
    true, clear, forgotten = Model.values, Model.forget, []
    monkeypatch.setattr(
        Model,
        "values",
        property(lambda self: true.fget(self) if forgotten else np.ones(2)),  # type: ignore[attr-defined]
    )
    monkeypatch.setattr(Model, "forget", lambda self: (forgotten.append(True), clear(self)))
    model.set_start(np.ones(2))
    before = retries()
    assert model.solve() == Status.OPTIMAL
    assert forgotten
    assert retries() == before + 1
    assert model.values.sum() == model.objective == 1


def test_an_attacker_program_without_a_solution_is_no_answer(monkeypatch: Any) -> None:
    # As on a table too large for programs in kernel form, which are never without a solution.
    monkeypatch.setattr(separate, "_DENSE", 0)
    separator = Separator(CUBE, CutFactory(CUBE))
    monkeypatch.setattr(Model, "solve", lambda *_, **__: Status.INFEASIBLE)
    with pytest.raises(SolverError, match="infeasible"):
        separator.misses(CUBE.forced.astype(float), whole=True, clock=UNLIMITED)


# ---- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options"),
    [("ilp", {"gap": 0.1}), ("ilp", {"seed": 3}), ("small", {"seed": 3})],
)
def test_options_without_use_are_refused(method: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        suppress(FLAT, method=method, **options)


def test_integer_programs_report_progress() -> None:
    seen: list[Any] = []
    found = suppress(FLAT, method="ilp", progress=seen.append)
    assert [state.phase for state in seen] == ["search", "tie-break"]
    assert seen[0].best == found.cost


def test_an_unprotectable_cell_has_its_place_in_the_table_that_was_given() -> None:
    table = FLAT.table
    order = np.random.default_rng(1).permutation(table.n_cells)
    from csp.solve.order import reordered

    other = reordered(FLAT, order)
    asked = replace(other, spl=np.where(other.primary, 10**6, 0))
    with pytest.raises(Unprotectable) as caught:
        suppress(asked, method="cuts")
    assert caught.value.index is not None
    assert other.table.labels[caught.value.index] == caught.value.cell
