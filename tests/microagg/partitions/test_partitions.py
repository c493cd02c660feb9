"""Partitions by MDAV, its variant with clusters of variable size, and by single attributes."""

from __future__ import annotations

import csv
from decimal import Decimal
from fractions import Fraction
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp.compiled import at_once
from csp.errors import InputError
from microagg.partitions import exact_means, kdtree_search, univariate
from microagg.partitions.methods import mdav, vmdav
from microagg.partitions.methods.mdav import mdav_labels
from microagg.partitions.methods.vmdav import vmdav_labels
from microagg.partitions.univariate import ranking_labels
from tests.support import oracles_microagg as oracles
from tests.support.shared import examples, shared_data, uncompiled

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def standardised(name, wanted=None):
    """Attributes of a public file with mean 0 and standard deviation 1."""
    with shared_data("microdata", name).open() as file:
        rows = list(csv.DictReader(file))
    names = wanted or list(rows[0])
    x = np.array([[float(row[name]) for name in names] for row in rows])
    return np.ascontiguousarray((x - x.mean(axis=0)) / x.std(axis=0))


def census():
    return standardised("sdcMicro_CASCrefmicrodata.csv")


def eia():
    parts = [f"{who}{what}" for who in ("RES", "COM", "IND") for what in ("REVENUE", "SALES")]
    others = ["OTHREVENUE", "OTHRSALES", "TOTREVENUE", "TOTSALES"]
    return standardised("sdcMicro_EIA.csv", ["UTILITYID", *parts, *others])


def loss(points, labels):
    """100 * SSE / SST."""
    sizes = np.bincount(labels)
    sse = 0.0
    for column in points.T:
        mean = np.bincount(labels, column) / sizes
        sse += ((column - mean[labels]) ** 2).sum()
    return 100 * sse / ((points - points.mean(axis=0)) ** 2).sum()


@st.composite
def files(draw, largest=40):
    """Points with many ties, or none, or of very different sizes; and k."""
    n = draw(st.integers(1, largest))
    d = draw(st.integers(1, 4))
    kind = draw(st.integers(0, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind == 0:
        points = random.integers(0, draw(st.integers(1, 5)), (n, d)).astype(float)
    elif kind == 1:
        points = random.normal(size=(n, d))
    elif kind == 2:
        points = random.integers(-2, 3, (n, d)) * 10.0 ** random.integers(-20, 20, (n, d))
    else:
        # Tenths of integers far from zero: what should tie ties only up to rounding.
        points = 1e6 + random.integers(0, 4, (n, d)) / 10
    return points, draw(st.integers(1, n))


# ---- sums -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["plain", "compiled"])
@given(st.lists(FINITE, min_size=1, max_size=8), st.integers(0, 8))
def test_means_are_rounded_once(way, numbers, gone):
    run = vars(exact_means) if way == "plain" else mdav.KERNELS.compiled
    points = np.array(numbers)[:, None]
    gone = min(gone, len(numbers) - 1)
    sums = exact_means.empty_sums(points)
    run["add_all"](sums)
    for row in range(gone):
        run["add"](sums, row, -1)
    out = np.empty(1)
    run["means"](sums, len(numbers) - gone, out)
    assert out[0] == float(sum(map(Fraction, numbers[gone:])) / len(numbers[gone:]))
    assert exact_means.exact_mean(points[gone:])[0] == out[0]
    whole, unit = exact_means.whole(points[gone:, 0])
    assert exact_means.ratio(sum(whole), unit, len(whole)) == out[0]


# ---- MDAV -----------------------------------------------------------------------------------


@given(files())
def test_mdav_is_the_definition(file):
    points, k = file
    assert mdav_labels(points, k).tolist() == oracles.mdav(points, k)


def by_tree(points, k):
    """MDAV by the tree, however few records there are."""
    with mock.patch.object(mdav, "COMPILED_FROM", 0):
        return mdav_labels(points, k)


@given(files())
def test_mdav_by_tree_is_the_definition(file):
    points, k = file
    with mock.patch.object(mdav, "SMALL_TREE", 0):
        assert by_tree(points, k).tolist() == oracles.mdav(points, k)


@given(files(3000), st.integers(1, 30))
def test_mdav_by_tree_is_mdav_in_numpy(file, k):
    points = file[0]
    k = min(k, len(points))
    assert (by_tree(points, k) == mdav_labels(points, k)).all()


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("read", [census, eia])
def test_mdav_of_public_files_by_tree_is_mdav_in_numpy(read, k):
    points = read()
    assert (by_tree(points, k) == mdav_labels(points, k)).all()


def test_mdav_where_compiled_code_takes_over_is_mdav_in_numpy():
    points = np.random.default_rng(7).integers(0, 40, (mdav.COMPILED_FROM, 3)).astype(float)
    with mock.patch.object(mdav, "COMPILED_FROM", len(points) + 1):
        labels = mdav_labels(points, 3)
    with at_once():
        assert (mdav_labels(points, 3) == labels).all()


@pytest.mark.parametrize(
    ("read", "losses"),
    [
        (census, {3: "5.6922", 4: "7.4947", 5: "9.0884", 10: "14.1559"}),
        (eia, {3: "0.4829", 4: "0.6713", 5: "1.6667", 10: "3.8397"}),
    ],
)
def test_mdav_loses_what_is_published(read, losses):
    points = read()
    found = {k: f"{loss(points, mdav_labels(points, k)):.4f}" for k in losses}
    assert found == losses


@pytest.mark.parametrize("k", [0, -1, 5, 1.5, True])
def test_mdav_refuses_sizes(k):
    with pytest.raises(InputError, match="k "):
        microagg.mdav(np.zeros((4, 2)), k, constant="keep")


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e200])
def test_mdav_refuses_what_has_no_distance(wrong):
    points = np.zeros((4, 2))
    points[2, 1] = wrong
    with pytest.raises(InputError, match="row 2, column 1"):
        mdav_labels(points, 2)


