"""Rules by hand, at ties, and against formulas written again in fractions."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, replace
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import csp.rules
from csp.errors import InputError
from csp.exact import UNBOUNDED
from csp.rules import (
    PQ,
    AnyOf,
    Dominance,
    Manual,
    MinFrequency,
    PPercent,
    Rule,
    Sensitivity,
    Zero,
    as_rule,
    every_union_sensitive,
    parse_rules,
    union_sensitive,
)
from csp.tables.contributors import Contributors
from csp.tables.table import Table
from tests.support.strategies import cube, magnitude_tables


def table_of(contributions, *, scale=0, known=None, lower=0, opposite=None, structural=None):
    """Independent cells (no relations) with the given contributions."""
    n = len(contributions)

    def people(lists, other=None):
        k = known or max(max((len(c) for c in lists), default=0), 4)
        ordered = [sorted(c, reverse=True) for c in lists]
        top = np.array([(c + [0] * k)[:k] for c in ordered], dtype=np.int64).reshape(n, k)
        return Contributors(
            np.array([len(c) for c in lists]),
            np.array([sum(c) for c in lists]),
            top,
            opposite=other,
        )

    other = None if opposite is None else people(opposite)
    minus = [0] * n if opposite is None else [sum(c) for c in opposite]
    return Table(
        np.array([sum(c) - m for c, m in zip(contributions, minus, strict=True)]),
        csr_array((0, n), dtype=np.int64),
        np.full(n, lower),
        np.full(n, UNBOUNDED),
        tuple((f"c{i}",) for i in range(n)),
        scale=scale,
        contributors=people(contributions, other),
        names=("cell",),
        structural=structural,
    )


def counts(*values) -> Table:
    return cube(np.array(values))


# ---- formulas by hand ----------------------------------------------------------------------


def test_p_percent_by_hand() -> None:
    # T=110, x1=100, x2=6: the others hide 4 < 10, so x1 is sensitive and misses 6
    found = PPercent(10)(table_of([[100, 6, 4], [100, 10, 10]]))
    assert found.primary.tolist() == [True, False]
    assert found.upl.tolist() == [6, 0]
    assert found.lpl.tolist() == [6, 0]


def test_p_percent_with_a_coalition_of_two() -> None:
    table = table_of([[100, 6, 6, 10]])
    # sorted 100, 10, 6, 6: alone 12 stay hidden, two together leave 6
    assert not PPercent(10, 1)(table).primary[0]
    assert PPercent(10, 2)(table).upl[0] == 4


def test_dominance_by_hand() -> None:
    # (60+20) of 100 is more than 75 %: 8000/75 = 106.67, so 7 units are missing
    found = Dominance(2, 75)(table_of([[60, 20, 12, 8]]))
    assert found.primary[0]
    assert found.upl[0] == 7


def test_pq_by_hand() -> None:
    found = PQ(10, 50)(table_of([[100, 6, 15], [100, 15, 20]]))
    # 10/50 of 100 is 20; what stays hidden is 6 and 15
    assert found.upl.tolist() == [14, 5]


def test_single_contributor_is_always_concentrated() -> None:
    table = table_of([[40]])
    assert PPercent(10)(table).upl[0] == 4
    assert Dominance(1, 90)(table).upl[0] == 5


def test_minimum_frequency_of_counts() -> None:
    table = counts([0, 1, 5], [2, 3, 9])
    found = MinFrequency(3)(table)
    inner = found.primary.reshape(3, 4)[:2, :3]
    assert inner.tolist() == [[False, True, False], [True, False, False]]
    assert set(found.spl[found.primary].tolist()) == {3}
    assert not found.open.any()
    assert MinFrequency(3, zero_sensitive=True)(table).primary[0]


def test_minimum_frequency_levels() -> None:
    table = table_of([[50, 5], [1, 1], [5, 5, 5]])
    assert MinFrequency(3)(table).open.tolist() == [True, True, False]
    margin = MinFrequency(3, margin=10)(table)
    assert margin.upl.tolist() == [6, 1, 0]
    assert not margin.open.any()
    assert MinFrequency(3, width=7)(table).spl.tolist() == [7, 7, 0]


def test_zero_rule() -> None:
    table = table_of([[0, 0], [], [1]])
    assert Zero(5)(table).primary.tolist() == [True, False, False]
    assert Zero(5)(table).upl[0] == 5
    assert Zero(5)(table).lpl[0] == 0
    assert Zero(2)(counts([0, 1], [1, 1])).primary.tolist()[0]


def test_units_of_levels() -> None:
    table = table_of([[0, 0], [7, 3]], scale=2)
    assert Zero("0.5")(table).upl[0] == 50  # a number of the measure, as in tau-ARGUS
    assert MinFrequency(3, width=5)(table).spl.tolist() == [500, 500]


def test_manual_by_label_and_by_mask() -> None:
    table = table_of([[10], [20], [30]])
    by_label = Manual([("c1",)], margin=15)(table)
    by_mask = Manual(np.array([False, True, False]), margin=15)(table)
    assert by_label.primary.tolist() == by_mask.primary.tolist() == [False, True, False]
    assert by_label.upl.tolist() == by_mask.upl.tolist() == [0, 3, 0]
    assert Manual(["c1"])(table).open[1]
    with pytest.raises(InputError, match="no cell"):
        Manual(["nowhere"])(table)
    with pytest.raises(InputError, match="mask of 2 cells"):
        Manual([True, False])(table)
    for wrong in ([3], "c1", None):
        with pytest.raises(InputError, match="labels"):
            Manual(wrong)  # type: ignore[arg-type]


def test_flags_of_rules_are_true_or_false() -> None:
    flags = []
    for kind in {rule for rule in vars(csp.rules).values() if inspect.isclass(rule)} - {Rule}:
        if issubclass(kind, Rule):
            needed = {f.name: 3 for f in fields(kind) if f.default is MISSING}  # type: ignore[arg-type]
            named = [f.name for f in fields(kind) if f.type == "bool"]  # type: ignore[arg-type]
            flags += [(kind, needed, name) for name in named]
    assert {name for _, _, name in flags} >= {"weighted", "zero_sensitive"}
    for kind, needed, name in flags:
        assert getattr(kind(**needed, **{name: True}), name) is True
        for wrong in ("no", 1, None):
            with pytest.raises(InputError, match=f"{name} must be True or False, got {wrong!r}"):
                kind(**needed, **{name: wrong})


def test_lower_level_stops_at_the_lower_bound() -> None:
    found = PPercent(60)(table_of([[10]], lower=8))
    assert (found.lpl[0], found.upl[0]) == (2, 6)


# ---- ties ----------------------------------------------------------------------------------


def test_p_percent_tie_is_not_sensitive() -> None:
    # 10 % of 100 equals what stays hidden
    assert not PPercent(10)(table_of([[100, 50, 10]])).primary[0]
    assert PPercent(10)(table_of([[100, 50, 9]])).primary[0]


@pytest.mark.parametrize("p", ["0.1%", " 0.10 %", Fraction(1, 10)])
def test_a_tenth_of_a_percent_is_a_tenth(p) -> None:
    assert not PPercent(p)(table_of([[1000, 5, 1]])).primary[0]
    assert PPercent(p)(table_of([[1001, 5, 1]])).primary[0]


def test_dominance_tie_at_one_third() -> None:
    third = Fraction(100, 3)
    assert not Dominance(1, third)(table_of([[10, 10, 10]])).primary[0]
    # one third is more than 33.3 percent, and 33.3 means 333/1000
    assert Dominance(1, "33.3")(table_of([[10, 10, 10]])).primary[0]
    assert not Dominance(1, 33.4)(table_of([[10, 10, 10]])).primary[0]


def test_ties_survive_numbers_that_floats_round() -> None:
    big = 2**52
    assert not Dominance(1, 50)(table_of([[big // 2, big // 2]])).primary[0]
    assert Dominance(1, 50)(table_of([[big // 2 + 1, big // 2 - 1]])).primary[0]
    odd = Fraction(10**12, 10**12 + 1) * 100  # numerators that overflow int64 when multiplied
    exact = table_of([[10**12 * 4000, 4000]])
    assert not Dominance(1, odd)(exact).primary[0]
    assert Dominance(1, odd)(table_of([[10**12 * 4000 + 1, 3999]])).primary[0]


# ---- random contributions against plain fractions -------------------------------------------

amounts = st.lists(st.one_of(st.integers(0, 30), st.sampled_from([100, 1000, 2**40])), max_size=6)
parameters = st.fractions(min_value=Fraction(1, 50), max_value=100, max_denominator=60)


def plain(x: list[int], n: int) -> tuple[int, int, int]:
    """T, x1, and the sum of the n next ones."""
    x = sorted(x, reverse=True) + [0] * (n + 1)
    return sum(x), x[0], sum(x[1 : n + 1])


@given(st.lists(amounts, min_size=1, max_size=5), parameters, st.integers(1, 3))
def test_concentration_rules_against_fractions(cells, percent, n) -> None:
    table = table_of(cells, known=6)
    ambiguity = PPercent(percent, n)(table)
    dominance = Dominance(n, percent)(table)
    half = PQ(percent / 2, percent, n)(table)
    for i, x in enumerate(cells):
        total, largest, pool = plain(x, n)
        gap = Fraction(percent, 100) * largest - (total - largest - pool)
        assert ambiguity.primary[i] == (gap > 0)
        assert ambiguity.upl[i] == max(0, ceil(gap))
        gap = Fraction(largest, 2) - (total - largest - pool)
        assert half.primary[i] == (gap > 0)
        assert half.upl[i] == max(0, ceil(gap))
        strong = largest + plain(x, n - 1)[2]
        gap = strong * 100 / percent - total
        assert dominance.primary[i] == (gap > 0)
        assert dominance.upl[i] == max(0, ceil(gap))
    for found in (ambiguity, dominance, half):
        assert np.array_equal(found.lpl, np.minimum(found.upl, table.values))


@given(
    st.lists(amounts, min_size=1, max_size=5),
    st.integers(1, 6),
    parameters,
    st.booleans(),
)
def test_frequency_rule_against_fractions(cells, n, margin, zero) -> None:
    table = table_of(cells, known=6)
    found = MinFrequency(n, zero_sensitive=zero, margin=margin)(table)
    for i, x in enumerate(cells):
        sensitive = len(x) < n and (zero or len(x) > 0)
        assert found.primary[i] == sensitive
        level = max(1, ceil(Fraction(margin, 100) * sum(x))) if sensitive else 0
        assert found.upl[i] == level
        assert found.lpl[i] == min(level, sum(x))


# ---- combination, negative contributions, structure -----------------------------------------


def test_either_rule_and_the_larger_level() -> None:
    table = table_of([[100], [3, 3], [5, 5, 5, 5]])
    rule = PPercent(10) | MinFrequency(3, margin=20)
    found = rule(table)
    assert found.primary.tolist() == [True, True, False]
    assert found.upl.tolist() == [20, 2, 0]
    assert isinstance(rule, AnyOf)
    assert len((rule | Zero(1)).rules) == 3


def test_a_level_of_one_rule_closes_what_another_left_open() -> None:
    found = (MinFrequency(3) | PPercent(10))(table_of([[100], [20, 20]]))
    assert found.primary.tolist() == [True, True]
    assert found.open.tolist() == [False, False]
    assert (MinFrequency(3) | PPercent(1))(table_of([[20, 20, 0], [9, 9]])).open.sum() == 0
    assert (MinFrequency(4) | PPercent(10))(table_of([[20, 20, 20]])).open[0]


def test_any_function_of_a_table_joins_in() -> None:
    def odd(table):
        return table.values % 2 == 1

    table = table_of([[1], [2, 2, 2], [3, 3, 3]])
    for rule in (odd | PPercent(10), PPercent(10) | odd):
        assert rule(table).primary.tolist() == [True, False, True]
    assert as_rule(odd)(table).open.tolist() == [True, False, True]
    assert as_rule(lambda t: PPercent(10)(t))(table).upl[0] == 1
    with pytest.raises(InputError, match="bool array"):
        as_rule(lambda t: t.values)(table)
    with pytest.raises(InputError, match="is not a rule"):
        as_rule(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="PPercent is not a rule"):
        PPercent(10) | PPercent


def test_split_contributions_are_sensitive_on_either_side() -> None:
    table = table_of(
        [[50, 40, 30, 20], [50, 40, 30, 20], [1]],
        opposite=[[30, 2, 1], [9, 9, 9, 9], [2]],
        lower=-1000,
    )
    found = PPercent(10)(table)
    assert found.primary.tolist() == [True, False, True]
    assert found.upl.tolist() == [2, 0, 1]
    # contributors of both signs stand behind a cell
    assert MinFrequency(3, margin=0)(table).primary.tolist() == [False, False, True]


def test_structural_cells_are_never_sensitive() -> None:
    table = table_of([[], [], [7]], structural=np.array([True, False, False]))
    rule = MinFrequency(2, zero_sensitive=True, width=1) | (lambda t: np.ones(3, dtype=bool))
    assert rule(table).primary.tolist() == [False, True, True]
    with pytest.raises(InputError, match="known to be empty"):
        Manual(["c0"])(table)


def test_missing_facts_are_named() -> None:
    table = table_of([[5, 3, 1]], known=2)
    with pytest.raises(InputError, match="top=3"):
        Dominance(3, 50)(table)
    with pytest.raises(InputError, match="1000000000000 largest"):
        Dominance(10**12, 50)(table)  # and no weights are made for them
    with pytest.raises(InputError, match="top=3"):
        PPercent(10, 2)(table)
    with pytest.raises(InputError, match="contributors="):
        PPercent(10)(counts([1, 2], [3, 4]))
    with pytest.raises(InputError, match="contributors="):
        MinFrequency(3)(cube(np.array([[1, 2], [3, 4]]), scale=2))
    with pytest.raises(InputError, match="negative"):
        MinFrequency(3)(cube(np.array([[-1, 2], [3, 4]]), lower=-9))


@pytest.mark.parametrize(
    "make",
    [
        lambda: MinFrequency(0),
        lambda: MinFrequency(2.5),
        lambda: Dominance(1, 101),
        lambda: Dominance(1, 0),
        lambda: PPercent(-1),
        lambda: PPercent("ten"),
        lambda: PPercent(float("nan")),
        lambda: PQ(20, 10),
        lambda: PQ(20, 20),
        lambda: Zero(0),
        lambda: MinFrequency(3, width=0),
        lambda: AnyOf(()),
    ],
)
def test_bad_parameters(make) -> None:
    with pytest.raises(InputError):
        make()


def test_a_level_beyond_62_bits_is_refused() -> None:
    with pytest.raises(InputError, match="62 bits"):
        PPercent(10**6)(table_of([[2**52]]))


# ---- unions ----------------------------------------------------------------------------------


def test_union_of_counts_below_the_threshold() -> None:
    table = counts([15, 5, 3], [20, 20, 20])
    rule = MinFrequency(11)
    assert union_sensitive(rule, table, [1, 2])
    assert not union_sensitive(rule, table, [0, 1])
    assert not union_sensitive(Manual([("1", "2")]), table, [1])


def test_union_adds_what_one_contributor_gave_to_several_cells() -> None:
    n, k = 2, 3
    top = np.array([[50, 20, 5], [60, 30, 4]])
    people = Contributors(np.array([3, 3]), top.sum(axis=1), top)
    ids = Contributors(people.count, people.total, top, np.array([[1, 2, 3], [1, 4, 2]]))
    base = table_of([[50, 20, 5], [60, 30, 4]])
    apart = base.replace(contributors=people)
    assert base.contributors is not None
    known = base.replace(contributors=ids)
    assert known.contributors is not None
    assert (n, k) == known.contributors.top.shape
    # apart: 60 of 169; together: 110 of 169
    assert not union_sensitive(Dominance(1, 60), apart, [0, 1])
    assert union_sensitive(Dominance(1, 60), known, [0, 1])
    # four people in all, not six
    assert union_sensitive(MinFrequency(5, width=1), known, [0, 1])
    assert not union_sensitive(MinFrequency(5, width=1), apart, [0, 1])


@given(magnitude_tables(known=8), st.integers(0, 8))
def test_union_of_a_row_equals_its_margin(table, choice) -> None:
    # eight people at most, all of them known: the margin tells what the union must be
    rule = [PPercent(15), PPercent(15, 2), Dominance(1, 60), Dominance(2, 80), PQ(10, 30)][
        choice % 5
    ]
    rule = rule if choice < 5 else MinFrequency(choice - 2, width=1)
    found = rule(table).primary
    for row in range(table.relations.shape[0]):
        start, stop = table.relations.indptr[row : row + 2]
        cells, signs = table.relations.indices[start:stop], table.relations.data[start:stop]
        margin = int(cells[signs < 0][0])
        assert union_sensitive(rule, table, cells[signs > 0]) == found[margin]


PEOPLE = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 7), st.integers(-30, 60)),
    min_size=4, max_size=30,
)  # fmt: skip


def gave(records: list[tuple[str, int, int]], regions: str) -> dict[int, int]:
    """What each person gave to some regions."""
    sums: dict[int, int] = {}
    for region, person, amount in records:
        if region in regions:
            sums[person] = sums.get(person, 0) + amount
    return sums


def nameless(people: Contributors, *, counted: bool) -> Contributors:
    other = None if people.opposite is None else nameless(people.opposite, counted=counted)
    return replace(people, ids=None, counted=counted, opposite=other)


def judged(rule: str, given: dict[int, int], mode: str, shift: int, weight: list[Fraction]) -> bool:
    """Rules of the books, of all contributions, as the modes for negative ones read them.

    A person who stands for several is as many of the largest, rounded, and one at least.
    """
    kind, n = rule.split(" ")
    if kind == "freq":
        return 0 < len(given) < int(n)
    sides = [(1, given), (-1, given)] if mode == "split" else [(1, given)]
    for sign, side in sides:
        parts = [(sign * x, weight[person]) for person, x in side.items()]
        if mode == "split":
            parts = [(x, w) for x, w in parts if x > 0]
        else:
            parts = [(abs(x) if mode == "abs" else x - shift, w) for x, w in parts]
        total = sum(x * w for x, w in parts)
        copies = [x for x, w in parts for _ in range(max(1, int(w + Fraction(1, 2))))]
        most = sorted(copies, reverse=True)
        if kind == "p" and 100 * (total - sum(most[:2])) < int(n) * sum(most[:1]):
            return True
        if kind in "12" and 100 * sum(most[: int(kind)]) > int(n) * total:
            return True
    return False


WEIGHTS = st.sampled_from(["1", "2", "3", "0.4", "1.5", "2.3"]).map(Fraction)


@pytest.mark.parametrize("mode", ["error", "abs", "split", "shift"])
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (MinFrequency(4, width=1), "freq 4"), (MinFrequency(7, width=1), "freq 7"),
        (PPercent(5), "p 5"), (PPercent(30), "p 30"), (Dominance(1, 40), "1 40"),
        (Dominance(2, 60), "2 60"),
    ],
)  # fmt: skip
@given(
    records=PEOPLE,
    top=st.integers(2, 7),
    known=st.sampled_from(["names", "counts", "largest"]),
    weights=st.none() | st.lists(WEIGHTS, min_size=8, max_size=8),
)
def test_no_sum_passes_that_all_contributions_would_refuse(
    rule: Rule,
    words: str,
    mode: str,
    records: list[tuple[str, int, int]],
    top: int,
    known: str,
    weights: list[Fraction] | None,
) -> None:
    """Who is not among the largest, or not identified, may stand behind several cells."""
    if mode == "error":
        records = [(region, person, abs(amount)) for region, person, amount in records]
    region, person, amount = zip(*records, strict=True)
    data: dict[str, Any] = {"region": region, "person": person, "amount": amount}
    weight = [Fraction(1)] * 8 if weights is None else weights
    data["weight"] = [float(weight[one]) for one in person]
    table = Table.from_microdata(
        data, ["region"], "amount", contributor="person", top=top, negative=mode,
        weight=None if weights is None else "weight",
    )  # fmt: skip
    people = table.contributors
    assert people is not None
    apart = len(gave(records, "abcd")) == sum(len(gave(records, one)) for one in "abcd")
    plain = mode == "error" and weights is None
    complete = known == "names" and plain and bool((people.count <= top).all())
    if known != "names":
        counted = known == "counts" or words.startswith("freq")
        table = table.replace(contributors=nameless(people, counted=counted))
    codes = {table.labels[i][0]: i for i in np.flatnonzero(~table.margins).tolist()}
    found = {}
    for size in range(1, len(codes) + 1):
        for some in combinations(sorted(codes), size):
            cells = [codes[one] for one in some]
            found[some] = union_sensitive(rule, table, cells, 0)
            shift = people.shift // 10**table.scale
            truth = judged(words, gave(records, "".join(some)), mode, shift, weight)
            assert found[some] >= truth
            if complete or len(cells) == 1 or (apart and known != "largest"):
                assert found[some] == truth
    for base in codes:
        all_sensitive = every_union_sensitive(rule, table, [codes[base]], 0)
        for most in found:
            if base in most and all_sensitive([codes[one] for one in most]):
                assert all(found[some] for some in found if base in some and {*some} <= {*most})


def test_counts_that_add_up_by_chance_say_nothing() -> None:
    """In a relation of several totals: three people in each of A + B = C + D."""
    top = np.array([[50, 20, 5], [60, 30, 4], [70, 40, 6], [40, 10, 3]])
    ids = np.array([[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]])
    people = Contributors(np.full(4, 3), top.sum(axis=1), top, ids)
    base = table_of([[50, 20, 5], [60, 30, 4], [70, 40, 6], [40, 10, 3]])
    table = base.replace(relations=csr_array(np.array([[1, 1, -1, -1]])), contributors=people)
    assert (table.relations @ table.values == 0).all()
    assert union_sensitive(MinFrequency(5, width=1), table, [0, 1], 0)


def test_respondents_of_small_weights_are_counted() -> None:
    records = {"r": ["a", "b", "b"], "v": [5, 6, 7], "w": [0.4, 3, 4]}
    table = Table.from_microdata(records, ["r"], "v", weight="w")
    assert table.labels[0] == ("a",)
    assert MinFrequency(5, width=1, weighted=True)(table).primary.tolist() == [True, False, False]


def test_union_needs_different_cells() -> None:
    table = counts([1, 2], [3, 4])
    for cells in ([], [1, 1]):
        with pytest.raises(InputError, match="different cells"):
            union_sensitive(MinFrequency(3), table, cells)


# ---- text ------------------------------------------------------------------------------------


def test_words_of_tau_argus() -> None:
    rule = parse_rules("P(10,1)|FREQ(3,10)|NK(0,0)|P(0,0)|WGT(0)|MIS(0)|REQ(0,0,0)")
    assert rule == AnyOf((PPercent(10), MinFrequency(3, margin=10)))
    assert parse_rules(" nk( 2 , 75 ) ") == Dominance(2, 75)
    assert parse_rules("P(5,50,2)") == PQ(5, 50, 2)
    assert parse_rules("ZERO(20)") == Zero(20)
    assert parse_rules("MAN(20)", manual=["a", "b"]) == Manual(["a", "b"], margin=20)


@pytest.mark.parametrize(
    "rule",
    [
        PPercent(10),
        PPercent("0.05%", 3),
        PPercent(Fraction(100, 3)),
        PQ(1, "2.5", 2),
        Dominance(2, "33.3"),
        MinFrequency(3),
        MinFrequency(3, margin=0),
        MinFrequency(3, zero_sensitive=True, width=10),
        Zero(7),
        Manual([("a", "b")], margin=5),
        Manual([("a",)], width=5),
        PPercent(10) | Dominance(1, 80) | MinFrequency(5, margin=10),
    ],
)
def test_text_of_a_rule_reads_back(rule: Rule) -> None:
    manual = rule.cells if isinstance(rule, Manual) else ()
    assert parse_rules(str(rule), manual=manual) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P(10,1)|XX(3)", r"'XX\(3\)' at character 9"),
        ("P(10,1)||NK(1,2)", "at character 9"),
        ("", "P\\(p,n\\)"),
        ("P(1,2,3,4)", "4 parameters given"),
        ("NK(2)", "1 parameters given, expected NK"),
        ("FREQ(three,10)", "'three' is not a number"),
        ("FREQ(3,)", "'' is not a number"),
        ("P(10,1", "is not a rule"),
        ("WGT(1)", "weight="),
        ("MIS(1)", "publish"),
        ("REQ(10,20,5)", "Manual"),
        ("P(0,0)|NK(0,0)", "holds no rule"),
        ("NK(1,120)", "at most 100"),
        ("P(1,1)|P(2,1)|P(3,1)", "holdings"),
        ("P(0,0)|P(0,0)|P(3,1)", "holdings"),
        ("FREQ(3,width=1,width=2)", "each once"),
        ("P(10,width=2)", "named parameters of P"),
        ("FREQ(width=2,3)", "plain parameters"),
        ("P(1/0,1)", "not a number"),
    ],
)
def test_text_that_cannot_be_read(text, message) -> None:
    with pytest.raises(InputError, match=message):
        parse_rules(text)


def test_manual_cells_need_the_word() -> None:
    with pytest.raises(InputError, match="MAN"):
        parse_rules("P(10,1)", manual=["a"])


def test_repr_shows_the_numbers_meant() -> None:
    assert repr(PPercent("0.1%")) == "PPercent(p=0.1, n=1)"
    assert "sensitive" in repr(PPercent(10)(table_of([[1]])))


def test_sensitivity_refuses_other_shapes() -> None:
    none = np.zeros(2, dtype=bool)
    with pytest.raises(InputError, match="shape"):
        Sensitivity(none, np.zeros(3), np.zeros(2), np.zeros(2), none)


def test_a_sensitivity_of_ones_own() -> None:
    def first_two(table):
        primary = np.arange(table.n_cells) < 2
        return Sensitivity(primary, np.full(3, 2), np.array([0, 4, 9]), np.zeros(3))

    found = as_rule(first_two)(table_of([[5], [6], [7]]))
    assert found.lpl.tolist() == [2, 2, 0]
    assert found.upl.tolist() == [0, 4, 0]
    assert not found.open.any()
    none = np.zeros(3, dtype=np.int64)
    assert Sensitivity(np.array([True, False, False]), none, none, none).open.tolist() == [
        True,
        False,
        False,
    ]
    fixed = found
    with pytest.raises(InputError, match="judged 3 cells"):
        as_rule(lambda table: fixed)(table_of([[5], [6], [7], [8]]))


@given(st.integers(1, 5), st.integers(1, 100), st.integers(1, 100))
def test_as_many_equal_contributions_pass_as_a_form_says(n: int, p: int, q: int) -> None:
    for rule in (Dominance(n, p), PPercent(p, n), *([PQ(p, q, n)] if p < q else [])):
        least = rule.form.smallest
        for t in {1, least - 1, least, least + 1} - {0}:
            sensitive = rule(table_of([[60] * t], known=10)).primary[0]
            assert sensitive == (t < least)


def test_many_contributors_are_not_counted_one_by_one() -> None:
    assert Dominance(10**12, 1).form.smallest == 10**14


@pytest.mark.parametrize("rule", ["NK(2,33.33333333333333333)", "P(123456789012345.123456789,1)"])
def test_rules_with_many_digits_judge_cells_of_nothing(rule: str) -> None:
    table = Table.from_microdata({"a": ["x", "y"], "v": [0, 0]}, ["a"], "v")
    assert not as_rule(rule)(table).primary.any()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PPercent(0.1), r"write 10 for 10 percent, or '0\.1%'"),
        (lambda: PPercent("0.1"), "write 10 for 10 percent"),
        (lambda: Dominance(2, 0.9), "write 90 for 90 percent"),
    ],
)
def test_a_share_is_not_taken_for_a_percentage(make, words):
    """In other programs 0.1 is 10 percent; a tenth of a percent marks next to nothing."""
    with pytest.raises(InputError, match=words):
        make()
    assert PPercent("0.1%").p == Fraction(1, 10)
    assert PPercent(Fraction(1, 10)) == PPercent("0.1%")
