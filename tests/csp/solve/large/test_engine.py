"""The engine for large tables, on small ones that brute force can judge and on larger ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from benchmarks import posed
from csp import Audit, InputError, Mechanism, Problem, Table, Unprotectable, audit, suppress
from csp.audits.audit import judge
from csp.audits.claims import Claim
from csp.clock import Clock, now
from csp.errors import CertificateError, OutOfTime, SolverError
from csp.problem.singletons import Attackers
from csp.solve import incumbent
from csp.solve.large import engine, relaxation
from csp.solve.large.relaxation import CLOSE, Relaxation, against_insiders, conditions
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.construct import Builder
from csp.solve.witnesses.field import Field, Witness
from instances import synthetic
from tests.csp.solve.test_agree import STRUCTURES
from tests.csp.solve.test_suppress import integer_safe
from tests.support import oracles
from tests.support.independent_audit import unmet, unproved
from tests.support.shared import examples
from tests.support.strategies import problems


def check(problem: Problem, best: tuple[bool, ...] | None, *, integer: bool = False) -> None:
    """The pattern is safe, costs no less than the cheapest, and the bound is no more than that."""
    if not Axes(problem.table).regular:
        with pytest.raises(InputError, match="runs along one dimension"):
            suppress(problem, method="large", integer=integer)
        return
    if best is None:
        with pytest.raises(Unprotectable):
            suppress(problem, method="large", integer=integer)
        return
    found = suppress(problem, method="large", integer=integer)
    assert found.bound <= oracles.pattern_cost(problem, best) <= found.cost
    assert oracles.is_safe(problem, found.pattern)
    if integer:
        assert integer_safe(problem)(found.pattern)
    assert (found.pattern >= problem.forced).all()
    assert found.proven == (found.cost == found.bound)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_patterns_are_safe_and_bounds_hold(structure: str) -> None:
    @examples(25)
    @given(problems(STRUCTURES[structure], max_free=8, max_primary=4))
    def agree(problem: Problem) -> None:
        check(problem, oracles.best_pattern(problem))

    agree()


@pytest.mark.parametrize("structure", ["three-way", "linked", "hierarchy"])
def test_patterns_withstand_contributors_who_know_cells(structure: str) -> None:
    @examples(15)
    @given(problems(STRUCTURES[structure], max_free=7, singletons=True))
    def agree(problem: Problem) -> None:
        check(problem, oracles.best_pattern(problem))

    agree()


@pytest.mark.parametrize("structure", ["counts", "hierarchy", "linked"])
def test_patterns_withstand_attackers_who_know_that_cells_are_whole(structure: str) -> None:
    @examples(10)
    @given(problems(STRUCTURES[structure], max_free=6, margins=False, extras=False))
    def agree(problem: Problem) -> None:
        best = oracles.best_pattern(problem, also=integer_safe(problem))
        check(problem, best, integer=True)

    agree()


def office(**options: Any) -> Problem:
    """Activity by region by size, 455 cells, a quarter of them sensitive."""
    trees = {
        "activity": synthetic.tree((3, 3), "a"),
        "region": synthetic.tree((2, 2), "r"),
        "size": synthetic.tree((4,), "s"),
    }
    leaves = {
        name: [c for i, c in enumerate(h.codes) if i not in h.parent] for name, h in trees.items()
    }
    data = synthetic.microdata(500, 3, leaves)
    table = Table.from_microdata(
        data, list(trees), "value", contributor="contributor", hierarchies=trees
    )
    return Mechanism("P(10,1)|FREQ(3,10)", **options).problem(table)


def moves_as_far_as_required(problem: Problem, pattern: np.ndarray[Any, Any], p: int) -> bool:
    """The levels of one cell against an outsider, by scipy's linear programs over all cells."""
    table, cells = problem.table, np.flatnonzero(pattern)
    c = (cells == p).astype(float)
    bounds = [(0.0 if low > -1e15 else None, None) for low in table.lower[cells]]
    fixed = -(table.relations @ np.where(pattern, 0, table.values)).astype(float)
    part = csr_array(table.relations[:, cells]).astype(float)
    ends = [linprog(s * c, A_eq=part, b_eq=fixed, bounds=bounds).fun * s for s in (1, -1)]
    value = table.values[p]
    low, high = value - ends[0], ends[1] - value
    return bool(
        low >= problem.lpl[p] - 1e-6
        and high >= problem.upl[p] - 1e-6
        and low + high >= problem.spl[p] - 1e-6
    )