@pytest.mark.parametrize("compiled_from", [0, 10**6])
def test_mdav_reports_progress_and_stops(compiled_from):
    points = np.random.default_rng(5).normal(size=(900, 2))
    calls = []

    def stop(done, n):
        calls.append((done, n))
        if done > 300:
            raise KeyboardInterrupt

    with mock.patch.multiple(mdav, COMPILED_FROM=compiled_from, ROUNDS=10):
        mdav_labels(points, 3, progress=lambda *at: calls.append(at))
        dones = [done for done, _ in calls]
        assert dones == sorted(dones)
        assert len(set(dones)) > 5
        assert calls[-1] == (900, 900)
        with pytest.raises(KeyboardInterrupt):
            mdav_labels(points, 3, progress=stop)
        assert 300 < calls[-1][0] < 600


@examples(12)
@given(files(60))
def test_the_tree_in_plain_python_is_the_tree_compiled(file):
    points, k = file
    with uncompiled(mdav.KERNELS):
        assert (by_tree(points, k) == mdav_labels(points, k)).all()


@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans())
def test_a_record_lies_between_the_corners_of_its_box(seed, d, whole):
    random = np.random.default_rng(seed)
    shape = (d, kdtree_search.LANES)
    low = random.integers(-3, 4, shape).astype(float) if whole else random.normal(size=shape)
    high = low + random.integers(0, 3, shape)
    point = np.round(random.normal(size=d), 1)
    inside = low + np.round(random.random(shape)) * (high - low)
    near, apart, far = np.empty((3, kdtree_search.LANES))
    kdtree_search.near_corners(low, high, point, near)
    kdtree_search.squares(inside, point, apart)
    kdtree_search.far_corners(low, high, point, far)
    assert (near <= apart).all()
    assert (apart <= far).all()


# ---- V-MDAV ---------------------------------------------------------------------------------


GAMMAS = st.sampled_from([0.0, 0.2, 0.5, 1.1, 3.0])


def vmdav_by_tree(points, k, gamma):
    with mock.patch.object(vmdav, "COMPILED_FROM", 0):
        return vmdav_labels(points, k, gamma)


@given(files(25), GAMMAS)
def test_vmdav_is_the_definition(file, gamma):
    points, k = file
    expected = oracles.vmdav(points, k, gamma)
    assert vmdav_labels(points, k, gamma).tolist() == expected
    assert vmdav_by_tree(points, k, gamma).tolist() == expected


@given(files(1000), st.integers(1, 20), GAMMAS)
def test_vmdav_by_tree_is_vmdav_in_numpy(file, k, gamma):
    points = file[0]
    k = min(k, len(points))
    assert (vmdav_by_tree(points, k, gamma) == vmdav_labels(points, k, gamma)).all()


@pytest.mark.parametrize(
    ("read", "k", "losses"),
    [
        (census, 3, {0: "5.662", 0.2: "5.662", 0.5: "5.675", 1.1: "7.065"}),
        (census, 5, {0: "9.007", 0.2: "9.007", 0.5: "9.042", 1.1: "10.54"}),
        (census, 10, {0: "14.07", 0.2: "14.07", 0.5: "14.04", 1.1: "15.50"}),
        (eia, 5, {0.2: "1.729", 0.5: "1.145", 1.1: "1.304"}),
        (eia, 10, {0: "3.55", 0.2: "3.64", 0.5: "3.24", 1.1: "2.80"}),
    ],
)
def test_vmdav_loses_what_another_program_loses(read, k, losses):
    points = read()
    for gamma, printed in losses.items():
        places = len(printed.split(".")[1])
        assert f"{loss(points, vmdav_labels(points, k, gamma)):.{places}f}" == printed


