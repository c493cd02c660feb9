"""BLAS is held to one thread while a search runs, and given back whatever overlaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from csp.solve.general.threads import one_thread, single_threaded


def threads() -> set[int]:
    assert np.ones((2, 2)) @ np.ones(2) is not None  # BLAS is there
    return {int(pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def before() -> Iterator[set[int]]:
    with threadpool_limits(2, "blas"):
        found = threads()
        if found != {2}:
            pytest.skip("this BLAS has one thread")
        yield found


def test_threads_come_back_when_the_last_of_overlapping_searches_ends(before: set[int]) -> None:
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == before


def test_what_is_done_with_a_pattern_has_all_threads(before: set[int]) -> None:
    inside = []

    def search() -> Iterator[int]:
        for i in range(3):
            inside.append(threads())
            yield i

    outside = [threads() for _ in single_threaded(search())]
    assert inside == [{1}] * 3
    assert outside == [before] * 3
    with pytest.raises(ZeroDivisionError):
        list(single_threaded(1 // i for i in (1, 0)))
    assert threads() == before
