"""A study says what a loop by hand finds: brute force, linear programs, and attacks one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import attacks
from cellveil.comparing import trials
from cellveil.comparing.own_methods import study
from cellveil.comparing.results import Study
from csp import InputError, Key, Mechanism, Problem, Release, Suppression, Table, suppress
from csp.decoys.decoys import Decoys
from instances import synthetic
from tests.support import oracles

MECHANISM = Mechanism("FREQ(6)", width=5, margins="publish")


def crosses(problem: Problem) -> list[bool]:
    """Suppress where a row and a column with a sensitive cell cross: often not safe."""
    labels, primary = problem.table.labels, problem.primary
    rows, columns = (
        {label[d] for label, p in zip(labels, primary, strict=True) if p} for d in (0, 1)
    )
    return [r in rows and c in columns for r, c in labels]


def everything(problem: Problem) -> NDArray[np.bool_]:
    return np.asarray(problem.status != "z")


def only_even(problem: Problem) -> NDArray[np.bool_]:
    if problem.table.values[-1] % 2:
        raise ZeroDivisionError("an odd total")
    return everything(problem)


def some_tables() -> dict[str, Table]:
    return {f"t{seed}": synthetic.frequency_2d(3, 3, seed, mean=9, sd=6) for seed in range(8)}


METHODS: dict[str, Any] = {
    "crosses": crosses, "all": everything, "even": only_even, "best": "auto", "parts": "modular",
}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> Study:
    return study(some_tables(), MECHANISM, METHODS, attack="matching", time_limit=60)


def width_by_programs(table: Table, pattern: NDArray[np.bool_], cell: int) -> float:
    """Width of a feasibility interval by scipy: cells are at least 0."""
    hidden = np.flatnonzero(pattern)
    matrix = table.relations.toarray().astype(float)
    right = -matrix[:, ~pattern] @ table.values[~pattern]
    goal = (hidden == cell).astype(float)
    ends = [
        goal @ linprog(sign * goal, A_eq=matrix[:, hidden], b_eq=right, bounds=(0, None)).x
        for sign in (1, -1)
    ]
    return float(ends[1] - ends[0])


def test_the_frame_is_that_of_a_loop_by_hand(found: Study) -> None:
    frame = found.to_frame("pandas").set_index(["table", "method"])
    assert len(frame) == 8 * 5
    seen = {True: 0, False: 0}
    for name, table in some_tables().items():
        problem = MECHANISM.problem(table)
        best = oracles.best_pattern(problem)
        assert best is not None
        optimum = oracles.pattern_cost(problem, best)
        for method in ("crosses", "all", "best", "parts"):
            row = frame.loc[(name, method)]
            trial = next(t for t in found.of(method) if t.table == name)
            assert trial.pattern is not None
            pattern = trial.pattern.tolist()
            safe = oracles.is_safe(problem, pattern)
            seen[safe] += 1
            assert row.safe == safe
            assert (row.violations == 0) == safe
            assert row.cells == 16
            assert row.primary == problem.primary.sum()
            assert row.secondary == (trial.pattern & ~problem.primary).sum()
            assert row.cost == oracles.pattern_cost(problem, pattern)
            assert row.bound == optimum  # "auto" proves it
            if safe:
                assert row.gap == pytest.approx((row.cost - optimum) / max(row.cost, 1))
            else:
                assert np.isnan(row.gap)
            cells = np.flatnonzero(problem.primary)
            widths = [width_by_programs(table, trial.pattern, c) for c in cells.tolist()]
            assert trial.widths == pytest.approx(widths, abs=1e-6)
            if widths:
                assert row.narrowest == pytest.approx(min(widths), abs=1e-6)
    assert min(seen.values()) > 2


def test_an_error_of_one_method_on_one_table_is_a_row(found: Study) -> None:
    for trial in found.of("even"):
        odd = some_tables()[trial.table].values[-1] % 2 == 1
        assert (trial.pattern is None) == odd
        assert trial.reason == ("ZeroDivisionError: an odd total" if odd else trial.reason)
        assert trial.seconds is not None
        if odd:
            assert trial.safe is None
            assert trial.tally()["unsafe"] is None
    assert 0 < found.summary()["even"]["failed"] < 8


def test_attacks_are_those_of_a_loop_by_hand(found: Study) -> None:
    frame = found.to_frame("pandas").set_index(["table", "method"])
    for name, table in list(some_tables().items())[:4]:
        problem = MECHANISM.problem(table)
        if not problem.primary.any():
            continue

        def program(t: Table) -> list[bool]:
            return crosses(MECHANISM.problem(t))

        release = Release.of(table, crosses(problem))
        by_hand = attacks.matching(release, program, width=5)
        primary = problem.primary[by_hand.cells]
        row = frame.loc[(name, "crosses")]
        assert row.attacked == len(by_hand.cells)
        assert row.attacked_primary == primary.sum()
        # Narrower than asked is unsafe, by the hulls alone.
        assert row.unsafe == (by_hand.upper - by_hand.lower < 5).sum()
        assert row.unsafe_primary == ((by_hand.upper - by_hand.lower < 5) & primary).sum()
        best = attacks.matching(MECHANISM.protect(table).release, MECHANISM)
        row = frame.loc[(name, "best")]
        assert (
            row.unsafe_primary == ((best.upper - best.lower < 5) & primary_of(best, problem)).sum()
        )


def primary_of(matching: attacks.Matching, problem: Problem) -> NDArray[np.bool_]:
    return problem.primary[matching.cells]


def test_the_summary_adds_up_the_frame(found: Study) -> None:
    frame = found.to_frame("pandas")
    able = frame[frame.safe == True].groupby("table").method.nunique()  # noqa: E712
    common = set(able[able == 5].index)
    for method, facts in found.summary().items():
        rows = frame[frame.method == method]
        safe = rows[rows.safe == True]  # noqa: E712
        assert facts["tables"] == 8
        assert facts["safe"] == len(safe)
        assert facts["not_safe"] == (rows.safe == False).sum()  # noqa: E712
        assert facts["failed"] == rows.safe.isna().sum()
        assert facts["gap_mean"] == pytest.approx(safe.gap.mean())
        assert facts["secondary_mean"] == pytest.approx(rows.secondary.mean())
        assert facts["unsafe_primary"] == rows.unsafe_primary.sum()
        assert facts["compared"] == len(common)
        mean = safe[safe.table.isin(common)].cost.mean()
        assert facts["cost_mean"] == (None if np.isnan(mean) else pytest.approx(mean))
        best = frame[frame.safe == True].groupby("table").cost.min()  # noqa: E712
        assert facts["cheapest"] == (safe.cost.to_numpy() == best[safe.table].to_numpy()).sum()
    assert found.summary()["best"]["cheapest"] == 8


def test_the_table_for_a_paper_has_the_numbers_of_the_summary(found: Study) -> None:
    lines = found.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lrrrrrrrrr}"
    assert lines[-1] == r"\end{tabular}"
    heads = lines[2].removesuffix(r" \\").split(" & ")
    for line, (method, facts) in zip(lines[4:-2], found.summary().items(), strict=True):
        fields = dict(zip(heads, line.removesuffix(r" \\").split(" & "), strict=True))
        assert fields["method"] == method
        assert fields["safe"] == str(facts["safe"])
        assert fields["unsafe"] == str(facts["unsafe_primary"])
        assert fields[r"gap (\%)"] == f"{100 * facts['gap_mean']:.1f}"
    each = found.to_latex("tables").splitlines()
    assert len(each) == 40 + 6
    # No sign that LaTeX reads as its own is left in a name.
    named = study([synthetic.frequency_2d(3, 3, 1)], MECHANISM, {"a_b & 5%": everything})
    assert r"a\_b \& 5\%" in named.to_latex()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_any_library_say_the_same(found: Study, library: str) -> None:
    frame = found.to_frame(library)
    columns = frame.to_pydict() if library == "pyarrow" else frame.to_dict(
        **({"orient": "list"} if library == "pandas" else {"as_series": False})
    )  # fmt: skip
    assert list(columns["method"]) == [trial.method for trial in found.trials]
    assert [None if pd.isna(c) else c for c in columns["cost"]] == [t.cost for t in found.trials]


def test_costs_that_are_values_are_shown_with_reveal_only() -> None:
    table = synthetic.frequency_2d(3, 3, 1, mean=9)
    valued = Mechanism("FREQ(6)", width=5, margins="publish", cost="value")
    found = study(table, valued, {"all": everything, "best": "auto"})
    costs = {trial.cost for trial in found.trials}
    assert found.to_frame("pandas").cost.isna().all()
    assert found.to_frame("pandas").gap.isna().all()
    assert found.summary()["all"]["cost_mean"] is None
    assert "cost" not in found.to_latex()
    assert set(found.to_frame("pandas", reveal=True).cost) == costs
    assert "cost" in found.to_latex(reveal=True)
    with pytest.raises(InputError, match="reveal=True"):
        found.plot()
    problem = valued.problem(table)
    assert costs == {
        float(problem.table.values[t.pattern & ~problem.primary].sum()) for t in found.trials
        if t.pattern is not None
    }  # fmt: skip


def test_what_cannot_be_attacked_says_why() -> None:
    table = synthetic.magnitude((3, 3), 1)
    found = study(table, "P(20)", {"best": "auto", "all": everything}, attack="matching")
    for trial in found.trials:
        assert trial.attacked is None
        assert "not attacked: InputError" in trial.reason
        assert trial.safe
    random = np.random.default_rng(0)

    def drawn(problem: Problem) -> NDArray[np.bool_]:
        return everything(problem) & (random.random(problem.table.n_cells) < 0.7) | problem.primary

    odd = study(synthetic.frequency_2d(3, 3, 1), MECHANISM, {"drawn": drawn}, attack="matching")
    assert "deterministic" in odd.trials[0].reason


def test_what_is_not_judged_is_undecided_not_safe() -> None:
    table = synthetic.frequency_2d(3, 3, 1, mean=9)
    # A margin in percent asks for another width of every value: a function promises none.
    rules = Mechanism("FREQ(6,50)", margins="publish")
    trial = study(table, rules, {"all": everything}, attack="matching").trials[0]
    tally = trial.tally()
    assert tally["attacked"] == 9
    assert tally["undecided"] == 9 - tally["unsafe"]  # type: ignore[operator]


def changed(**values: Any) -> Any:
    """The library's search, with a result that says something else."""

    def other(*arguments: Any, **options: Any) -> Suppression:
        return replace(suppress(*arguments, **options), **values)

    return other