@pytest.mark.parametrize("singletons", [False, True])
def test_a_table_of_an_office_is_safe_by_other_programs(singletons: bool) -> None:
    problem = office(singletons=singletons)
    found = suppress(problem, method="large", time_limit=4, gap=0.3)
    assert found.audit is not None
    assert found.audit.safe
    assert found.bound <= found.cost
    rng = np.random.default_rng(0)
    for p in rng.choice(np.flatnonzero(problem.primary), 25, replace=False).tolist():
        assert moves_as_far_as_required(problem, found.pattern, p)
    assert unmet(problem, found.pattern) == []
    # An audit that is told nothing comes to the same verdict.
    assert audit(problem, found.pattern, only_primary=True).safe


def test_the_independent_audit_finds_what_is_unsafe() -> None:
    problem = office(singletons=False)
    found = suppress(problem, method="large", time_limit=4, gap=0.3)
    rng = np.random.default_rng(1)
    for cell in rng.choice(np.flatnonzero(found.pattern & problem.free), 2, replace=False):
        pattern = found.pattern.copy()
        pattern[cell] = False
        unsafe = {int(i) for i in np.flatnonzero(problem.primary)
                  if not moves_as_far_as_required(problem, pattern, int(i))}  # fmt: skip
        assert set(unmet(problem, pattern)) == unsafe
        assert bool(unsafe) != audit(problem, pattern, only_primary=True).safe


def test_claims_put_in_by_hand_show_what_a_certificate_shows() -> None:
    problem = office(singletons=False)
    found = suppress(problem, method="large", time_limit=2, gap=0.5)
    assert found.audit is not None
    claims = list(found.audit.certificate)
    assert unproved(problem, found.pattern, claims) == []
    broken = np.random.default_rng(2).integers(len(claims))
    cell = claims[broken].cell
    others = [claim for claim in claims if claim.cell != cell]
    steps = claims[broken].steps.copy()
    steps[0] += 1
    forged = replace(claims[broken], steps=steps)
    assert unproved(problem, found.pattern, [*others, forged]) == [cell]
    hidden = int(claims[broken].cells[0])
    pattern = found.pattern.copy()
    pattern[hidden] = False
    assert unproved(problem, pattern, claims) != []


def test_against_whole_units_fractions_show_nothing() -> None:
    table = Table.from_array([[50, 50], [50, 50]])
    inner = np.flatnonzero(~table.margins)
    problem = Problem.of(table, np.arange(table.n_cells) == inner[0], lpl=1, upl=1)
    pattern = ~table.margins
    for steps, whole in ((3, False), (4, True)):  # halves
        z = np.array([steps, -steps, -steps, steps])
        none = np.zeros(0, np.int64)
        reach, cell = Fraction(steps, 2), int(inner[0])
        claims = [
            Claim(cell, sign, (), reach, inner, sign * z, 2, none, none, 1, exact=False)
            for sign in (1, -1)
        ]
        assert unproved(problem, pattern, claims) == []
        assert (unproved(problem, pattern, claims, integer=True) == []) == whole


def test_a_table_of_many_thousand_cells_is_safe_by_the_independent_audit() -> None:
    problem = posed.office(((5, 4, 3), (4, 5), (5,)), 20_000)
    found = suppress(problem, time_limit=60, gap=0.5)
    assert found.method == "large"
    assert unmet(problem, found.pattern) == []


def test_lone_contributors_are_guarded_by_witnesses_that_leave_their_cells() -> None:
    problem = office()
    plain = suppress(office(singletons=False), method="large", time_limit=4, gap=0.5)
    assert not audit(problem, plain.pattern, only_primary=True).safe
    found = suppress(problem, method="large", time_limit=4, gap=0.6)
    assert isinstance(found.audit, Audit)
    assert found.audit.guards == ("outsider", "singletons")
    assert found.cost > plain.cost


