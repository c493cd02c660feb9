"""Figures of two files, against pandas, numpy, the statistics module and a second estimation."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import statistics
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import microagg
from csp import InputError
from microagg.comparisons.regression import interval_overlap
from tests.support.shared import examples

RNG = np.random.default_rng(2)
N = 60
AGE = RNG.integers(18, 80, N)
DATA = pd.DataFrame(
    {
        "age": AGE,
        "pay": (3 * AGE + RNG.lognormal(3, 1, N)).round(1),
        "rent": RNG.normal(500, 90, N),
        "sex": RNG.choice(["f", "m"], N),
    }
)
MASKED = microagg.mdav(DATA, 4, attributes=["age", "pay", "rent"])


def test_figures_are_those_of_pandas():
    masked = MASKED.to_frame(keep=DATA[["sex"]])
    found = microagg.utility(DATA, masked, quantiles=(0.1, 0.975))
    assert found.names == ("age", "pay", "rent")
    assert found.left_out == ("sex",)
    assert found.statistics == ("mean", "sd", "median", "q10", "q97.5")
    frame = found.to_frame().set_index("attribute")
    for name in found.names:
        for which, file in (("original", DATA), ("masked", masked)):
            column = file[name].astype(float)
            expected = {
                "mean": statistics.fmean(column), "sd": statistics.stdev(column),
                "median": statistics.median(column), "q10": column.quantile(0.1),
                "q97.5": column.quantile(0.975),
            }  # fmt: skip
            for word, value in expected.items():
                assert frame.loc[name, f"{word}_{which}"] == pytest.approx(value), (name, word)
        two_samples = stats.ks_2samp(DATA[name], masked[name])
        assert frame.loc[name, "ks_distance"] == pytest.approx(two_samples.statistic)
    columns = list(found.names)
    assert found.original_correlations == pytest.approx(DATA[columns].corr().to_numpy())
    assert found.masked_correlations == pytest.approx(masked[columns].corr().to_numpy())
    one, other, change = found.largest_change
    table = masked[columns].corr() - DATA[columns].corr()
    assert change == pytest.approx(table.loc[one, other])
    assert abs(change) == pytest.approx(table.abs().to_numpy().max())
    pairs = found.to_frame("correlations")
    assert len(pairs) == 3
    for row in pairs.itertuples():
        assert row.original == pytest.approx(DATA[row.attribute].corr(DATA[row.other]))


@given(st.data())
@examples(80)
def test_missing_values_are_left_out(draws):
    def column() -> list[float | None]:
        n = draws.draw(st.integers(1, 12))
        return draws.draw(st.lists(st.none() | st.integers(-5, 5), min_size=n, max_size=n))

    one, two = column(), column()
    if {None} in (set(one), set(two)):
        return
    found = microagg.utility({"x": one}, {"x": two}, ["x"])
    there = [[v for v in part if v is not None] for part in (one, two)]
    assert found.missing.tolist() == [[one.count(None), two.count(None)]]
    assert found.records == (len(one), len(two))
    for part, figures in zip(there, (found.original[0], found.masked[0]), strict=True):
        assert figures[0] == pytest.approx(statistics.fmean(part))
        assert figures[2] == statistics.median(part)
        assert math.isnan(figures[1]) if len(part) == 1 else True
    # The distance by its definition, in fractions.
    shares = [
        [Fraction(sum(v <= x for v in part), len(part)) for x in range(-5, 6)] for part in there
    ]
    gap = max(abs(a - b) for a, b in zip(*shares, strict=True))
    assert found.distances[0] == float(gap)


def test_rows_may_be_in_any_order_and_number():
    masked = MASKED.to_frame().sample(frac=1, random_state=1)
    one = microagg.utility(DATA, MASKED, regressions={"pay": "age"})
    two = microagg.utility(DATA, masked, regressions={"pay": ["age"]})
    for name in ("original", "masked", "distances", "masked_correlations"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), nan_ok=True)
    assert one.regressions[0].overlap == pytest.approx(two.regressions[0].overlap)
    part = microagg.utility(DATA, masked[:7])
    assert part.records == (N, 7)
    assert part.masked[0, 0] == pytest.approx(masked["age"][:7].mean())


def test_a_regression_is_that_of_the_normal_equations():
    found = microagg.utility(DATA, MASKED, regressions={"pay": ["age", "rent"]})
    (one,) = found.regressions
    assert one.terms == ("(intercept)", "age", "rent")
    assert one.records == (N, N)
    ends = []
    for file, coefficients, errors in (
        (DATA, one.original, one.original_errors),
        (MASKED.to_frame(), one.masked, one.masked_errors),
    ):
        X = np.column_stack([np.ones(N), file[["age", "rent"]].to_numpy(float)])
        y = file["pay"].to_numpy(float)
        beta, rss, *_ = np.linalg.lstsq(X, y, rcond=None)
        covariance = rss[0] / (N - 3) * np.linalg.inv(X.T @ X)
        assert coefficients == pytest.approx(beta)
        assert errors == pytest.approx(np.sqrt(np.diag(covariance)))
        wide = stats.t.ppf(0.975, N - 3) * errors
        ends.append((beta - wide, beta + wide))
    for j in range(3):
        shared = max(0, min(e[1][j] for e in ends) - max(e[0][j] for e in ends))
        shares = [shared / (high[j] - low[j]) for low, high in ends]
        assert one.overlap[j] == pytest.approx(statistics.fmean(shares))
    table = found.to_frame("regressions")
    assert table["term"].tolist() == list(one.terms)
    assert table["original"].tolist() == one.original.tolist()
    lone = stats.linregress(DATA["age"], DATA["pay"])
    (single,) = microagg.utility(DATA, DATA, regressions={"pay": "age"}).regressions
    assert single.original.tolist() == pytest.approx([lone.intercept, lone.slope])
    assert single.original_errors.tolist() == pytest.approx([lone.intercept_stderr, lone.stderr])
    assert single.overlap.tolist() == [1, 1]


def test_intervals_that_are_apart_or_points():
    def ends(*pairs):
        return tuple(np.array(end, float) for end in zip(*pairs, strict=True))

    found = interval_overlap(
        ends((0, 1), (0, 2), (0, 4), (3, 3), (3, 3)), ends((2, 3), (1, 3), (1, 2), (3, 3), (2, 4))
    )
    assert found.tolist() == [0, 0.5, (1 / 4 + 1) / 2, 1, 0.5]


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="no scikit-learn")
@pytest.mark.parametrize("noise", [0.0, 0.5, 40.0])
def test_the_propensity_score_is_that_of_a_second_estimation(noise):
    columns = ["age", "pay", "rent"]
    spread = noise * DATA[columns].std().to_numpy()
    masked = DATA[columns] + spread * np.random.default_rng(5).normal(size=(N, 3))
    found = microagg.utility(DATA, masked[:40], columns, propensity=True).propensity
    X = np.vstack([DATA[columns].to_numpy(float), masked[:40].to_numpy(float)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = np.column_stack([X, *(X[:, i] * X[:, j] for i in range(3) for j in range(i + 1))])
    X = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    t = np.repeat([0.0, 1.0], [N, 40])
    best = optimize.minimize(
        lambda b: np.logaddexp(0, X @ b).sum() - t @ X @ b, np.zeros(10),
        jac=lambda b: X.T @ (1 / (1 + np.exp(-X @ b)) - t), method="BFGS",
    )  # fmt: skip
    chances = 1 / (1 + np.exp(-X @ best.x))
    assert found.pmse == pytest.approx(((chances - 0.4) ** 2).mean(), abs=1e-6)
    assert found.expected == pytest.approx(9 * 0.6**2 * 0.4 / 100)
    assert found.ratio == pytest.approx(found.pmse / found.expected)
    assert found.records == (N, 40)


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="no scikit-learn")
def test_files_that_cannot_or_must_be_told_apart():
    same = microagg.utility(DATA, DATA, propensity=True).propensity
    assert same.pmse == pytest.approx(0, abs=1e-12)
    far = microagg.utility(
        {"x": [1, 2, 3, 4]}, {"x": [101, 102, 103, 104]}, propensity=True
    ).propensity
    assert far.pmse == pytest.approx(0.25, abs=1e-3)
    flat = microagg.utility({"x": [1, 1]}, {"x": [1, 1]}, propensity=True).propensity
    assert (flat.pmse, flat.ratio) == (0, 1)
    # The square of 0 and 1 tells nothing more: one slope.
    two = microagg.utility({"x": [0, 0, 1, 1]}, {"x": [0, 1, 1, 1]}, propensity=True).propensity
    assert two.expected == pytest.approx(0.5**3 / 8)
    # By shares: of the four 0 and 1 each, a third and three fifths are masked.
    assert two.pmse == pytest.approx((3 * (1 / 3 - 1 / 2) ** 2 + 5 * (3 / 5 - 1 / 2) ** 2) / 8)
    means = microagg.utility(DATA, MASKED, propensity=True).propensity
    assert means.pmse > 1e-4  # equal means, smaller deviations


def test_scikit_learn_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr("microagg.comparisons.propensity.find_spec", lambda name: None)
    assert microagg.utility(DATA, MASKED).propensity is None
    with pytest.raises(InputError, match=r"pip install 'cellveil\[utility\]'"):
        microagg.utility(DATA, MASKED, propensity=True)


def test_nothing_of_the_original_is_printed_or_summed_up():
    """Two originals with one masked file give the same words."""
    other = DATA.assign(pay=DATA["pay"] * 2 + 1, age=DATA["age"][::-1].to_numpy() // 2)
    masked = MASKED.to_frame()
    said = []
    for file in (DATA, other):
        found = microagg.utility(file, masked, regressions={"pay": "age"}, propensity=False)
        said.append((repr(found), json.dumps(found.summary()), repr(found.regressions)))
    assert said[0] == said[1]
    one, two = (microagg.utility(f, masked).summary(reveal=True) for f in (DATA, other))
    assert one != two
    assert json.loads(json.dumps(one))["columns"][0]["attribute"] == "age"


def test_frames_files_and_results(tmp_path):
    path = tmp_path / "masked.csv"
    masked = MASKED.to_frame(keep=DATA[["sex"]])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(masked.columns), *masked.itertuples(index=False)])
    plain = microagg.utility(DATA, MASKED)
    for original, other in (
        (DATA, path), (pl.DataFrame(DATA.to_dict("list")), masked),
        (microagg.read_records(DATA, ["age", "pay", "rent"]), path), (path, path),
    ):  # fmt: skip
        found = microagg.utility(original, other)
        assert found.names == plain.names
        assert found.masked == pytest.approx(plain.masked)
    assert isinstance(microagg.utility(pl.DataFrame({"x": [1, 2]}), {"x": [1, 3]}).to_frame(),
                      pl.DataFrame)  # fmt: skip
    gaps = microagg.read_records({"x": [1, None, 3], "y": [1, 2, 3]}, missing="own")
    assert microagg.utility(gaps, gaps).missing.tolist() == [[1, 1], [0, 0]]


def test_wrong_calls(tmp_path):
    bad = {
        "names 'wage', which is not among the columns of the original": {"attributes": ["wage"]},
        "original: row 1, column 'sex'": {"attributes": ["sex"]},
        "quantiles must be numbers from 0 to 1": {"quantiles": [5]},
        "regressions= names 'wage'": {"regressions": {"wage": "age"}},
        "'age' is explained by itself": {"regressions": {"age": ["age"]}},
        "'age' has nothing that explains it": {"regressions": {"age": []}},
    }
    for said, words in bad.items():
        with pytest.raises(InputError, match=said):
            microagg.utility(DATA, DATA, **words)
    with pytest.raises(InputError, match="no column of numbers in common"):
        microagg.utility(DATA, {"x": [1, 2]})
    for empty, which in (((DATA, DATA[:0]), "masked file"), (({"age": []}, DATA), "original")):
        with pytest.raises(InputError, match=f"the {which} has no records"):
            microagg.utility(*empty)
    for wrong in (["pay"], {"pay": 5}):
        with pytest.raises(InputError, match="which columns explain each response"):
            microagg.utility(DATA, DATA, regressions=wrong)
    written = tmp_path / "masked.csv"
    written.write_text("sex;pay\nf;1.500\nm;2.250\n")  # thousands, or decimals
    with pytest.raises(
        InputError, match=r"in common: masked file: .* row 1, column 'pay': .* decimal"
    ):
        microagg.utility(DATA, written)
    with pytest.raises(InputError, match=r"microagg\.utility\(original, masked\) compares"):
        microagg.information_loss(DATA[["age", "pay"]], DATA[["age", "pay"]])
    twice = DATA.assign(more=2 * DATA["age"] + 1, one=1)
    for terms in (["age", "more"], ["one"]):
        with pytest.raises(InputError, match="constant or follows from the others"):
            microagg.utility(twice, twice, regressions={"pay": terms})
    with pytest.raises(InputError, match="2 complete records for 2 coefficients"):
        microagg.utility(DATA[:2], DATA, regressions={"pay": "age"})
    with pytest.raises(InputError, match="part 'rows'"):
        microagg.utility(DATA, DATA).to_frame("rows")
