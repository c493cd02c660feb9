"""The matching attack on another program, a function: a p% rule on hidden contributions."""

from __future__ import annotations

import itertools
import signal
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import matching
from csp import InputError, Mechanism, MinFrequency, Table, Unprotectable
from csp.release.release import Release
from tests.support.shared import examples

CONTRIBUTION = st.integers(0, 3)


def p_percent(table: Table) -> np.ndarray:
    """Publish two totals, unless what the third contributes is below half of the largest.

    Who contributes what is never published; a table that is all zero is not published at all.
    """
    rows = table.values.reshape(3, 4)
    pattern = np.ones((3, 4), dtype=bool)
    pattern[2, 3] = False
    if not rows.any():
        raise Unprotectable("nothing to publish")
    largest = np.sort(rows[:2, :3], axis=1)
    sensitive = (2 * largest[:, 0] < largest[:, 2]).any()
    pattern[:2, 3] = sensitive
    return pattern.ravel()


def matches_by_lists(release: Release, table: Table) -> list[tuple[int, ...]]:
    """Contributions of every table that is published so; the rule once more, on plain numbers."""
    hidden = bool(release.pattern[3])
    total = int(table.values[11])
    first = int(table.values[3])
    found = []
    for six in itertools.product(range(total + 1), repeat=6):
        if sum(six) != total or not total or (not hidden and sum(six[:3]) != first):
            continue
        sensitive = any(2 * min(row) < max(row) for row in (six[:3], six[3:]))
        if sensitive == hidden:
            found.append(six)
    return found


@examples(25)
@given(st.lists(CONTRIBUTION, min_size=6, max_size=6), st.sampled_from(["auto", "all"]),
       st.integers(1, 4))  # fmt: skip
def test_every_table_of_another_program_is_found(six: list[int], method: str, width: int) -> None:
    table = Table.from_array(np.array(six).reshape(2, 3), names=["region", "firm"])
    if not any(six) or sum(six) > 5:
        return
    release = Release.of(table, p_percent(table))
    matches = matches_by_lists(release, table)
    found = matching(release, p_percent, method=method, width=width)
    assert found.complete
    place = {cell: i for i, cell in enumerate(found.cells.tolist())}
    for where, cell in enumerate((0, 1, 2, 4, 5, 6)):
        values = {six[where] for six in matches}
        i = place[cell]
        assert (found.lower[i], found.upper[i]) == (min(values), max(values))
        told = "proved safe" if max(values) - min(values) >= width else "proved unsafe"
        assert found.verdict[i] == told
        if method == "all":
            assert found.values is not None
            assert set(found.values[i].tolist()) == values
    if method == "all":
        assert found.matched == len(matches)
    assert set(found.named.tolist()) == {""}


def test_a_sample_proves_what_is_wide_and_no_more() -> None:
    table = Table.from_array([[3, 0, 0], [1, 1, 1]], names=["region", "firm"])
    release = Release.of(table, p_percent(table))
    found = matching(release, p_percent, method="sample", draws=300)
    assert not found.complete
    exact = matching(release, p_percent, method="all")
    # What the sample met is wide enough, so what it did not meet is no worse.
    assert (found.upper > found.lower).any()
    assert ((found.verdict == "not judged: give width=") == (found.upper > found.lower)).all()
    judged = matching(release, p_percent, method="sample", draws=300, width=1)
    assert ((judged.verdict == "proved safe") == (judged.upper > judged.lower)).all()
    assert set(found.verdict[found.upper == found.lower].tolist()) <= {"undecided"}
    named = matching(release, p_percent, method="all", width=1)
    assert (named.verdict[judged.verdict == "proved safe"] == "proved safe").all()
    assert (found.lower >= exact.lower).all()
    assert (found.upper <= exact.upper).all()


def test_what_a_function_cannot_be_asked_is_refused() -> None:
    table = Table.from_array([[3, 0, 0], [1, 1, 1]], names=["region", "firm"])
    release = Release.of(table, p_percent(table))
    with pytest.raises(InputError, match="'reference' needs a mechanism"):
        matching(release, p_percent, method="reference")
    with pytest.raises(InputError, match="marks= needs a mechanism"):
        matching(release, p_percent, marks=release.pattern)
    with pytest.raises(InputError, match="states its own width"):
        matching(release, Mechanism(MinFrequency(2), width=1), width=3)
    with pytest.raises(InputError, match="the function publishes none of the consistent tables"):
        matching(release, lambda _: None)
    with pytest.raises(InputError, match=r"a function that takes a table and .*, not int"):
        matching(release, 3)  # type: ignore[arg-type]
    for width in (0, -1, 10**30):
        with pytest.raises(InputError, match="must be more than 0 and at most"):
            matching(release, p_percent, width=width)
    runs = itertools.count()
    with pytest.raises(InputError, match="two patterns for one table"):
        matching(release, lambda _: np.full(12, next(runs) % 2 == 0))
    with pytest.raises(InputError, match="the pattern of the algorithm"):
        matching(release, lambda _: [1, 2])


def test_an_interrupt_that_the_function_takes_for_itself_ends_the_attack() -> None:
    """`csp.protect` does: it returns the best pattern so far, perhaps not the published one."""
    table = Table.from_array([[3, 0, 0], [1, 1, 1]], names=["region", "firm"])
    release = Release.of(table, p_percent(table))
    runs = itertools.count(1)

    def program(asked: Table) -> np.ndarray:
        if next(runs) == 5:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            return np.zeros(12, dtype=bool)
        return p_percent(asked)

    before = signal.getsignal(signal.SIGINT)
    found = matching(release, program, method="all")
    assert found.interrupted
    assert not found.complete
    assert found.tested == 2  # two of the five runs are on one table, whether it answers alike
    assert signal.getsignal(signal.SIGINT) is before
