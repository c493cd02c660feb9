"""One pattern for several responses: equal in all, and safe for each by an audit of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csp import (
    InputError,
    Manual,
    Mechanism,
    Release,
    Table,
    Unprotectable,
    audit,
    link,
    protect,
    protect_responses,
)  # fmt: skip
from csp.responses import rules_for_counts
from csp.rules import MinFrequency, PPercent

RULES = "P(15,1)|FREQ(3,20)"
TOTAL = {"r": "Total", "s": "Total"}


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(1, 40)),
        min_size=12, max_size=40,
    ),
    st.integers(1, 9),
)  # fmt: skip
def test_patterns_agree_and_each_is_safe(records, factor):
    columns = {n: [r[i] for r in records] for i, n in enumerate(["r", "s", "v"])}
    columns["w"] = [1 + v * factor % 7 for v in columns["v"]]
    tables = {
        "v": Table.from_microdata(columns, ["r", "s"], "v", total=TOTAL),
        "w": Table.from_microdata(columns, ["r", "s"], "w", total=TOTAL),
        "n": Table.from_microdata(columns, ["r", "s"], total=TOTAL),
    }
    try:
        found = protect_responses(tables, RULES)
    except Unprotectable:
        return
    patterns = {name: one.pattern.tolist() for name, one in found.items()}
    assert patterns["v"] == patterns["w"] == patterns["n"]
    for name, table in tables.items():
        rules = "FREQ(3,20)" if name == "n" else RULES
        if name == "n":  # empty cells are known so from the tables of values
            table = table.replace(structural=tables["v"].structural)
        problem = Mechanism(rules).problem(table)
        assert audit(problem, patterns[name]).safe
        assert (found[name].release.published[~np.array(patterns[name])]
                == table.values[~np.array(patterns[name])]).all()  # fmt: skip


def test_what_is_kept_stays():
    data = {"r": [*"aabbcc"] * 3, "s": [*"xyxyxy"] * 3, "v": range(18)}
    tables = {
        "v": Table.from_microdata(data, ["r", "s"], "v"),
        "n": Table.from_microdata(data, ["r", "s"]),
    }
    before = protect(tables["n"], "FREQ(4,10)").release
    found = protect_responses(tables, "FREQ(2,10)", keep=before)
    assert (found["v"].pattern >= before.pattern).all()
    assert before.pattern.any()


def test_rules_for_counts():
    assert str(rules_for_counts(RULES)) == "FREQ(3,20)"
    assert rules_for_counts(MinFrequency(4)) == MinFrequency(4)
    only = rules_for_counts(PPercent(10))
    table = Table.from_array([[1, 2], [3, 4]])
    assert not only(table).primary.any()


def test_tables_of_other_cells_are_refused():
    one, two = Table.from_array([[1, 2]]), Table.from_array([[1, 2, 3]])
    with pytest.raises(InputError, match=r"'b' has other cells than 'a'; \('1', '3'\)"):
        protect_responses({"a": one, "b": two}, "FREQ(2)")
    with pytest.raises(InputError, match="there are no tables"):
        protect_responses({}, "FREQ(2)")
    with pytest.raises(InputError, match=r"tables\['a'\] must be a Table"):
        protect_responses({"a": 3}, "FREQ(2)")


# ---- beside tables that are out ------------------------------------------------------------------


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from("xyz"), st.sampled_from("pq"),
            st.integers(1, 40),
        ),
        min_size=14, max_size=40,
    ),
)  # fmt: skip
def test_a_table_beside_another_is_safe_with_it(records):
    columns = {n: [r[i] for r in records] for i, n in enumerate(["r", "s", "t", "v"])}
    total = dict.fromkeys("rst", "Total")

    def table(by, value):
        return Table.from_microdata(columns, by, value, total={name: total[name] for name in by})

    one, two, number = table(["r", "s"], "v"), table(["t", "s"], "v"), table(["t", "s"], None)
    try:
        first = protect(one, RULES)
        found = protect_responses({"v": two, "n": number}, RULES, beside={"v": [first]})
    except (Unprotectable, InputError):
        return
    whole = link(two, one)
    hidden = np.zeros(whole.n_cells, bool)
    for part, one_found in zip(whole.parts, (found["v"], first), strict=True):
        hidden[part.cells[one_found.pattern]] = True
    shown = [whole.parts[0].cells[~found["v"].pattern], whole.parts[1].cells[~first.pattern]]
    hidden[np.concatenate(shown)] = False  # what is shown anywhere is known
    judged = audit(Mechanism(RULES).problem(whole), hidden)
    assert judged.safe
    assert (found["n"].pattern == found["v"].pattern).all()
    low, high = found["v"].proved_ends
    own = whole.parts[0].cells
    know = ~np.isnan(low) & ~np.isnan(judged.lower[own])
    assert (low[know] == judged.lower[own][know]).all()
    know = ~np.isnan(high) & ~np.isnan(judged.upper[own])
    assert (high[know] == judged.upper[own][know]).all()


def test_what_is_out_cannot_be_taken_back():
    data = {"r": [*"aabb"], "s": [*"xyxy"], "t": [*"pqqp"], "v": [40, 1, 30, 30]}
    one = Table.from_microdata(data, ["r", "s"], "v")
    two = Table.from_microdata(data, ["t", "s"], "v")
    out = protect(one, Manual([]))
    with pytest.raises(InputError, match=r"s=x.* is published already, and is sensitive here"):
        protect_responses({"v": two}, "NK(1,50)", beside={"v": [out]})


def test_a_figure_that_is_out_need_not_be_hidden_again():
    """Counts are out; the sum of a cell is sensitive: sums are withheld, and counts stay known."""
    data = {"r": [*"aabbccdd"] * 3, "v": [900, 5, *[30] * 22]}
    number = Table.from_microdata(data, ["r"])
    value = Table.from_microdata(data, ["r"], "v")
    out = protect(number, "FREQ(2,10)")
    assert not out.pattern.any()
    found = protect_responses({"v": value, "n": number}, "NK(1,70)|FREQ(2,10)", beside={"n": [out]})
    assert found["v"].pattern[number.position(("a",))]
    assert (found["n"].pattern == found["v"].pattern).all()
    low, high = found["n"].proved_ends  # known exactly, from the table that is out
    assert (low == number.values).all()
    assert (high == number.values).all()
    low, high = found["v"].proved_ends
    assert (low < high)[found["v"].pattern].all()


def test_earlier_tables_keep_the_levels_of_their_own_rules():
    """A milder rule of the second table must not undo what the first was asked for."""
    data = {"r": [*"aaaabbbb"], "s": [*"xyyyxxyy"], "t": [*"ppqqppqq"], "v": range(11, 19)}
    one = Table.from_microdata(data, ["r", "s"], "v")
    two = Table.from_microdata(data, ["r", "t"], "v")
    corners = [("a", "x"), ("a", "Total"), ("Total", "x"), ("Total", "Total")]
    marks = np.zeros(one.n_cells, bool)
    marks[[one.position(label) for label in corners]] = True
    strict = protect(one, "FREQ(2,10)", keep=Release.of(one, marks))
    assert (strict.pattern == marks).all()
    alone = protect(two, "FREQ(1,10)")
    assert not alone.pattern.any()  # it would show both parts of the total of a
    found = protect_responses({"v": two}, "FREQ(1,10)", beside={"v": [strict]})["v"]
    assert found.pattern[[two.position(("a", code)) for code in "pq"]].any()
    whole = link(two, one)
    hidden = np.zeros(whole.n_cells, bool)
    for part, pattern in zip(whole.parts, (found.pattern, strict.pattern), strict=True):
        hidden[part.cells[pattern]] = True
    problem = Mechanism("FREQ(1,10)").problem(whole)
    first = np.zeros(whole.n_cells, bool)
    first[whole.parts[1].cells[strict.problem.primary]] = True
    level = np.zeros(whole.n_cells, np.int64)
    level[whole.parts[1].cells] = strict.problem.upl
    asked = replace(problem, primary=first, status=np.where(first, "u", "s"), lpl=level, upl=level)
    assert audit(asked, hidden).safe