def test_codes_and_their_trees_are_read_from_relations() -> None:
    table = office().table
    axes = Axes(table)
    assert axes.regular
    top = table.position(("Total", "Total", "Total"))
    everything = axes.within(tuple((int(code),) for code in axes.codes[top]))
    assert everything.tolist() == list(range(table.n_cells))
    leaf = table.position(("a1.2", "r2.1", "s4"))
    home = axes.within(axes.around(leaf, (0, 0, 0)))
    assert {table.labels[i] for i in home.tolist()} == {
        (a, r, s)
        for a in ("a1", "a1.1", "a1.2", "a1.3")
        for r in ("r2", "r2.1", "r2.2")
        for s in ("Total", *(f"s{i}" for i in range(1, 5)))
    }


def test_the_relaxation_bounds_what_branch_and_cut_proves() -> None:
    table = synthetic.hierarchical(4, ((3, 2), (2, 2)))
    problem = Mechanism("FREQ(6)", width=6, margins="suppress").problem(table)
    proved = suppress(problem, method="branch")
    relaxed = Relaxation(Field(problem)).solve()
    assert proved.proven
    assert 0 < relaxed.bound <= proved.cost
    assert relaxed.cuts
    assert all(cut.slack(proved.pattern.astype(float)) > -1e-9 for cut in relaxed.cuts)


def test_the_relaxation_is_what_a_linear_program_of_its_rows_says() -> None:
    compared = []

    # Of few of them the relaxation asks anything: as many are drawn under any profile.
    @settings(max_examples=100)
    @given(problems(STRUCTURES["hierarchy"]) | problems(STRUCTURES["three-way"]))
    def agree(problem: Problem) -> None:
        field = Field(problem)
        fixed, free = problem.forced & field.open, field.open & ~problem.forced
        if not free.any():
            return
        rows = conditions(field, field.relations).toarray()
        missing = -rows[:, fixed].sum(axis=1)
        # One free cell gives at most all that is missing.
        enough = np.where(missing > 0, missing, np.inf)[:, None]
        # A row that not even all cells satisfy asks for more than there is: no pattern is safe.
        whole = linprog(
            field.price[free], A_ub=-np.minimum(rows[:, free], enough), b_ub=-missing, bounds=(0, 1)
        )
        if whole.status == 0:
            relaxed = Relaxation(field).solve()
            compared.append(whole.fun > 0)
            near = pytest.approx(whole.fun, rel=2 * CLOSE, abs=1e-6)
            assert relaxed.bound <= whole.fun + 1e-6 * max(1.0, whole.fun)
            assert relaxed.bound == near
            # The rows that bind alone have the same least cost.
            alone = np.zeros((len(relaxed.cuts), len(field.price)))
            for r, cut in enumerate(relaxed.cuts):
                alone[r, cut.cells] = cut.weights
            right = [-cut.right for cut in relaxed.cuts]
            bound = linprog(field.price, A_ub=-alone, b_ub=right, bounds=(0, 1)).fun if right else 0
            assert bound == pytest.approx(whole.fun, rel=0.01, abs=1e-6)

    agree()
    assert any(compared)


def test_rows_against_lone_contributors_hold_for_every_safe_pattern() -> None:
    @settings(max_examples=60)
    @given(problems(STRUCTURES["hierarchy"], max_free=7, singletons=True))
    def hold(problem: Problem) -> None:
        field, attackers = Field(problem), Attackers(problem)
        outside, against = Relaxation(field), Relaxation(field, attackers=attackers)
        best = oracles.best_pattern(problem)
        least = outside.solve().bound, against.solve().bound
        if best is None:
            return
        cost = int(problem.cost[np.array(best) & problem.free].sum())
        assert least[0] <= least[1] + 2 * CLOSE * max(1.0, cost)
        assert least[1] <= cost + 1e-6
        rows = conditions(field, field.relations)
        primary = np.flatnonzero(problem.primary)
        own = np.array([int(row.argmin()) for row in rows.toarray()])
        known = against_insiders(rows, own, attackers).toarray()
        free = np.flatnonzero(problem.free)
        for bits in product((False, True), repeat=len(free)):
            pattern = problem.forced.copy()
            pattern[free] = bits
            if oracles.is_safe(problem, pattern):
                kept = known[np.isin(known.argmin(axis=1), primary)]
                assert (kept @ pattern > -1e-9).all()

    hold()


