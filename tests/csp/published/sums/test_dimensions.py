"""How codes add up: named, printed, by prefixes, found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Hierarchy, InputError
from csp.published.sums import adding_up
from csp.published.sums import dimensions as ways
from csp.published.sums.relations import all_cells, sums
from tests.support.shared import examples


def parents(dimension) -> dict[str, str]:
    codes = dimension.codes
    return {codes[i]: codes[p] for i, p in enumerate(dimension.parent.tolist()) if p >= 0}


def test_words_for_totals() -> None:
    for word in ("Total", "Insgesamt", "All", "Gesamt", "_T"):
        assert parents(ways.flat(["a", word, "b"], "d", None)) == {"a": word, "b": word}
    assert parents(ways.flat(["a", "b"], "d", None)) == {}
    assert parents(ways.flat(["a", "b", "c"], "d", "c")) == {"a": "c", "b": "c"}
    with pytest.raises(InputError, match="both have the name of a total"):
        ways.flat(["Total men", "Total women", "a"], "d", None)


def test_indents() -> None:
    found = ways.by_indents(["Total", "N", "N1", "N2", "S"], [0, 0, 1, 1, 0], None)
    assert parents(found) == {"N": "Total", "S": "Total", "N1": "N", "N2": "N"}
    assert ways.by_indents(["a", "b"], [0, 0], None) is None


def test_prefixes_of_industry_codes() -> None:
    """NAICS has ranges of two digits; fillers at the end are those of County Business Patterns."""
    codes = ["------", "31----", "311///", "3111//", "3112//", "44-45", "445", "32"]
    found = parents(ways.by_prefixes(["Total", *codes[1:]], None))
    assert found["311///"] == "31----"
    assert found["3112//"] == "311///"
    assert found["445"] == "44-45"
    assert found["32"] == "Total"


def test_a_hierarchy_with_another_name_for_its_root() -> None:
    tree = Hierarchy.from_dict({"N": ["1", "2"], "S": ["3"]})
    found = ways.given(["1", "2", "3", "All"], tree, "d", None)
    # N and S are not in the table, so their parts add up to what is above them.
    assert parents(found) == {"1": "All", "2": "All", "3": "All"}
    with pytest.raises(InputError, match="code 'x' of column 'd' is not in its hierarchy"):
        ways.given(["1", "x"], tree, "d", None)


@examples(60)
@given(st.data())
def test_planted_totals_are_found(data) -> None:
    """A list of groups with subtotals before or after their parts, and the total at an end."""
    sizes = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    before = data.draw(st.booleans())
    lines = data.draw(st.integers(4, 8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    codes, rows, want, tops = [], [], {}, []
    for g, size in enumerate(sizes):
        parts = rng.integers(100, 10**6, (size, lines))
        names = [f"{g}.{i}" for i in range(size)]
        group = [(f"{g}", parts.sum(axis=0))]
        leaves = list(zip(names, parts, strict=True))
        for code, row in group + leaves if before else leaves + group:
            codes.append(code)
            rows.append(row)
        want |= dict.fromkeys(names, f"{g}")
        tops.append(parts.sum(axis=0))
    if len(sizes) > 1:
        want |= {f"{g}": "whole" for g in range(len(sizes))}
        at = 0 if before else len(codes)
        codes.insert(at, "whole")
        rows.insert(at, np.sum(tops, axis=0))
    values = np.array(rows)
    found = adding_up.found(codes, values, np.ones(values.shape, bool), 0)
    assert found is not None
    assert parents(found[0]) == want
    assert adding_up.checked_sums(found[0], values, np.ones(values.shape, bool), 0)[1] == 0


@examples(60)
@given(st.data())
def test_relations_are_those_of_a_plain_loop(data) -> None:
    count = data.draw(st.integers(1, 3))
    dims = []
    for _ in range(count):
        k = data.draw(st.integers(1, 5))
        parent = [data.draw(st.sampled_from([-1, *range(i + 1, k)])) for i in range(k)]
        dims.append(ways.Dimension(tuple(map(str, range(k))), np.array(parent)))
    labels = all_cells(dims)
    keep = np.array([data.draw(st.booleans()) for _ in range(len(labels))], bool)
    codes = labels.codes[keep]
    cells = [tuple(row) for row in codes.tolist()]
    want = set()
    for d, dimension in enumerate(dims):
        for total in cells:
            parts = [c for c in cells if c[:d] == total[:d] and c[d + 1 :] == total[d + 1 :]
                     and dimension.parent[c[d]] == total[d]]  # fmt: skip
            if parts:
                want.add((cells.index(total), *sorted(map(cells.index, parts))))
    found = set()
    for row in sums(codes, dims).toarray().tolist():
        assert row.count(-1) == 1
        found.add((row.index(-1), *[i for i, v in enumerate(row) if v == 1]))
    assert found == want
