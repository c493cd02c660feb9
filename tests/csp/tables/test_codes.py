"""Labels as integer columns, against plain tuples of tuples."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError, Table
from csp.tables.codes import Labels

TEXTS = st.sampled_from(["a", "b", "10", "9", "Total", "", "é", "a b"])


@st.composite
def tuples(draw, width=None):
    width = draw(st.integers(1, 4)) if width is None else width
    return tuple(draw(st.lists(st.tuples(*[TEXTS] * width), min_size=1, max_size=12)))


def scrambled(labels, seed):
    """The same labels with other numbers and with texts that are not used."""
    rng = np.random.default_rng(seed)
    codes, categories = np.empty_like(labels.codes), []
    for k, texts in enumerate(labels.categories):
        wider = (*texts, "unused", "more")
        order = rng.permutation(len(wider))
        codes[:, k] = np.argsort(order)[labels.codes[:, k]]
        categories.append([wider[i] for i in order])
    return Labels(codes, categories)


@given(tuples(), st.integers(0, 9))
def test_they_are_a_sequence_of_tuples(plain, seed):
    for labels in (Labels.of(plain), scrambled(Labels.of(plain), seed)):
        assert labels == plain
        assert plain == labels
        assert labels == list(plain)
        assert list(labels) == list(plain)
        assert len(labels) == len(plain)
        assert [labels[i] for i in range(-len(plain), len(plain))] == list(plain) * 2
        assert [labels[np.int64(i)] for i in range(len(plain))] == list(plain)
        assert labels[1:] == plain[1:]
        assert labels[::-1] == plain[::-1]
        assert tuple(reversed(labels)) == plain[::-1]
        assert hash(labels) == hash(plain)
        assert repr(labels) == repr(plain)
        assert (*labels, ("new",)) == (*plain, ("new",))
        for label in {*plain, ("a",) * len(plain[0]), ("zz",) * len(plain[0])}:
            assert (label in labels) == (label in plain)
            assert labels.count(label) == plain.count(label)
            if label in plain:
                assert labels.index(label) == plain.index(label)
        for k in range(len(plain[0])):
            assert labels.column(k) == [label[k] for label in plain]
        assert labels.unused_dropped() == plain
        assert labels.in_order() == plain
        assert all(list(texts) == sorted(texts) for texts in labels.in_order().categories)
        assert pickle.loads(pickle.dumps(labels)) == plain
        assert copy.deepcopy(labels) == plain
        mask = np.arange(len(plain)) % 2 == 0
        assert labels.take(mask) == plain[::2]


@given(st.integers(1, 3).flatmap(lambda w: st.tuples(tuples(w), tuples(w), st.integers(0, 9))))
def test_labels_of_two_tables_are_matched(case):
    one, two, seed = case
    mine, theirs = scrambled(Labels.of(one), seed), scrambled(Labels.of(two), seed + 1)
    assert mine.places(theirs).tolist() == [one.index(t) if t in one else -1 for t in two]
    assert Labels.union([mine, theirs]) == tuple(sorted({*one, *two}))
    assert (mine == theirs) == (one == two)
    again = [i for i, label in enumerate(one) if label in one[:i]]
    assert mine.repeated() == min(again, default=-1)


def test_codes_of_too_many_dimensions_for_one_number_are_matched_too():
    rng = np.random.default_rng(1)
    width, texts = 20, [str(i) for i in range(10)]
    wide = [tuple(texts[c] for c in rng.integers(0, 10, width)) for _ in range(30)]
    labels = Labels.of(wide + [tuple(texts) * 2] * 2)
    assert labels.repeated() == 31
    assert labels.index(wide[7]) == 7
    assert ("9",) * width not in labels
    assert labels.places(Labels.of(wide[::-1])).tolist() == list(range(30))[::-1]
    assert Labels.union([Labels.of(wide), Labels.of(wide[:3])]) == tuple(sorted(wide))


def test_all_combinations():
    labels = Labels.product([["a", "b"], ["x", "y", "z"]])
    assert labels == tuple((a, x) for a in "ab" for x in "xyz")
    assert labels.index(("b", "y")) == 4
    assert not labels.codes.flags.writeable
    assert labels.codes.dtype == np.int32


def test_a_long_sequence_is_not_shown_in_full():
    labels = Labels.product([[str(i) for i in range(2000)]])
    assert repr(labels) == "Labels(2000 cells, the first ('0',))"
    assert list(labels)[1999] == ("1999",)


def test_nothing_else_is_equal():
    labels = Labels.of((("a",),))
    assert labels != "a"
    assert labels != (("a",), ("b",))
    assert labels != (("a", "b"),)
    assert ("a", "b") not in labels
    assert "a" not in labels
    with pytest.raises(ValueError, match="not among"):
        labels.index(("b",))
    with pytest.raises(ValueError, match="not among"):
        labels.index(("a",), 1)


def test_labels_need_one_width():
    with pytest.raises(InputError, match="label 2 has 2 codes and the first one 1"):
        Labels.of((("a",), ("a", "b")))


def test_a_table_takes_tuples_and_keeps_columns():
    table = Table.from_array([[1, 2], [3, 4]])
    same = table.replace(labels=tuple(table.labels))
    assert isinstance(same.labels, Labels)
    assert same.labels == table.labels
    assert [same.position(label) for label in same.labels] == list(range(9))
    with pytest.raises(InputError, match="no cell"):
        same.position(("1",))
    twice = (*tuple(table.labels)[:8], ("1", "2"))
    with pytest.raises(InputError, match=r"\(d1=1, d2=2\) occurs twice"):
        table.replace(labels=twice)
