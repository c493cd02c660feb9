"""Records that are not persons: clusters judged by contributors, against dicts of plain numbers."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import microagg
from csp import InputError, Table
from csp.compiled import at_once
from csp.errors import OutOfTime, SolverError, Unprotectable
from microagg.compliance import search
from tests.support.shared import examples, uncompiled

FIRMS = {"pay": [10, 11, 12, 10, 11, 95, 40, 50, 60], "firm": list("aaabcdefg")}
RULES = st.sampled_from(
    [("P", 10, 1), ("P", 60, 1), ("P", 25, 2), ("NK", 1, 70), ("NK", 2, 90), ("FREQ", 2, 0)]
)


def text_of(rule: tuple[str, int, int]) -> str:
    name, a, b = rule
    return f"FREQ({a})" if name == "FREQ" else f"{name}({a},{b})"


def is_sensitive(rule: tuple[str, int, int], shares: list[int]) -> bool:
    """Whether a cell with these contributions is sensitive, from the definition of the rule."""
    name, a, b = rule
    ranked, total = sorted(shares, reverse=True), sum(shares)
    if name == "FREQ":
        return len(shares) < a
    if name == "NK":
        return sum(ranked[:a]) * 100 > b * total
    rest = total - sum(ranked[: b + 1])
    return Fraction(rest) < Fraction(a, 100) * ranked[0]


def by_firm(values: list[int], firms: list[Any], labels: list[int]) -> dict[int, dict[Any, int]]:
    """Sum up what each firm contributes to each cluster."""
    found: dict[int, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
    for value, firm, label in zip(values, firms, labels, strict=True):
        found[label][firm] += value
    return found


@st.composite
def panels(draw: st.DrawFn, least: int = 0) -> dict[str, Any]:
    n = draw(st.integers(6, 16))
    column = st.lists(st.sampled_from([least, 0, 1, 2, 3, 7, 20, 41]), min_size=n, max_size=n)
    firms = draw(st.lists(st.sampled_from("abcdefgh"), min_size=n, max_size=n))
    data: dict[str, Any] = {"x": draw(column), "y": draw(column), "firm": firms}
    assume(len(set(data["x"])) > 1 and len(set(data["y"])) > 1)
    assume(len(set(firms)) >= 2)
    return data


def test_a_class_of_three_records_of_one_firm_is_not_3_anonymous() -> None:
    found = microagg.mdav(FIRMS, 3, contributor="firm")
    assert found.names == ("pay",)
    assert found.fewest >= 3
    records = microagg.read_records(FIRMS, contributor="firm")
    with pytest.raises(InputError, match="cluster 0 has records of 1 different contributors"):
        microagg.Partition.of(records, [0, 0, 0, 1, 1, 1, 2, 2, 2], 3, "by hand")


def test_p_percent_is_judged_on_summed_contributions() -> None:
    data = {"v": [30, 30, 40, 15, 5]}
    one = microagg.Partition.of(microagg.read_records(data), [0] * 5, 2, "one")
    # Records: 40, 30, rest 50 >= 10 %. Firms: a 60, b 40, c 20, then a 60 + 40, rest 20.
    assert microagg.disclosure(data, one, "P(60)").count == 0
    assert microagg.disclosure(data, one, "P(60)", contributor=list("aabcc")).count == 1
    assert microagg.disclosure(data, one, "P(33)", contributor=list("aabcc")).count == 0
    table = microagg.cells(data, one, contributor=list("aabcc"), totals=False)
    assert table.contributors is not None
    assert table.contributors.ids is not None
    assert table.contributors.count.tolist() == [3]
    assert table.contributors.top[0, :3].tolist() == [60, 40, 20]
    assert table.contributors.ids[0].tolist() == [0, 1, 2, -1, -1]


@given(panels(), st.integers(2, 4), RULES, st.sampled_from(["mdav", "vmdav", "mondrian"]))
@examples(120)
def test_partitions_and_disclosure(
    data: dict[str, Any], k: int, rule: tuple[str, int, int], how: str
) -> None:
    firms = data["firm"]
    if k > len(set(firms)):
        with pytest.raises(InputError, match="contributors; give at most"):
            getattr(microagg, how)(data, k, contributor="firm")
        return
    found = getattr(microagg, how)(data, k, contributor="firm")
    labels = found.labels.tolist()
    for name in ("x", "y"):
        for members in by_firm(data[name], firms, labels).values():
            assert len(members) >= k
    # What clusters hold, joined or not, is judged alike whoever made them.
    loose = getattr(microagg, how)(data, k, attributes=["x", "y"])
    for partition in (found, loose):
        judged = microagg.disclosure(data, partition, text_of(rule), contributor="firm")
        for j, name in enumerate(("x", "y")):
            cells = by_firm(data[name], firms, partition.labels.tolist())
            for g, members in cells.items():
                assert judged.sensitive[g, j] == is_sensitive(rule, list(members.values()))


@given(panels(), st.integers(2, 4), RULES, st.sampled_from(["suppress", "grow", "merge"]),
       st.booleans(), st.sampled_from([None, 8]))  # fmt: skip
@examples(200)
def test_comply(
    data: dict[str, Any],
    k: int,
    rule: tuple[str, int, int],
    method: str,
    moves: bool,
    most: int | None,
) -> None:
    firms = data["firm"]
    assume(k <= len(set(firms)))
    way = {"grow": microagg.Grow(moves), "merge": microagg.Merge(moves)}.get(method, method)
    options: dict[str, Any] = {"contributor": "firm", "method": way, "most": most}
    least = {"P": rule[2] + 2, "NK": rule[1] + 1, "FREQ": rule[1]}[rule[0]]
    assume(k >= least)
    try:
        found = microagg.comply(data, k, text_of(rule), **options)
    except InputError as error:
        if most is None or "cannot be cut" not in str(error):
            raise
        return
    except Unprotectable:
        if method != "suppress":
            whole = [list(by_firm(data[n], firms, [0] * len(firms))[0].values()) for n in "xy"]
            assert any(is_sensitive(rule, shares) for shares in whole)
        return
    except (SolverError, OutOfTime):
        assert most is not None
        return
    for j, name in enumerate(("x", "y")):
        for g, members in by_firm(data[name], firms, found.partition.labels.tolist()).items():
            assert len(members) >= k
            assert found.hidden[g, j] or not is_sensitive(rule, list(members.values()))
    if most is not None:
        assert found.partition.sizes.max() <= most
    assert "firm" not in found.to_columns()


@given(panels(), RULES, st.data())
@examples(150)
def test_safe_clusters_stay_safe_when_they_join(
    data: dict[str, Any], rule: tuple[str, int, int], draws: st.DataObject
) -> None:
    n = len(data["firm"])
    halves = draws.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    cells = by_firm(data["x"], data["firm"], halves)
    if all(not is_sensitive(rule, list(members.values())) for members in cells.values()):
        joined = by_firm(data["x"], data["firm"], [0] * n)[0]
        assert not is_sensitive(rule, list(joined.values()))


@given(panels(least=-5), st.sampled_from(["abs", "shift", "split"]), RULES)
@examples(80)
def test_negative_values_are_read_as_in_tables(
    data: dict[str, Any], negative: str, rule: tuple[str, int, int]
) -> None:
    n = len(data["firm"])
    records = microagg.read_records(data, ["x"])
    labels = np.arange(n) % 2
    partition = microagg.Partition.of(records, labels, 2, "by hand")
    table = microagg.cells(
        data, partition, negative=negative, contributor="firm", totals=False, identities=None
    )
    frame = {"g": [str(g) for g in labels], "x": data["x"], "firm": data["firm"]}
    other = Table.from_microdata(frame, ["g"], "x", contributor="firm", negative=negative)
    ours, theirs = table.contributors, other.contributors
    assert ours is not None
    assert theirs is not None
    if negative == "shift":  # theirs is the least of all cells, margins too
        return
    assert ours.top.tolist() == theirs.top[:2].tolist()
    assert ours.count.tolist() == theirs.count[:2].tolist()


def test_compiled_and_plain_searches_agree() -> None:
    rng = np.random.default_rng(5)
    n = 240
    data = {
        "x": rng.integers(0, 50, n), "y": rng.integers(1, 9, n) ** 3, "firm": rng.integers(0, 90, n)
    }  # fmt: skip
    for method in ("merge", "grow"):
        ask: dict[str, Any] = {"method": method, "contributor": "firm"}
        with at_once():
            found = microagg.comply(data, 4, "P(20)|NK(2,85)", **ask)
        with uncompiled(search.KERNELS):
            plain = microagg.comply(data, 4, "P(20)|NK(2,85)", **ask)
        assert found.partition.labels.tolist() == plain.partition.labels.tolist()
        assert found.partition.fewest >= 4


def test_methods_that_would_ignore_it_are_refused() -> None:
    for method in ("drop", "optimise"):
        with pytest.raises(InputError, match=r"'suppress'.*'grow'.*'merge'"):
            microagg.comply(FIRMS, 3, "P(10)", method=method, contributor="firm")
    signed = FIRMS | {"pay": [-10, 11, 12, 10, 11, 95, 40, 50, 60]}
    with pytest.raises(InputError, match="values of both signs"):
        microagg.comply(signed, 3, "P(10)", method="merge", contributor="firm", negative="abs")
    partition = microagg.mdav(FIRMS, 2, contributor="firm")
    with pytest.raises(InputError, match="a person of its own"):
        microagg.intruders.insiders(FIRMS, partition)


def test_who_is_named_wrongly() -> None:
    with pytest.raises(InputError, match="names an attribute too"):
        microagg.mdav(FIRMS, 2, attributes=["pay", "firm"], contributor="firm")
    with pytest.raises(InputError, match="2 identifiers for 9 records"):
        microagg.mdav(FIRMS, 2, attributes=["pay"], contributor=["a", "b"])
    with pytest.raises(InputError, match="row 2: the contributor in column 'firm' is missing"):
        microagg.mdav(FIRMS | {"firm": ["a", None, *"bcdefgh"]}, 2, contributor="firm")
    with pytest.raises(InputError, match="no column 'form'"):
        microagg.mdav(FIRMS, 2, contributor="form")


def test_a_partition_keeps_its_contributors() -> None:
    partition = microagg.mdav(FIRMS, 2, contributor="firm")
    named = microagg.disclosure(FIRMS, partition, "P(30)", contributor="firm")
    assert microagg.disclosure(FIRMS, partition, "P(30)").sensitive.tolist() == (
        named.sensitive.tolist()
    )
    partition = microagg.mdav(FIRMS, 3, contributor="firm")
    result = microagg.comply(
        FIRMS, 3, "P(10)", method="merge", attributes=["pay"], partition=partition
    )
    assert result.partition.contributor is not None
    loose = microagg.Partition.of(
        microagg.read_records(FIRMS, ["pay"]), [0, 0, 0, 1, 1, 1, 2, 2, 2], 3, "by hand"
    )
    with pytest.raises(InputError, match="a cluster with 1 different contributors"):
        microagg.comply(FIRMS, 3, "P(10)", method="merge", partition=loose, contributor="firm")


def test_individual_ranking_and_curve() -> None:
    data = {"pay": list(range(12)), "hours": list(range(12, 0, -1))}
    firms = [i // 3 for i in range(12)]
    ranked = microagg.individual_ranking(data, 2, contributor=firms)
    assert all(part.fewest >= 2 for part in ranked.partitions)
    points = microagg.k_curve(data, "P(10)", ks=[2, 3, 6], contributor=firms)
    assert [point.k for point in points] == [2, 3]


def test_identifiers_of_a_frame_stay_out_of_the_masked_file() -> None:
    frame = pd.DataFrame(FIRMS)
    found = microagg.comply(frame, 3, "P(10)", method="merge", contributor="firm")
    assert list(found.to_frame().columns) == ["pay"]
    kept = found.to_frame(keep=frame[["firm"]], keep_identifiers=True)
    assert list(kept.columns) == ["pay", "firm"]
    assert found.summary()["k_counts"] == "contributors"
    assert "fewest_contributors" not in found.summary()
    assert found.summary(reveal=True)["fewest_contributors"] >= 3