def test_a_search_that_did_not_end_is_not_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "suppress", changed(canonical=False))
    table = synthetic.frequency_2d(3, 3, 1, mean=9)
    trial = study(table, MECHANISM, "auto", attack="matching").trials[0]
    assert trial.attacked is None
    assert "not attacked: the search ended before" in trial.reason


def test_a_contradiction_of_bounds_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "suppress", changed(bound=99))
    table = synthetic.frequency_2d(3, 3, 1, mean=9)
    found = study(table, MECHANISM, {"all": everything, "best": "auto"})
    assert all("report the problem" in trial.reason for trial in found.trials)


def test_progress_counts_and_an_interrupt_keeps_what_is_there() -> None:
    seen: list[tuple[int, int]] = []

    def stop(done: int, whole: int) -> None:
        seen.append((done, whole))
        if done == 3:
            raise KeyboardInterrupt

    found = study(some_tables(), MECHANISM, {"all": everything, "x": crosses}, progress=stop)
    assert seen == [(1, 16), (2, 16), (3, 16)]
    assert len(found.trials) == 3
    assert found.missing == 13
    assert "13 trials left out" in repr(found)

    def pressed(problem: Problem) -> Any:
        raise KeyboardInterrupt

    half = study(some_tables(), MECHANISM, {"all": everything, "stop": pressed})
    assert [trial.method for trial in half.trials] == ["all"]


