"""Lines as the County Business Patterns files of 2002 have them, read with options alone.

Written by hand after "County Business Patterns: Record Layouts" of the U.S. Census Bureau: NAICS
codes are filled with - below sectors and / elsewhere, values beside a flag are 0, and empflag is D
or a letter from A (0 to 19 employees) to M (100,000 or more). County files have no rows of states;
those come from the state file, where the county is written as Total here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import attacks
from csp import Release
from csp.exact import UNBOUNDED

LINES = """fipstate,fipscty,naics,empflag,emp,qp1,ap,est
01,001,------,,600,1000,4200,30
01,001,11----,A,0,0,0,2
01,001,113///,A,0,0,0,2
01,001,1133//,A,0,0,0,2
01,001,31----,,590,900,4100,28
01,001,321///,B,0,0,0,10
01,001,332///,F,0,0,0,18
01,003,------,,400,800,3000,20
01,003,11----,,40,70,300,5
01,003,113///,,40,70,300,5
01,003,1133//,,40,70,300,5
01,003,31----,,360,730,2700,15
01,003,321///,C,0,0,0,6
01,003,332///,C,0,0,0,9
01,Total,------,,1000,1800,7200,50
01,Total,11----,,50,170,400,7
01,Total,113///,,50,170,400,7
01,Total,1133//,,50,170,400,7
01,Total,31----,,950,1630,6800,43
01,Total,321///,C,0,0,0,16
01,Total,332///,F,0,0,0,27
"""

READ = {
    "status": "empflag", "marks": "census", "hierarchies": {"naics": "prefix"},
    "total": {"naics": "------", "fipscty": "Total"}, "absent": "zero",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cbp02co.txt"
    path.write_text(LINES, encoding="utf-8")
    return path


def test_classes_of_employment_become_bounds(file) -> None:
    release = Release.from_frame(file, ["fipscty", "naics"], "emp", **READ)
    ends = {
        "A": (0, 19), "B": (20, 99), "C": (100, 249), "F": (500, 999),
    }  # fmt: skip
    for line in LINES.splitlines()[1:]:
        _, county, naics, flag, emp, *_ = line.split(",")
        cell = list(release.labels).index((county, naics))
        assert release.pattern[cell] == bool(flag)
        if flag:
            assert (release.lower[cell], release.upper[cell]) == ends[flag]
        else:
            assert release.published[cell] == int(emp)
    assert release.ranged is None


def test_manufacturing_and_trade_hold_several_codes_of_two_digits(file) -> None:
    """31---- stands for 31 to 33, as 44---- does for 44 and 45 and 48---- for 48 and 49."""
    release = Release.from_frame(file, ["fipscty", "naics"], "emp", **READ)
    sums = set()
    for row in range(release.relations.shape[0]):
        start, stop = release.relations.indptr[row : row + 2]
        cells = release.relations.indices[start:stop]
        signs = release.relations.data[start:stop]
        total = release.labels[int(cells[signs < 0][0])]
        sums.add((total, frozenset(release.labels[int(c)] for c in cells[signs > 0])))
    for county in ("001", "003", "Total"):
        parts = frozenset({(county, "321///"), (county, "332///")})
        assert ((county, "31----"), parts) in sums


def test_what_one_sum_gives_is_found(file) -> None:
    release = Release.from_frame(file, ["fipscty", "naics"], "emp", **READ)
    found = attacks.audit_published(release, mend=False)
    known = {release.labels[cell] for cell in found.disclosed}
    assert {("001", "11----"), ("001", "113///"), ("001", "1133//")} <= known
    # 50 - 40 = 10, which is also 600 - 590.
    value = {tuple(r["cell"].values()): r["value"] for r in found.summary(reveal=True)[
        "disclosed_cells"]}  # fmt: skip
    assert value["001", "11----"] == "10"


def test_payroll_beside_a_class_of_employment_is_withheld_without_bounds(file) -> None:
    letters = tuple("ABCEFGHIJKLM")
    release = Release.from_frame(file, ["fipscty", "naics"], "ap", **READ | {"withheld": letters})
    assert (release.upper[release.pattern] == UNBOUNDED).all()
    assert release.pattern.sum() == 9
