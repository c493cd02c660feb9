"""A masked file from all sides, against counts of its rows."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

import microagg
from csp import InputError

RNG = np.random.default_rng(6)
WHO = np.repeat(np.arange(30), 3)
DATA = pd.DataFrame(
    {
        "nr": [f"p{w}" for w in WHO],
        "age": RNG.integers(20, 60, 30)[WHO],
        "pay": RNG.lognormal(3, 0.5, 90).round(2),
        "sex": RNG.choice(["f", "m"], 30)[WHO],
        "ill": RNG.choice(["yes", "no"], 90, p=[0.2, 0.8]),
        "town": RNG.choice(["x", "y", "z"], 90, p=[0.8, 0.1, 0.1]),
    }
)
KEYS = ["age", "pay", "sex"]
MASKED = microagg.mdav(DATA, 3, attributes=["age", "pay"], within="sex", contributor="nr").to_frame(
    keep=DATA[["ill", "town"]]
)


def groups():
    found = defaultdict(list)
    for i, row in enumerate(MASKED[KEYS].itertuples(index=False)):
        found[tuple(row)].append(i)
    return list(found.values())


def test_counts_are_those_of_the_rows():
    found = microagg.report(DATA, MASKED, KEYS, "ill", contributor="nr")
    assert found.anonymity.k == min(len({DATA["nr"][i] for i in rows}) for rows in groups()) >= 3
    assert found.others == ("town",)
    same = {
        name: [rows for rows in groups() if len({MASKED[name][i] for i in rows}) == 1]
        for name in ("ill", "town")
    }
    assert found.groups == {name: len(parts) for name, parts in same.items()}
    counts = [sum(map(len, same[name])) for name in found.homogeneity.names]
    assert found.homogeneity.disclosed.sum(axis=0).tolist() == counts
    assert repr(found) == (
        f"MaskedReport(90 records, k={found.anonymity.k}, ill follows for {counts[0]}, "
        f"town follows for {counts[1]})"
    )
    numbers = DATA[["age", "pay"]]
    alone = microagg.intruders.link_records(numbers, MASKED[["age", "pay"]])
    assert found.linkage.expected == alone.expected
    assert found.linkage.names == ("age", "pay")
    assert found.utility.names == ("age", "pay")
    assert found.utility.original[1, 0] == pytest.approx(DATA["pay"].mean())
    told = json.loads(json.dumps(found.summary(reveal=True)))
    assert told["linkage"]["persons"] == 90
    assert told["homogeneity"]["homogeneous_classes"] == found.groups


def test_without_reveal_it_speaks_of_the_masked_file_alone():
    other = DATA.assign(pay=DATA["pay"] + 7 * DATA["age"], age=DATA["age"] // 2)
    said = [microagg.report(file, MASKED, KEYS, "ill") for file in (DATA, other, None)]
    assert len({json.dumps(found.summary()) for found in said}) == 1
    assert len({repr(found) for found in said}) == 1
    assert said[0].summary(reveal=True) != said[1].summary(reveal=True)
    assert said[2].utility is None
    assert said[2].unlinked == "there is no original"


def test_rows_that_were_left_out_or_moved():
    rows = np.array([5, 3, 80, 41, 60, 7])
    part = MASKED.iloc[rows]
    found = microagg.report(DATA, part, KEYS, "ill")
    assert (found.linkage, found.unlinked) == (None, "the files have different numbers of rows")
    linked = microagg.report(DATA, part, KEYS, "ill", rows=rows, contributor="nr")
    assert linked.linkage.right.shape == (90,)
    assert len(linked.anonymity.classes) == 6
    with pytest.raises(InputError, match="identifiers for 6 records"):
        microagg.report(DATA, part, KEYS, "ill", contributor="nr")
    with pytest.raises(InputError, match="is not a column of the masked file"):
        microagg.report(None, part, KEYS, "ill", contributor="nr")


def test_files_without_numbers_or_other_columns():
    text = MASKED[["sex", "ill"]]
    found = microagg.report(DATA, text, ["sex"], "ill")
    assert found.unlinked == "no quasi-identifier is a number in both files"
    assert found.utility is None
    assert microagg.report(DATA, MASKED[KEYS]).homogeneity is None
    flat = microagg.report(DATA.assign(age=1), MASKED, ["age", "sex"], "ill")
    assert flat.unlinked.startswith("every quasi-identifier that is a number has missing")
    result = microagg.mdav(DATA, 3, attributes=["age", "pay"], within="sex", contributor="nr")
    assert microagg.report(DATA, result, contributor="nr").anonymity.k >= 3
