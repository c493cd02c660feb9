"""Experiments: trials are facts about tables, tables of results are sums over trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attacks.algorithm_known.matching_attack import matching
from attacks.fibre.consistent_tables import Fibre
from csp import InputError, Table, suppress
from studies.matching.scenarios import SCENARIOS, Scenario, TieBy, draw_table
from studies.matching.tables import (
    PAPER,
    by_dimension,
    candidates_by_dimension,
    distance,
    latency,
    ratios,
    spread,
    tidy,
    width_counts,
)
from studies.matching.trials import CellResult, Trial, load_trials, run_trials, timing, trial


def test_trials_say_what_a_reference_attack_says() -> None:
    for name in ("plain", "positive-strict", "lift-strict-values", "positive-small"):
        scenario = SCENARIOS[name]
        attacked = 0
        for index in range(6):
            one = trial(name, 3, index, 5)
            table = draw_table(scenario, 3, index, 5)
            if one.outcome != "attacked":
                continue
            protected = scenario.mechanism.protect(table)
            fibre = Fibre(protected.release)
            assert one.fibre == fibre.count()
            if one.fibre > 60:
                continue
            attacked += 1
            found = matching(protected.release, scenario.mechanism, method="reference")
            primary = protected.problem.primary[found.cells]
            assert [c.width for c in one.cells] == found.width[primary].tolist()
            assert found.values is not None
            sizes = np.array([len(v) for v in found.values])
            assert [c.values for c in one.cells] == sizes[primary].tolist()
            assert [c.verdict for c in one.cells] == found.verdict[primary].tolist()
            assert one.dimension == fibre.dimension
            assert one.suppressed == int(protected.pattern.sum())
        assert attacked


def test_draws_depend_on_their_numbers_alone() -> None:
    plain = SCENARIOS["plain"]
    one = draw_table(plain, 4, 7, 3)
    assert (one.values == draw_table(plain, 4, 7, 3).values).all()
    assert (one.values != draw_table(plain, 4, 8, 3).values).any()
    drawn = np.concatenate([draw_table(plain, 6, i, 0).values for i in range(200)])
    inner = np.concatenate(
        [t.values[~t.margins] for t in (draw_table(plain, 6, i, 0) for i in range(200))]
    )
    assert (drawn >= 0).all()
    # |N(15, 10)| rounded: a share of 12.1 % below 5.
    assert np.mean(inner < 5) == pytest.approx(0.121, abs=0.012)
    for kind, low in (("abs", 0), ("lift", 1), ("clip", 0), ("resample", 0)):
        values = draw_table(Scenario(kind), 30, 1, 1).values
        assert values.min() == low
    same = (
        draw_table(Scenario("abs"), 9, 2, 2).values == draw_table(Scenario("clip"), 9, 2, 2).values
    )
    assert same.any()
    assert not same.all()


def test_ties_are_broken_as_the_reading_says() -> None:
    table = Table.from_array([[3, 20, 21], [30, 40, 26], [31, 27, 50]])
    sums = {}
    for kind in ("small", "large"):
        mechanism = Scenario(ties=kind).mechanism
        pattern = mechanism.protect(table).pattern
        sums[kind] = int(table.values[pattern].sum())
        assert pattern.sum() == 4
    # The sensitive cell and one cell of another row and column span the four rectangles.
    assert sums == {"small": 3 + 21 + 30 + 26, "large": 3 + 21 + 31 + 50}
    cost = TieBy("values")(table)
    moved = table.values.copy()
    assert (cost == TieBy("values")(table.replace(values=moved))).all()
    assert TieBy("values").cellwise
    problem = Scenario(ties="values").mechanism.problem(table)
    assert suppress(problem).pattern.sum() == 4


def test_experiments_go_on_where_they_stopped(tmp_path: Path) -> None:
    store = tmp_path / "trials.jsonl"
    seen: list[tuple[int, int]] = []
    options = {"scenarios": ["plain"], "sides": [3], "seed": 2}
    first = run_trials(store, tables=3, progress=lambda *x: seen.append(x), **options)  # type: ignore[arg-type]
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    with store.open("a") as file:
        file.write('{"scenario": "pl')  # cut off
    more = run_trials(store, tables=4, progress=lambda *x: seen.append(x), **options)  # type: ignore[arg-type]
    assert seen[4:] == [(3, 4), (4, 4)]
    assert more[:3] == first
    assert load_trials(store) == more
    parallel = run_trials(tmp_path / "other.jsonl", tables=4, jobs=2, **options)  # type: ignore[arg-type]
    timeless = [[replace(t, attack=0.0, solve=0.0) for t in ts] for ts in (more, parallel)]
    assert timeless[0] == timeless[1]


def test_wrong_experiments_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "trials.jsonl"
    base = {"scenarios": ["plain"], "sides": [3], "tables": 1}
    for change, words in (
        ({"scenarios": ["nothing"]}, "is not one of"),
        ({"sides": [1]}, "side 1 is below 2"),
        ({"tables": 0}, "tables 0 is below 1"),
        ({"jobs": 0}, "runs nothing"),
    ):
        with pytest.raises(InputError, match=words):
            run_trials(store, **{**base, **change})  # type: ignore[arg-type]
    store.write_text('{"a": 1}\n')
    with pytest.raises(InputError, match="line 1: no trial"):
        load_trials(store)
    for wrong in ({"negatives": "x"}, {"ties": "x"}):
        with pytest.raises(InputError, match="is not one of"):
            Scenario(**wrong)


def made(index: int, side: int, dimension: int, widths: list[int], fibre: int | None) -> Trial:
    cells = tuple(CellResult(20, w, w + 1, "proved safe") for w in widths)
    return Trial(
        "plain", side, index, 0, "attacked" if widths else "no primary", 4, dimension, fibre,
        attack=index + 1.0, cells=cells,
    )  # fmt: skip


def test_tables_of_results_are_sums_over_trials() -> None:
    trials = [
        made(0, 4, 1, [0, 8, 9], 5), made(1, 4, 2, [3], 50), made(2, 5, 1, [7, 7], None),
        made(3, 4, 0, [], None),
    ]  # fmt: skip
    assert ratios(trials) == {16: (2, 4), 25: (2, 2)}
    assert by_dimension(trials) == {16: {1: (1, 3), 2: (1, 1)}, 25: {1: (2, 2)}}
    assert width_counts(trials)[16] == (1, 0, 0, 1, 0, 0, 0, 0)
    assert width_counts(trials)[25] == (0, 0, 0, 0, 0, 0, 0, 2)
    assert candidates_by_dimension(trials) == {16: {1: [5], 2: [50]}, 25: {}}
    assert latency(trials)[16] == {"mean": 1.5, "median": 1.5, "largest": 2.0}
    tables, cells = tidy(trials)
    assert tables["unsafe"] == [1, 1, 2, 0]
    assert cells["width"] == [0, 8, 9, 3, 7, 7]
    assert cells["index"] == [0, 0, 0, 1, 2, 2]
    assert distance((1, 0), (0, 5)) == 1
    assert distance((1, 3), (2, 6)) == 0


def test_the_spread_is_that_of_small_experiments() -> None:
    trials = [made(i, 4, 1, [0 if i % 2 else 9], 5) for i in range(400)]

    def share(some: object) -> float:
        return float(np.mean([t.cells[0].width < 8 for t in some]))  # type: ignore[attr-defined]

    # Half and half, 50 tables: the standard deviation of a share is (0.25 / 50) ** 0.5.
    assert spread(trials, share, draws=2000) == pytest.approx((0.25 / 50) ** 0.5, rel=0.1)


def test_the_figures_of_the_paper_agree_with_one_another() -> None:
    sums = {cells: sum(counts) for cells, counts in PAPER["widths"].items()}
    assert sums == {16: 48, 25: 117, 36: 190, 49: 226}
    assert sums == {cells: bad for cells, (bad, _) in PAPER["ratios"].items()}
    # Ratios printed beside them in Table 2, and widths of 0 ("about 40 %" of the larger tables).
    shares = {cells: f"{bad / primary:.2f}" for cells, (bad, primary) in PAPER["ratios"].items()}
    assert shares == {16: "0.46", 25: "0.69", 36: "0.83", 49: "0.83"}
    assert [f"{PAPER['widths'][c][0] / sums[c]:.1f}" for c in (36, 49)] == ["0.4", "0.4"]


def test_timings_compare_methods() -> None:
    for index in range(5):
        one = timing(4, index, 1)
        assert one.agree
        if one.outcome == "attacked":
            assert one.full is not None
            assert min(one.setup, one.hull, one.every, one.full) >= 0
