"""A-priori files: what is written reads back, and a wrong line is named."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp.errors import InputError
from csp.formats.apriori import Statement, read_apriori, write_apriori
from csp.formats.codes import plain_code

CODES = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=',"')
).map(plain_code)
NUMBERS = st.decimals(0, 10**9, places=3)
SAID = st.one_of(
    st.tuples(st.sampled_from("sump"), st.just(())),
    st.tuples(st.just("c"), st.tuples(NUMBERS.filter(bool))),
    st.tuples(st.just("pl"), st.tuples(NUMBERS, NUMBERS)),
)


@given(st.lists(st.tuples(st.tuples(CODES, CODES), SAID), min_size=1, max_size=5))
def test_what_is_written_reads_back(tmp_path_factory, lines) -> None:
    path = tmp_path_factory.mktemp("hst") / "cells.hst"
    statements = [Statement(codes, word, numbers) for codes, (word, numbers) in lines]
    write_apriori(path, statements)
    found = read_apriori(path, 2, ",")
    assert [(s.codes, s.word, s.numbers) for s in found] == [
        (s.codes, s.word, s.numbers) for s in statements
    ]
    assert [s.where for s in found] == [f"cells.hst, line {i}" for i in range(1, len(found) + 1)]


@pytest.mark.parametrize("sign", [";", ",", "\t", "|"])
def test_separators_are_found(tmp_path, sign) -> None:
    path = tmp_path / "cells.hst"
    path.write_text(f'\nA{sign}"x,y;z"{sign}ML\n {sign}B{sign} W {sign}7\n\x1a')
    (one, two) = read_apriori(path, 2)
    assert (one.codes, one.word, one.where) == (("A", "x,y;z"), "m", "cells.hst, line 2")
    assert (two.codes, two.word, two.numbers) == (("", "B"), "c", (Decimal(7),))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("A,B,q", "line 2: 'q' after 2 codes is not a word"),
        ("A,u", "line 2: 2 fields; a cell of this table needs 2 codes"),
        ("A,B,u,5", "u takes 0 numbers, but 1 follow"),
        ("A,B,pl,5", "pl takes 2 numbers"),
        ("A,B,c,five", "line 2: 'five' is not a finite number"),
        ("A,B,c,-1", "c is negative"),
        ("A,B,c,0", "takes for 1"),
        ("A,B,ab,1,2", "what an outsider knows"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, words) -> None:
    path = tmp_path / "cells.hst"
    path.write_text(f"A,B,u\n{line}\n")
    with pytest.raises(InputError, match=words):
        read_apriori(path, 2)


def test_a_file_of_another_table_is_refused(tmp_path) -> None:
    path = tmp_path / "cells.hst"
    path.write_text("A u\n")
    with pytest.raises(InputError, match=r"line 1: no semicolon.*code;code;u"):
        read_apriori(path, 2)


def test_what_the_format_cannot_say_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="'a,b' holds the separator"):
        write_apriori(tmp_path / "cells.hst", [Statement(("a,b",), "u")])
    assert not list(tmp_path.iterdir())
