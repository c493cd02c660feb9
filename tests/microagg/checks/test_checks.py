"""Checks of masked files against their definitions, written out over records and in fractions."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError
from csp.formats.delimited import TextFile
from csp.tables.sources.files import read_whole
from microagg.checks import (
    anonymity,
    is_k_anonymous,
    is_l_diverse,
    is_p_sensitive,
    is_t_close,
)
from microagg.checks.closeness import equal_distances, ordered_distances
from microagg.checks.diversity import counts_of, entropy_diverse
from tests.support.shared import examples

# ---- definitions, with nothing of the package ---------------------------------------------------


def blocks(rows):
    """Records with equal quasi-identifiers, None equal to None."""
    found = {}
    for i, row in enumerate(rows):
        found.setdefault(tuple(row), []).append(i)
    return list(found.values())


def fewest_candidates(rows):
    """Over all persons who may stand behind a record, the records that may be theirs.

    A missing value may be any that occurs, or one that occurs nowhere.
    """
    fresh = object()
    domains = [{row[j] for row in rows} - {None} | {fresh} for j in range(len(rows[0]))]
    found = []
    for row in rows:
        persons = product(*([v] if v is not None else domains[j] for j, v in enumerate(row)))
        found.append(
            min(
                sum(all(s is None or s == v for s, v in zip(other, person, strict=True))
                    for other in rows)
                for person in persons
            )
        )  # fmt: skip
    return found


def completions(values):
    """All ways to fill missing values, with those that occur or with new ones."""
    known = sorted({v for v in values if v is not None})
    gaps = [i for i, v in enumerate(values) if v is None]
    pool = [*known, *(f"new{i}" for i in range(len(gaps)))]
    for filling in product(pool, repeat=len(gaps)):
        full = list(values)
        for i, v in zip(gaps, filling, strict=True):
            full[i] = v
        yield full


def is_entropy_diverse(values, level):
    """Entropy at least log(l): the product of p**-p, to the power of n, at least l**n."""
    n = len(values)
    shares = [Fraction(c, n) for c in Counter(values).values()]
    return prod((1 / share) ** int(share * n) for share in shares) >= level**n


def is_recursive(values, c, level):
    r = sorted(Counter(values).values(), reverse=True)
    return level == 1 or r[0] < c * sum(r[level - 1 :])


def ordered_emd(inside, whole):
    """Least work, by pouring from left to right: the optimal plan on a line."""
    values = sorted(set(whole))
    if len(values) == 1:
        return Fraction(0)
    supply = [Fraction(inside.count(v), len(inside)) for v in values]
    demand = [Fraction(whole.count(v), len(whole)) for v in values]
    work, i, j = Fraction(0), 0, 0
    while i < len(values) and j < len(values):
        moved = min(supply[i], demand[j])
        work += moved * abs(i - j)
        supply[i] -= moved
        demand[j] -= moved
        i, j = i + (supply[i] == 0), j + (i < len(values) and demand[j] == 0)
    return work / (len(values) - 1)


def equal_emd(inside, whole):
    return (
        sum(
            abs(Fraction(inside.count(v), len(inside)) - Fraction(whole.count(v), len(whole)))
            for v in set(whole)
        )
        / 2
    )


# ---- random files --------------------------------------------------------------------------------

GAPPY = st.lists(
    st.tuples(st.sampled_from([None, 1, 2]), st.sampled_from(["a", "b", None]),
              st.sampled_from([0, 5])),
    min_size=1, max_size=7,
)  # fmt: skip
SECRETS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.sampled_from("xyz")),
    min_size=1, max_size=14,
)  # fmt: skip


def table(rows, names):
    return {name: [row[j] for row in rows] for j, name in enumerate(names)}


@examples(150)
@given(GAPPY)
def test_classes_and_candidates_are_those_of_the_definitions(rows):
    data = table(rows, "uvw")
    found = anonymity(data)
    groups = blocks(rows)
    assert sorted(found.sizes.tolist()) == sorted(map(len, groups))
    assert found.k == min(map(len, groups))
    assert found.worst.tolist() in [g for g in groups if len(g) == found.k]
    assert found.incomplete == sum(None in row for row in rows)
    wide = anonymity(data, missing="any")
    assert wide.candidates.tolist() == fewest_candidates(rows)
    assert wide.k >= found.k
    for k in range(1, 5):
        assert is_k_anonymous(data, k) == (found.k >= k)
        assert is_k_anonymous(data, k, missing="any") == (wide.k >= k)
        assert found.below(k).tolist() == sorted(i for g in groups if len(g) < k for i in g)


@examples(150)
@given(SECRETS, st.fractions("1/2", 4, max_denominator=4))
def test_diversity_and_closeness_are_those_of_the_definitions(rows, c):
    data = table(rows, ["key", "pay", "job"])
    found = anonymity(data, ["key"], ["pay", "job"], c=c)
    groups = blocks([row[:1] for row in rows])
    for j, part in zip((1, 2), found.confidential, strict=True):
        whole = [row[j] for row in rows]
        parts = [[whole[i] for i in g] for g in groups]
        assert part.p == min(len(set(p)) for p in parts)
        levels = range(1, 8)
        assert part.recursive == max(m for m in levels if all(is_recursive(p, c, m) for p in parts))
        emd = ordered_emd if j == 1 else equal_emd
        assert part.t == max(emd(p, whole) for p in parts)
        for decides in (part.worst_p, part.worst_t):
            assert decides.tolist() in groups
        assert len({whole[i] for i in part.worst_p}) == part.p
        assert emd([whole[i] for i in part.worst_t], whole) == part.t
        name = part.name
        for level in (1, "1.5", 2, "2.5", 3):
            exact = Fraction(str(level))
            expected = all(is_entropy_diverse(p, exact) for p in parts)
            assert is_l_diverse(data, level, ["key"], name, kind="entropy") == expected
            assert abs(part.entropy - float(exact)) < 1e-9 or (part.entropy > exact) == expected
        for level in (1, 2, 3):
            assert is_p_sensitive(data, level, ["key"], name) == (part.p >= level)
            assert is_l_diverse(data, level, ["key"], name) == (part.p >= level)
            assert is_l_diverse(data, level, ["key"], name, kind="recursive", c=c) == all(
                is_recursive(p, c, level) for p in parts
            )
        assert is_t_close(data, part.t, ["key"], name)
        if part.t:
            assert not is_t_close(data, part.t - Fraction(1, 10**20), ["key"], name)
    assert found.p == min(part.p for part in found.confidential)
    assert found.t == max(part.t for part in found.confidential)


@examples(100)
@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=6))
def test_missing_confidential_values_count_as_the_least_diverse_filling(values):
    data = {"key": [0] * len(values), "job": values}
    (part,) = anonymity(data, ["key"], "job").confidential
    fillings = list(completions(values))
    assert part.p == min(len(set(f)) for f in fillings)
    assert part.recursive == min(
        max(m for m in range(1, 8) if is_recursive(f, 3, m)) for f in fillings
    )
    for level in (Fraction(3, 2), 2, 3):
        assert is_l_diverse(data, level, ["key"], "job", kind="entropy") == all(
            is_entropy_diverse(f, level) for f in fillings
        )
    if None in values:
        assert part.t is None
        assert part.summary()["t"] is None
        with pytest.raises(InputError, match="t-closeness is one of complete attributes"):
            is_t_close(data, 1, ["key"], "job")


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), min_size=1, max_size=120))
def test_closeness_of_many_classes(rows):
    classes = np.unique([r[0] for r in rows], return_inverse=True)[1].ravel()
    codes = np.unique([r[1] for r in rows], return_inverse=True)[1].ravel()
    whole = codes.tolist()
    parts = [codes[classes == g].tolist() for g in range(classes.max() + 1)]
    assert ordered_distances(classes, codes) == [ordered_emd(p, whole) for p in parts]
    assert equal_distances(classes, codes) == [equal_emd(p, whole) for p in parts]


def test_closeness_beyond_int64_takes_pythons_integers(monkeypatch):
    import microagg.checks.closeness as module

    rng = np.random.default_rng(5)
    classes, codes = np.arange(60) % 7, np.unique(rng.integers(0, 30, 60), return_inverse=True)[1]
    plain = ordered_distances(classes, codes), equal_distances(classes, codes)
    monkeypatch.setattr(
        module, "_roomy", lambda n, m: lambda array: np.asarray(array).astype(object)
    )
    assert (ordered_distances(classes, codes), equal_distances(classes, codes)) == plain


# ---- published examples --------------------------------------------------------------------------


def test_the_example_of_t_closeness():
    # Li et al. (2007) on the ordered distance: salaries 3k to 11k once each, two classes of three
    # of them: distances 0.375 and 0.167.
    salaries = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    classes = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    found = ordered_distances(np.array(classes), np.array(salaries) - 3)
    assert found[:2] == [Fraction(3, 8), Fraction(1, 6)]
    data = {"class": classes, "salary": salaries}
    assert anonymity(data, ["class"], "salary").t == Fraction(3, 8)


def test_the_motivating_tables_of_aggregate_anonymity():
    # Tables I and II of Gkountouna and others (2013): the original singles everybody out, the
    # classic one is 2-anonymous as text.
    original = np.array([[10, 20, 100], [15, 15, 105], [30, 40, 200], [40, 30, 210]])
    assert anonymity(original).k == 1
    classic = {
        "salary": ["[10-15]", "[10-15]", "[30-40]", "[30-40]"],
        "gains": ["[15-20]", "[15-20]", "[30-40]", "[30-40]"],
        "other": ["[100-105]", "[100-105]", "[200-210]", "[200-210]"],
    }
    assert anonymity(classic).k == 2
    assert is_k_anonymous(classic, 2)
    assert not is_k_anonymous(classic, 3)


def test_thresholds_are_not_decided_by_floats():
    # Eight equal shares have an entropy of exactly log 8, and of no more.
    counts = (3,) * 8
    assert entropy_diverse(counts, Fraction(8))
    assert not entropy_diverse(counts, 8 + Fraction(1, 10**15))
    assert not entropy_diverse((4, *counts[1:]), Fraction(8))
    two = {"g": [0] * 8, "x": ["a"] * 6 + ["b"] * 2}
    assert anonymity(two, ["g"], ["x"], c=3).confidential[0].recursive == 1  # 6 < 3 * 2 fails
    above = 3 + Fraction(1, 10**18)
    assert anonymity(two, ["g"], ["x"], c=above).confidential[0].recursive == 2
    # 0.3 in text is three tenths: exactly the distance below.
    data = {"g": [0] * 10 + [1] * 10, "x": ["a"] * 8 + ["b"] * 2 + ["a"] * 2 + ["b"] * 8}
    assert is_t_close(data, "0.3", ["g"], "x")
    assert is_t_close(data, 0.3, ["g"], "x")
    assert not is_t_close(data, "0.2999999999999999999", ["g"], "x")


def test_counting_every_compatible_record_would_promise_too_much():
    # A person of another age has only the second record as candidate, though three agree with it.
    data = {"age": [30, None, 30, 30]}
    assert anonymity(data, missing="any").candidates.tolist() == [4, 1, 4, 4]
    assert anonymity(data).k == 1


# ---- files and errors ----------------------------------------------------------------------------


def test_every_kind_of_file_gives_the_same(tmp_path):
    data = {"age": [30.5, 30.5, 40, 40], "zip": ["01", "01", "1", "1"], "pay": [1, 2, 3, 3]}
    frame = pd.DataFrame(data)
    path = tmp_path / "masked.csv"
    frame.to_csv(path, index=False)
    frame.to_parquet(tmp_path / "masked.parquet")
    expected = anonymity(data, ["age", "zip"], "pay").summary()
    for other in (frame, pl.DataFrame(data), pl.LazyFrame(data), path, tmp_path / "masked.parquet"):
        assert anonymity(other, confidential="pay").summary() == expected
    assert (expected["k"], expected["confidential"][0]["p"]) == (2, 1)
    # Two spellings can be told apart by who reads them; as confidential values they say the same.
    assert anonymity(data, ["zip"]).k == 2
    assert anonymity({"g": ["x"] * 2, "z": ["01", "1"]}, ["g"], "z").p == 1
    assert anonymity({"z": ["a", " a "]}).k == 2
    assert anonymity({"z": ["", "NA", None, float("nan")]}).k == 4


@pytest.mark.parametrize("column", [[1, 1, 1, True], [0, 0, False, "a"], [1, None, True, 1]])
def test_truth_values_beside_numbers_are_told_apart_as_in_a_file(column, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("g,h\n" + "".join(f"{'' if x is None else x},1\n" for x in column))
    asked = {"g": column, "h": [1] * 4}
    assert anonymity(asked, ["g", "h"]).k == anonymity(file, ["g", "h"]).k == 1


def test_summaries_hold_row_numbers_and_no_values():
    data = {"key": ["k77771"] * 2 + ["k77772"], "pay": [99991, 99992, 99993]}
    found = anonymity(data, ["key"], "pay")
    shown = json.dumps(found.summary()) + repr(found) + repr(found.confidential)
    assert not [v for v in ("k7777", "9999") if v in shown]
    assert found.summary()["worst"] == [2]


def test_bad_input_is_refused():
    data = {"a": [1, 1, 2], "b": ["x", None, "y"], "c": [1.0, float("inf"), 2.0]}
    for call, words in (
        (lambda: is_k_anonymous(data, 0, ["a"]), "k must be a whole number"),
        (lambda: is_k_anonymous(data, True, ["a"]), "k must be a whole number"),
        (lambda: is_p_sensitive(data, 1.5, ["a"], "b"), "p must be a whole number"),
        (lambda: is_p_sensitive(data, 1, ["a"], ()), "no confidential attribute"),
        (lambda: is_l_diverse(data, 2, ["a"], "b", kind="square"), "kind 'square' is not one of"),
        (lambda: is_l_diverse(data, "1.5", ["a"], "b"), "l must be a whole number"),
        (lambda: is_t_close(data, 2, ["a"], "a"), "t must be from 0 to 1"),
        (lambda: anonymity(data, ["a"], "b", c=0), "c must be above 0"),
        (lambda: anonymity(data, ["a"], missing="some"), "missing 'some' is not one of"),
        (lambda: anonymity(data, ["a", "a"]), "names 'a' twice"),
        (lambda: anonymity(data, ["a"], "a"), "as quasi-identifier and as confidential"),
        (lambda: anonymity(data, []), "no quasi-identifier"),
        (lambda: anonymity(data, ["z"]), "no column 'z'"),
        (lambda: anonymity(data, ["c"]), "row 2, column 'c': the number is infinite"),
        (lambda: anonymity(data, ["b"], "a", missing="any"), "1 records lack a quasi-identifier"),
        (lambda: anonymity(data, ["a"], "b", distances={"a": "equal"}), "not among the confid"),
        (lambda: anonymity(data, ["a"], "b", distances={"b": "ordered"}), "text, which has no"),
        (lambda: anonymity(data, ["a"], "b", distances={"b": "far"}), "distance 'far' is not"),
        (lambda: anonymity({"a": []}), "no records"),
        (lambda: anonymity(np.zeros(3)), "two axes"),
        (lambda: anonymity(np.zeros((3, 2)), ["a3"]), "no column 'a3'; there are a1, a2"),
    ):
        with pytest.raises(InputError, match=words):
            call()
    assert not is_k_anonymous(data, 4, ["a"])


def test_profiles_keep_classes_whose_values_are_all_missing():
    counts = counts_of(np.array([0, 0, 1]), np.array([-1, -1, 0]))
    assert counts == [(2,), (1,)]


def test_declared_missing_values_of_a_file_are_missing(tmp_path):
    path = tmp_path / "masked.csv"
    path.write_text("age,illness\n30,flu\n30,-\n40,flu\n40,cold\n-,cold\n-,flu\n")
    plain, file = anonymity(path, ["age"], "illness"), TextFile(path, missing=("-",))
    found = anonymity(file, ["age"], "illness")
    assert (plain.confidential[0].p, plain.confidential[0].missing) == (2, 0)
    assert (found.confidential[0].p, found.confidential[0].missing) == (1, 1)
    assert found.k == 2
    assert anonymity(file, ["age"], missing="any").k == 2
    assert anonymity(read_whole(file), ["age"], "illness").confidential[0].p == 1
