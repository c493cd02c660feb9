"""Text files as Eurostat's bulk download has them, written by hand."""

from __future__ import annotations

import pytest

from csp import Release

FILE = (
    "freq,nace_r2,geo\\TIME_PERIOD\t2019 \t2020 \n"
    "A,TOTAL,DE\t100 \t110 b\n"
    "A,B,DE\t: c\t30.5 p\n"
    "A,C,DE\t60 e\t: c\n"
    "A,D,DE\t10 \t:\n"
    "A,TOTAL,FR\t50 \t:u\n"
    "A,B,FR\t20 \t12 bd\n"
    "A,C,FR\t:c \t13 c\n"
    "A,D,FR\t:z\t: \n"
)


@pytest.fixture
def release(tmp_path) -> Release:
    path = tmp_path / "sbs.tsv"
    path.write_text(FILE, encoding="utf-8")
    return Release.from_frame(path)


def test_one_field_holds_all_codes(release) -> None:
    assert release.names == ("nace_r2", "geo", "TIME_PERIOD")
    assert len(release.pattern) == 16
    assert any("'freq' has one code only" in note for note in release.notes)
    assert any("flags behind numbers are left out: 'b', 'd', 'e', 'p'" in note
               for note in release.notes)  # fmt: skip


def test_signs_and_flags(release) -> None:
    kind = {}
    for i, label in enumerate(release.labels):
        missing = release.unavailable is not None and release.unavailable[i]
        empty = release.structural is not None and release.structural[i]
        kind[label] = (
            ":" if missing else "c" if release.pattern[i] else "z" if empty
            else release.published[i] / 10**release.scale
        )  # fmt: skip
    assert kind == {
        ("TOTAL", "DE", "2019"): 100, ("TOTAL", "DE", "2020"): 110,
        ("B", "DE", "2019"): "c", ("B", "DE", "2020"): 30.5,
        ("C", "DE", "2019"): 60, ("C", "DE", "2020"): "c",
        ("D", "DE", "2019"): 10, ("D", "DE", "2020"): ":",
        ("TOTAL", "FR", "2019"): 50, ("TOTAL", "FR", "2020"): ":",
        ("B", "FR", "2019"): 20, ("B", "FR", "2020"): 12,
        ("C", "FR", "2019"): "c", ("C", "FR", "2020"): "c",
        ("D", "FR", "2019"): "z", ("D", "FR", "2020"): ":",
    }  # fmt: skip


def test_branches_add_up_in_each_country_and_year(release) -> None:
    assert release.relations.shape[0] == 4
    assert (release.relations.sum(axis=1) == 2).all(), "three parts and one total each"


def test_a_corner_of_one_code_is_a_cross_table() -> None:
    rows = [["geo\\time", "2019", "2020"], ["DE", "1", "2"], ["Total", "1", "2"]]
    assert Release.from_frame(rows).names == ("geo", "time")
