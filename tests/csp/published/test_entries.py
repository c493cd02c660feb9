"""Numbers, ranges and signs as offices print them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import InputError
from csp.published.entries import Convention, convention_of, read_entry, sign_of
from tests.support.shared import examples

POINT, COMMA = Convention("."), Convention(",")
GROUPS = [",", " ", "\u00a0", "\u202f", "'", "\u2019", ""]


def written(number: int, decimals: int, group: str, decimal: str) -> str:
    """Text of a number of units of 10**-decimals."""
    digits = f"{abs(number) // 10**decimals:,}".replace(",", group)
    fraction = f"{decimal}{abs(number) % 10**decimals:0{decimals}d}" if decimals else ""
    return ("-" if number < 0 else "") + digits + fraction


@examples(300)
@given(
    st.integers(-(10**9), 10**9), st.integers(0, 3), st.sampled_from(GROUPS), st.booleans(),
    st.sampled_from(["", " r", "*", " [p]", "\u00b9", "E"]),
)  # fmt: skip
def test_what_is_written_is_read(number, decimals, group, comma, note) -> None:
    group = {",": "."}.get(group, group) if comma else group
    convention = COMMA if comma else POINT
    text = sign_of(written(number, decimals, group, convention.decimal) + note)
    entry = read_entry(text, convention)
    assert entry.is_number
    assert entry.low == Decimal(number).scaleb(-decimals)
    assert entry.note == sign_of(note)


@pytest.mark.parametrize(
    ("text", "low", "high", "strict"),
    [
        ("20-99", 20, 99, (False, False)),
        ("20 \u2013 99", 20, 99, (False, False)),
        ("1,000 to 2,499", 1000, 2499, (False, False)),
        ("5 bis 9", 5, 9, (False, False)),
        ("<5", None, 5, (False, True)),
        ("\u2264 4", None, 4, (False, False)),
        ("under 5", None, 5, (False, True)),
        (">100", 100, None, (True, False)),
        ("100,000 or more", 100000, None, (False, False)),
        ("250+", 250, None, (False, False)),
    ],
)
def test_ranges(text, low, high, strict) -> None:
    entry = read_entry(text, POINT)
    assert entry.ranged
    assert (entry.low, entry.high, entry.strict) == (low, high, strict)


@pytest.mark.parametrize(
    "text", ["x", ".", "[c]", "(D)", "..", "-", "", "n.a.", "12-", "9-5", "*", "45 M", "1.2 bn"]
)
def test_signs(text) -> None:
    entry = read_entry(text, POINT)
    assert not entry.is_number
    assert not entry.ranged
    assert entry.sign == text


@pytest.mark.parametrize(
    ("texts", "decimal"),
    [
        (["1.5", "2"], "."),
        (["1,5", "2"], ","),
        (["1.234.567", "8"], ","),
        (["1,234.5", "1"], "."),
        (["1.234,5"], ","),
        (["1,234", "12"], "."),
        (["1.234", "12", "x"], ","),
        (["12", "x"], "."),
    ],
)
def test_decimal_marks(texts, decimal) -> None:
    assert convention_of(texts).decimal == decimal


@pytest.mark.parametrize("texts", [["1.234"], ["1,234", "5,678"], ["1.234", "56789"]])
def test_a_mark_that_may_be_either_is_asked_for(texts) -> None:
    with pytest.raises(InputError, match=r"may be a decimal number or one of thousands"):
        convention_of(texts)
    assert convention_of(texts, ",").decimal == ","
