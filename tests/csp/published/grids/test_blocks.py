"""Blocks of rows that end in "Zusammen": sums of the rows above."""

from typing import Any

import numpy as np
import pytest

from csp import Release
from csp.errors import NotAdditive
from csp.published.crosstabs.reading import read_crosstab

HEAD = ["Kreis", "m", "w", "Insgesamt"]
A, B, C, D = ["A", 5, 6, 11], ["B", 7, 8, 15], ["C", 1, 2, 3], ["D", 4, 5, 9]
NORTH, SOUTH, ALL = ["Zusammen", 12, 14, 26], ["Zusammen", 5, 7, 12], ["Insgesamt", 17, 21, 38]


def sums(table: Any) -> set[tuple[str, frozenset[str]]]:
    """Sums down the rows, in the column of totals."""
    found = set()
    for row in table.relations.toarray():
        parts = [table.labels[i] for i in np.flatnonzero(row > 0)]
        whole = table.labels[int(np.argmin(row))]
        if {label[-1] for label in (*parts, whole)} == {"Insgesamt"}:
            found.add((whole[0], frozenset(label[0] for label in parts)))
    return found


@pytest.mark.parametrize("read", [read_crosstab, Release.from_frame])
def test_each_is_the_sum_of_the_rows_above(read: Any) -> None:
    table = read([HEAD, A, B, NORTH, C, D, SOUTH, ALL])
    assert sums(table) == {
        ("Zusammen (A, B)", frozenset("AB")), ("Zusammen (C, D)", frozenset("CD")),
        ("Insgesamt", frozenset(["Zusammen (A, B)", "Zusammen (C, D)"])),
    }  # fmt: skip
    assert any("'Zusammen' comes back" in note for note in table.notes)


def test_headings_name_them() -> None:
    rows = [HEAD, ["Nord"], A, B, NORTH, ["S\u00fcd"], C, D, SOUTH, ALL]
    indented = [HEAD, ["Nord"], *([f"  {r[0]}", *r[1:]] for r in (A, B, NORTH)), ["S\u00fcd"],
                *([f"  {r[0]}", *r[1:]] for r in (C, D, SOUTH)), ALL]  # fmt: skip
    wanted = {("Nord", frozenset("AB")), ("S\u00fcd", frozenset("CD")),
              ("Insgesamt", frozenset(["Nord", "S\u00fcd"]))}  # fmt: skip
    assert sums(read_crosstab(rows)) == sums(read_crosstab(indented)) == wanted


def test_the_last_one_may_be_of_all_and_a_block_of_one_row() -> None:
    rows = [HEAD, A, ["Summe", *A[1:]], C, D, ["Summe", *SOUTH[1:]], ["Summe", 10, 13, 23]]
    assert sums(read_crosstab(rows)) == {
        ("Summe (A)", frozenset("A")), ("Summe (C, D)", frozenset("CD")),
        ("Summe", frozenset(["Summe (A)", "Summe (C, D)"])),
    }  # fmt: skip


def test_labels_that_come_back_are_a_dimension_of_their_own() -> None:
    rows = [HEAD, ["Nord"], A, B, NORTH, ["S\u00fcd"], ["A", *C[1:]], ["B", *D[1:]], SOUTH, ALL]
    table = read_crosstab(rows)
    assert table.names == ("sections", "Kreis", "columns")
    assert table.roots == ("Insgesamt", "Zusammen", "Insgesamt")
    cells = dict(zip(table.labels, table.values.tolist(), strict=True))
    assert cells["S\u00fcd", "A", "m"] == 1
    assert cells["Insgesamt", "A", "m"] == 5 + 1


def test_one_that_is_not_the_sum_is_a_fault_of_the_table() -> None:
    with pytest.raises(NotAdditive, match=r"Zusammen \(A, B\)"):
        read_crosstab(
            [HEAD, A, B, ["Zusammen", 12, 15, 27], C, D, SOUTH, ["Insgesamt", 17, 22, 39]]
        )


def test_codes_beside_names_where_blocks_have_none() -> None:
    rows = [[None, *HEAD], [101, *A], [102, *B], [None, *NORTH], [201, *C], [202, *D],
            [None, *SOUTH], [None, *ALL]]  # fmt: skip
    rows[0][0] = "Kreis-Nr."
    assert sums(read_crosstab(rows)) == sums(read_crosstab([HEAD, A, B, NORTH, C, D, SOUTH, ALL]))
