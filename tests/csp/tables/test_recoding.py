"""Codes that become one, against pandas on the same records."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Hierarchy, InputError, Table
from csp.formats.recodings import Recoding, read_recoding
from csp.tables.cross.joined import joined
from csp.tables.hierarchies.recoding import recoded
from tests.support.shared import examples

TREE = Hierarchy.from_dict({"N": {"N1": ["a", "b", "c"], "N2": ["d", "e"]}, "S": ["f", "g"]})
LEAVES = list("abcdefg")


def file(folder: Path, text: str, name: str = "r.grc") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_groups_of_tau_argus(tmp_path: Path) -> None:
    found = read_recoding(file(tmp_path, "small: 1, 2, 5-7\nlarge: 40-\n<MISSING> 99\ntiny:-0\n"))
    codes = ["0", "1", "2", "3", "5", "6", "7", "8", "40", "100", "x"]
    assert found.mapping(codes) == {
        "0": "tiny", "1": "small", "2": "small", "5": "small", "6": "small", "7": "small",
        "40": "large", "100": "large",
    }  # fmt: skip
    words = read_recoding(file(tmp_path, "x: a-c\n"))
    assert words.mapping(["a", "b", "bb", "c", "d"]) == dict.fromkeys(["a", "b", "bb", "c"], "x")


@pytest.mark.parametrize(
    "text", ["old,new\n1,A\n2,A\n3,B\n", "1;A\n2;A\n3;B", "alt\tneu\n1\tA\n2\tA\n3\tB\n"]
)
def test_two_columns(text: str, tmp_path: Path) -> None:
    found = read_recoding(file(tmp_path, text, "r.csv"))
    assert found.mapping(["1", "2", "3", "4"]) == {"1": "A", "2": "A", "3": "B"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no lines"),
        ("small 1 2\n", "line 1"),
        ("small: 1,,2\n", "line 1: a code is missing"),
        ("a: 1-5\nb: 3\n", "'3' goes to 'a' and to 'b'"),
    ],
)
def test_what_is_not_a_recoding_is_refused(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why):
        read_recoding(file(tmp_path, text)).mapping(["3"])
    with pytest.raises(InputError, match="goes to"):
        read_recoding(file(tmp_path, "1,A\n1,B\n", "split.csv"))


def test_levels_and_cut_codes_of_a_hierarchy(tmp_path: Path) -> None:
    cut = read_recoding(file(tmp_path, "<TREERECODE>\nN1\nS\n"))
    mapping, tree = recoded(LEAVES, cut, TREE, "r")
    assert tree is not None
    assert mapping == {"a": "N1", "b": "N1", "c": "N1", "f": "S", "g": "S"}
    assert [tree.codes[i] for i in tree.leaves] == ["N1", "d", "e", "S"]
    mapping, tree = recoded(LEAVES, read_recoding("1"), TREE, "r")
    assert tree is not None
    assert tree.codes == ("N", "S", "Total")
    assert {mapping[code] for code in "abcde"} == {"N"}
    with pytest.raises(InputError, match="no hierarchy that could be cut"):
        recoded(LEAVES, read_recoding("1"), None, "r")
    with pytest.raises(InputError, match="not in the hierarchy"):
        recoded(LEAVES, Recoding(cut=("Q",)), TREE, "r")


def test_codes_are_joined_below_one_code(tmp_path: Path) -> None:
    mapping, tree = recoded(LEAVES, read_recoding(file(tmp_path, "ab: a,b\n")), TREE, "r")
    assert tree is not None
    assert mapping == {"a": "ab", "b": "ab"}
    assert tree.codes == ("ab", "c", "N1", "d", "e", "N2", "N", "f", "g", "S", "Total")
    for text, why in (
        ("x: c,d\n", "below 'N1' and below 'N2'"),
        ("x: N1\n", "has codes below it"),
        ("N1: a,b\n", "'c' is not joined with all"),
    ):
        one = read_recoding(file(tmp_path, text))
        with pytest.raises(InputError, match=why):
            recoded([*LEAVES, "N1"], one, TREE, "r")
    # A hierarchy of the new codes stays.
    other = Hierarchy.from_dict({"Top": ["x", "y"]})
    new = read_recoding(file(tmp_path, "x: 1\ny: 2\n"))
    assert recoded(["1", "2"], new, other, "r")[1] is other


def sums(one: Table) -> set[frozenset[tuple[tuple[str, ...], int]]]:
    rows = one.relations.tocsr()
    found = set()
    for k in range(rows.shape[0]):
        span = slice(rows.indptr[k], rows.indptr[k + 1])
        cells = zip(rows.indices[span].tolist(), rows.data[span].tolist(), strict=True)
        found.add(frozenset((one.labels[cell], int(sign)) for cell, sign in cells))
    return found


@given(st.data())
@examples(60)
def test_a_table_with_codes_joined_is_that_of_records_with_them_joined(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40))
    codes = {"r": LEAVES, "s": list("xyz")}
    records = pd.DataFrame(
        {
            k: data.draw(st.lists(st.sampled_from(c), min_size=n, max_size=n))
            for k, c in codes.items()
        }
    )
    kind = data.draw(st.sampled_from(["tree", "level", "flat"]))
    if kind == "tree":
        recoding = Recoding(cut=tuple(data.draw(st.sets(st.sampled_from(["N1", "N2", "N", "S"])))))
    elif kind == "level":
        recoding = Recoding(level=data.draw(st.integers(1, 3)))
    else:
        recoding = Recoding(groups=(("ab", (("a", "b"),)), ("fg", (("f", "f"), ("g", "g")))))
    mapping, tree = recoded(LEAVES, recoding, TREE, "r")
    assert tree is not None
    # Codes that look like a total of the others by chance are said to be none.
    table = Table.from_microdata(records, ["r", "s"], hierarchies={"r": TREE}, total={"s": "Total"})
    table = joined(table, "r", mapping)
    replaced = records.assign(r=records.r.map(lambda code: mapping.get(code, code)))
    other = Table.from_microdata(
        replaced, ["r", "s"], hierarchies={"r": tree}, total={"s": "Total"}
    )
    assert dict(zip(table.labels, table.values.tolist(), strict=True)) == dict(
        zip(other.labels, other.values.tolist(), strict=True)
    )
    assert sums(table) == sums(other)


def test_contributors_of_joined_cells_are_not_guessed() -> None:
    records = pd.DataFrame({"r": list("abc"), "v": [1, 2, 3], "f": ["x", "y", "x"]})
    table = Table.from_microdata(records, ["r"], "v", contributor="f")
    with pytest.raises(InputError, match="do not add up"):
        joined(table, "r", {"a": "ab", "b": "ab"})


@pytest.mark.parametrize(
    ("mapping", "why"),
    [
        ({"a": "N1", "b": "N1"}, "'c' is not joined with them"),
        ({"a": "N1", "b": "N1", "c": "N1", "f": "N1"}, "'f' is not one of these"),
    ],
)
def test_a_sum_is_not_the_name_of_some_of_its_codes(mapping: dict[str, str], why: str) -> None:
    records = pd.DataFrame({"r": LEAVES})
    table = Table.from_microdata(records, ["r"], hierarchies={"r": TREE})
    with pytest.raises(InputError, match=why):
        joined(table, "r", mapping)
