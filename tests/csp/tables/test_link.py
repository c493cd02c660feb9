"""Linked tables: the union of cells and relations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import UNBOUNDED, Contributors, Hierarchy, InputError, Table
from csp.tables.link import link
from tests.support.shared import examples

ROWS = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("pq"), st.integers(0, 50)
    ),
    min_size=1,
    max_size=15,
)


def columns(rows):
    return {
        "region": [r for r, *_ in rows],
        "size": [s for _, s, *_ in rows],
        "sector": [s for _, _, s, _ in rows],
        "v": [v for *_, v in rows],
        "firm": [i % 3 for i in range(len(rows))],
    }


def facts(table):
    """What a table says, whatever the order of its cells: cells by label, relations as sets."""
    who = table.contributors
    cells = {}
    for i, label in enumerate(table.labels):
        cells[label] = (
            int(table.values[i]),
            int(table.lower[i]),
            int(table.upper[i]),
            None if table.structural is None else bool(table.structural[i]),
            None if who is None else (int(who.count[i]), tuple(who.top[i]), int(who.total[i])),
        )
    matrix = table.relations.toarray()
    relations = {
        frozenset((table.labels[j], int(row[j])) for j in np.flatnonzero(row)) for row in matrix
    }
    assert len(relations) == len(matrix)  # none twice
    return cells, relations


@examples(25)
@given(ROWS, st.booleans())
def test_union_is_a_part_of_the_full_cube(rows, by_firm):
    data = columns(rows)
    options = {"contributor": "firm" if by_firm else None, "top": 2}
    one = Table.from_microdata(data, ["region", "size"], "v", **options)
    two = Table.from_microdata(data, ["sector", "region"], "v", **options)
    both = link(one, two)
    # Oracle: those cells of the three-way table that one of the two marginal tables publishes.
    cube = Table.from_microdata(data, ["region", "sector", "size"], "v", **options)
    cells, relations = facts(both)
    wanted, every = facts(cube)
    assert both.names == ("region", "sector", "size")
    assert set(cells) == {label for label in wanted if label[1] == "Total" or label[2] == "Total"}
    assert all(cells[label] == wanted[label] for label in cells)
    assert relations == {r for r in every if all(label in cells for label, _ in r)}
    assert facts(link(two, one)) == (cells, relations)
    again = link(two, one)
    assert again.labels == both.labels
    assert np.array_equal(again.relations.toarray(), both.relations.toarray())


@examples(25)
@given(ROWS)
def test_linking_is_idempotent_and_takes_any_number(rows):
    data = columns(rows)
    tables = [
        Table.from_microdata(data, by)
        for by in (["region", "size"], ["region", "sector"], ["size", "sector"])
    ]
    assert facts(link(tables[0], tables[0])) == facts(link(tables[0]))
    outcomes = [link(*order) for order in itertools.permutations(tables)]
    for outcome in outcomes[1:]:
        assert outcome.labels == outcomes[0].labels
        assert facts(outcome) == facts(outcomes[0])
    n = [len(set(data[name])) + 1 for name in ("region", "size", "sector")]
    expected = n[0] * n[1] + n[0] * n[2] + n[1] * n[2] - sum(n) + 1
    assert outcomes[0].n_cells == expected


def test_permuted_cells_do_not_change_the_outcome():
    one = Table.from_array([[1, 2], [3, 4]], names=["r", "s"])
    order = np.array([4, 2, 8, 0, 1, 3, 5, 7, 6])
    mixed = one.replace(
        values=one.values[order],
        lower=one.lower[order],
        upper=one.upper[order],
        labels=tuple(one.labels[i] for i in order),
        relations=one.relations[:, order],
    )
    two = Table.from_array([3, 7], names=["r"])
    first, second = link(one, two), link(two, mixed)
    assert first.labels == second.labels
    assert np.array_equal(first.values, second.values)
    assert np.array_equal(first.relations.toarray(), second.relations.toarray())


def test_common_scale_and_intersected_bounds():
    one = Table.from_array([1, 2], names=["r"])
    two = Table.from_array([[0.5, 0.5], [1.25, 0.75]], names=["r", "s"], decimals=2)
    one = one.replace(upper=np.array([5, UNBOUNDED, UNBOUNDED]))
    both = link(one, two)
    assert both.scale == 2
    i = both.position(("1", "Total"))
    assert (both.values[i], both.lower[i], both.upper[i]) == (100, 0, 500)
    assert both.upper[both.position(("2", "Total"))] == UNBOUNDED


def test_hierarchies_on_one_side_only():
    tree = Hierarchy.from_dict({"N": ["1", "2"], "S": ["3"]})
    fine = Table.from_array([1, 2, 3], names=["r"], hierarchies={"r": tree})
    coarse = Table.from_array([[1, 2], [2, 1]], names=["r", "s"], codes=[["N", "S"], ["f", "m"]])
    both = link(fine, coarse)
    assert both.n_cells == 6 + 9 - 3
    assert both.relations.shape[0] == 3 + 6 - 1  # N + S = Total stands in both
    assert both.values[both.position(("N", "Total"))] == 3


def who(counts, total=None, ids=None):
    n = len(counts)
    return Contributors(np.array(counts), np.array(total or counts), np.ones((n, 1), np.int64), ids)


BASE = Table.from_array([1, 2], names=["r"])


def other(**changes):
    return BASE.replace(**changes)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ((), ["at least one"]),
        (
            (BASE, Table.from_array([[77, 1], [1, 1]], names=["r", "s"])),
            ["(r=1, s=Total)", "table 1", "table 2", "value"],
        ),
        ((BASE, other(roots=("All",))), ["'r'", "'Total'", "'All'", "table 2"]),
        (
            (BASE, Table.from_array([1], names=["s"]).replace(roots=("",))),
            ["table 1", "'s'", "no total"],
        ),
        ((BASE, other(contributors=who([1, 2, 3]))), ["table 2", "table 1", "contributors"]),
        (
            (other(contributors=who([1, 2, 3])), other(contributors=who([1, 1, 2], [1, 2, 3]))),
            ["(r=2)", "number of contributors"],
        ),
        (
            (
                other(contributors=who([1, 2, 3])),
                other(contributors=who([1, 2, 3], ids=np.zeros((3, 1), np.int64))),
            ),
            ["table 2", "ids"],
        ),
        (
            (BASE, other(structural=np.array([True, False, False]))),
            ["(r=1)", "structure"],
        ),
        (
            (other(values=BASE.values * 2**51), Table.from_array([0.1], names=["s"], decimals=3)),
            ["table 1", "2**53"],
        ),
        (
            (BASE, other(upper=np.array([1, 9, 9])), other(lower=np.array([2, 0, 0]) - 2), BASE,
             other(values=np.array([1, 3, 4]))),
            ["(r=2)", "table 1", "table 5"],
        ),
    ],
)  # fmt: skip
def test_refusals_name_cell_and_tables_but_no_value(tables, words):
    with pytest.raises(InputError) as caught:
        link(*tables)
    for word in words:
        assert word in str(caught.value)
    assert "77" not in str(caught.value)


def test_the_fewest_known_contributors_are_kept():
    data = {"r": ["a", "a", "b"], "v": [5, 4, 3]}
    one = Table.from_microdata(data, ["r"], "v", top=3, negative="split")
    two = Table.from_microdata(data, ["r"], "v", top=2, negative="split")
    both = link(one, two)
    assert both.contributors is not None
    assert both.contributors.top.shape == (3, 2)
    assert both.contributors.opposite is not None
    assert both.structural is not None


def test_a_table_of_a_part_is_not_given_the_code_of_the_whole():
    whole = Table.from_array([1, 2, 3], names=["r"], codes=[["a", "b", "c"]])
    part = Table.from_frame({"r": ["a", "b"], "v": [1, 2]}, ["r"], "v", total={"r": "East"})
    with pytest.raises(InputError, match=r"'East' in table 2.*let the hierarchy of the whole hold"):
        link(whole, part)


def regions(tree, codes, size):
    data = {"region": list(codes), size: ["a", "b"] * (len(codes) // 2)}
    hierarchies = {"region": Hierarchy.from_dict(tree)}
    return Table.from_microdata(data, ["region", size], hierarchies=hierarchies)


def test_codes_that_hold_each_other_are_named():
    one = regions({"N": {"1": None, "S": ["2", "3"]}}, "1123", "size")
    two = regions({"S": {"4": None, "N": ["5", "6"]}}, "4456", "sector")
    with pytest.raises(
        InputError,
        match="'region' form a cycle: 'S' holds 'N' in table 2, 'N' holds 'S' in table 1; "
        "rename a code that means different things",
    ):
        link(one, two)


def test_hierarchies_of_one_dimension_must_agree_on_its_codes():
    one = regions({"N": ["1", "2"], "S": ["3", "4"]}, "1234", "size")
    # The values agree by chance, the codes do not.
    two = regions({"N": ["1", "3"], "S": ["2", "4"]}, "1234", "sector")
    with pytest.raises(
        InputError,
        match=r"hierarchies of dimension 'region' do not agree: code 'N' holds '2' in table 1 and "
        r"not in table 2; use one hierarchy for both tables, or give 'N' another name",
    ):
        link(one, two)
    # Other names, other parts: the same leaves add up in two ways.
    other = regions({"E": ["1", "3"], "W": ["2", "4"]}, "1234", "sector")
    assert {"N", "S", "E", "W"} <= {label[0] for label in link(one, other).labels}
    # One hierarchy ends where the other goes on.
    coarse = regions({"N": None, "S": None}, "NNSS", "sector")
    assert link(one, coarse).n_cells == one.n_cells + 2 * 3
    deep = regions({"N": {"1": ["1a"], "2": None}, "S": ["3", "4"]}, ["1a", "2", "3", "4"], "kind")
    assert link(one, deep, coarse).names == ("kind", "region", "sector", "size")
    wrong = regions({"N": {"1": ["1a"], "3": None}, "S": ["2", "4"]}, ["1a", "2", "3", "4"], "kind")
    with pytest.raises(InputError, match="code 'N' holds '2' in table 2 and not in table 3"):
        link(coarse, one, wrong)
