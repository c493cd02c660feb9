"""Drawn County Business Patterns: they add up, and what was planted follows from what is shown."""

from __future__ import annotations

import numpy as np
import pytest

from csp import InputError, Release
from instances.business_patterns import business_patterns

READ = {
    "status": "empflag", "marks": "census", "total": {"naics": "------", "area": "US"},
    "hierarchies": {"naics": "prefix", "area": "prefix"}, "absent": "zero",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_true_values_add_up_and_lie_in_their_classes(seed) -> None:
    drawn = business_patterns(industries=40, states=3, counties=30, seed=seed)
    release = Release.from_frame(drawn.columns, ["naics", "area"], "emp", **READ)
    assert [*zip(drawn.columns["naics"], drawn.columns["area"], strict=True)] == [*release.labels]
    true = drawn.employment
    assert not (release.relations @ true).any()
    assert ((release.lower <= true) & (true <= release.upper)).all()
    assert (release.pattern == (drawn.columns["empflag"] != "")).all()
    assert (release.published == np.where(release.pattern, 0, true)).all()
    sizes = [column for name, column in drawn.columns.items() if name.startswith("n1")]
    assert (np.sum(sizes, axis=0) <= drawn.columns["est"]).all()
    for rows in drawn.planted.values():
        assert release.pattern[rows].all()


def test_payroll_reads_with_its_own_flag() -> None:
    drawn = business_patterns(industries=40, states=3, counties=30)
    release = Release.from_frame(
        drawn.columns, ["naics", "area"], "ap", **READ | {"status": "apflag"}
    )
    assert not (release.relations @ drawn.payroll).any()
    assert release.ranged is None


def test_the_same_seed_gives_the_same() -> None:
    one, two = (business_patterns(industries=20, states=2, counties=9, seed=5) for _ in range(2))
    assert all((one.columns[name] == two.columns[name]).all() for name in one.columns)


@pytest.mark.parametrize("wrong", [{"industries": 5000}, {"states": 0}, {"counties": 1}])
def test_numbers_that_make_no_country_are_refused(wrong) -> None:
    with pytest.raises(InputError, match="industries"):
        business_patterns(**{"industries": 20, "states": 2, "counties": 9} | wrong)
