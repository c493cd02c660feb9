"""Earlier releases beside a new one: of the same data, of other data, in part."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.jobs.together import attacked_together, places_of
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
    assert (
        places_of(Release.of(Table.from_array([1, 2], names=["x"]), np.zeros(3, bool)), two) is None
    )
