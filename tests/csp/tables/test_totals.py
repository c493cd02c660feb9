"""What a column means is never guessed: totals among categories, values for counts, weights."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Hierarchy, InputError, Mechanism, MinFrequency, Table, parse_rules, protect
from csp.errors import NotAdditive
from csp.tables.hierarchies.totals import unnoticed_totals
from tests.support.shared import examples

ALL = {"region": ["All", "North", "South"], "n": [53, 3, 50]}


def lines_of(array, axis):
    """Each line along an axis, by indices only."""
    others = [range(d) for k, d in enumerate(array.shape) if k != axis]
    for rest in itertools.product(*others):
        index = [*rest[:axis], slice(None), *rest[axis:]]
        yield array[tuple(index)].tolist()


@examples(150)
@given(st.data())
def test_a_category_is_a_total_if_it_is_the_sum_of_the_others(data):
    shape = data.draw(st.sampled_from([(3,), (4, 3), (3, 4, 2)]))
    size = int(np.prod(shape))
    array = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    array = array.reshape(shape)
    if data.draw(st.booleans()):
        axis = data.draw(st.integers(0, len(shape) - 1))
        view = np.moveaxis(array, axis, 0)
        view[-1] = view[:-1].sum(axis=0)
    last = data.draw(st.sampled_from(["x", "All ages", "both"]))
    codes = [[f"c{j}" for j in range(d - 1)] + [last] for d in shape]
    wanted = set()
    for axis, names in enumerate(codes):
        for j, name in enumerate(names):
            lines = list(lines_of(array, axis))
            rests = [(line[j], line[:j] + line[j + 1 :]) for line in lines]
            called = name == last != "x"
            least = 1 if called else 2
            told = [(v, rest) for v, rest in rests if sum(x != 0 for x in rest) >= least]
            orphans = sum(v != 0 and not any(rest) for v, rest in rests)
            right = sum(v == sum(rest) for v, rest in told)
            if len(told) >= (1 if called else 3) and right >= 0.9 * (len(told) + orphans):
                wanted.add((axis, j))
    assert {(axis, j) for axis, j, _ in unnoticed_totals(array, codes)} == wanted


def test_a_total_under_another_name_is_refused_where_it_was_a_category():
    """It was published as Total 106; North is then 106/2 - 50."""
    with pytest.raises(InputError, match=r"'All'.*total=\{'region': 'All'\} if it is"):
        Table.from_frame(ALL, ["region"], "n", count="n")
    table = Table.from_frame(ALL, ["region"], "n", count="n", total={"region": "All"})
    assert dict(zip(table.labels, table.values.tolist(), strict=True)) == {
        ("North",): 3, ("South",): 50, ("All",): 53,
    }  # fmt: skip
    with pytest.raises(InputError, match="has the name of a total"):
        Table.from_frame(ALL, ["region"], "n", count="n", total="Total")
    named = Table.from_frame(ALL, ["region"], "n", count="n", total={"region": "Total"})
    assert named.values.max() == 106
    beside = {"r": ["All", "East", "E1", "E2", "West"], "n": [53, 3, 1, 2, 50]}
    with pytest.raises(InputError, match=r"'All' .* has the name of a total"):
        Table.from_frame(beside, ["r"], "n", count="n")
    rounded = {"r": ["North", "South", "West", "Total, all"], "v": [10.2, 20.3, 30.1, 60.7]}
    with pytest.raises(InputError, match="has the name of a total"):
        Table.from_frame(rounded, ["r"], "v")
    ages = {"age": ["All ages", "old", "young"], "n": [53, 3, 50]}
    with pytest.raises(InputError, match="sum of all others in 1 line"):
        Table.from_frame(ages, ["age"], "n", count="n")
    other = {"s": ["All other services", "Trade", "Farms"], "n": [12, 30, 50]}
    assert Table.from_frame(other, ["s"], "n", count="n").n_cells == 4
    for name in ("TOTAL", "sum", "Ialt", "Grand total"):
        renamed = ALL | {"region": [name, "North", "South"]}
        with pytest.raises(InputError, match="looks like their total"):
            Table.from_frame(renamed, ["region"], "n")
    with pytest.raises(InputError, match="total names 'sector'"):
        Table.from_frame(ALL, ["region"], "n", total={"sector": "All"})


def test_a_total_off_by_rounding_is_a_total_too():
    parts = np.random.default_rng(2).integers(10_000, 99_999, (5, 4))
    whole = np.hstack([parts, parts.sum(axis=1, keepdims=True)])
    rounded = (whole + 50) // 100
    assert (rounded[:, :4].sum(axis=1) != rounded[:, 4]).any()
    rows = {
        "r": [f"r{i}" for i in range(5) for _ in range(5)],
        "s": ["a", "b", "c", "d", "e"] * 5,
        "v": (rounded.ravel() / 10).tolist(),
    }
    with pytest.raises(InputError, match=r"'e' of dimension 's' is the sum.*within rounding"):
        Table.from_frame(rows, ["r", "s"], "v")
    with pytest.raises(InputError, match="margins=False"):
        Table.from_array(rounded)
    rounded[:, 4] += 9
    assert Table.from_array(rounded).n_cells == 36
    # Beside small numbers every other one is as near.
    assert Table.from_array([[3, 4, 8], [2, 9, 10], [5, 1, 7], [4, 4, 9]]).n_cells == 20


def test_totals_among_records_and_in_arrays_are_refused():
    codes = ["a"] * 3 + ["b"] * 4 + ["Denmark"] * 7
    sex = list("fmf") + list("fmfm") + list("fmffmfm")
    age = ["o", "o", "y", "o", "y", "y", "o", "o", "o", "y", "o", "y", "y", "o"]
    frame = pd.DataFrame({"region": codes, "sex": sex, "age": age})
    with pytest.raises(InputError, match="'Denmark' of dimension 'region'"):
        Table.from_microdata(frame, ["region", "sex", "age"])
    explicit = Table.from_microdata(frame, ["region", "sex", "age"], total={"region": "Total"})
    assert ("Denmark", "Total", "Total") in explicit.labels
    with_margins = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]]).values.reshape(4, 4)
    with pytest.raises(InputError, match="margins=False"):
        Table.from_array(with_margins)
    assert Table.from_array(with_margins, margins=False).n_cells == 16
    assert Table.from_array(with_margins, margins=True).n_cells == 25
    assert Table.from_array([1, 2, 3]).n_cells == 4  # one line is not evidence
    with pytest.raises(InputError, match=r"'Total' is both .* leave them out"):
        Table.from_microdata({"r": ["Total", "a"]}, ["r"])
    tree = Hierarchy.from_dict({"North": ["a", "b"]})
    assert Table.from_microdata({"r": ["a", "b"]}, ["r"], hierarchies={"r": tree}).n_cells == 4


def test_values_are_not_taken_for_counts():
    """Turnover of one firm was published: 100 does not count a hundred contributors."""
    rows = {
        "region": ["N", "N", "S", "S"], "sector": ["A", "B", "A", "B"],
        "turnover": [100, 600, 500, 700],
    }  # fmt: skip
    by = ["region", "sector"]
    table = Table.from_frame(rows, by, "turnover")
    for rule in ("FREQ(3,10)", "ZERO(1)"):
        with pytest.raises(InputError, match=r"with count=, and"):
            protect(table, rule)
    with pytest.raises(InputError, match="largest contributions"):
        protect(table, "P(10)")
    assert not Mechanism("FREQ(3)").attacker_is_integer(table)
    manual = protect(table, parse_rules("MAN(10)", manual=[("N", "A")]))
    assert manual.pattern.sum() == 4
    counts = Table.from_frame(rows, by, "turnover", count="turnover")
    assert counts.contributors is None
    assert Mechanism("FREQ(3)").attacker_is_integer(counts)
    assert not protect(counts, "FREQ(3)").pattern.any()
    for wrong in ([1.5, 600, 500, 700], [-1, 600, 500, 700]):
        with pytest.raises(InputError, match="counts are whole numbers"):
            Table.from_frame(rows | {"turnover": wrong}, by, "turnover", count="turnover")


def test_cells_without_a_row_are_zero_only_on_request():
    rows = {"r": ["1", "1", "2"], "c": ["a", "b", "a"], "n": [5, 6, 9]}
    with pytest.raises(InputError, match=r"1 inner cell has no row, the first \(r=2, c=b\)"):
        Table.from_frame(rows, ["r", "c"], "n")
    table = Table.from_frame(rows, ["r", "c"], "n", absent="zero")
    assert table.values[table.position(("2", "b"))] == 0
    with pytest.raises(InputError, match="absent 'no'"):
        Table.from_frame(rows, ["r", "c"], "n", absent="no")


SURVEY = {
    "region": ["N", "N", "N", "S", "S", "S", "S", "S", "S"],
    "sex": ["m", "f", "f", "m", "m", "m", "f", "f", "f"],
    "w": [250, 120, 130, 110, 95, 105, 100, 100, 90],
}


def test_frequency_rules_count_respondents_whatever_they_weigh():
    """One respondent stood for 250 and was published."""
    table = Table.from_microdata(SURVEY, ["region", "sex"], weight="w")
    sensitive = MinFrequency(3, margin=10)(table).primary
    hidden = {label for label, s in zip(table.labels, sensitive.tolist(), strict=True) if s}
    assert hidden == {("N", "m"), ("N", "f")}
    assert not MinFrequency(3, margin=10, weighted=True)(table).primary.any()
    rule = MinFrequency(3, margin=10, weighted=True)
    assert str(rule) == "FREQ(3,10,weighted=1)"
    assert parse_rules("FREQ(3,10,weighted=1)") == rule
    with pytest.raises(InputError, match="no protection level"):
        protect(table, "FREQ(3)")
    assert protect(table, "FREQ(3)", width=5).audit.safe


def test_who_is_alone_is_a_respondent_and_no_weight():
    table = Table.from_microdata(SURVEY, ["region", "sex"], weight="w")
    problem = Mechanism("FREQ(3,10)").problem(table)
    alone = {table.labels[i] for i in np.flatnonzero(problem.alone)}
    assert alone == {("N", "m")}
    assert not Mechanism("FREQ(3,10)", singletons=False).problem(table).alone.any()


@examples(60)
@given(
    st.lists(st.integers(0, 400), min_size=4, max_size=4),
    st.lists(st.integers(-2, 2), min_size=5, max_size=5),
    st.integers(0, 2),
)
def test_margins_off_by_rounding_are_replaced_within_the_tolerance(cells, noise, most):
    """In tenths; the oracle adds up by hand."""
    a, b, c, d = cells
    margins = [a + b, c + d, a + c, b + d, a + b + c + d]
    rows = {
        "r": [*"1122", "1", "2", "T", "T", "T"], "c": [*"xyxy", "T", "T", "x", "y", "T"],
        "v": [v / 10 for v in [*cells, *(m + e for m, e in zip(margins, noise, strict=True))]],
    }  # fmt: skip
    words = {"total": {"r": "T", "c": "T"}, "decimals": 1, "tolerance": f"0.{most}"}
    words["negative"] = "allow"
    worst = max(map(abs, noise))
    if worst > most:
        with pytest.raises(NotAdditive):
            Table.from_frame(rows, ["r", "c"], "v", **words)
        return
    table = Table.from_frame(rows, ["r", "c"], "v", **words)
    got = dict(zip(table.labels, table.values.tolist(), strict=True))
    order = [("1", "T"), ("2", "T"), ("T", "x"), ("T", "y"), ("T", "T")]
    assert [got[label] for label in order] == margins
    # That some margin was off says something of cells that are not published.
    assert len(table.notes) == (most > 0)
    if most:
        assert f"no more than the tolerance of 0.{most}" in table.notes[0]


def test_a_table_beyond_memory_is_refused_before_it_is_made():
    wide = np.broadcast_to(np.int8(1), (6000, 6000))
    with pytest.raises(InputError, match="36000000 cells, more than"):
        Table.from_array(wide)
