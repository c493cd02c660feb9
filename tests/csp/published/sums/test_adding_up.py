"""Sums that hold by chance are not taken: of years, of small rounded numbers, beside zeros."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError, Release
from tests.csp.published.sums.test_structure import C, above
from tests.support.shared import examples


def printed(names, heads, values, hidden) -> list[list[str]]:
    body = [
        [name, *(C if hide else str(x) for x, hide in zip(*row, strict=True))]
        for name, *row in zip(names, values.tolist(), hidden.tolist(), strict=True)
    ]
    return [["", *heads], *body]


@pytest.mark.parametrize("base", [5, 10])
@given(st.integers(0, 2**32 - 1))
@examples(40)
def test_rounded_counts_of_years_add_up_to_nothing(base: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, years = int(rng.integers(5, 9)), int(rng.integers(4, 8))
    counts = rng.poisson(rng.uniform(4, 12, (k, 1)), (k, years))
    counts = np.vstack([counts, counts.sum(axis=0)])
    rounded = (counts + base // 2) // base * base
    names = [*(f"{letter}-town" for letter in "abcdefgh"[:k]), "Total"]
    heads = [str(2024 - years + j) for j in range(years)]
    hidden = rng.random(counts.shape) < 0.3
    release = Release.from_frame(printed(names, heads, rounded, hidden), rounded=base)
    for row in release.relations.toarray():
        assert len({release.labels[i][1] for i in np.flatnonzero(row).tolist()}) == 1


@given(st.integers(0, 2**32 - 1))
@examples(60)
def test_a_named_subtotal_holds_all_codes_up_to_the_next_one(seed: int) -> None:
    """Parts that are 0 wherever they are published leave a shorter sum as right as the whole."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, int(rng.integers(2, 4))).tolist()
    ends = np.cumsum([0, *sizes]).tolist()
    counts = rng.poisson(6, (ends[-1], int(rng.integers(3, 7))))
    counts[rng.random(counts.shape) < 0.4] = 0
    names, rows, truth = [], [], {}
    for g, (first, last) in enumerate(pairwise(ends)):
        parts, whole = [f"{'abc'[g]}{i}" for i in range(last - first)], f"{'ABC'[g]}ll, total"
        names += [*parts, whole]
        rows += [*counts[first:last], counts[first:last].sum(axis=0)]
        truth |= dict.fromkeys(parts, whole) | {whole: "Total"}
    names, rows = [*names, "Total"], [*rows, counts.sum(axis=0)]
    values = np.array(rows)
    heads = [f"y{j}" for j in range(values.shape[1])]
    hidden = rng.random(values.shape) < rng.choice([0.1, 0.3])
    try:
        release = Release.from_frame(printed(names, heads, values, hidden))
    except InputError as error:
        assert "names of totals" in str(error)  # noqa: PT017 - nothing shows what they hold
        return
    assert above(release).items() <= truth.items()


def test_a_part_that_is_zero_where_it_is_published_is_a_part() -> None:
    rows = [
        ["", "x", "y"],
        ["Trade, total", "3", "9"],
        ["shops", "1", C],
        ["stalls", "2", C],
        ["vans", "0", C],
        ["Farms", "5", "4"],
        ["Total", "8", "13"],
    ]
    parts = dict.fromkeys(["shops", "stalls", "vans"], "Trade, total")
    expected = parts | {"Trade, total": "Total", "Farms": "Total"}
    assert above(Release.from_frame(rows)) == expected
