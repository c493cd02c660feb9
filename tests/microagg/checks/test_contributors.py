"""Anonymity of files with several records of one person, against dicts of sets."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from csp import InputError
from csp.errors import Unprotectable
from microagg.checks import anonymity, is_k_anonymous, is_l_diverse, is_p_sensitive, is_t_close
from tests.support.shared import examples


@st.composite
def files(draw: st.DrawFn, *, gaps: bool) -> dict[str, list[Any]]:
    n = draw(st.integers(1, 12))

    def column(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    keys = [1, 2, None] if gaps else [1, 2, 3]
    return {"a": column(keys), "b": column(["x", "y"]), "who": column(list("pqrst")),
            "ill": column(["flu", "cold", "mumps"])}  # fmt: skip


def in_classes(data: dict[str, list[Any]]) -> dict[Any, list[tuple[str, str]]]:
    found: dict[Any, list[tuple[str, str]]] = defaultdict(list)
    for a, b, who, ill in zip(data["a"], data["b"], data["who"], data["ill"], strict=True):
        found[a, b].append((who, ill))
    return found


def recursive(counts: list[int], c: int) -> int:
    """Largest l with r1 < c (r_l + .. + r_m)."""
    ranked, best = sorted(counts, reverse=True), 1
    for l in range(2, len(ranked) + 1):  # noqa: E741
        if ranked[0] < c * sum(ranked[l - 1 :]):
            best = l
    return best


@given(files(gaps=False))
@examples(150)
def test_against_sets(data: dict[str, list[Any]]) -> None:
    found = anonymity(data, ["a", "b"], "ill", contributor="who", c=2)
    classes = in_classes(data)
    people = [len({who for who, _ in rows}) for rows in classes.values()]
    assert found.k == min(people)
    assert sum(found.sizes) == len(data["a"])
    (part,) = found.confidential
    spread = [Counter(ill for _, ill in set(rows)) for rows in classes.values()]
    assert part.p == min(map(len, spread))
    entropies = []
    for counts in spread:
        n = sum(counts.values())
        entropies.append(math.exp(-sum(c / n * math.log(c / n) for c in counts.values())))
    assert part.entropy == pytest.approx(min(entropies))
    assert part.recursive == min(recursive(list(counts.values()), 2) for counts in spread)
    # The distance is between shares of records.
    assert part.t == anonymity(data, ["a", "b"], "ill").confidential[0].t
    # An identifier is no quasi-identifier unless it is named as one.
    given_ids = {name: data[name] for name in ("a", "b", "ill")}
    again = anonymity(given_ids, None, "ill", contributor=data["who"])
    assert again.quasi_identifiers == ("a", "b")
    assert again.k == found.k


@given(files(gaps=True))
@examples(150)
def test_open_candidates_against_sets(data: dict[str, list[Any]]) -> None:
    found = anonymity(data, ["a", "b"], missing="any", contributor="who")
    for i, (a, b) in enumerate(zip(data["a"], data["b"], strict=True)):
        sure = set()
        for other_a, other_b, who in zip(data["a"], data["b"], data["who"], strict=True):
            # Without a published value only records without one are candidates for certain.
            if other_b == b and (other_a is None or (a is not None and other_a == a)):
                sure.add(who)
        assert found.candidates[i] == len(sure)


def test_by_hand() -> None:
    data = {"age": [30, 30, 30, 40, 40], "firm": ["a", "a", "a", "b", "c"],
            "ill": ["flu", "cold", "mumps", "flu", "flu"]}  # fmt: skip
    assert anonymity(data, ["age"]).k == 2
    found = anonymity(data, ["age"], contributor="firm")
    assert found.k == 1
    assert found.worst.tolist() == [0, 1, 2]
    assert found.below(2).tolist() == [0, 1, 2]
    assert found.summary()["k_counts"] == "contributors"
    assert is_k_anonymous(data, 2, ["age"])
    assert not is_k_anonymous(data, 2, ["age"], contributor="firm")
    assert is_p_sensitive(data, 1, None, "ill", contributor="firm")
    assert is_t_close(data, Fraction(1), None, "ill", contributor="firm")
    # Three records of one person make the class look diverse, by records and by persons.
    ages = {"age": [1] * 4, "who": list("aaab"), "ill": ["flu", "flu", "flu", "cold"]}
    assert not is_l_diverse(ages, 2, ["age"], "ill", kind="entropy")
    assert is_l_diverse(ages, 2, ["age"], "ill", kind="entropy", contributor="who")
    with pytest.raises(InputError, match="as quasi-identifier and as contributor"):
        anonymity(data, ["age", "firm"], contributor="firm")
    with pytest.raises(InputError, match="row 2: the contributor"):
        anonymity(data | {"firm": ["a", "", "b", "c", "d"]}, ["age"], contributor="firm")
    with pytest.raises(InputError, match="2 identifiers for 5 records"):
        anonymity(data, ["age"], contributor=["a", "b"])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from("pqrs")),
                min_size=4, max_size=9), st.integers(2, 3))  # fmt: skip
@examples(60)
def test_ranges_leave_candidates_of_k_contributors(
    rows: list[tuple[int, int, str]], k: int
) -> None:
    x, y, who = (list(column) for column in zip(*rows, strict=True))
    data = {"x": x, "y": y, "who": who}
    try:
        found = microagg.aggregate_anonymise(data, k, contributor="who")
    except Unprotectable:
        assert len(set(who)) < k
        return
    assert found.names == ("x", "y")
    assert microagg.is_aggregate_anonymous(data, found, k, contributor="who")
    for i in range(len(x)):
        known = x[i] + y[i]
        near = {
            who[j] for j in range(len(x)) if found.lower[j].sum() <= known <= found.upper[j].sum()
        }
        assert len(near) >= k


def test_a_contributor_of_ranges_is_a_column_apart() -> None:
    data = {"x": [1, 2, 3, 4], "who": list("abcd")}
    with pytest.raises(InputError, match="names an attribute too"):
        microagg.aggregate_anonymise(data, 2, attributes=["x", "who"], contributor="who")
    with pytest.raises(InputError, match="asks for 2 values"):
        microagg.aggregate_anonymise(data, 2, contributor="who", diverse={"who": 3})
