"""The nearest piece by its definition, plain and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csp.compiled import at_once
from microagg.partitions.joining import KERNELS


@st.composite
def pieces(draw):
    """Few codes and means, so that there are ties, and at least one piece to join."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, m, d = draw(st.integers(2, 9)), draw(st.integers(0, 4)), draw(st.integers(1, 3))
    numbers = rng.integers(0, draw(st.integers(1, 3)), (p, m))
    means = rng.integers(0, 3, (p, d)).astype(float)
    means[rng.random((p, d)) < draw(st.sampled_from([0.0, 0.4]))] = np.nan
    few = int(rng.integers(p))
    left = rng.random(p) < draw(st.sampled_from([0.5, 1.0]))
    left[few], left[(few + 1) % p] = False, True
    return few, left, numbers, means


@pytest.mark.parametrize("compiled", [False, True])
@given(pieces())
def test_the_fewest_columns_then_the_first_then_the_mean(compiled, drawn):
    few, left, numbers, means = drawn

    def rank(piece):
        differ = (numbers[piece] != numbers[few]).tolist()
        squares = [
            (a - b) ** 2
            for a, b in zip(means[piece].tolist(), means[few].tolist(), strict=True)
            if a == a and b == b
        ]
        far = sum(squares) / len(squares) if squares else np.inf
        return sum(differ), differ, far, piece

    expected = min(np.flatnonzero(left).tolist(), key=rank)
    if compiled:
        with at_once():
            assert KERNELS.run("nearest", few, left, numbers, means, small=True) == expected
    else:
        assert KERNELS.plain["nearest"](few, left, numbers, means) == expected
