"""Hierarchies from every source, and what is refused."""

from __future__ import annotations

import pickle

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Hierarchy, InputError, TextFile


@st.composite
def parent_maps(draw):
    """Random trees as child -> parent, codes c0, c1, ... each below an earlier one or the total."""
    n = draw(st.integers(1, 12))
    tops = ["Total", *(f"c{i}" for i in range(n))]
    return {f"c{i}": draw(st.sampled_from(tops[: i + 1])) for i in range(n)}


@given(parent_maps())
def test_postorder_children_ancestors_agree_with_the_parent_map(parents):
    tree = Hierarchy.from_parents(parents)
    assert sorted(tree.codes) == sorted([*parents, "Total"])
    assert tree.root == "Total"
    seen = set()
    for i, code in enumerate(tree.codes):
        below = [c for c in parents if parents[c] == code]
        assert sorted(tree.codes[j] for j in tree.children(i)) == sorted(below)
        assert seen >= set(below)  # children stand before their parent
        seen.add(code)
        chain = []
        up = code
        while up != "Total":
            up = parents[up]
            chain.append(up)
        assert [tree.codes[j] for j in tree.ancestors(i)] == chain
        assert tree.position(f" {code} ") == i
    assert {tree.codes[i] for i in tree.leaves} == set(parents) - set(parents.values())
    assert tree.depth == max(len(tree.ancestors(i)) for i in range(len(tree.codes)))


@given(parent_maps())
def test_hrc_round_trip(parents):
    tree = Hierarchy.from_parents(parents)
    assert Hierarchy.from_hrc(tree.to_hrc()) == tree
    assert Hierarchy.from_hrc(tree.to_hrc(lead="--"), lead="--") == tree


def test_siblings_keep_their_order_and_spaces_do_not_count():
    tree = Hierarchy.flat([" b", "a ", "c"], total=" All ")
    assert tree.codes == ("b", "a", "c", "All")
    assert tree.parent == (3, 3, 3, -1)
    assert tree.depth == 1


def test_dict_lists_and_ragged_branches():
    tree = Hierarchy.from_dict({"N": ["1", {"2": ["x", "y"]}], "S": None})
    assert tree.codes == ("1", "x", "y", "2", "N", "S", "Total")
    assert tree.depth == 3


def test_parents_with_their_own_total_and_without():
    assert Hierarchy.from_parents({"a": "World", "b": "World"}).root == "World"
    assert Hierarchy.from_parents([("a", "A"), ("A", None), ("b", "")]).root == "Total"
    tree = Hierarchy.from_parents({"a": "A", "b": "B"})
    assert tree.codes == ("a", "A", "b", "B", "Total")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict])
def test_frames_of_columns_and_of_parents(library):
    nested = library({"sector": ["s2", "s1", "s1"], "branch": ["z", "y", "x"]})
    tree = Hierarchy.from_columns(nested, ["sector", "branch"])
    assert tree.codes == ("x", "y", "s1", "z", "s2", "Total")
    pairs = library({"c": ["x", "y", "s1"], "p": ["s1", "s1", None]})
    assert Hierarchy.from_parents(pairs, "c", "p").codes == ("x", "y", "s1", "Total")


def test_columns_do_not_depend_on_row_order_and_branches_may_end_early():
    rows = {"a": ["A", "B", "A", "C"], "b": ["a1", None, "a2", "C"]}
    tree = Hierarchy.from_columns(rows, ["a", "b"])
    back = {name: column[::-1] for name, column in rows.items()}
    assert Hierarchy.from_columns(back, ["a", "b"]) == tree
    assert tree.codes == ("a1", "a2", "A", "B", "C", "Total")


def test_equal_hash_and_pickle():
    tree = Hierarchy.from_dict({"N": ["1", "2"]})
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert again.children(2) == (0, 1)