def test_a_lone_contributor_asks_for_one_cell_more() -> None:
    """Two lone contributors of a row each know their own cell, and together they are its total."""
    table = Table.from_array([[3, 5, 6, 7], [9, 9, 9, 9], [9, 9, 9, 9]])
    primary = np.zeros(table.n_cells, bool)
    primary[[table.position(("1", "1")), table.position(("1", "2"))]] = True
    problem = Problem.of(table, primary, spl=1, singletons=primary, publish=table.margins)
    field = Field(problem)
    outsider = Relaxation(field).whole()
    # Against each of them the row needs a third cell, and with it a third column.
    assert (outsider, Relaxation(field, attackers=Attackers(problem)).whole()) == (2, 4)
    assert suppress(problem).cost == 4


def test_the_whole_relaxation_is_what_an_integer_program_of_its_rows_says() -> None:
    field = Field(office())
    relaxation = Relaxation(field)
    fixed, free = field.problem.forced & field.open, field.open & ~field.problem.forced
    rows = conditions(field, field.relations).toarray()
    least = LinearConstraint(rows[:, free], -rows[:, fixed].sum(axis=1))
    exact = milp(field.price[free], constraints=least, bounds=(0, 1), integrality=1)
    assert relaxation.solve().bound < exact.fun == pytest.approx(relaxation.whole())
    assert relaxation.whole(Clock(now())) == 0  # no time


def test_a_relaxation_that_is_stopped_has_a_bound_all_the_same() -> None:
    relaxation = Relaxation(Field(office()))
    bounds = [relaxation.solve(gap).bound for gap in (0.3, 0.03, 0.003)]
    bounds.append(relaxation.solve(clock=Clock(now())).bound)  # no time: 40 steps more
    assert 0 < bounds[0] < bounds[1] < bounds[2] <= bounds[3] <= relaxation.solve().bound


def test_relations_taken_one_at_a_time_give_the_same_relaxation(monkeypatch: Any) -> None:
    field = Field(office())
    whole = Relaxation(field).solve()
    monkeypatch.setattr(relaxation, "_PAIRS", 1)
    assert Relaxation(field).solve().bound == pytest.approx(whole.bound)
    assert whole.bound > 0


def test_rows_that_bind_keep_the_bound_where_costs_are_spread() -> None:
    problem = office()
    dear = replace(problem, cost=np.maximum(problem.table.values, 1) ** 2)
    relaxation = Relaxation(Field(dear))
    relaxed = relaxation.solve()
    alone = np.zeros((len(relaxed.cuts), problem.table.n_cells))
    for r, cut in enumerate(relaxed.cuts):
        alone[r, cut.cells] = cut.weights
    right = [-cut.right for cut in relaxed.cuts]
    price = np.where(dear.free, dear.cost, 0).astype(np.float64)
    found = linprog(price, A_ub=-alone, b_ub=right, bounds=(0, 1))
    assert found.fun == pytest.approx(relaxed.bound, rel=5e-3)


@pytest.mark.parametrize("over", [True, False])
def test_a_search_that_the_end_of_its_round_cuts_short_goes_on_in_the_next(
    monkeypatch: Any, *, over: bool
) -> None:
    clock = Clock(now() + 60)
    search = engine.begun(
        office(singletons=False), clock=clock, gap=0.0, integer=False, seed=0, progress=None
    )
    search.construct(np.inf)
    ways = []

    def gains_nothing(*args: Any) -> bool:
        ways.append(search.ways[0])
        search.clock = Clock(now()) if over or len(ways) == 2 else clock
        return False

    monkeypatch.setattr(engine, "improve_regions", gains_nothing)
    monkeypatch.setattr(engine, "drop_cells", gains_nothing)
    search.improve()
    assert ways == (["regions"] if over else ["regions", "cells"])
    # What was cut short comes first again.
    assert search.ways[0] == ways[-1]


