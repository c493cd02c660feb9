"""Choices of cells that satisfy rows, against all choices."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csp.compiled import at_once
from csp.solve.exact.choice import FOUND, GAVE_UP, KERNELS, NONE, choose
from tests.support.shared import examples, uncompiled


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m, n = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    numbers = st.integers(-3, 5)
    rows = draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=m, max_size=m))
    right = draw(st.lists(st.integers(-4, 9), min_size=m, max_size=m))
    start = draw(st.lists(st.sampled_from([-1, -1, 0, 1]), min_size=n, max_size=n))
    return np.array(rows), np.array(right), np.array(start, np.int8)


@examples(150)
@given(systems())
def test_a_choice_is_found_exactly_if_there_is_one(
    system: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    rows, right, start = system
    settled = start >= 0
    able = [
        x for x in map(np.array, product((0, 1), repeat=len(start)))
        if (x[settled] == start[settled]).all() and (rows @ x >= right).all()
    ]  # fmt: skip
    with at_once():
        status, x = choose(rows, right, start, 500)
    with uncompiled(KERNELS):
        plain, y = choose(rows, right, start, 500)
    assert status == plain == (FOUND if able else NONE)
    if able:
        assert (x == y).all()
        assert any((x == a).all() for a in able)


@examples(100)
@given(systems(), st.integers(1, 300))
def test_repair_finds_nothing_but_choices(
    system: tuple[np.ndarray, np.ndarray, np.ndarray], flips: int
) -> None:
    rows, right, start = system
    near = np.arange(len(start)) % 2 == 0
    with at_once():
        status, x = choose(rows, right, start, 0, near=near, flips=flips)
    with uncompiled(KERNELS):
        plain, y = choose(rows, right, start, 0, near=near, flips=flips)
    assert status == plain
    assert status in (FOUND, GAVE_UP)
    if status == FOUND:
        assert (x == y).all()
        assert (rows @ x >= right).all()
        assert (x == start)[start >= 0].all()


def test_repair_finds_what_is_rare() -> None:
    # Of 2**30 choices, one: 30 cells, each of which demands the next, and the first.
    rows = np.zeros((30, 30), np.int64)
    rows[0, 0] = 1
    for i in range(1, 30):
        rows[i, i - 1], rows[i, i] = -1, 1
    right = np.append([1], np.zeros(29, np.int64))
    status, x = choose(rows, right, np.full(30, -1, np.int8), 0, flips=2_000)
    assert status == FOUND
    assert x.all()


def test_it_gives_up_beyond_its_nodes_and_64_bits() -> None:
    # Seven cells, each pair of which must hold one: six are needed, and five allowed.
    pairs = [(i, j) for i in range(7) for j in range(i)]
    rows = np.zeros((len(pairs) + 1, 7), np.int64)
    for row, pair in enumerate(pairs):
        rows[row, pair] = 1
    rows[-1] = -1
    right = np.append(np.ones(len(pairs), np.int64), -5)
    free = np.full(7, -1, np.int8)
    assert choose(rows, right, free, 1)[0] == GAVE_UP
    assert choose(rows, right, free, 1000)[0] == NONE
    assert choose(rows * 2**60, right, free, 1000)[0] == GAVE_UP
