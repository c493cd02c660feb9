"""Dimensions recognised from relations alone: those of the labels, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, vstack

from csp import InputError, Problem, Table, read_jj, suppress
from csp.solve.witnesses.axes import Axes
from csp.solve.witnesses.recognition import recognised_codes
from csp.tables.link import link
from instances import synthetic
from tests.csp.solve.large.test_engine import check, office
from tests.csp.solve.test_agree import STRUCTURES
from tests.support import oracles
from tests.support.shared import examples, shared_data
from tests.support.strategies import coefficient_tables, problems, relation_tables

Partition = frozenset[frozenset[int]]

SIDES = st.lists(st.integers(1, 4), min_size=1, max_size=2)


def unlabelled(table: Table, cells: Sequence[int], rows: Sequence[int]) -> Table:
    """The same table with its cells and relations in another order, and numbers for labels."""
    relations = csr_array(csr_array(table.relations[list(rows)])[:, list(cells)])
    order = list(cells)
    return Table(
        table.values[order], relations, table.lower[order], table.upper[order],
        tuple((str(i),) for i in range(table.n_cells)), scale=table.scale,
    )  # fmt: skip


@st.composite
def shuffled(draw: st.DrawFn, tables: st.SearchStrategy[Table]) -> tuple[Table, Table, list[int]]:
    """A table, the same unlabelled, and where each of its cells was."""
    table = draw(tables)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    cells = rng.permutation(table.n_cells).tolist()
    return table, unlabelled(table, cells, rng.permutation(table.relations.shape[0])), cells


def partitions(columns: Any, cells: Sequence[int]) -> list[Partition]:
    """Sets of cells with the same code, for each dimension with several codes."""
    found = []
    for column in columns:
        groups: dict[Any, set[int]] = {}
        for cell, code in zip(cells, column, strict=True):
            groups.setdefault(code, set()).add(cell)
        if len(groups) > 1:
            found.append(frozenset(frozenset(group) for group in groups.values()))
    return sorted(found, key=sorted_groups)


def sorted_groups(partition: Partition) -> list[list[int]]:
    return sorted(sorted(group) for group in partition)


@st.composite
def cross_tables(draw: st.DrawFn) -> Table:
    shape = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    return synthetic.frequency_nd(shape, 1)


@st.composite
def trees(draw: st.DrawFn) -> Table:
    return synthetic.hierarchical(1, draw(st.lists(SIDES, min_size=2, max_size=3)))


@st.composite
def sparse_trees(draw: st.DrawFn, least: int = 1) -> Table:
    """Few records over hierarchies: most cells do not occur, and totals may have one part."""
    sides = draw(st.lists(SIDES, min_size=2, max_size=4))
    by = {f"d{k}": synthetic.tree(side, f"c{k}.") for k, side in enumerate(sides)}
    leaves = {
        name: [c for i, c in enumerate(tree.codes) if i not in tree.parent]
        for name, tree in by.items()
    }
    data = synthetic.microdata(draw(st.integers(least, 30)), draw(st.integers(0, 99)), leaves)
    return Table.from_microdata(data, list(by), "value", hierarchies=by)


@st.composite
def linked_trees(draw: st.DrawFn) -> Table:
    """Activity by region, activity by size, and activity by both region and sector."""
    by = {name: synthetic.tree(draw(SIDES), name[0]) for name in ("activity", "region", "size")}
    by["sector"] = synthetic.tree((draw(st.integers(1, 3)),), "t")
    shape = [len(tree.leaves) for tree in by.values()]
    units = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 9, shape)
    sets = draw(
        st.sampled_from([
            [("activity", "region"), ("activity", "size")],
            [("activity", "size"), ("activity", "region", "sector")],
            [("activity", "region"), ("activity", "size"), ("region", "size")],
        ])
    )  # fmt: skip
    names = list(by)
    tables = [
        Table.from_array(
            units.sum(axis=tuple(k for k, name in enumerate(names) if name not in some)),
            names=some, hierarchies={name: by[name] for name in some},
        )
        for some in sets
    ]  # fmt: skip
    return link(*tables)


@pytest.mark.parametrize(
    "tables",
    [cross_tables(), trees(), sparse_trees(), linked_trees()],
    ids=["cross", "trees", "sparse", "linked"],
)
def test_the_dimensions_are_those_of_the_labels(tables: st.SearchStrategy[Table]) -> None:
    @examples(40)
    @given(shuffled(tables))
    def agree(drawn: tuple[Table, Table, list[int]]) -> None:
        table, bare, cells = drawn
        axes = Axes(bare)
        assert axes.regular
        shown = partitions(zip(*table.labels, strict=True), range(table.n_cells))
        assert partitions(axes.codes.T.tolist(), cells) == shown

    agree()


def is_grid(table: Table, codes: np.ndarray[Any, Any]) -> bool:
    """Every relation runs along one dimension, and no two cells have the same codes."""
    for row in oracles.rows_of(table):
        different = [len(set(codes[list(row), k].tolist())) for k in range(codes.shape[1])]
        if sorted(different) != [1] * (len(different) - 1) + [len(row)]:
            return False
    return len(set(map(tuple, codes.tolist()))) == len(codes)


@st.composite
def spoilt(draw: st.DrawFn) -> Table:
    """Grids of which relations and cells are lost, and that have sums across them."""
    table = draw(st.one_of(cross_tables(), trees(), sparse_trees(), linked_trees()))
    m, n = table.relations.shape
    rows = [r for r in range(m) if draw(st.integers(0, 9))]
    lost = set(draw(st.lists(st.integers(0, n - 1), max_size=3)))
    cells = [i for i in range(n) if i not in lost] or [0]
    relations = table.relations[rows][:, cells].toarray()
    sums = []
    for _ in range(draw(st.integers(0, 2))):
        row = np.zeros(len(cells) + 2, np.int64)
        row[draw(st.lists(st.integers(0, len(cells) - 1), min_size=1, max_size=4))] = 1
        row[draw(st.sampled_from([0, len(cells) - 1, len(cells), len(cells) + 1]))] = -1
        sums.append(row)
    all_rows = np.vstack([np.pad(relations, ((0, 0), (0, 2))), *sums])
    # What relations add up to does not matter here: all values are nought.
    none = np.zeros(len(cells) + 2, np.int64)
    return Table(none, csr_array(all_rows), none, none, tuple((str(i),) for i in range(len(none))))


@examples(300)
@given(st.one_of(spoilt(), relation_tables(), coefficient_tables()))
def test_what_is_recognised_is_a_grid(table: Table) -> None:
    codes = recognised_codes(table.relations)
    if codes is not None:
        assert codes.shape[1] > 1
        assert is_grid(table, codes)
        assert Axes(table).regular


@pytest.mark.parametrize("structure", ["sparse", "three-way", "hierarchy", "linked", "negative"])
def test_patterns_of_unlabelled_tables_are_safe(structure: str) -> None:
    @examples(12)
    @given(problems(STRUCTURES[structure], max_free=7), st.integers(0, 99))
    def agree(problem: Problem, seed: int) -> None:
        rng = np.random.default_rng(seed)
        m, n = problem.table.relations.shape
        cells = rng.permutation(n)
        bare = Problem(
            unlabelled(problem.table, cells.tolist(), rng.permutation(m).tolist()),
            problem.primary[cells], problem.lpl[cells], problem.upl[cells], problem.spl[cells],
            problem.cost[cells], problem.status[cells],
        )  # fmt: skip
        assert Axes(bare.table).codes.shape[1] > 1
        check(bare, oracles.best_pattern(bare))

    agree()


def test_an_unlabelled_table_of_an_office_is_solved_as_well_as_the_labelled() -> None:
    problem = office(singletons=False)
    n = problem.table.n_cells
    bare = problem.table.replace(
        labels=tuple((str(i),) for i in range(n)), names=("cell",), roots=("",)
    )
    assert Axes(bare).codes.shape[1] == 3
    unnamed = Problem(
        bare, problem.primary, problem.lpl, problem.upl, problem.spl, problem.cost, problem.status
    )
    costs = [suppress(p, method="large", gap=0.99).cost for p in (problem, unnamed)]
    assert max(costs) <= 1.2 * min(costs)


def crossed(*, labels: bool = True) -> Table:
    """Region by size with a sum of cells that share neither."""
    table = synthetic.frequency_2d(3, 3, 1)
    n = table.n_cells
    row = np.zeros((1, n + 1), np.int64)
    row[0, [table.position(("1", "1")), table.position(("2", "2")), n]] = 1, 1, -1
    relations = np.pad(table.relations.toarray(), ((0, 0), (0, 1)))
    total = int(row[0, :n] @ table.values)
    return Table(
        np.append(table.values, total),
        csr_array(np.vstack([relations, row])),
        np.append(table.lower, 0),
        np.append(table.upper, 10**6),
        (*table.labels, ("1 or 2", "1 or 2")) if labels else tuple((str(i),) for i in range(n + 1)),
    )


def test_a_relation_off_the_grid_is_refused() -> None:
    assert recognised_codes(crossed().relations) is None
    assert not Axes(crossed()).regular
    problem = Problem.of(crossed(), np.arange(17) == 0, spl=1)
    with pytest.raises(InputError, match="runs along one dimension"):
        suppress(problem, method="large")
    # Numbers for labels: every cell is a code of its own, as the label says.
    assert Axes(crossed(labels=False)).codes.shape == (17, 1)


def test_what_is_no_sum_is_refused() -> None:
    relations = synthetic.frequency_2d(3, 3, 1).relations
    assert recognised_codes(relations) is not None
    for changed in (relations * 2, -relations, abs(relations)):
        assert recognised_codes(csr_array(changed)) is None
    for row in ([1, *[0] * 15], [0] * 16, [-1, -1, 1, *[0] * 13]):
        more = vstack([relations, csr_array(np.array([row]))], format="csr")
        assert recognised_codes(csr_array(more)) is None
    assert recognised_codes(csr_array((0, 5), dtype=np.int64)) is None


def test_one_dimension_is_what_its_labels_say() -> None:
    table = synthetic.hierarchical(1, [(3, 2)])
    assert recognised_codes(table.relations) is None
    assert Axes(table).regular


def test_several_tables_without_a_common_cell_share_their_dimensions() -> None:
    relations = synthetic.frequency_2d(3, 4, 1).relations.toarray()
    codes = recognised_codes(csr_array(np.kron(np.eye(5, dtype=np.int64), relations)))
    assert codes is not None
    assert codes.shape == (100, 2)


def test_codes_with_several_parents() -> None:
    # Months by quarters and by seasons that do not nest: a quad that lies in one dimension.
    children = {
        "A": "12", "B": "34", "C": "56", "D": "13", "E": "2456", "all": "ABC", "total": "DE",
    }  # fmt: skip
    names = [*"123456ABCDE", "all"]
    months = np.zeros((7, 12), np.int64)
    for row, (name, parts) in zip(months, children.items(), strict=True):
        row[[names.index(part) for part in parts]] = 1
        row[names.index("all" if name == "total" else name)] = -1
    flat = np.array([[1, 1, 1, -1]])
    relations = np.vstack(
        [np.kron(months, np.eye(4, dtype=np.int64)), np.kron(np.eye(12, dtype=np.int64), flat)]
    )
    codes = recognised_codes(csr_array(relations))
    assert codes is not None
    cells = range(48)
    expected = partitions([[i // 4 for i in cells], [i % 4 for i in cells]], cells)
    assert partitions(codes.T.tolist(), cells) == expected


def test_above_the_tops_of_a_dimension_are_those_that_share_parts() -> None:
    # Moving sums of two over five codes: a chain of tops.
    moving = np.zeros((4, 9), np.int64)
    for r in range(4):
        moving[r, [r, r + 1, 5 + r]] = 1, 1, -1
    none = np.zeros(9, np.int64)
    axes = Axes(Table(none, csr_array(moving), none, none, tuple((c,) for c in "abcdeWXYZ")))
    tops = [axes.above(0, 0, steps) for steps in range(6)]
    assert tops == [(0,), (5,), (5, 6), (5, 6, 7), (5, 6, 7, 8), (5, 6, 7, 8)]


def test_in_linked_tables_a_block_stays_in_the_dimensions_of_its_table() -> None:
    table = synthetic.linked(1)
    axes = Axes(table)
    cell = table.position(("1", "2", "Total"))
    home = axes.within(axes.around(cell, (0, 0, 0)))
    assert {table.labels[i][2] for i in home.tolist()} == {"Total"}
    assert len(home) == 5 * 4
    wider = axes.within(axes.around(cell, (0, 0, 1)))
    assert len(wider) == table.n_cells


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("hier13x7x7d", [7, 7, 13]),
        ("hier13", [13, 13, 13]),
        ("targus", [9, 18]),
        ("two5in6", [4, 4, 4, 4, 6, 16]),
        ("ninenew", [6, 6, 6, 6, 6, 6, 6, 6, 10]),
    ],
)
def test_dimensions_of_real_tables_from_files(name: str, sizes: list[int]) -> None:
    table = read_jj(shared_data("instances", f"{name}.jj.gz")).table
    axes = Axes(table)
    assert axes.regular
    assert sorted((axes.codes.max(axis=0) + 1).tolist()) == sizes
    assert is_grid(table, axes.codes)
