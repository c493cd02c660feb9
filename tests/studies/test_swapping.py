"""Losses of swapping over many runs, and the tables of Soria-Comas and Domingo-Ferrer (2012)."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import microagg
from csp.errors import InputError
from studies.swapping import printed
from studies.swapping.losses import METHODS, SwapLoss, swap_losses
from studies.swapping.tables import CENSUS, EIA, correlation_rows, loss_rows
from tests.support.shared import shared_data

# ---- the study ----------------------------------------------------------------------------------


@cache
def sample():
    random = np.random.default_rng(0)
    base = random.lognormal(size=(60, 1))
    table = np.round(1000 * base * random.lognormal(sigma=0.5, size=(60, 4)))
    return {name: column.tolist() for name, column in zip("abcd", table.T, strict=True)}


KEPT = {"quasi_identifiers": ["a"], "confidential": ["b", "c", "d"]}
BY_HAND = {
    "MDAV-SWAP": lambda data, k, seed, how: microagg.mdav_swap(
        data, k, **KEPT, scale="none", seed=seed,
        **({"intruders": how} if how == "uninformed" else {"order": how}),
    ),
    "IR-SWAP": lambda data, k, seed, how: microagg.ir_swap(data, k, **KEPT, groups=how, seed=seed),
    "MDAV-ID": lambda data, k, _seed, _how: microagg.mdav_id(
        data, k, quasi_identifiers=list("abcd"), scale="none"
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_a_study_is_its_runs_one_by_one(method):
    way, _, how = method.partition(" ")
    (row,) = swap_losses(sample(), **KEPT, methods=[method], ks=[4], runs=5, seed=7)
    seeds = [7] if way == "MDAV-ID" else range(7, 12)
    changes, same = [], []
    for seed in seeds:
        masked = BY_HAND[way](sample(), 4, seed, how)
        loss = microagg.correlation_loss(sample(), masked.to_frame("pandas"), ["b", "c", "d"])
        changes.append([loss.differences[i, j] for j in range(3) for i in range(2 + j)])
        same.append(np.mean([masked.unchanged[name] for name in "bcd"]))
    assert (row.entries, row.runs, row.seed) == (9, len(seeds), 7)
    assert row.mean == pytest.approx(np.mean(changes), rel=1e-9)
    assert row.std == pytest.approx(np.std(changes), rel=1e-9)
    assert row.run_std == pytest.approx(np.std(np.mean(changes, axis=1)), rel=1e-9, abs=1e-15)
    assert row.unchanged == pytest.approx(np.mean(same))
    json.dumps(row.row())


def test_a_study_does_not_depend_on_processes():
    import joblib

    wanted = list(swap_losses(sample(), **KEPT, ks=[3, 10], runs=3))
    with joblib.parallel_config(backend="threading"):
        assert list(swap_losses(sample(), **KEPT, ks=[3, 10], runs=3, n_jobs=2)) == wanted


def test_zeros_are_further_pairs():
    row = SwapLoss("IR-SWAP mdav", 3, 1, 0, 2.0, 1.0, 0.0, 2, 0.0)
    mean, std = row.with_zeros(2)
    assert (mean, std) == pytest.approx((np.mean([1, 3, 0, 0]), np.std([1, 3, 0, 0])))
    assert row.with_zeros(0) == pytest.approx((2.0, 1.0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ["MDAV"]}, "no method 'MDAV'"),
        ({"runs": 0}, "runs must be"),
        ({"n_jobs": 0}, "n_jobs 0"),
        ({"seed": None}, "needs a seed"),
        ({"ks": [61]}, "more than the 60 records"),
        ({"confidential": []}, "no confidential attribute"),
        ({"methods": ["MDAV-SWAP uninformed"], "quasi_identifiers": []}, "and there are none"),
    ],
)
def test_bad_input_of_a_study(change, message):
    with pytest.raises(InputError, match=message):
        swap_losses(sample(), **KEPT | change)


# ---- the tables of the paper --------------------------------------------------------------------


def test_printed_tables_are_whole():
    for table in printed.CORRELATIONS:
        places = [(i, j) for i, j, _ in printed.entries(table)]
        assert places == [(i, j) for i in range(1, 14) for j in range(max(i, 7), 14)]
    for table in printed.LOSSES:
        assert len(printed.loss(table)) == 27
    assert printed.loss("XI")["IR-SWAP", 5] == (".00064", ".00075")
    assert printed.loss("X")["MDAV-SWAP", 50] == (".13", ".12")


def census():
    return shared_data("microdata", "sdcMicro_CASCrefmicrodata.csv")


def test_table_vi_is_exact():
    rows = correlation_rows(census(), "VI")
    assert len(rows) == 70
    assert all(row["rounds"] for row in rows)
    assert [row["attributes"] for row in rows if row["misprint"]] == [("INTVAL", "WSALVAL")]


def test_table_vii_contradicts_table_x():
    rows = correlation_rows(census(), "VII")
    assert max(row["difference"] for row in rows) < 0.0114
    assert sum(row["difference"] > 0.006 for row in rows) <= 5
    original = {(i, j): float(t) for i, j, t in printed.entries("VI")} | {(9, 12): 0.07}
    paper = [abs(float(row["printed"]) - original[row["row"], row["column"]]) for row in rows]
    (ours,) = loss_rows(census(), "X", methods=["MDAV-ID"], ks=[12])
    assert np.mean(paper) == pytest.approx(ours["mean"], abs=0.0002)  # both .0906 at k = 12,
    assert ours["printed_mean"] is None
    low, high = (float(printed.loss("X")["MDAV-ID", k][0]) for k in (11, 25))
    assert (low, high) == (0.078, 0.11)  # between which .0906 is too far up for k = 12


def test_tables_viii_and_ix_are_runs_like_others():
    for table in ("VIII", "IX"):
        for row in correlation_rows(census(), table, runs=12):
            # A range of twelve runs, and as much again on both sides.
            meant = float(printed.MISPRINTS.get((table, row["row"], row["column"]), row["printed"]))
            width = row["high"] - row["low"] + 0.005
            assert row["low"] - width <= meant <= row["high"] + width, row


def test_table_x_orders_the_methods():
    rows = {(r["method"], r["k"]): r for r in loss_rows(census(), "X", ks=[5, 25], runs=4)}
    for k in (5, 25):
        losses = [rows[m, k]["mean"] for m in ("MDAV-ID", "MDAV-SWAP sequential", "IR-SWAP mdav")]
        assert losses == sorted(losses, reverse=True)
        assert all(0.9 < rows[m, k]["padded_ratio"] < 1.1 for m in list(METHODS)[:2])
    assert rows["IR-SWAP mdav", 5]["unchanged"] > 0.5  # ties, not the one in five of the bound


def test_table_xi():
    data = shared_data("microdata", "sdcMicro_EIA.csv")
    for row in loss_rows(data, "XI", methods=["MDAV-ID"]):
        assert row["ratio"] == pytest.approx(1, abs=0.05)
        assert row["ratio_std"] == pytest.approx(1, abs=0.05)
    for row in loss_rows(data, "XI", methods=["MDAV-SWAP sequential"], ks=[11, 100], runs=4):
        assert row["ratio"] == pytest.approx(1, abs=0.08)
    for row in loss_rows(data, "XI", methods=["IR-SWAP mdav"], ks=[200, 300], runs=4):
        assert row["ratio"] == pytest.approx(1, abs=0.09)


def test_reproducing_needs_its_tables():
    assert (len(CENSUS), len(EIA)) == (13, 10)
    with pytest.raises(InputError, match="table 'X' is not one of"):
        correlation_rows({}, "X")
    with pytest.raises(InputError, match="table 'VI' is not one of"):
        loss_rows({}, "VI")
    with pytest.raises(InputError, match="runs must be at least 1"):
        correlation_rows({}, "VIII", runs=0)
