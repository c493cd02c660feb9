"""Medians and weighted means of clusters, against pandas and records repeated by their weights."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp import InputError
from tests.support.shared import examples

RNG = np.random.default_rng(12)
DATA = pd.DataFrame(
    {
        "a": RNG.lognormal(2, 1, 50).round(2),
        "b": RNG.integers(0, 30, 50).astype(float),
        "sex": RNG.choice(["f", "m"], 50),
        "w": RNG.integers(1, 5, 50),
    }
)


@given(st.data())
@examples(100)
def test_weights_stand_for_equal_records(draws):
    """A record of weight 3 counts like three records."""
    n = draws.draw(st.integers(4, 14))
    values = draws.draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))
    weights = draws.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    data = {"x": values, "w": weights}
    found = microagg.mdav(data, 2, attributes=["x"], constant="keep")
    mean = microagg.aggregated(data, found, "mean", weight="w")
    median = microagg.aggregated(data, found, weight="w")
    plain = microagg.aggregated(data, found)
    for c, rows in enumerate(found.members()):
        own = [values[i] for i in rows]
        repeated = [values[i] for i in rows for _ in range(weights[i])]
        exact = Fraction(sum(repeated), len(repeated))
        assert mean.centroids[c, 0] == pytest.approx(float(exact))
        assert median.centroids[c, 0] == statistics.median(repeated)
        assert plain.centroids[c, 0] == statistics.median(own)


def test_clusters_keys_and_losses():
    start = microagg.mdav(DATA, 4, attributes=["a", "b"], within="sex")
    for words, made, figure in (
        ("median", microagg.aggregated(DATA, start), lambda g, _: g.median()),
        ("weighted mean", microagg.aggregated(DATA, start, "mean", weight="w"),
         lambda g, w: (g * w).sum() / w.sum()),
    ):  # fmt: skip
        assert made.aggregate == words
        assert made.labels.tolist() == start.labels.tolist()
        frame = made.to_frame()
        assert frame["sex"].tolist() == DATA["sex"].tolist()
        lost = total = 0.0
        for name in ("a", "b"):
            expected = pd.Series(index=DATA.index, dtype=float)
            for rows in start.members():
                expected[rows] = figure(DATA[name][rows], DATA["w"][rows])
            assert frame[name].tolist() == pytest.approx(expected.tolist())
            lost += ((DATA[name] - expected) ** 2).sum() / DATA[name].var(ddof=0)
            total += len(DATA)
        assert made.information_loss == pytest.approx(100 * lost / total)
        assert made.information_loss > start.information_loss  # no value is nearer than the mean
    again = microagg.aggregated(DATA, start, "mean")
    assert again.centroids.tolist() == start.centroids.tolist()
    assert again.information_loss == pytest.approx(start.information_loss)
    assert microagg.checks.anonymity(frame).k >= 4


@pytest.mark.parametrize("missing", ["drop", "own"])
def test_missing_values_and_their_weights(missing):
    holes = DATA.copy()
    holes.loc[[3, 9, 30], "a"] = np.nan
    start = microagg.mdav(holes, 3, attributes=["a", "b"], missing=missing)
    made = microagg.aggregated(holes, start, weight="w")
    rows = start.kept.rows if missing == "drop" else np.arange(50)
    for c, members in enumerate(start.members()):
        for j, name in enumerate(("a", "b")):
            column = holes[name].to_numpy()[rows[members]]
            repeated = np.repeat(column, holes["w"].to_numpy()[rows[members]])
            if np.isnan(column).any():
                assert math.isnan(made.centroids[c, j])
            else:
                assert made.centroids[c, j] == statistics.median(repeated)
    assert math.isfinite(made.information_loss)


def test_rules_refuse_what_are_not_means():
    start = microagg.mdav(DATA, 4, attributes=["a", "b"])
    made = microagg.aggregated(DATA, start)
    for judge in (
        lambda: microagg.disclosure(DATA, made, "P(10)"),
        lambda: microagg.cells(DATA, made),
        lambda: microagg.comply(DATA, 4, "P(10)", attributes=["a", "b"], partition=made),
        lambda: microagg.information_loss(DATA, made),
    ):
        with pytest.raises(InputError, match="publishes each median"):
            judge()
    with pytest.raises(InputError, match="row 2, column 'weight': a weight must be above 0"):
        microagg.aggregated(DATA, start, weight=[1, 0] * 25)
    with pytest.raises(InputError, match="weight= has 3 numbers for 50 records"):
        microagg.aggregated(DATA, start, weight=[1, 2, 3])
    with pytest.raises(InputError, match="aggregate 'mode'"):
        microagg.aggregated(DATA, start, "mode")
    with pytest.raises(InputError, match="no such column"):
        microagg.aggregated(microagg.read_records(DATA, ["a", "b"]), start, weight="w")
