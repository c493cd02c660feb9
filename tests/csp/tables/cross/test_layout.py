"""Cross tables against the labels themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import csp
import instances
from csp import Hierarchy, Table
from csp.errors import InputError
from csp.tables.cross.layout import cross_table, outlines
from tests.support.shared import examples


@st.composite
def tables(draw: st.DrawFn) -> Table:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    tree = Hierarchy.from_dict({"a": ["0", "1"], "b": ["2", "3"]}, "all")
    records = {f"v{d}": [] for d in range(len(shape))}
    cell = st.tuples(*(st.integers(0, size - 1) for size in shape))
    for record in draw(st.lists(cell, min_size=1, max_size=12)):
        for name, code in zip(records, record, strict=True):
            records[name].append(str(code))
    deep = draw(st.sets(st.sampled_from(sorted(records))))
    return Table.from_microdata(
        records, by=list(records), hierarchies=dict.fromkeys(deep, tree),
        # A code that happens to be the sum of all others is not their total here.
        total=dict.fromkeys(sorted(set(records) - deep), "Total"),
        empty=draw(st.sampled_from(["keep", "drop"])),
    )  # fmt: skip


@examples(60)
@given(tables(), st.data())
def test_every_cell_stands_once_under_its_own_codes(table: Table, data: st.DataObject) -> None:
    asked = data.draw(st.lists(st.sampled_from(table.names), max_size=2, unique=True))
    layout = cross_table(table, *asked)
    seen = []
    for panel in layout.panels:
        assert panel.cells.shape == (len(layout.rows), len(layout.columns))
        for r, c in zip(*np.nonzero(panel.cells >= 0), strict=True):
            codes = dict(zip(layout.further, panel.codes, strict=True))
            codes |= {layout.down: layout.rows[r].code}
            if layout.across:
                codes[layout.across] = layout.columns[c].code
            cell = int(panel.cells[r, c])
            assert table.labels[cell] == tuple(codes[name] for name in table.names)
            seen.append(cell)
    assert sorted(seen) == list(range(table.n_cells))
    if asked:
        assert layout.down == asked[0]
    if len(asked) == 2:
        assert layout.across == asked[1]
    roots = tuple(table.roots[table.names.index(name)] for name in layout.further)
    assert layout.panels[0].codes == roots


def test_an_outline_puts_parents_first_and_the_total_last() -> None:
    table = instances.load("demo")
    assert isinstance(table, Table)
    assert [(h.code, h.depth) for h in outlines(table)[0]] == [
        ("North", 0), ("N1", 1), ("N2", 1), ("N3", 1), ("East", 0), ("E1", 1), ("E2", 1),
        ("South", 0), ("S1", 1), ("S2", 1), ("West", 0), ("W1", 1), ("W2", 1), ("Total", 0),
    ]  # fmt: skip
    assert {h.code for h in outlines(table)[0] if h.total} == {
        "North", "East", "South", "West", "Total",
    }  # fmt: skip


def test_long_dimensions_go_down_and_panels_begin_with_totals() -> None:
    layout = cross_table(Table.from_array(np.ones((3, 20, 4), int)))
    assert (layout.down, layout.across, layout.further) == ("d2", "d3", ("d1",))
    assert [panel.codes for panel in layout.panels] == [("Total",), ("1",), ("2",), ("3",)]


@pytest.mark.parametrize(
    ("asked", "message"), [(("d9",), "'d9' is not a dimension"), (("d1", "d1"), "both rows and")]
)
def test_dimensions_are_checked(asked: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cross_table(Table.from_array([[1, 2], [3, 4]]), *asked)


def test_notebooks_show_the_published_table_and_nothing_suppressed() -> None:
    table = csp.Table.from_array([[9017, 9031, 4], [9043, 8059, 9001], [8001, 8011, 8087]])
    protected = csp.protect(table, csp.MinFrequency(5), width=4)
    hidden = table.values[protected.pattern].tolist()
    assert hidden
    for shown in (protected, protected.release):
        page = shown._repr_html_()
        assert page.count("<td>×</td>") == len(hidden)
        assert all(f">{value:,}<" not in page for value in set(hidden))
        assert all(f">{value:,}<" in page for value in table.values[~protected.pattern].tolist())
    page = table._repr_html_()
    assert not [
        v for v in table.values.tolist() if v > 999 and (str(v) in page or f"{v:,}" in page)
    ]


def test_labels_cannot_be_markup() -> None:
    table = csp.Table.from_microdata({"<b>x</b>": ["<script>", "a&b"]}, by=["<b>x</b>"])
    for shown in (table, csp.protect(table, csp.MinFrequency(1), width=0).release):
        page = shown._repr_html_()
        assert "<script>" not in page
        assert "<b>x" not in page
