"""Numbers rounded to a base or to their last digit: read so where that heals, and never else."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks import contradictions
from csp import InputError, Release
from csp.exact import UNBOUNDED
from tests.support.shared import examples


def full(inner):
    """With totals, the last row and column."""
    table = np.zeros((len(inner) + 1, len(inner[0]) + 1), int)
    table[:-1, :-1] = inner
    table[:-1, -1] = table[:-1, :-1].sum(axis=1)
    table[-1] = table[:-1].sum(axis=0)
    return table


def printed(table, text):
    heads = ["", *(f"c{j}" for j in range(table.shape[1] - 1)), "Total"]
    labels = [*(f"r{i}" for i in range(len(table) - 1)), "Total"]
    rows = ([label, *map(text, row)] for label, row in zip(labels, table.tolist(), strict=True))
    return [heads, *rows]


def thousands(decimals):
    """Text of a number in thousands, rounded."""
    step = Decimal(1).scaleb(-decimals)
    return lambda x: str((Decimal(x) / 1000).quantize(step, ROUND_HALF_EVEN))


def drawn(seed, shape, most):
    return full(np.random.default_rng(seed).integers(1000, most, shape))


def guess(release):
    return [note for note in release.notes if "rounded to" in note]


@examples(60)
@given(st.integers(0, 10**6), st.integers(0, 2), st.booleans())
def test_true_numbers_lie_within_what_is_read(seed, decimals, said) -> None:
    """Rounded to the last digit, in thousands; the truth is finer."""
    table = drawn(seed, (4, 4), 10**5)
    more = {"rounded": Fraction(1, 10**decimals)} if said else {}
    release = Release.from_frame(printed(table, thousands(decimals)), decimal=".", **more)
    if not said and not guess(release):
        return
    assert release.scale == decimals + 1
    assert contradictions(release) == ()
    unit = Fraction(1, 10**release.scale)
    for cell, (i, j) in enumerate(np.ndindex(*table.shape)):
        true = Fraction(int(table[i, j]), 1000)
        assert release.lower[cell] * unit <= true <= release.upper[cell] * unit
        assert release.upper[cell] - release.lower[cell] == 10


def test_rounding_to_decimals_is_recognised_and_said() -> None:
    table = drawn(3, (5, 5), 10**5)
    release = Release.from_frame(printed(table, thousands(1)))
    assert any("numbers are read as rounded to 0.1" in note for note in guess(release))
    whole = Release.from_frame(printed(table, thousands(0)))
    assert any("numbers are read as rounded to 1" in note for note in guess(whole))


def test_one_wrong_figure_is_not_taken_for_rounding() -> None:
    table = drawn(3, (5, 5), 10**5)
    table[1, 1] += 1
    release = Release.from_frame(printed(table, str))
    assert guess(release) == []
    assert len(contradictions(release)) == 2


@pytest.mark.parametrize("off", [30, 4, 3])
def test_a_base_that_does_not_heal_is_not_guessed(off) -> None:
    """All numbers are multiples of 5, and one sum is off by more than rounding explains, or not."""
    table = drawn(5, (3, 3), 10**5) // 1000 * 5
    table = full(table[:-1, :-1])
    table[0, 0] += 5 * off
    release = Release.from_frame(printed(table, str))
    assert bool(guess(release)) is (5 * off <= 4 * 4)
    assert bool(contradictions(release)) is not bool(guess(release))


def test_a_stated_base_of_decimals_leaves_room() -> None:
    rows = [["", "a", "b", "Total"], ["N", "1.2", "2.3", "3.6"], ["Total", "1.2", "2.3", "3.6"]]
    assert contradictions(Release.from_frame(rows))
    healed = Release.from_frame(rows, rounded="0.1")
    assert contradictions(healed) == ()
    assert (healed.upper < UNBOUNDED).all()


def test_ends_beside_numbers_are_used_where_nothing_is_withheld() -> None:
    """As `cellveil round` writes them; 0 to 4 and 1 to 5 are not the numbers themselves."""
    rows = [["region", "value", "lower", "upper"], ["N", 0, 0, 4], ["S", 5, 1, 5],
            ["Total", 8, 8, 8]]  # fmt: skip
    release = Release.from_frame(rows)
    assert (release.lower.tolist(), release.upper.tolist()) == ([0, 1, 8], [4, 5, 8])
    assert not release.withheld.any()
    assert release.pattern.tolist() == [True, True, False]
    assert not any("no row" in note for note in release.notes)
    # Beside withheld cells, ends of numbers may be of a sample: they widen nothing.
    release = Release.from_frame([*rows[:2], ["S", "[c]", 1, 5], ["Total", 8, 8, 8]])
    assert release.pattern.tolist() == [False, True, False]
    assert release.published[2] == 8
    with pytest.raises(InputError, match="row 3: the number is outside the ends"):
        Release.from_frame([*rows[:2], ["S", 7, 1, 5], rows[3]])
