"""The coins of random decoys: a keyed function of labels, written again from RFC 2104."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp import Decoys, InputError, Key, Mechanism, MinFrequency, Problem, Table, defend
from csp.solve.order import reordered
from csp.tables.link import link
from tests.support.shared import examples

SECRET = bytes(range(32))
KEY = Key(SECRET)
TABLE = Table.from_array([[1, 5, 3], [6, 2, 4], [1, 3, 1]], names=["region", "sex"])


def by_hand(secret: bytes, words: Sequence[str]) -> bytes:
    """HMAC (RFC 2104) with SHA-256 of words, each with its length in eight bytes before it."""
    message = b"".join(
        len(word.encode()).to_bytes(8, "big") + word.encode() for word in words
    )  # fmt: skip
    block = (secret if len(secret) <= 64 else hashlib.sha256(secret).digest()).ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in block) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner).digest()


def words_of(table: Table, label: Sequence[str]) -> list[str]:
    """Dimensions in the order of their names, each with its code, without totals."""
    parts = sorted(zip(table.names, label, table.roots, strict=True))
    return [word for name, code, root in parts if code != root for word in (name, code)]


@examples(60)
@given(st.binary(min_size=16, max_size=100), st.lists(st.text(max_size=6), max_size=4))
def test_the_function_is_hmac_sha256_of_words_with_their_lengths(secret, words):
    if len(set(secret)) >= 8 and not any(0xD800 <= ord(c) < 0xE000 for w in words for c in w):
        assert Key(secret).draw(words) == by_hand(secret, words)


@examples(30)
@given(st.integers(1, 99), st.sampled_from(["", "turnover 2026"]), st.integers(0, 10**6))
def test_coins_and_costs_by_hand(percent, identity, number):
    secret = hashlib.sha256(b"%d" % number).digest()
    rate, spread = Fraction(percent, 100), Fraction(percent, 7)
    decoys = Decoys(rate, Key(secret), spread=spread, table=identity)
    cost = np.arange(TABLE.n_cells) * 5
    drawn = [by_hand(secret, ["decoys 1", identity, *words_of(TABLE, c)]) for c in TABLE.labels]
    assert decoys.coins(TABLE).tolist() == [
        Fraction(int.from_bytes(d[:8], "big"), 2**64) < Fraction(int(rate * 2**64), 2**64)
        for d in drawn
    ]
    for c, d, found in zip(cost.tolist(), drawn, decoys.costs(TABLE, cost).tolist(), strict=True):
        exactly = 2**14 * c * (1 + spread * Fraction(int.from_bytes(d[8:10], "big"), 2**16))
        assert exactly - 1 < found <= exactly


def test_golden_values_hold_on_every_machine():
    assert KEY.draw(()).hex() == "d38b42096d80f45f826b44a9d5607de72496a415d3f4a1a8c88e3bb9da8dc1cb"
    assert KEY.draw(("decoys 1", "", "ä")).hex() == (
        "e3d5e2d986c493c80a969a9a43f74af9a6bb82eb7c77e52cdec5fb4c0da59485"
    )
    decoys = Decoys(0.3, KEY, table="turnover 2026")
    assert np.flatnonzero(decoys.coins(TABLE)).tolist() == [0, 4, 5, 10]
    ones = np.ones(TABLE.n_cells, np.int64)
    assert decoys.costs(TABLE, ones).tolist() == [
        16571, 16577, 16425, 16386, 16464, 16586, 16600, 16630,
        16428, 16391, 16556, 16386, 16408, 16630, 16639, 16519,
    ]  # fmt: skip


# ---- what coins depend on -------------------------------------------------------------------


def coins_by_label(table: Table, decoys: Decoys) -> dict[tuple[str, ...], bool]:
    drawn = decoys.coins(table).tolist()
    return {
        tuple(words_of(table, label)): coin
        for label, coin in zip(table.labels, drawn, strict=True)
    }  # fmt: skip


BIG = Table.from_array(np.ones((12, 12), np.int64), names=["region", "sex"])


def test_another_key_identity_or_label_has_other_coins():
    one = Decoys(0.5, KEY)
    other_labels = Table.from_array(
        np.ones((12, 12), np.int64),
        names=["region", "age"],
        codes=[[str(i + 1) for i in range(12)], [f"c{i}" for i in range(12)]],
    )
    mine = one.coins(BIG)
    for theirs in (
        Decoys(0.5, Key(SECRET[::-1])).coins(BIG),
        Decoys(0.5, KEY, table="another").coins(BIG),
        one.coins(other_labels),
    ):
        assert 40 < (mine != theirs).sum() < 130, "about half of 169 coins"


def test_values_rows_and_other_dimensions_do_not_change_the_coin_of_a_cell():
    decoys = Decoys(0.5, KEY)
    mine = coins_by_label(BIG, decoys)
    rng = np.random.default_rng(0)
    values = Table.from_array(rng.integers(0, 99, (12, 12)), names=["region", "sex"])
    assert coins_by_label(values, decoys) == mine
    turned = Table.from_array(np.ones((12, 12), np.int64), names=["sex", "region"])
    assert coins_by_label(turned, decoys) == mine
    order = rng.permutation(BIG.n_cells)
    shuffled = reordered(Problem.of(BIG, BIG.values < 0), order).table
    assert shuffled.labels != BIG.labels
    assert coins_by_label(shuffled, decoys) == mine


def test_linked_tables_have_the_coins_of_their_parts():
    units = np.random.default_rng(1).integers(0, 9, (6, 5, 4))
    one = Table.from_array(units.sum(axis=2), names=["region", "sex"])
    two = Table.from_array(units.sum(axis=1), names=["region", "age"])
    decoys = Decoys(0.5, KEY)
    parts = coins_by_label(one, decoys)
    shared = parts.keys() & coins_by_label(two, decoys).keys()
    assert len(shared) == 7
    assert all(parts[cell] == coins_by_label(two, decoys)[cell] for cell in shared)
    assert coins_by_label(link(one, two), decoys) == parts | coins_by_label(two, decoys)


def test_an_index_number_is_no_way_to_confuse_labels():
    """Words go in with their lengths: ("ab", "c") is not ("a", "bc")."""
    pairs = [("ab", "c"), ("a", "bc"), ("abc",), ("", "abc"), ("abc", "")]
    assert len({KEY.draw(words) for words in pairs}) == len(pairs)


@pytest.mark.parametrize("rate", [0.05, 0.3, Fraction(9, 10)])
def test_the_share_of_coins_is_the_rate(rate):
    table = Table.from_array(np.zeros((100, 100), np.int64))
    share = Decoys(rate, KEY).coins(table).mean()
    error = float(np.sqrt(float(rate) * (1 - float(rate)) / table.n_cells))
    assert abs(share - float(rate)) < 4 * error


def test_a_decoy_at_a_small_rate_is_one_at_a_larger_rate():
    coins = [Decoys(rate, KEY).coins(BIG) for rate in (0.05, 0.1, 0.3, 0.7, 0.99)]
    for few, many in pairwise(coins):
        assert (few <= many).all()
        assert few.sum() < many.sum()


# ---- choices --------------------------------------------------------------------------------


CHOICES = Table.from_array(np.where(np.eye(4, dtype=bool), 2, 9))


def pattern_of(key: Key, **options: Any) -> tuple[bool, ...]:
    decoys = Decoys(Fraction(1, 10), key, **options)
    problem = Problem.of(CHOICES, CHOICES.values < 3, spl=5, publish=CHOICES.margins)
    return tuple(defend(problem, decoys, integer=True, width=5).pattern.tolist())


def test_keys_choose_among_patterns_and_one_key_always_the_same():
    keys = [Key(hashlib.sha256(b"%d" % i).digest()) for i in range(50)]
    patterns = [pattern_of(key) for key in keys]
    assert len(set(patterns)) >= 10
    assert [pattern_of(key) for key in keys[:10]] == patterns[:10]
    copies = [Key(hashlib.sha256(b"%d" % i).digest()) for i in range(10)]
    assert [pattern_of(key) for key in copies] == patterns[:10]


def test_spread_lets_the_key_choose_where_no_coin_does():
    keys = [Key(hashlib.sha256(b"%d" % i).digest()) for i in range(40)]
    inner = ~CHOICES.margins
    silent = [k for k in keys if not Decoys(0.1, k).coins(CHOICES)[inner].any()]
    assert len(silent) >= 5
    assert len({pattern_of(key) for key in silent}) > 1
    assert len({pattern_of(key, spread=0) for key in silent}) == 1


# ---- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ("a text of more than sixteen letters", "must be bytes, got a str"),
        (None, "must be bytes"),
        (b"", "has 0 bytes"),
        (SECRET[:15], "has 15 bytes and needs at least 16"),
        (b"ab" * 20, "repeats 2 different bytes"),
        (bytes(64), "repeats 1 different bytes"),
    ],
)
def test_what_is_no_key_is_refused_and_not_quoted(secret, words):
    with pytest.raises(InputError, match=words) as caught:
        Key(secret)
    if secret:
        assert str(secret) not in str(caught.value)
    if isinstance(secret, bytes) and len(secret):
        assert secret.hex() not in str(caught.value)


def test_key_files(tmp_path: Path):
    with pytest.raises(InputError, match="cannot read the key file"):
        Key.read(tmp_path / "none")
    short = tmp_path / "short"
    short.write_bytes(b"0123456789abcde\n")
    short.chmod(0o600)
    with pytest.raises(InputError, match="has 15 bytes") as caught:
        Key.read(short)
    assert "0123456789abcde" not in repr(caught.value) + str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    path = tmp_path / "key"
    made = Key.create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert Key.read(path) == made != Key.new()
    held = path.read_bytes()
    with pytest.raises(InputError, match="cannot write the key file"):
        Key.create(path)
    assert path.read_bytes() == held, "a key is never overwritten"
    padded = tmp_path / "padded"
    padded.write_bytes(held.strip() + b"\r\n\n")
    padded.chmod(0o644)
    with pytest.raises(InputError, match="by others"):
        Key.read(padded)
    padded.chmod(0o640)
    assert Key.read(padded) == made
    padded.write_bytes(b" " + held)
    assert Key.read(padded) != made, "blanks are part of a key"


TINY = Fraction(1, 2**70)


@pytest.mark.parametrize(
    "rate",
    [0, 1, -1, 2, float("nan"), float("inf"), None, "many", True, TINY, 1 - TINY, 5e-324],
)
def test_rates_that_leave_nothing_to_coins_are_refused(rate):
    with pytest.raises(InputError):
        Decoys(rate, KEY)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 3, "share": 0.1}, "exclude each other"),
        ({"width": 0}, "must be above 0"),
        ({"width": float("nan")}, "not a finite number"),
        ({"share": 0}, "above 0 and at most 1"),
        ({"share": 1.5}, "above 0 and at most 1"),
        ({"spread": -1}, "must be from 0 to 100"),
        ({"table": 7}, "table must be a text"),
    ],
)
def test_options_that_say_nothing_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        Decoys(0.1, KEY, **options)


def test_without_key_or_width_nothing_is_protected():
    problem = Problem.of(CHOICES, CHOICES.values < 3, spl=5, publish=CHOICES.margins)
    public = Decoys(0.1, KEY).public
    assert public == Decoys(0.1)
    for call in (
        lambda: public.coins(CHOICES),
        lambda: public.costs(CHOICES, problem.cost),
        lambda: defend(problem, public, width=5),
        lambda: Mechanism(MinFrequency(3), margins="publish", defence=public).protect(CHOICES),
    ):
        with pytest.raises(InputError, match="have no key"):
            call()
    with pytest.raises(InputError, match="least width of a decoy's interval is missing"):
        defend(problem, Decoys(0.1, KEY))
    negative = CHOICES.replace(lower=CHOICES.lower - 5)
    free = Problem.of(negative, negative.values < 3, spl=5, publish=negative.margins)
    with pytest.raises(InputError, match="may be negative"):
        defend(free, Decoys(0.1, KEY, share=0.2))
    with pytest.raises(InputError, match="defence must be Decoys"):
        Mechanism(MinFrequency(3), width=5, defence=KEY)  # type: ignore[arg-type]
