"""Clusters inside strata, against counts of what is published and the rule in fractions."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp import InputError
from csp.errors import OutOfTime
from microagg import checks
from tests.support.shared import examples

METHODS = ("mdav", "vmdav", "mondrian")
KEYS, NUMBERS = ["sex", "area"], ["pay", "age"]


@st.composite
def files(draw: Any, *, gaps: bool = True) -> tuple[dict[str, list[Any]], int]:
    n = draw(st.integers(4, 24))
    columns: dict[str, list[Any]] = {
        "sex": draw(st.lists(st.sampled_from(["f", "m", None]), min_size=n, max_size=n)),
        "area": draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=n, max_size=n)),
    }
    # So far apart that two means are hardly ever equally near, which rounding would decide.
    for factor, name in ((7919, "pay"), (104729, "age")):
        numbers = draw(st.lists(st.integers(0, 10**6), min_size=n, max_size=n))
        column = [float(x + factor * i * i) for i, x in enumerate(numbers)]
        gone = draw(st.sets(st.integers(1, n - 1), max_size=n // 3)) if gaps else ()
        columns[name] = [None if i in gone else x for i, x in enumerate(column)]
    columns["who"] = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    return columns, draw(st.integers(2, max(2, len(set(columns["who"])))))


def people_by_class(columns: dict[str, Any], who: list[int]) -> list[int]:
    """Different persons of each class of records that are published alike."""
    found = defaultdict(set)
    for person, row in zip(who, zip(*columns.values(), strict=True), strict=True):
        found[tuple(map(str, row))].add(person)
    return [len(people) for people in found.values()]


def strata_of(columns: dict[str, list[Any]], keys: list[str]) -> dict[Any, list[int]]:
    found = defaultdict(list)
    for i in range(len(columns["who"])):
        missing = tuple(columns[name][i] is None for name in NUMBERS)
        found[tuple(str(columns[name][i]) for name in keys), missing].append(i)
    return found


@given(files(), st.sampled_from(METHODS), st.booleans(), st.sampled_from([KEYS, ["area"], []]))
@examples(150)
def test_what_is_published_is_k_anonymous(file, method, owned, keys):
    columns, k = file
    if len(set(columns["who"])) < k or any(len(set(columns[name])) < 2 for name in NUMBERS):
        return
    who = columns["who"] if owned else list(range(len(columns["who"])))
    found = microagg.clusters(
        columns, k, method=method, attributes=NUMBERS, within=keys, missing="own",
        contributor=who, constant="keep",
    )  # fmt: skip
    shown = {name: column.tolist() for name, column in found.to_columns().items()}
    assert list(shown) == [*NUMBERS, *keys]
    assert min(people_by_class(shown, who)) >= k
    assert checks.anonymity(shown, contributor=who).k >= k
    for name in NUMBERS:  # missing stays missing
        for given_value, one in zip(columns[name], shown[name], strict=True):
            assert given_value is not None or one is None
    for name in keys:  # what is published of a record has its own code
        for given_value, one in zip(columns[name], shown[name], strict=True):
            text = "missing" if given_value is None else str(given_value)
            assert one == given_value or text in one.split("|")
    for (key, missing), rows in strata_of(columns, keys).items():
        mates = {int(found.labels[i]) for i in rows}
        alone = set(np.flatnonzero(np.isin(found.labels, list(mates))).tolist()) == set(rows)
        if not alone or all(missing):
            continue  # others joined it
        names = [name for name, gone in zip(NUMBERS, missing, strict=True) if not gone]
        part = {name: [columns[name][i] for i in rows] for name in names}
        owners = [who[i] for i in rows]
        own = microagg.clusters(part, k, method=method, constant="keep", contributor=owners)
        same = dict(zip(own.labels.tolist(), found.labels[rows].tolist(), strict=True))
        assert [same[label] for label in own.labels.tolist()] == found.labels[rows].tolist()
        assert len(set(same.values())) == len(same), key


def joined(columns: dict[str, list[Any]], keys: list[str], k: int) -> list[set[int]]:
    """Pieces after the rule, in fractions."""
    who, pieces = columns["who"], []
    order = sorted(
        strata_of(columns, keys).items(),
        key=lambda pair: ([("" if c == "None" else c) for c in pair[0][0]], pair[0][1]),
    )
    for (_, missing), rows in order:
        names = [name for name, gone in zip(NUMBERS, missing, strict=True) if not gone]
        if len({who[i] for i in rows}) < k or not names:
            pieces.append(set(rows))
            continue
        part = {name: [columns[name][i] for i in rows] for name in names}
        own = microagg.mdav(
            part, k, scale="none", constant="keep", contributor=[who[i] for i in rows]
        )
        pieces += [{rows[i] for i in members.tolist()} for members in own.members()]

    def shown(piece: set[int]) -> list[Any]:
        sets = [frozenset(columns[name][i] for i in piece) for name in keys]
        return [*sets, *(any(columns[name][i] is None for i in piece) for name in NUMBERS)]

    def mean(piece: set[int], name: str) -> Fraction | None:
        values = [columns[name][i] for i in piece]
        return None if None in values else sum(map(Fraction, values)) / len(values)

    def far(one: set[int], other: set[int]) -> Fraction | float:
        pairs = [(mean(one, name), mean(other, name)) for name in NUMBERS]
        squares = [(a - b) ** 2 for a, b in pairs if a is not None and b is not None]
        return sum(squares) / len(squares) if squares else float("inf")

    while min(len({who[i] for i in piece}) for piece in pieces) < k:
        few = min(range(len(pieces)), key=lambda g: len({who[i] for i in pieces[g]}))

        def rank(g: int, few: int = few) -> tuple[int, list[bool], Any]:
            both = zip(shown(pieces[few]), shown(pieces[g]), strict=True)
            differ = [a != b for a, b in both]
            return sum(differ), differ, far(pieces[few], pieces[g])

        near = min((g for g in range(len(pieces)) if g != few), key=rank)
        pieces[near] |= pieces[few]
        del pieces[few]
    return pieces


@given(files(), st.sampled_from([KEYS, ["area"], []]))
@examples(100)
def test_small_strata_join_by_the_rule(file, keys):
    columns, k = file
    if len(set(columns["who"])) < k:
        return
    found = microagg.mdav(
        columns, k, attributes=NUMBERS, within=keys, missing="own", contributor="who", scale="none",
        constant="keep",
    )  # fmt: skip
    groups = sorted(sorted(members.tolist()) for members in found.members())
    assert groups == sorted(map(sorted, joined(columns, keys, k)))


def test_by_hand():
    data = pd.DataFrame(
        {
            "ethn": ["a", "a", "a", "a", "b", "c", "c", "a", "a"],
            "area": ["x", "x", "x", "x", "x", "x", "x", "y", "y"],
            "pay": [10.0, 11, 90, 91, 12, 50, 51, 1, 2],
        }
    )
    found = microagg.mdav(data, 2, within=["ethn", "area"])
    # b/x differs in ethn alone from a/x and c/x; of their clusters that of 10 and 11 is nearest.
    frame = found.to_frame()
    assert frame["pay"].tolist() == [11, 11, 90.5, 90.5, 11, 50.5, 50.5, 1.5, 1.5]
    assert frame["ethn"].tolist() == ["a|b", "a|b", "a", "a", "a|b", "c", "c", "a", "a"]
    assert frame["area"].tolist() == data["area"].tolist()
    assert found.method == "MDAV within ethn, area"
    assert found.notes == (
        "strata of fewer than 2 joined the nearest cluster: 'ethn' is published as a set, such as "
        "'a|b', in 3 of 9 records",
    )
    # With the columns the other way round, the area is given up last all the same: it agrees.
    assert microagg.mdav(data, 2, within=["area", "ethn"]).to_frame()["area"].tolist() == [
        *"xxxxxxxyy"
    ]
    kept = found.to_frame(keep=data[["ethn"]].assign(sex=[*"fmfmfmfmf"]))
    assert kept["ethn"].tolist() == frame["ethn"].tolist()
    assert kept["sex"].tolist() == [*"fmfmfmfmf"]


def test_the_column_named_last_is_given_up_first():
    data = {"one": [1, 1, 2, 2, 1], "two": [1, 1, 2, 2, 2], "v": [500, 501, 1, 2, 3]}
    first = microagg.mdav(data, 2, within=["one", "two"]).to_columns()
    assert first["one"].tolist() == [1, 1, 2, 2, 1]
    assert first["two"].tolist() == ["1|2", "1|2", "2", "2", "1|2"]
    second = microagg.mdav(data, 2, within=["two", "one"]).to_columns()
    assert second["two"].tolist() == [1, 1, 2, 2, 2]
    assert second["one"].tolist() == ["1", "1", "1|2", "1|2", "1|2"]


def test_missing_values_are_refused_left_out_or_kept_apart():
    pay = [1.0, 2, None, 3, 4, 100, None, 101]
    data = pd.DataFrame({"pay": pay, "age": [*range(8)], "sex": [*"fmfmfmfm"]}, index=range(10, 18))
    with pytest.raises(InputError, match="row 3, column 'pay'"):
        microagg.mdav(data, 2, attributes=["pay", "age"])
    some = microagg.mdav(data, 2, attributes=["pay", "age"], missing="drop")
    assert some.kept.given == 8
    assert some.kept.rows.tolist() == [0, 1, 3, 4, 5, 7]
    left = data[["pay", "age"]].dropna()
    alone = microagg.mdav(left, 2)
    assert some.labels.tolist() == alone.labels.tolist()
    frame = some.to_frame(keep=data[["sex"]])
    assert frame.index.tolist() == left.index.tolist()
    assert frame["sex"].tolist() == data["sex"][left.index].tolist()
    assert microagg.disclosure(data, some, "P(10)").count == (
        microagg.disclosure(left, alone, "P(10)").count
    )
    own = microagg.mdav(data, 2, attributes=["pay", "age"], missing="own")
    assert own.to_columns()["pay"][[2, 6]].tolist() == [None, None]
    assert own.to_columns()["age"][[2, 6]].tolist() == [4, 4]
    assert own.notes[-1].startswith("values of pay are missing, and stay so")
    with pytest.raises(InputError, match="row 3, column 'pay'"):
        microagg.disclosure(data, own, "P(10)")
    with pytest.raises(InputError, match="is missing"):
        microagg.comply(microagg.read_records(data, ["pay"], missing="own"), 2, "P(10)")
    with pytest.raises(InputError, match="no values"):
        microagg.mdav({"a": [None, None], "b": [1, 2]}, 2, missing="own")
    with pytest.raises(InputError, match="every record lacks"):
        microagg.mdav({"a": [None, 1], "b": [1, None]}, 2, missing="drop")
    with pytest.raises(InputError, match="infinite"):
        microagg.mdav({"a": [float("inf"), 1, 2]}, 2, missing="own")
    with pytest.raises(InputError, match="missing 'cut'"):
        microagg.mdav(data, 2, missing="cut")


@given(files())
@examples(60)
def test_the_loss_is_that_of_what_is_there(file):
    columns, k = file
    if len(set(columns["who"])) < k:
        return
    found = microagg.mdav(
        columns, k, attributes=NUMBERS, missing="own", contributor="who", constant="keep"
    )
    frame = pd.DataFrame({name: pd.Series(columns[name], dtype=float) for name in NUMBERS})
    shown = pd.DataFrame({n: pd.Series(found.to_columns()[n], dtype=float) for n in NUMBERS})
    # A value that is not published is taken for the mean of all such values.
    stand = pd.DataFrame({n: shown[n].fillna(frame[n][shown[n].isna()].mean()) for n in NUMBERS})
    spread = frame.std(ddof=0).replace(0.0, 1.0)
    error = (((frame - stand) / spread) ** 2).sum().sum()
    total = (((frame - frame.mean()) / spread) ** 2).sum().sum()
    assert found.information_loss == pytest.approx(100 * error / total if total else 0, abs=1e-6)


def test_frames_and_files_come_back(tmp_path):
    rows = {"sex": [*"fmfmfm"], "code": [1, 2, 1, 2, 1, 2], "pay": [1, 2, 3, 4, 5, 6]}
    for frame in (pd.DataFrame(rows), pl.DataFrame(rows)):
        found = microagg.mdav(frame, 3, within=["sex", "code"]).to_frame()
        assert isinstance(found, type(frame))
        assert list(found.columns) == ["pay", "sex", "code"]
        assert found["code"].to_list() == rows["code"]
        assert found["pay"].to_list() == [3, 4, 3, 4, 3, 4]
    path = tmp_path / "file.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(rows), *zip(*rows.values(), strict=True)])
    found = microagg.mdav(path, 3, within="sex", attributes=["pay"])
    assert found.to_columns()["sex"].tolist() == rows["sex"]
    categories = pd.DataFrame(rows).astype({"sex": "category"})
    assert microagg.mdav(categories, 3, within="sex", attributes=["pay"]).fewest == 3


def test_wrong_calls():
    data = {"sex": [*"fmfmfm"], "pay": [1, 2, 3, 4, 5, 6], "who": [1, 2, 3, 4, 5, 6]}
    with pytest.raises(InputError, match="within= names 'six', which is not among the columns"):
        microagg.mdav(data, 2, within=["six"])
    with pytest.raises(InputError, match="within= names 'pay' and attributes= too"):
        microagg.mdav(data, 2, within=["pay"], attributes=["pay"])
    with pytest.raises(InputError, match="within= names 'who' and contributor= too"):
        microagg.mdav(data, 2, within=["who"], contributor="who", attributes=["pay"])
    with pytest.raises(InputError, match="within= names 'sex' twice"):
        microagg.mdav(data, 2, within=["sex", "sex"])
    for word in ("by", "strata_variables"):
        with pytest.raises(InputError, match="did you mean 'within'"):
            microagg.mdav(data, 2, **{word: "sex"})
    with pytest.raises(InputError, match="did you mean 'attributes'"):
        microagg.mdav(data, 2, quasi_identifiers=["pay"])
    with pytest.raises(InputError, match="'pay' is constant"):
        microagg.mdav({"sex": data["sex"], "pay": [1] * 6}, 2, within="sex")
    with pytest.raises(OutOfTime):
        microagg.mdav(data, 2, within="sex", attributes=["pay"], time_limit=1e-9)


def test_progress_is_that_of_the_file():
    rng, told = np.random.default_rng(1), []
    data = {"sex": ["f", "m"] * 500, "pay": rng.normal(size=1000)}
    microagg.mdav(data, 3, within="sex", progress=lambda done, n: told.append((done, n)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (1000, 1000)
    assert {n for _, n in told} == {1000}


def test_a_suppressed_file_keeps_its_keys():
    rng = np.random.default_rng(4)
    data = {
        "sex": ["f", "m"] * 20,
        "pay": rng.lognormal(3, 2, 40).round(1),
        "b": rng.integers(1, 9, 40),
    }
    start = microagg.mdav(data, 4, within="sex")
    safe = microagg.comply(data, 4, "P(20)", attributes=["pay", "b"], partition=start)
    assert safe.suppressed_cells
    assert safe.to_columns()["sex"].tolist() == data["sex"]
    kept = safe.to_frame(keep={"sex": ["x"] * 40})
    assert kept["sex"].tolist() == data["sex"]
    with pytest.raises(InputError, match=r"within=.*method='suppress'"):
        microagg.comply(data, 4, "P(20)", attributes=["pay", "b"], partition=start, method="merge")


def test_counts_of_a_panel_by_a_second_count():
    """545 persons of 8 records, as in the panel of Vella and Verbeek (1998), made up."""
    rng = np.random.default_rng(8)
    who = np.repeat(np.arange(545), 8)
    data = pd.DataFrame(
        {
            "nr": who,
            "ethn": rng.choice(["black", "hispanic", "other"], 545, p=[0.12, 0.15, 0.73])[who],
            "area": rng.choice(["ne", "s", "nc", "rural"], 4360, p=[0.3, 0.4, 0.28, 0.02]),
            "union": rng.choice(["no", "yes"], 4360, p=[0.75, 0.25]),
            "school": rng.integers(3, 17, 545)[who].astype(float),
            "wage": rng.normal(1.6, 0.5, 4360).round(3),
        }
    )
    keys, numbers = ["ethn", "area", "union"], ["school", "wage"]
    found = microagg.mdav(data, 5, attributes=numbers, within=keys, contributor="nr")
    frame = found.to_frame()
    persons = frame.assign(nr=who).groupby([*numbers, *keys], dropna=False)["nr"].nunique()
    assert persons.min() >= 5
    assert checks.anonymity(frame, contributor=who).k == persons.min()
    assert Counter(found.labels.tolist())[0] == found.sizes[0]
