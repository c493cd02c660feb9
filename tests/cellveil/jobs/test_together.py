"""Earlier releases beside a new one: of the same data, of other data, in part."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from cellveil.jobs.together import Required, attacked_together, places_of
from csp import InputError, Table
from csp.clock import UNLIMITED
from csp.release.release import Release

NEW = [[1, 8, 1], [6, 2, 6], [9, 9, 9]]
OTHER = [[5, 2, 3], [2, 8, 4], [9, 9, 9]]  # the same totals


def release(values: list[list[int]], hidden: str) -> Release:
    """Release of a table with totals; cells of the first two rows in some columns are hidden."""
    table = Table.from_array(values, names=["row", "column"])
    columns = sorted({label[1] for label in table.labels} - {table.roots[1]})
    rows = sorted({label[0] for label in table.labels} - {table.roots[0]})
    gone = {(r, columns["abc".index(c)]) for r in rows[:2] for c in hidden}
    return Release.of(table, np.array([label in gone for label in table.labels]))


def test_a_release_that_contradicts_is_of_other_data_and_no_finding() -> None:
    # All that both publish is the same; then row 1 would be 5 + 8 and more, and its total is 10.
    new, other = release(NEW, "ac"), release(OTHER, "bc")
    (said,) = attacked_together([other], ["t.001.json"], new, UNLIMITED)
    assert said.startswith("1 earlier release is of other data or codes")
    assert "contradict it" in said
    # Beside it one of the same data is attacked: a and b were published, so c follows.
    with pytest.raises(InputError, match=r"together with t\.002\.json of the history, 2 supp"):
        attacked_together([other, release(NEW, "bc")], ["t.001.json", "t.002.json"], new, UNLIMITED)
    same = release(NEW, "ac")
    said = attacked_together([other, same], ["t.001.json", "t.002.json"], new, UNLIMITED)[-1]
    assert (
        said
        == "No suppressed cell can be worked out exactly from the earlier release and this one."
    )


def test_cells_are_found_where_dimensions_are_more_or_fewer() -> None:
    two = release(NEW, "ac")
    one = Release.of(Table.from_array([10, 14, 27], names=["row"]), np.zeros(4, bool))
    at, back = places_of(one, two), places_of(two, one)
    assert at is not None
    assert back is not None
    for i, (row, column) in enumerate(two.labels):
        assert (at[i] >= 0) == (column == two.roots[1])
        if at[i] >= 0:
            assert one.labels[at[i]] == (row,)
            assert back[at[i]] == i
    other = Release.of(Table.from_array([1, 2], names=["x"]), np.zeros(3, bool))
    total = places_of(other, two)  # the total of everything is a cell of both
    assert total is not None
    assert total.tolist() == [-1] * 15 + [2]


def test_cells_that_the_new_table_does_not_have_are_known_by_its_sums() -> None:
    two = Table.from_array(NEW, names=["row", "column"])
    rows = sorted({label[0] for label in two.labels} - {two.roots[0]})
    hidden = np.array([label[0] in (rows[0], two.roots[0]) for label in two.labels])
    one = Table.from_array(np.sum(NEW, axis=0).tolist(), names=["column"])
    old, new = Release.of(two, hidden), Release.of(one, np.zeros(4, bool))
    # The other rows were published; with the totals of columns the first is what is left.
    with pytest.raises(InputError, match=r"3 suppressed cells|4 suppressed cells") as error:
        attacked_together([old], ["t.001.json"], new, UNLIMITED)
    assert "by_hand, with MAN(10) among the rules" in str(error.value)
    assert "column=" in str(error.value)


def interval(releases: list[Release], cell: tuple[str, ...]) -> tuple[int, int]:
    """Least and largest value of a cell over all tables that all releases agree with, by scipy."""
    one = releases[0]
    low, high = np.zeros(len(one.pattern)), np.full(len(one.pattern), 1000.0)
    for each in releases:
        shown = ~each.pattern
        low[shown] = high[shown] = each.published[shown]
    sums = LinearConstraint(one.relations.toarray(), 0, 0)
    cost = np.array([float(label == cell) for label in one.labels])
    ends = [
        milp(sign * cost, integrality=np.ones(len(cost)), bounds=Bounds(low, high),
             constraints=sums).fun * sign
        for sign in (1, -1)
    ]  # fmt: skip
    return round(ends[0]), round(ends[1])


def test_intervals_that_are_too_narrow_together_are_refused() -> None:
    values = [[3, 8, 4], [6, 5, 9], [4, 7, 6]]
    table = Table.from_array(values, names=["row", "column"])
    rows = sorted({label[0] for label in table.labels} - {table.roots[0]})
    columns = sorted({label[1] for label in table.labels} - {table.roots[1]})

    def hide(*cells: tuple[int, int]) -> Release:
        gone = {(rows[r], columns[c]) for r, c in cells}
        return Release.of(table, np.array([label in gone for label in table.labels]))

    square = [(0, 0), (0, 1), (1, 0), (1, 1)]
    old = hide(*square)
    new = hide(*square, (2, 0), (2, 2), (0, 2))
    cell = (rows[0], columns[0])
    alone, both = interval([new], cell), interval([old, new], cell)
    before = interval([old], cell)
    assert alone[0] < both[0] or both[1] < alone[1], "together they say more"
    at = np.array([i for i, label in enumerate(table.labels) if label == cell])
    one = np.ones(1, np.int64)

    def required(below: int, above: int) -> Required:
        return Required(at, table.values[at], below * one, above * one, 0 * one, 0)

    fits = required(3 - both[0], both[1] - 3)
    said = attacked_together([old], ["t.001.json"], new, UNLIMITED, fits)
    assert "No suppressed cell can be worked out" in said[-1]
    # What the earlier release alone says cannot be taken back, and is said.
    assert before == both
    said = attacked_together([old], ["t.001.json"], new, UNLIMITED, required(3, 30))
    assert "1 sensitive cell has a narrower interval than the rules require from one" in said[-1]

    # Two blocks that share a square: each alone leaves more room than both.
    first, second = hide(*square, (0, 2), (1, 2)), hide(*square, (2, 0), (2, 1))
    cell, value = (rows[1], columns[1]), 5
    at = np.array([i for i, label in enumerate(table.labels) if label == cell])
    each, both = [interval([one], cell) for one in (first, second)], interval([first, second], cell)
    assert all(low < both[0] or high > both[1] for low, high in each)
    low, high = max(low for low, _ in each), min(high for _, high in each)
    assert (low, high) != both
    with pytest.raises(InputError, match="1 suppressed cell can be narrowed below") as error:
        attacked_together(
            [first], ["t.001.json"], second, UNLIMITED, required(value - low, high - value)
        )
    # Cells of the third row were published then, and hiding them does not help.
    lines = {f"{rows[2]},{columns[c]},p" for c in (0, 1)}
    assert all(line in str(error.value) for line in lines)
    fits = required(value - both[0], both[1] - value)
    said = attacked_together([first], ["t.001.json"], second, UNLIMITED, fits)
    assert "No suppressed cell can be worked out" in said[-1]
