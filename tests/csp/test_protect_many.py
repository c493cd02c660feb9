"""Many tables at once: as one by one, wherever they are protected."""

from __future__ import annotations

from typing import Any

import joblib
import pytest

from csp import InputError, Mechanism, Protected, Table, Unprotectable, protect, protect_many
from csp.errors import OutOfTime
from instances import synthetic

RULES = "FREQ(5,5)"


def tables() -> list[Table]:
    return [synthetic.frequency_2d(4, 5, seed) for seed in range(6)]


def same(one: Protected, other: Protected) -> bool:
    return one.release == other.release and bool((one.pattern == other.pattern).all())


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_tables_are_protected_as_they_are_one_by_one(backend: str) -> None:
    done: list[tuple[int, int]] = []
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = protect_many(tables(), RULES, progress=lambda *now: done.append(now))
    assert done == [(i, 6) for i in range(1, 7)]
    for table, one in zip(tables(), found, strict=True):
        assert isinstance(one, Protected)
        assert (one.pattern == protect(table, RULES).pattern).all()
        assert one.audit.safe


def test_names_are_kept_and_an_error_costs_no_other_table() -> None:
    alone = Table.from_array([[3]])
    # Everybody knows that it is 4 at most: no pattern leaves an interval of 5.
    alone = alone.replace(upper=alone.values + 1)
    fine = tables()[0]
    found = protect_many(
        {"fine": fine, "alone": alone, "again": fine}, Mechanism("FREQ(5)", width=5)
    )
    assert list(found) == ["fine", "alone", "again"]
    assert isinstance(found["alone"], Unprotectable)
    assert isinstance(found["fine"], Protected)
    assert isinstance(found["again"], Protected)
    assert (found["fine"].pattern == found["again"].pattern).all()


def test_an_interrupt_keeps_what_is_done() -> None:
    def press(done: int, total: int) -> None:
        assert total == 6
        if done == 2:
            raise KeyboardInterrupt

    found = protect_many(tables(), RULES, progress=press)
    assert [type(one) for one in found] == [Protected] * 2 + [OutOfTime] * 4
    assert "interrupted" in str(found[2])


def test_what_is_not_a_table_is_named() -> None:
    wrong: Any = [tables()[0], 3]
    with pytest.raises(InputError, match=r"tables\[1\]"):
        protect_many(wrong, RULES)