def test_shapes_of_the_arguments() -> None:
    table = synthetic.frequency_2d(3, 3, 1)
    one = study(table, "FREQ(6)", everything, width=5)
    assert (one.tables, one.methods) == (("0",), ("everything",))
    two = study([table, table], MECHANISM, [everything, "auto", "modular"])
    assert (two.tables, two.methods) == (("0", "1"), ("everything", "auto", "modular"))
    words = ["cuts", "branch", "small", "ilp"]
    costs = {trial.cost for trial in study(table, MECHANISM, words, seed=3).trials}
    assert len(costs) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], MECHANISM, everything), "there is no table"),
        (([5], MECHANISM, everything), r"tables\[0\] must be a Table, got int"),
        ((some_tables(), MECHANISM, {}), "there is no method; give a mapping"),
        ((some_tables(), MECHANISM, {"a": "hitas"}), r"methods\['a'\] is 'hitas'.*modular"),
        (
            (some_tables(), MECHANISM, [everything, everything]),
            "two methods are named 'everything'",
        ),
        ((some_tables(), MECHANISM, {1: "auto", "1": "auto"}), "two methods have the same name"),
        ((some_tables(), "FREQ(", everything), "FREQ"),
    ],
)
def test_what_makes_no_study_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        study(*arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 5}, "states its own width"),
        ({"attack": "bayes"}, "attack 'bayes' is not one of matching"),
        ({"time_limit": 0}, "time_limit must be a positive"),
        ({"solver": 1}, "no argument 'solver'"),
    ],
)
def test_options_that_are_wrong_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        study(some_tables(), MECHANISM, everything, **options)


