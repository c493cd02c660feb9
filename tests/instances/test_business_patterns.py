"""Drawn County Business Patterns: they add up, and what was planted follows from what is shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from attacks.large_releases.engine import determined_cells
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


def unknowns(release: Release, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All relations that hold some withheld cells: coefficients, and what these add up to."""
    matrix = release.relations.toarray()
    through = matrix[(matrix[:, cells] != 0).any(axis=1)]
    # Nothing else in them is withheld: the block stands alone.
    others = np.setdiff1d(np.flatnonzero(release.pattern), cells)
    assert not through[:, others].any()
    return through[:, cells], -(through @ np.where(release.pattern, 0, release.published))


def all_tables(
    matrix: np.ndarray, right: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """List every table of whole numbers between bounds, cell by cell.

    A relation gives the last of its cells; what it excludes is dropped.
    """
    order: list[int] = []
    tables = np.zeros((1, len(lower)), np.int64)
    while len(order) < len(lower):
        left = [j for j in range(len(lower)) if j not in order]
        open_to = (matrix[:, left] != 0).sum(axis=1)
        last = [r for r in range(len(matrix)) if open_to[r] == 1]
        if last:
            row = last[0]
            j = next(j for j in left if matrix[row, j])
            tables[:, j] = (right[row] - tables[:, order] @ matrix[row, order]) * matrix[row, j]
            within = (lower[j] <= tables[:, j]) & (tables[:, j] <= upper[j])
            tables = tables[within]
        else:
            # The narrowest range of those in the relation that is closest to its end.
            row = min((r for r in range(len(matrix)) if open_to[r]), key=lambda r: open_to[r])
            j = min((j for j in left if matrix[row, j]), key=lambda j: upper[j] - lower[j])
            values = np.arange(lower[j], upper[j] + 1)
            tables = np.repeat(tables, len(values), axis=0)
            tables[:, j] = np.tile(values, len(tables) // len(values))
        order.append(j)
        tables = tables[~((tables[:, order] @ matrix[:, order].T != right)
                          & ~matrix[:, [j for j in left if j not in order]].any(axis=1)
                          ).any(axis=1)]  # fmt: skip
    return tables


@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_alone_disclose_blocks(seed) -> None:
    """All tables of whole numbers agree on a block, and linear programs leave each cell a range."""
    drawn = business_patterns(industries=24, states=3, counties=18, seed=seed)
    release = Release.from_frame(drawn.columns, ["naics", "area"], "emp", **READ)
    cells = drawn.planted["whole"]
    assert len(cells) >= 25
    matrix, right = unknowns(release, cells)
    lower, upper = release.lower[cells], release.upper[cells]
    tables = all_tables(matrix, right, lower, upper)
    assert (tables == drawn.employment[cells]).all()
    assert len(tables) == 1
    for j in range(len(cells)):
        low, high = (
            sign * linprog(
                sign * np.eye(len(cells))[j], A_eq=matrix, b_eq=right,
                bounds=[*zip(lower, upper, strict=True)],
            ).fun
            for sign in (1, -1)
        )  # fmt: skip
        assert high - low > 0.49
    found = determined_cells(release)
    at = np.searchsorted(found.cells, cells)
    assert found.whole[at].all()
    assert not found.exact[at].any()


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
