"""Partitions by MDAV, its variant with clusters of variable size, and by single attributes."""

from __future__ import annotations

import csv
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp.errors import InputError
from microagg.partitions import mdav, sums
from microagg.partitions.mdav import compiled, mdav_labels
from microagg.partitions.vmdav import vmdav_labels
from tests import oracles_microagg as oracles
from tests.shared import shared_data

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
    run = {"add": sums.add, "means": sums.means} if way == "plain" else compiled()
    points = np.array(numbers)[:, None]
    base, digits = sums.digits_for(points)
    for bits in points.view(np.int64):
        run["add"](digits, base, bits, 1)
    for bits in points.view(np.int64)[: min(gone, len(numbers) - 1)]:
        run["add"](digits, base, bits, -1)
    left = numbers[min(gone, len(numbers) - 1) :]
    out = np.empty(1)
    run["means"](digits, base, len(left), np.zeros(digits.shape[1], np.int64), out)
    assert out[0] == float(sum(map(Fraction, left)) / len(left))


# ---- MDAV -----------------------------------------------------------------------------------


@given(files())
def test_mdav_is_the_definition(file):
    points, k = file
    assert mdav_labels(points, k).tolist() == oracles.mdav(points, k)


def by_passes(points, k):
    """MDAV without the tree."""
    with mock.patch.object(mdav, "FEW", len(points)):
        return mdav_labels(points, k)


@given(files())
def test_mdav_by_tree_is_the_definition(file):
    points, k = file
    with mock.patch.object(mdav, "FEW", 0):
        assert mdav_labels(points, k).tolist() == oracles.mdav(points, k)


@given(files(3000), st.integers(1, 30))
def test_mdav_by_tree_is_mdav_by_passes(file, k):
    points = file[0]
    k = min(k, len(points))
    with mock.patch.object(mdav, "FEW", 0):
        assert (mdav_labels(points, k) == by_passes(points, k)).all()


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("read", [census, eia])
def test_mdav_of_public_files_by_tree_is_mdav_by_passes(read, k):
    points = read()
    assert (mdav_labels(points, k) == by_passes(points, k)).all()


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
        mdav_labels(np.zeros((4, 2)), k)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e200])
def test_mdav_refuses_what_has_no_distance(wrong):
    points = np.zeros((4, 2))
    points[2, 1] = wrong
    with pytest.raises(InputError, match="row 2, column 1"):
        mdav_labels(points, 2)


def test_mdav_reports_progress():
    calls = []
    mdav_labels(np.arange(40.0).reshape(20, 2), 3, progress=lambda *at: calls.append(at))
    assert calls[-1] == (20, 20)


# ---- V-MDAV ---------------------------------------------------------------------------------


@given(files(25), st.sampled_from([0.0, 0.2, 0.5, 1.1, 3.0]))
def test_vmdav_is_the_definition(file, gamma):
    points, k = file
    assert vmdav_labels(points, k, gamma).tolist() == oracles.vmdav(points, k, gamma)


@pytest.mark.parametrize(
    ("read", "k", "losses"),
    [
        (census, 3, {0: "5.662", 0.2: "5.662", 0.5: "5.675", 1.1: "7.065"}),
        (census, 10, {0: "14.07", 0.2: "14.07", 0.5: "14.04", 1.1: "15.50"}),
        (eia, 5, {0: "1.776", 0.2: "1.729", 0.5: "1.145", 1.1: "1.304"}),
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
