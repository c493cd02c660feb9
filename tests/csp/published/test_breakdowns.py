"""Sums beyond those by which a table was read: found where they hold, and protected against."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from attacks import audit_published
from csp import InputError, Release, protect, read_crosstab
from csp.published.breakdowns import breakdowns, rows_of_breakdowns
from csp.tables.codes import Labels
from tests.support.shared import examples

WARDS = [["A", 20, 10, 2, 20, 8], ["B", 13, 12, 7, 9, 9], ["C", 21, 22, 13, 16, 14],
         ["D", 16, 20, 9, 15, 12], ["Total", 70, 64, 31, 60, 43]]  # fmt: skip
HEADS = ["Men", "Women", "0-17", "18-64", "65+"]

TABLES = {
    "two breakdowns beside their total": (
        [["Ward", "Patients", *HEADS], *([w, a + b, a, b, *c] for w, a, b, *c in WARDS)],
        "Patients = 0-17 + 18-64 + 65+",
    ),
    "two breakdowns under headings": (
        [["", "Sex", "", "Age", "", ""], ["Ward", *HEADS], *WARDS],
        "Men + Women = 0-17 + 18-64 + 65+",
    ),
    "rows below headings": (
        [["Area", "m", "f", "Total"], ["Total", 51, 54, 105], ["By residence", None, None, None],
         ["  Urban", 30, 32, 62], ["  Rural", 21, 22, 43], ["By province", None, None, None],
         ["  North", 2, 11, 13], ["  South", 17, 9, 26], ["  East", 20, 18, 38],
         ["  West", 12, 16, 28]],
        "Total = North + South + East + West",
    ),
    "a column of changes": (
        [["Region", "2023", "2024", "Change"], ["North", 16, 29, 13], ["South", 12, 20, 8],
         ["East", 2, 19, 17], ["West", 30, 35, 5], ["Total", 60, 103, 43]],
        "2024 = 2023 + Change",
    ),
}  # fmt: skip


def ends(values: np.ndarray, hidden: np.ndarray, sums: np.ndarray, cell: int) -> tuple[float, ...]:
    """Interval of a cell by two linear programs over the whole print."""
    bounds = [(0, None) if h else (v, v) for v, h in zip(values, hidden, strict=True)]
    cost = np.zeros(len(values))
    cost[cell] = 1
    zero = np.zeros(len(sums))
    return tuple(
        sign * linprog(sign * cost, A_eq=sums, b_eq=zero, bounds=bounds).fun for sign in (1, -1)
    )


@pytest.mark.parametrize("name", TABLES)
def test_sums_that_readers_see_are_protected_against(name: str) -> None:
    rows, told = TABLES[name]
    table = read_crosstab(rows)
    assert any(told in note for note in table.notes)
    found = protect(table, "FREQ(3,10)")
    # All true equations with few terms between rows, and between columns, of the print.
    cube = table.values.reshape(len(table.labels) // len({c for _, c in table.labels}), -1)
    sums = []
    for turned in (False, True):
        lines = cube.T if turned else cube
        place = np.arange(cube.size).reshape(cube.shape)
        place = place.T if turned else place
        size = lines.shape[1]
        for signs in np.array(np.meshgrid(*[(-1, 0, 1)] * size)).reshape(size, -1).T:
            if 2 < np.abs(signs).sum() < 6 and not (lines @ signs).any():
                for line in place:
                    row = np.zeros(cube.size)
                    row[line] = signs
                    sums.append(row)
    primary = np.flatnonzero((table.values > 0) & (table.values < 3))
    assert len(primary)
    for cell in primary.tolist():
        low, high = ends(table.values, found.pattern, np.array(sums), cell)
        assert high - low > 1


def test_a_total_by_another_name_is_asked_for() -> None:
    rows = [["Province", "2023", "2024"], ["Canada", 1000, 1200], ["Ontario", 600, 740],
            ["Quebec", 398, 450], ["Yukon", 2, 10]]  # fmt: skip
    with pytest.raises(InputError, match=r"Canada = Ontario \+ Quebec \+ Yukon in all lines"):
        read_crosstab(rows)
    named = read_crosstab(rows, total={"Province": "Canada"})
    assert len(named.labels) == 8
    assert (named.relations @ named.values == 0).all()
    assert named.relations.shape[0] == 2


@examples(60)
@given(st.integers(0, 2**32), st.integers(3, 7), st.integers(4, 9), st.integers(0, 2))
def test_planted_sums_are_found_and_all_that_are_found_hold(
    seed: int, lines: int, size: int, planted: int
) -> None:
    rng = np.random.default_rng(seed)
    cube = rng.integers(0, 1000, (lines, size))
    for k in range(planted):
        # Each a sum of neighbours to its right, so that none undoes another.
        width = int(rng.integers(2, max(3, size - k - 1)))
        cube[:, k] = cube[:, k + 1 : k + 1 + width][:, : size - k - 1].sum(axis=1)
    if planted == 2:
        cube[:, 0] = cube[:, 1 : int(rng.integers(3, size + 1))].sum(axis=1)
    labels = Labels.of(tuple((f"r{i}", f"c{j}") for i in range(lines) for j in range(size)))
    none = csr_array((0, cube.size), dtype=np.int64)
    found = [one for one in breakdowns(cube.ravel(), labels, none) if one.dimension == 1]
    rows = rows_of_breakdowns(found, labels)
    assert not (rows @ cube.ravel()).any()
    signs = np.zeros((len(found), size))
    for row, one in zip(signs, found, strict=True):
        row[list(one.whole)], row[list(one.parts)] = -1, 1
    assert np.linalg.matrix_rank(signs) == len(found) if found else planted == 0
    # What was planted follows from what was found: columns lie in the same space.
    assert size - np.linalg.matrix_rank(cube.astype(float)) >= len(found) or lines < size
    assert len(found) >= planted


def test_a_second_breakdown_of_a_published_table_discloses() -> None:
    rows = [list(row) for row in TABLES["two breakdowns beside their total"][0]]
    rows[1][4] = rows[2][4] = "[c]"
    release = Release.from_frame(rows, marks="uk")
    assert any("Patients = 0-17 + 18-64 + 65+" in note for note in release.notes)
    found = audit_published(release)
    assert {release.labels[cell] for cell in found.disclosed} == {("A", "0-17"), ("B", "0-17")}
    # Hidden in pairs, they have one sum each.
    for row in rows[1:3]:
        row[6] = "[c]"
    assert not audit_published(Release.from_frame(rows, marks="uk")).disclosed


@examples(60)
@given(st.integers(0, 2**32), st.booleans())
def test_sums_taken_from_what_is_published_hold_behind_it(seed: int, planted: bool) -> None:
    """Random tables, some with two breakdowns, and cells withheld anywhere."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(0, 60, (int(rng.integers(4, 9)), int(rng.integers(4, 8))))
    if planted:
        inner[:, 0] = inner[:, 1:].sum(axis=1)
    cube = np.vstack([inner, inner.sum(axis=0)])
    hidden = rng.random(cube.shape) < 0.1
    heads = [f"c{j}" for j in range(cube.shape[1])]
    rows: list[list[object]] = [["r", *heads]]
    for i, line in enumerate(cube.tolist()):
        name = f"w{i}" if i < len(inner) else "Total"
        shown = ["[c]" if h else v for v, h in zip(line, hidden[i], strict=True)]
        rows.append([name, *shown])
    release = Release.from_frame(rows, marks="uk")
    truth = np.array([cube[i, heads.index(c)] for i, c in (
        (len(inner) if r == "Total" else int(r[1:]), c) for r, c in release.labels)])  # fmt: skip
    assert not (release.relations @ truth).any()