def test_decoys_are_refused() -> None:
    with_decoys = Mechanism("FREQ(6)", width=5, defence=Decoys(0.2, Key(bytes(range(32)))))
    with pytest.raises(InputError, match="without its defence"):
        study(some_tables(), with_decoys, everything)
    assert not re.search("[0-9a-f]{16}", repr(study(some_tables(), MECHANISM, everything)))


def test_pictures_show_the_numbers(found: Study) -> None:
    pytest.importorskip("matplotlib")
    profile = found.plot()
    lines = {line.get_label(): line for line in profile.axes[0].lines}
    frame = found.to_frame("pandas")
    best = frame[frame.safe == True].groupby("table").cost.min()  # noqa: E712
    for method in METHODS:
        rows = frame[(frame.method == method) & (frame.safe == True)]  # noqa: E712
        least = best[rows.table].to_numpy()
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = np.where(rows.cost == least, 1.0, rows.cost / least)
        x, y = (np.asarray(d, float) for d in lines[method].get_data())
        for factor in (1.0, 1.3, 2.0):
            if factor <= x[-1]:
                drawn = y[np.flatnonzero(x <= factor)[-1]]
                assert drawn == pytest.approx((ratios <= factor + 1e-12).sum() / 8)
    unsafe = found.plot("unsafe")
    shares = {line.get_label(): np.asarray(line.get_ydata())[0] for line in unsafe.axes[0].lines}
    for method, facts in found.summary().items():
        assert shares[method] == pytest.approx(facts["unsafe_primary"] / facts["attacked_primary"])
    widths = found.plot("widths")
    assert "with the method known" in widths.axes[0].get_title()
    with pytest.raises(InputError, match="kind 'pie' is not one of"):
        found.plot("pie")
    plain = study(some_tables(), MECHANISM, everything)
    with pytest.raises(InputError, match="attack='matching'"):
        plain.plot("unsafe")
    assert "from the release alone" in plain.plot("widths").axes[0].get_title()