@pytest.mark.parametrize("gamma", [-0.1, np.nan, np.inf])
def test_vmdav_refuses_gamma(gamma):
    with pytest.raises(InputError, match="gamma"):
        vmdav_labels(np.zeros((4, 2)), 2, gamma)


# ---- one attribute --------------------------------------------------------------------------

SHARP = st.sampled_from([0.0, 1.0, 3.0, 1e16, 1e16 + 2, -1e16, 0.1, 0.2, 0.3, 1e-170, 5e-324])
COLUMNS = st.one_of(
    st.lists(SHARP, min_size=1, max_size=30),
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
)


@given(COLUMNS, st.integers(1, 7))
def test_ranking_by_mdav_is_mdav_of_one_attribute(numbers, k):
    k = min(k, len(numbers))
    column = np.array(numbers)
    expected = oracles.mdav(column[:, None], k)
    assert ranking_labels(column, k, method="mdav").tolist() == expected
    assert mdav_labels(column[:, None], k).tolist() == expected


@pytest.mark.parametrize("way", ["exact", "compiled", "compiled, exact"])
@given(COLUMNS.map(lambda numbers: numbers[:12]), st.integers(1, 5))
def test_optimal_ranking_is_the_best_of_all(way, numbers, k):
    k = min(k, len(numbers))
    column = np.array(numbers)
    fits = 0 if "exact" in way else univariate.FITS
    start = 0 if "compiled" in way else univariate.COMPILED_FROM
    with mock.patch.multiple(univariate, FITS=fits, COMPILED_FROM=start):
        labels = ranking_labels(column, k, method="optimal")
    order = sorted(range(len(numbers)), key=lambda row: (numbers[row], row))
    assert np.bincount(labels).tolist() == oracles.optimal_groups(column[order], k)
    assert (np.diff(labels[order]) >= 0).all()


@given(st.integers(1, 300), st.integers(1, 12), st.integers(0, 2**32))
def test_optimal_ranking_is_the_same_by_both_integers_and_in_plain_python(n, k, seed):
    column = np.random.default_rng(seed).integers(0, 60, n) * 0.25
    k = min(k, n)
    labels = ranking_labels(column, k, method="optimal")
    with mock.patch.object(univariate, "COMPILED_FROM", 0):
        assert (ranking_labels(column, k, method="optimal") == labels).all()
        with mock.patch.object(univariate, "FITS", 0):
            assert (ranking_labels(column, k, method="optimal") == labels).all()
        with uncompiled(univariate.KERNELS):
            assert (ranking_labels(column, k, method="optimal") == labels).all()


@pytest.mark.parametrize("k", [3, 10])
def test_optimal_ranking_loses_no_more_than_mdav(k):
    for column in census().T:
        best = ranking_labels(column, k, method="optimal")
        assert loss(column[:, None], best) <= loss(
            column[:, None], ranking_labels(column, k, method="mdav")
        ) * (1 + 1e-12)
        assert k <= np.bincount(best).min()
        assert np.bincount(best).max() < 2 * k


def test_cancellation_does_not_fool_optimal_ranking():
    # In floating point, sums of squares near 1e16 hide the distances of one.
    column = 1e8 + np.array([0.0, 1.0, 3.0, 4.0, 5.0, 9.0, 10.0, 10.0])
    assert ranking_labels(column, 2, method="optimal").tolist() == [0, 0, 1, 1, 1, 2, 2, 2]


def test_ranking_refuses_methods():
    with pytest.raises(InputError, match="optimal"):
        ranking_labels(np.zeros(4), 2, method="best")


@pytest.mark.parametrize("method", ["mdav", "optimal"])
def test_individual_ranking_groups_each_attribute_by_itself(method):
    data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31]}
    found = microagg.individual_ranking(data, 3, method=method)
    young, old = sum([21, 24, 22]) / 3, sum([60, 61, 65]) / 3
    assert found.names == ("age", "pay")
    assert found.masked[:, 0] == pytest.approx([young, old, young, young, old, old])
    assert found.masked[:, 1] == pytest.approx([9, 94 / 3, 9, 9, 94 / 3, 94 / 3])
    assert found.information_loss == pytest.approx(0.8339, abs=5e-5)
    assert "6 records, 2 attributes" in repr(found)
    assert list(found.to_frame("pandas")["pay"]) == pytest.approx(found.masked[:, 1].tolist())