def test_long_chains_and_wide_levels_are_fast_enough():
    n = 20_000
    with pytest.raises(InputError, match="more than 100 levels"):
        Hierarchy.from_parents({f"c{i}": f"c{i + 1}" for i in range(n)})
    deep = Hierarchy.from_parents({f"c{i}": f"c{i + 1}" for i in range(100)})
    assert (deep.root, deep.depth) == ("c100", 100)
    wide = Hierarchy.flat(map(str, range(n)))
    assert sum(len(wide.children(i)) for i in range(n + 1)) == n


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: Hierarchy.from_parents({"a": "b", "b": "c", "c": "a"}),
            ["cycle", "a -> b -> c -> a"],
        ),
        (lambda: Hierarchy.from_parents({"x": "T", "a": "b", "b": "a"}), ["cycle", "a -> b -> a"]),
        (lambda: Hierarchy.from_parents({"a": "a"}), ["cycle", "a -> a"]),
        (lambda: Hierarchy.from_parents([("a", "A"), ("a", "B")]), ["'a'", "'A'", "'B'", "pair 2"]),
        (lambda: Hierarchy.from_parents([("", "A")]), ["pair 1", "empty"]),
        (lambda: Hierarchy.from_parents({}), ["no codes"]),
        (lambda: Hierarchy.from_parents({"a": "Total", "Total": "X", "b": None}), ["'Total'"]),
        (lambda: Hierarchy.from_parents(3), ["mapping"]),
        (lambda: Hierarchy.from_parents({"a": "b"}, child="x"), ["child=", "parent="]),
        (lambda: Hierarchy.flat(["a", "Total"]), ["'Total'", "another name"]),
        (lambda: Hierarchy.flat(["a", " a"]), ["'a'", "twice"]),
        (lambda: Hierarchy.flat(["a", ""]), ["empty"]),
        (lambda: Hierarchy.flat([]), ["no codes"]),
        (lambda: Hierarchy.from_dict({"A": ["x"], "B": ["x"]}), ["'x'", "'A'", "'B'"]),
        (lambda: Hierarchy.from_dict({"A": {"Total": None}}), ["'Total'"]),
        (lambda: Hierarchy.from_dict({"A": 3}), ["'A'", "list"]),
        (
            lambda: Hierarchy.from_columns({"a": ["A", "B"], "b": ["x", "x"]}, ["a", "b"]),
            ["row 2", "'x'", "'B'", "'A'"],
        ),
        (
            lambda: Hierarchy.from_columns({"a": ["A", None], "b": ["x", "y"]}, ["a", "b"]),
            ["row 2", "'b'", "coarser"],
        ),
        (
            lambda: Hierarchy.from_columns({"a": ["A", "B"], "b": ["B", "A"]}, ["a", "b"]),
            ["'B'"],
        ),
        (lambda: Hierarchy.from_columns({"sector": ["A"]}, ["sectr"]), ["'sectr'", "'sector'"]),
        (lambda: Hierarchy(("a", "b", "T"), (1, -1, -1)), ["'b'"]),
        (lambda: Hierarchy(("a", "b", "A", "B", "T"), (3, 2, 4, 4, -1)), ["'a'", "postorder"]),
        (lambda: Hierarchy((), ()), ["parent"]),
        (lambda: Hierarchy.flat(["north", "south"]).position("nroth"), ["'nroth'", "'north'"]),
    ],
)
def test_refusals_name_the_code(build, words):
    with pytest.raises(InputError) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def test_what_a_text_file_declares_as_missing_is_no_code(tmp_path):
    path = tmp_path / "regions.csv"
    path.write_text("country;region\nN;N1\nN;N2\nS;S1\nS;NA\n")
    readers = (
        lambda data: Hierarchy.from_columns(data, ["country", "region"]),
        lambda data: Hierarchy.from_parents(data, child="region", parent="country"),
    )
    file = TextFile(path, missing=())
    for read in readers:
        assert "NA" in read(file).codes
        with pytest.raises(InputError, match="row 4, column 'region': the code is NA"):
            read(path)
    gone = TextFile(path, missing=("NA",))
    assert "NA" not in readers[0](gone).codes
