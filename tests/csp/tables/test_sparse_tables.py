"""Tables of the cells that have records, and records in batches, against plain Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp.tables.microdata.combinations
import csp.tables.microdata.contributions
import csp.tables.microdata.grouping
import csp.tables.microdata.records
from csp import Hierarchy, InputError, Mechanism, Table
from csp.tables.codes import numbered_codes, numbered_owners, text_codes
from csp.tables.link import link
from csp.tables.margins import check_size
from instances.synthetic import sparse, tree
from tests.support.shared import examples

REGION = {"N": ["1", "2"], "S": {"3": None, "W": ["4", "5"]}}
BELOW = {
    "1": "1", "2": "2", "N": "12", "3": "3", "4": "4", "5": "5", "W": "45", "S": "345",
    "Total": "12345",
}  # fmt: skip
KINDS = {"a": "a", "b": "b", "c": "c", "Total": "abc"}
CHILDREN = {"N": "12", "W": "45", "S": ["3", "W"], "Total": ["N", "S"]}


@st.composite
def records(draw):
    n = draw(st.integers(1, 25))
    return {
        "region": draw(st.lists(st.sampled_from("12345"), min_size=n, max_size=n)),
        "kind": draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)),
        "value": draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n)),
        "who": draw(st.lists(st.integers(0, 12), min_size=n, max_size=n)),
        "weight": [1] * n,
    }


def tabulated(data, **options):
    kind = Hierarchy.flat("abc")
    return Table.from_microdata(
        data, ["region", "kind"],
        hierarchies={"region": Hierarchy.from_dict(REGION), "kind": kind}, **options,
    )  # fmt: skip


def alike(one, two):
    """Equal tables; records that were not read in their order tell nobody apart."""
    named = [t.contributors is not None and t.contributors.ids is not None for t in (one, two)]
    return everything(one, named=all(named)) == everything(two, named=all(named))


def everything(table, *, named=True):
    people, sides = table.contributors, []
    while people is not None:
        parts = (
            people.count,
            people.total,
            people.top,
            people.ids if named else None,
            people.weighted,
        )
        sides.append([None if part is None else part.tolist() for part in parts])
        people = people.opposite
    matrix = table.relations
    return (
        list(table.labels), table.values.tolist(), table.lower.tolist(), table.upper.tolist(),
        None if table.structural is None else table.structural.tolist(), table.scale, table.counts,
        matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist(), sides,
    )  # fmt: skip


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "value": st.just("value"),
        "contributor": st.just("who"),
        "weight": st.just("weight"),
        "negative": st.sampled_from(["abs", "shift", "split"]),
        "top": st.integers(1, 4),
    },
)


@given(records(), OPTIONS, st.integers(1, 6), st.integers(1, 9), st.sampled_from([1, 2**62]))
def test_batches_do_not_show(data, options, batch, pairs, keys):
    options.setdefault("negative", "abs")
    whole = everything(tabulated(data, **options))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csp.tables.microdata.records, "MAX_BATCH", batch)
        patch.setattr(csp.tables.microdata.grouping, "_MOST_PAIRS", pairs)
        for module in (csp.tables.microdata.combinations, csp.tables.microdata.grouping):
            patch.setattr(module, "KEYS", keys)
        if keys == 1:
            patch.setattr(csp.tables.microdata.combinations, "_DENSE", -100)
            patch.setattr(csp.tables.microdata.grouping, "_MOST_FLOORS", 0)
        assert everything(tabulated(data, **options)) == whole


@given(records(), OPTIONS)
def test_empty_cells_are_left_out(data, options):
    options.setdefault("negative", "abs")
    full = tabulated(data, **options)
    table = tabulated(data, empty="drop", **options)
    pairs = list(zip(data["region"], data["kind"], strict=True))
    there = [
        label
        for label in product(BELOW, KINDS)
        if any(r in BELOW[label[0]] and k in KINDS[label[1]] for r, k in pairs)
    ]
    assert sorted(table.labels) == sorted(there)
    # In the order of the table with all cells, and with the same numbers.
    kept = [full.position(label) for label in table.labels]
    assert kept == sorted(kept)
    assert table.values.tolist() == full.values[kept].tolist()
    assert not full.values[np.setdiff1d(np.arange(full.n_cells), kept)].any()
    assert table.lower.tolist() == full.lower[kept].tolist()
    if full.structural is None:
        assert table.structural is None
    else:
        assert not table.structural.any()
        assert np.flatnonzero(~full.structural).tolist() == kept
    a, b = table.contributors, full.contributors
    while a is not None and b is not None:
        for name in ("count", "total", "top", "ids", "weighted"):
            one, other = getattr(a, name), getattr(b, name)
            assert (one is None) == (other is None)
            assert one is None or one.tolist() == other[kept].tolist()
        a, b = a.opposite, b.opposite
    assert a is None
    assert b is None
    # Each total with those of its parts that exist.
    wanted = set()
    for region, kind in there:
        for parts in (
            [(part, kind) for part in CHILDREN.get(region, [])],
            [(region, part) for part in (KINDS[kind] if kind == "Total" else "")],
        ):
            if parts:
                wanted.add(((region, kind), frozenset(p for p in parts if p in there)))
    found = []
    for row in range(table.relations.shape[0]):
        span = slice(table.relations.indptr[row], table.relations.indptr[row + 1])
        cells, signs = table.relations.indices[span], table.relations.data[span]
        assert cells.tolist() == sorted(cells.tolist())
        (total,) = cells[signs == -1].tolist()
        parts = frozenset(table.labels[c] for c in cells[signs == 1].tolist())
        found.append((table.labels[total], parts))
    assert len(found) == len(set(found))
    assert set(found) == wanted


@given(records())
def test_relations_come_in_the_order_of_the_table_with_all_cells(data):
    full, table = tabulated(data), tabulated(data, empty="drop")
    kept = [full.position(label) for label in table.labels]
    some = full.relations[:, kept]
    some.eliminate_zeros()
    some = some[np.diff(some.indptr) > 0]
    assert (some != table.relations).nnz == 0
    assert some.shape == table.relations.shape


@examples(15)
@given(records())
def test_the_pattern_of_a_table_of_values_is_the_same_without_its_empty_cells(data):
    data["value"] = [abs(v) + 1 for v in data["value"]]
    options = {"value": "value", "contributor": "who"}
    full, table = tabulated(data, **options), tabulated(data, empty="drop", **options)
    mechanism = Mechanism("P(10,1)|FREQ(3,10)", singletons=False)
    one, two = mechanism.problem(full), mechanism.problem(table)
    kept = [full.position(label) for label in table.labels]
    for name in ("primary", "lpl", "upl", "spl", "cost", "status"):
        assert getattr(two, name).tolist() == getattr(one, name)[kept].tolist()
    others = np.setdiff1d(np.arange(full.n_cells), kept)
    assert set(one.status[others]) <= {"z"}


def test_a_large_table_of_values_leaves_empty_cells_out_and_says_so(monkeypatch):
    data = {"region": ["1", "1", "1"], "kind": ["a", "a", "a"], "value": [1, 2, 3]}
    assert tabulated(data, value="value").n_cells == 36
    monkeypatch.setattr(csp.tables.microdata.contributions, "_FEW", 35)
    table = tabulated(data, value="value")
    assert table.n_cells == 6
    assert table.notes[-1:] == (
        "of 36 combinations of codes 6 have records and are cells of the table; all others are "
        "empty, are not shown and are known to be 0",
    )
    assert tabulated(data, value="value", empty="keep").n_cells == 36
    # One in four has a record: few enough are missing to keep them all.
    more = {"region": ["1", "2", "3"], "kind": ["a"] * 3, "value": [1, 2, 3]}
    assert tabulated(more, value="value").n_cells == 36
    # A zero among counts may be suppressed, so nobody leaves it out but the user.
    assert tabulated({"region": ["1"], "kind": ["a"]}).n_cells == 36


def test_totals_are_found_in_sparse_tables_too():
    data = {
        "a": ["x", "x", "y", "y", "z"],
        "b": ["1", "All", "2", "All", "3"],
        "v": [4, 4, 7, 7, 1],
    }
    with pytest.raises(InputError, match="'All' of dimension 'b'"):
        Table.from_microdata(data, ["a", "b"], "v", empty="drop")


def test_sparse_tables_are_linked_and_protected():
    data = {"region": ["1", "2", "4", "5"] * 2, "kind": list("abcaabca"), "value": range(1, 9)}
    table = tabulated(data, value="value", empty="drop")
    protected = Mechanism("FREQ(2,10)").protect(table)
    assert protected.audit.safe
    assert len(protected.release.labels) == table.n_cells
    assert protected.release.suppressed_in(table).sum() == protected.pattern.sum()
    both = link(table, tabulated(data, value="value"))
    assert both.n_cells == 36
    assert link(table, table).n_cells == table.n_cells


def test_what_may_be_dropped():
    with pytest.raises(InputError, match="empty 'no' is not one of keep, drop"):
        tabulated({"region": ["1"], "kind": ["a"]}, empty="no")


def test_the_sparse_generator():
    data, trees = sparse(400, 3)
    assert [len(h.leaves) for h in trees.values()] == [3000, 10, 2, 75, 10]
    table = Table.from_microdata(data, list(trees), hierarchies=trees, empty="drop")
    assert int(table.values[-1]) == 400
    deep = Table.from_microdata(data, ["municipality"], hierarchies=trees_of(trees, "municipality"))
    assert deep.n_cells == 1 + 30 + 300 + 3000
    again, _ = sparse(400, 3)
    assert all((again[name] == data[name]).all() for name in data)


def trees_of(trees, name):
    return {name: trees[name]}


def test_too_many_combinations():
    trees = {f"d{i}": tree((999,)) for i in range(5)}
    data = {name: ["c1", "c2"] for name in trees}
    with pytest.raises(InputError, match="1000000000000000 combinations, more than 1099511627776"):
        Table.from_microdata(data, list(trees), hierarchies=trees, empty="drop")


# ---- memory --------------------------------------------------------------------------------------


def test_a_table_that_needs_more_memory_than_there_is_is_refused(monkeypatch):
    monkeypatch.setattr("csp.tables.memory.available_memory", lambda: 5_000)
    data = {"region": ["1"], "kind": ["a"], "value": [1]}
    wanted = (
        "the table would have 36 cells, which needs about 0 MB of memory, but only 0 MB are free; "
        "use fewer codes or dimensions, or codes of a coarser level of a hierarchy, or leave cells "
        "without records out (empty='drop')"
    )
    with pytest.raises(InputError) as caught:
        tabulated(data, value="value")
    assert str(caught.value) == wanted
    with pytest.raises(InputError, match=r"the table would have 36 cells, .*'drop'"):
        tabulated(data)
    with pytest.raises(InputError, match="the table would have 1200 cells"):
        Table.from_array([[1, 2, 3]] * 400)
    assert tabulated(data, value="value", empty="drop").n_cells == 6
    monkeypatch.setattr("csp.tables.memory.available_memory", lambda: 200)
    with pytest.raises(InputError, match="the table would have more than 1 cells, which needs"):
        tabulated(data, value="value", empty="drop")


def test_sizes_are_told(monkeypatch):
    monkeypatch.setattr("csp.tables.memory.available_memory", lambda: 2 * 10**9)
    with pytest.raises(
        InputError, match=r"needs about 3\.\d GB of memory, but only 2\.0 GB are free"
    ):
        check_size(10_000_000, 4)
    check_size(1_000_000, 4)
    monkeypatch.setattr("csp.tables.memory.available_memory", lambda: None)
    check_size(20_000_000, 4)
    with pytest.raises(InputError, match="20000001 cells, more than 20000000"):
        check_size(20_000_001, 1)


def test_memory_is_the_least_of_machine_group_and_limit(monkeypatch, tmp_path):
    import resource

    import csp.tables.memory as memory

    assert memory.available_memory() > 0
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    monkeypatch.setattr(memory, "_STATM", tmp_path / "statm")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, 0))
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   5000 kB\n")
    assert memory.available_memory() == 5_120_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert memory.available_memory() == 5_120_000
    (tmp_path / "memory.max").write_text("4001000\n")
    assert memory.available_memory() == 4_000_000
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**6, 10**6))
    (tmp_path / "statm").write_text("100 50 20\n")
    assert memory.available_memory() == 10**6 - 100 * resource.getpagesize()
    (tmp_path / "statm").write_text("900 50 20\n")
    assert memory.available_memory() == 0


# ---- codes ---------------------------------------------------------------------------------------

WHOLE = st.one_of(st.integers(0, 120), st.integers(-20, 20), st.integers(0, 2**62))


@given(st.lists(WHOLE, min_size=1, max_size=30))
def test_whole_numbers_come_in_the_order_of_their_texts(numbers):
    column = np.array(numbers)
    texts, number = numbered_codes(column)
    assert list(texts) == sorted(set(map(str, numbers)))
    assert [texts[i] for i in number] == list(map(str, numbers)) == text_codes(column)
    n, same, gap = numbered_owners(column)
    assert (n, same.tolist(), gap) == (len(texts), number.tolist(), -1)


ITEMS = st.sampled_from(["a", " a", "b", "", None, 1, 1.0, True, 2.5, float("nan"), "1", "True"])


@given(st.lists(ITEMS, min_size=1, max_size=20))
def test_codes_of_any_objects(items):
    def text(item):
        if item is None or item != item:
            return ""
        return str(int(item)) if type(item) is float and item == int(item) else str(item).strip()

    column = np.empty(len(items), dtype=object)
    column[:] = items
    texts, number = numbered_codes(column)
    wanted = [text(item) for item in items]
    assert list(texts) == sorted(set(wanted))
    assert [texts[i] for i in number] == wanted == text_codes(column)
    gap = wanted.index("") if "" in wanted else -1
    assert numbered_owners(column)[2] == gap
    if all(isinstance(item, str) for item in items):
        assert text_codes(np.array(items)) == wanted
