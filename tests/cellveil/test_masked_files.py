"""Masked files for Stata and SPSS: what the same file as text holds, with labels, always alike."""

from __future__ import annotations

import datetime
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.io import record_files
from cellveil.io.record_files import write_masked
from csp.errors import InputError
from csp.formats.files import written_together

pd = pytest.importorskip("pandas")
pyreadstat = pytest.importorskip("pyreadstat")

PEOPLE = pd.DataFrame(
    {
        "region": [1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0],
        "code": ["01", "é", "01", "02", "", "é", "02", "01"],
        "day": [datetime.date(2026, 1, 1 + i % 3) for i in range(8)],
        "ill": [0.0, 1.0, None, 0.0, 1.0, 1.0, 0.0, 1.0],
        "wage": [1000.25, 930.5, 1010.125, 990.0, 955.75, 1042.0, 1003.5, 970.25],
    }
)
NAMES = {"region": "Region", "wage": "Wage per month"}
LABELS = {"region": {1: "North", 2: "South", 4: "Ann Smith"}, "ill": {0: "no", 1: "yes"}}
KEPT = ["microdata", "microaggregate", "-k", "2", "--attributes", "wage", "--keep",
        "region,code,day,ill", "--keep-identifiers"]  # fmt: skip


def write(path: Path, columns: dict[str, Any], source: Any = None) -> None:
    with written_together() as files:
        write_masked(path, columns, files, source)


def read(path: Path) -> Any:
    """Read by pandas where it can."""
    if path.suffix == ".dta":
        return pd.read_stata(path, convert_categoricals=False)
    return pyreadstat.read_sav(path)[0]


@pytest.fixture(params=[".dta", ".sav"])
def end(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["people.dta", "people.sav"])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    write_file = getattr(pyreadstat, f"write_{path.suffix[1:]}")
    write_file(PEOPLE, path, column_labels=NAMES, variable_value_labels=LABELS)
    return path


def run(*words: Any, code: int = 0) -> str:
    found = CliRunner().invoke(app, list(map(str, words)))
    assert found.exit_code == code, found.output
    return " ".join(found.output.split())


def test_a_masked_file_has_codes_dates_and_labels_of_its_source(people: Path, end: str) -> None:
    to = people.with_name(f"masked{end}")
    run(*KEPT, people, "-o", to)
    run(*KEPT, people, "-o", to.with_suffix(".csv"))
    found, text = read(to), pd.read_csv(to.with_suffix(".csv"))
    assert list(found) == list(text)
    assert found["wage"].tolist() == text["wage"].tolist()
    assert found["region"].tolist() == PEOPLE["region"].tolist()
    assert found["code"].tolist() == PEOPLE["code"].tolist()
    days = [day.date() if isinstance(day, datetime.datetime) else day for day in found["day"]]
    assert days == PEOPLE["day"].tolist()
    assert found["ill"].isna().tolist() == PEOPLE["ill"].isna().tolist()
    told = getattr(pyreadstat, f"read_{end[1:]}")(to)[1]
    assert {n: label for n, label in told.column_names_to_labels.items() if label} == NAMES
    # A code that nobody has is called after somebody here.
    assert told.variable_value_labels == {"region": {1: "North", 2: "South"}, "ill": LABELS["ill"]}


def test_labels_in_place_of_codes_are_texts(people: Path, end: str) -> None:
    to = people.with_name(f"masked{end}")
    run(*KEPT, people, "--labels", "-o", to)
    assert read(to)["region"].tolist()[:5] == ["North", "South", "North", "South", "3"]
    told = getattr(pyreadstat, f"read_{end[1:]}")(to)[1]
    assert not told.variable_value_labels


def test_the_same_records_give_the_same_bytes_at_any_time(people: Path, end: str) -> None:
    to = people.with_name(f"masked{end}")
    run(*KEPT, people, "-o", to)
    first = to.read_bytes()
    time.sleep(1.1 if end == ".sav" else 0)  # its header has seconds
    run(*KEPT, people, "-o", to)
    assert to.read_bytes() == first
    year = datetime.date.today().year
    assert f" {year} ".encode() not in first[:300]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-1e9, 1e9), st.integers(-1000, 1000).map(float)),
            st.sampled_from(["", "a", "07", "Zürich", "x" * 300]),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([".dta", ".sav"]),
)
def test_numbers_and_texts_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float | None, str]], end: str
) -> None:
    to = tmp_path_factory.mktemp("drawn") / f"drawn{end}"
    numbers, texts = zip(*rows, strict=True)
    write(to, {"number": [0.5, *numbers], "text": ["b", *texts]})
    found = read(to)
    assert [None if x != x else x for x in found["number"]] == [0.5, *numbers]
    assert found["text"].tolist() == ["b", *texts]


def test_texts_of_numbers_become_numbers_and_codes_stay(tmp_path: Path, end: str) -> None:
    """As Stata and SPSS read a text file: all of a column, and only what is written alike."""
    to = tmp_path / f"a{end}"
    columns = {
        "whole": ["1", "", "-20"], "part": ["0.50", "3", "7.25"], "zero": ["01", "2", "3"],
        "many": ["1234567890123456", "1", "2"], "word": ["1", "2", "x"],
        "exponent": ["1e5", "2", "3"],
    }  # fmt: skip
    write(to, columns)
    found = read(to)
    assert found["whole"].tolist()[::2] == [1.0, -20.0]
    assert found["whole"].isna().tolist() == [False, True, False]
    assert found["part"].tolist() == [0.5, 3.0, 7.25]
    for name in ("zero", "many", "word", "exponent"):
        assert found[name].tolist() == columns[name]


def test_spss_shows_the_decimals_that_there_are(tmp_path: Path) -> None:
    write(tmp_path / "a.sav", {"x": [1.125, 2.0], "n": [3.0, 4.0]})
    told = pyreadstat.read_sav(tmp_path / "a.sav")[1]
    assert told.original_variable_types["x"].endswith(".3")
    assert told.original_variable_types["n"].endswith(".0")


def test_frames_of_either_library_give_the_same_file(
    tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars")
    columns = {"x": [1.5, None], "t": ["a", ""], "d": [datetime.date(2026, 1, 2), None]}
    write(tmp_path / f"a{end}", columns)
    monkeypatch.setattr(record_files, "find_spec", lambda name: None)
    write(tmp_path / f"b{end}", columns)
    assert (tmp_path / f"a{end}").read_bytes() == (tmp_path / f"b{end}").read_bytes()


@pytest.mark.parametrize(
    ("names", "words"), [(["a b"], "space"), (["1a"], "starts with"), (["x" * 70], "too long")]
)
def test_names_that_the_program_refuses_are_said(
    tmp_path: Path, end: str, names: list[str], words: str
) -> None:
    with pytest.raises(InputError, match=f"cannot write.*{words}"):
        write(tmp_path / f"a{end}", {name: [1.0] for name in names})
    assert not any(tmp_path.iterdir())


def test_spss_takes_names_that_differ_in_case_for_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'a' and 'A' differ in case only"):
        write(tmp_path / "a.sav", {"a": [1.0], "A": [2.0]})
    write(tmp_path / "a.dta", {"a": [1.0], "A": [2.0]})


def test_without_the_library_nothing_is_begun(
    people: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = people.with_name("people.csv")
    PEOPLE.to_csv(text, index=False)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    said = run(*KEPT, text, "-o", people.with_name(f"a{end}"), code=2)
    assert "pip install 'cellveil[stat]'" in said
    assert not people.with_name(f"a{end}").exists()