@pytest.mark.parametrize("singletons", [False, True])
@pytest.mark.parametrize("after", [0, 12])
def test_a_second_pattern_that_is_cut_short_is_completed_by_the_first(
    monkeypatch: Any, after: int, singletons: bool
) -> None:
    true, sought = Builder.witness, []

    def short(builder: Builder, *args: Any) -> Witness | None:
        if builder.compared > 1:
            sought.append(1)
            if len(sought) > after:
                raise OutOfTime("over")
        return true(builder, *args)

    ended: list[engine.Book] = []
    plain = engine.prune

    def watched(book: engine.Book, price: Any) -> None:
        plain(book, price)
        ended.append(book)
        if len(ended) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Builder, "witness", short)
    monkeypatch.setattr(engine, "prune", watched)
    problem = office(singletons=singletons)
    assert suppress(problem, method="large").stopped == "interrupt"
    assert len(sought) == after + 1
    second = ended[1]
    assert audit(second.field.problem, second.pattern()).safe  # cells in order of labels
    assert all(second.settled(r) for r in range(len(second.field.cell)))
    used = np.zeros_like(second.used)
    for witness in second.witnesses.values():
        used[witness.cells] += 1
    for p in np.unique(second.field.cell).tolist():
        for pair in second.kept(p):
            for claim in pair:
                used[claim.cells] += 1
    assert used.tolist() == second.used.tolist()


def test_an_interrupt_keeps_the_best_pattern_and_a_limit_is_a_limit() -> None:
    problem, seen = office(), []

    def press(progress: Any) -> None:
        seen.append(progress.phase)
        if progress.best is not None:
            raise KeyboardInterrupt

    found = suppress(problem, method="large", progress=press)
    assert found.stopped == "interrupt"
    assert seen == ["bound", "first pattern"]
    assert found.audit is not None
    assert found.audit.safe


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (1, "a safe pattern costs less than the bound"),
        (2, "a bound passed the cost of a safe pattern"),
    ],
    ids=["before a pattern", "after one"],
)
def test_a_bound_above_a_safe_pattern_is_an_error_and_never_a_proof(
    monkeypatch: Any, call: int, word: str
) -> None:
    true, calls = Relaxation.solve, []

    def too_high(*args: Any) -> Any:
        relaxed = true(*args)
        calls.append(1)
        return replace(relaxed, bound=relaxed.bound + 10**6 * (len(calls) == call))

    monkeypatch.setattr(Relaxation, "solve", too_high)
    found = suppress(office(), method="large", time_limit=10)
    assert found.stopped == "precision"
    assert not found.proven
    assert found.notes == (word,)
    assert found.audit is not None
    assert found.audit.safe


def test_a_pattern_without_a_proof_does_not_end_the_run(monkeypatch: Any) -> None:
    true, calls = incumbent.judge, []

    def once(*args: Any, **options: Any) -> Audit:
        calls.append(1)
        if len(calls) == 1:
            raise CertificateError("no proof")
        return true(*args, **options)

    monkeypatch.setattr(incumbent, "judge", once)
    found = suppress(office(singletons=False), method="large", time_limit=10, gap=0.99)
    assert found.audit is not None
    assert found.audit.safe
    assert found.notes == ("a pattern was left aside (CertificateError)",)


def test_a_cell_that_nothing_protects_is_named() -> None:
    problem = office()
    everything = problem.forced | problem.free
    only = np.zeros_like(everything)
    only[int(np.flatnonzero(problem.primary)[0])] = True
    alone = Problem.of(problem.table, only, spl=1, publish=~only)
    with pytest.raises(Unprotectable, match="cannot be protected") as caught:
        suppress(alone, method="large")
    assert caught.value.cell == problem.table.labels[int(np.argmax(only))]


def test_the_least_contradiction_is_an_alarm_however_dear_cells_are() -> None:
    problem = office(singletons=False)
    cost = problem.cost * 10**7
    cost[np.flatnonzero(problem.free)[0]] += 1
    problem = replace(problem, cost=cost)
    everything = problem.free | problem.forced
    everything.flags.writeable = False
    search = engine.LocalSearch(
        problem, Clock.of(60), 0.0, False, 0, None, axes=Axes(problem.table)
    )
    search.take(judge(problem, everything))
    assert search.best_cost is not None
    search.raise_bound(float(search.best_cost - search.constant))
    with pytest.raises(SolverError, match="a bound passed the cost"):
        search.raise_bound(float(search.best_cost - search.constant + 1))


def test_a_limit_that_has_long_passed_is_a_limit() -> None:
    problem = office(singletons=False)
    try:
        found = engine.solve_large(
            problem, clock=Clock(now() - 60), gap=0.0, integer=False, seed=0, progress=None
        )
    except OutOfTime:
        return
    assert found.stopped == "time"
    assert audit(problem, found.pattern).safe