# ---- numbers that no float tells apart -----------------------------------------------------------

BEYOND = 2**53


@pytest.mark.parametrize(
    "column",
    [
        [BEYOND + i for i in range(1, 7)],
        np.array([-(2**60) - 2**20 * i for i in range(6)]),
        [2**70 + i * 2**60 for i in range(6)],
        [f"{90071992547409 + i}.93" for i in range(6)],
        [Decimal("90071992547409.93") + i for i in range(6)],
    ],
)
def test_means_beyond_floats_are_refused(column):
    for make in (microagg.mdav, microagg.vmdav, microagg.mondrian, microagg.individual_ranking):
        with pytest.raises(InputError, match=r"beyond 2\*\*53"):
            make({"x": column}, 3)


@pytest.mark.parametrize(
    "column",
    [
        [BEYOND - i for i in range(6)],
        [float(BEYOND * (i + 1)) for i in range(6)],  # floats are what they are
        [f"0.{i}7143516373249306" for i in range(6)],  # and so are those written down
        ["12345678.25", "12345679.5", "3", "4", "5", "6"],
        list(map(Decimal, range(6))),
    ],
)
def test_other_means_are_not(column):
    found = microagg.mdav({"x": column}, 3)
    wanted = [[Fraction(str(c)) for c in map(column.__getitem__, m)] for m in found.members()]
    for mean, members in zip(found.centroids[:, 0], wanted, strict=True):
        assert mean == pytest.approx(float(sum(members) / len(members)), rel=1e-15)
    if isinstance(column[0], int):  # sizes times means are the sums, to the unit
        for mean, members in zip(found.centroids[:, 0], wanted, strict=True):
            assert round(Fraction(float(mean)) * len(members)) == pytest.approx(sum(members), abs=1)


# ---- groups of other sizes than k ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k", [3])
def test_vmdav_on_groups_of_5_4_and_7(seed, k):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [5, 4, 7])
    points = np.array([[0, 0], [100, 0], [0, 100]])[truth] + rng.normal(0, 1, (16, 2)).round(3)
    for gamma in (0.0, 0.2, 0.5, 1.1):
        found = vmdav_labels(points, k, gamma)
        assert found.tolist() == oracles.vmdav(points, k, gamma)
    # The gamma that loses least mixes none of the groups; 0 always has to: 5 is not 3 and 3.
    best = microagg.vmdav(points, k).labels
    assert all(len(set(truth[best == g])) == 1 for g in set(best.tolist()))
    fixed = vmdav_labels(points, k, 0.0)
    assert any(len(set(truth[fixed == g])) > 1 for g in set(fixed.tolist()))


# ---- information loss of any data ----------------------------------------------------------------


def test_information_loss_takes_what_its_siblings_take():
    data = {"age": [21, 60, 24, 22, 61, 65], "pay": [9, 30, 8, 10, 33, 31], "name": list("abcdef")}
    found = microagg.mdav(data, 3, attributes=["age", "pay"])
    wanted = found.information_loss
    for columns in (data, pd.DataFrame(data), pl.DataFrame(data)):
        assert microagg.information_loss(columns, found) == wanted
        assert microagg.information_loss(
            columns, found.labels.tolist(), attributes=["age", "pay"]
        ) == pytest.approx(wanted)
    # By hand: 100 * SSE / SST of one attribute, whose scale does not matter.
    values, labels = [Fraction(v) for v in (21, 60, 24, 22, 61, 65)], [0, 1, 0, 0, 1, 1]
    means = [sum(v for v, g in zip(values, labels, strict=True) if g == h) / 3 for h in (0, 1)]
    sse = sum((v - means[g]) ** 2 for v, g in zip(values, labels, strict=True))
    sst = sum((v - sum(values) / 6) ** 2 for v in values)
    assert microagg.information_loss(data, labels, attributes=["age"]) == pytest.approx(
        float(100 * sse / sst)
    )
    for wrong, words in (
        ([0, 0, 0, 2, 2, 2], "no record has the label 1"),
        ([0, 1], "one whole-number label each"),
        ("abcdef", "one whole-number label each"),
        ([0, 0, 0, -1, 1, 1], "at least 0"),
        ([0, 0, 0, 0.5, 1, 1], "one whole-number label each"),
    ):
        with pytest.raises(InputError, match=words):
            microagg.information_loss(data, wrong, attributes=["age"])
    with pytest.raises(InputError, match="2 clusters and 1 attributes"):
        microagg.information_loss(data, labels, [[True]], attributes=["age"])
