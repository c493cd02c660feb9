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
from cellveil.io.records import masked
from cellveil.io.records.masked import write_masked
from csp.errors import InputError
from csp.formats.delimited import TextFile
from csp.formats.files import written_together
from csp.tables.codes import text_codes
from csp.tables.columns import read_columns

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
    # The code that no record has is called after a person here.
    assert told.variable_value_labels == {"region": {1: "North", 2: "South"}, "ill": LABELS["ill"]}


def test_labels_in_place_of_codes_are_texts(people: Path, end: str) -> None:
    to = people.with_name(f"masked{end}")
    run(*KEPT, people, "--labels", "-o", to)
    assert read(to)["region"].tolist()[:5] == ["North", "South", "North", "South", "3"]
    told = getattr(pyreadstat, f"read_{end[1:]}")(to)[1]
    assert not told.variable_value_labels


def test_numbers_are_not_taken_for_labels_that_look_like_them(tmp_path: Path, end: str) -> None:
    frame = pd.DataFrame({"kids": [0.0, 1.0, 2.0, 1.0], "x": [1.0, 2.0, 3.0, 4.0]})
    labels = {"kids": {0: "0", 1: "1", 2: "2"}}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels)
    to = tmp_path / f"b{end}"
    run("microdata", "swap", tmp_path / "a.sav", "-k", "2", "--confidential", "kids", "--labels",
        "-o", to)  # fmt: skip
    assert sorted(read(to)["kids"]) == [0.0, 1.0, 1.0, 2.0]


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


@pytest.mark.parametrize("mark", [".", ","])
def test_texts_of_numbers_become_numbers_and_codes_stay(
    tmp_path: Path, end: str, mark: str
) -> None:
    """As Stata and SPSS read a text file: all of a column, where nothing is lost by it."""
    numbers = {
        "whole": ["1", "", "-20"], "part": ["0.50", "3", "7.25"],
        "third": ["0.3333333333333333", "1", "2"],
    }  # fmt: skip
    codes = {
        "zero": ["01", "2", "3"], "many": ["12345678901234567890", "1", "2"],
        "word": ["1", "2", "x"], "empty": ["", "", ""],
    }  # fmt: skip
    columns = {name: [x.replace(".", mark) for x in some] for name, some in numbers.items()} | codes
    rows = [";".join(row) for row in ([*columns], *zip(*columns.values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    to = tmp_path / f"a{end}"
    write(to, columns, TextFile(tmp_path / "a.csv"))
    found = read(to)
    for name, some in numbers.items():
        values = [None if x != x else x for x in found[name]]
        assert values == [float(x) if x else None for x in some]
    for name, some in codes.items():
        if name != "empty":
            assert found[name].tolist() == some


def test_numbers_of_parquet_stay_numbers(tmp_path: Path, end: str) -> None:
    PEOPLE.drop(columns="day").to_parquet(tmp_path / "a.parquet")
    kept = [word.replace(",day", "") for word in KEPT]
    run(*kept, tmp_path / "a.parquet", "-o", tmp_path / f"b{end}")
    assert read(tmp_path / f"b{end}")["region"].tolist() == PEOPLE["region"].tolist()


def test_durations_beyond_a_day_are_told_apart(tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": [3600.0, 90000.5, -3600.0, None], "t": [0.0, 60.0, None, 86399.0]})
    spss, stata = tmp_path / "a.sav", tmp_path / "a.dta"
    pyreadstat.write_sav(frame, spss, variable_format={"s": "TIME8", "t": "TIME8"})
    pyreadstat.write_dta(
        frame * 1000, stata, variable_format={"s": "%tcHH:MM:SS", "t": "%tcHH:MM:SS"}
    )
    for path in (spss, stata):
        hours, times = read_columns(path, ["s", "t"]).arrays
        assert hours.tolist() == ["01:00:00", "25:00:00.500000", "-01:00:00", None]
        assert text_codes(times) == ["00:00:00", "00:01:00", "", "23:59:59"]


def test_columns_without_an_entry_keep_their_kind(tmp_path: Path, end: str) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "n": [None, None], "t": ["", ""]}).astype({"n": float})
    pyreadstat.write_sav(frame, tmp_path / "a.sav")
    columns = {"x": [1.5, 1.5], "n": ["", ""], "t": ["", ""]}
    write(tmp_path / f"b{end}", columns, TextFile(tmp_path / "a.sav"))
    told = getattr(pyreadstat, f"read_{end[1:]}")(tmp_path / f"b{end}")[1]
    kinds = told.readstat_variable_types
    assert (kinds["n"], kinds["t"]) == ("double", "string")


def test_labels_that_do_not_fit_are_said(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": [1.0, 2.0], "r": [1.0, 2.0], "h": [1.5, 2.5], "x": [3.0, 3.0]})
    long = "é" * 70
    codes = {"q": {1: long + "y", 2: long + "n"}, "r": {1: long, 2: "b"}, "h": {1.5: "a", 2.5: "b"}}
    stata = {name: some for name, some in codes.items() if name != "h"}
    pyreadstat.write_dta(
        frame, tmp_path / "a.dta", column_labels={"q": "w" * 79}, variable_value_labels=stata
    )
    pyreadstat.write_sav(
        frame, tmp_path / "a.sav", column_labels={"q": "w" * 90},
        variable_value_labels={"h": codes["h"]},
    )  # fmt: skip
    kept = ["microdata", "microaggregate", "-k", "2", "--attributes", "x", "--keep", "q,r,h",
            "--keep-identifiers", "--constant", "keep"]  # fmt: skip
    said = run(*kept, tmp_path / "a.dta", "-o", tmp_path / "b.sav")
    assert "labels of codes of column 'q' were left out: SPSS keeps 120 bytes" in said
    assert "Labels of codes of column 'r' are too long for SPSS and were cut" in said
    told = pyreadstat.read_sav(tmp_path / "b.sav")[1]
    assert told.variable_value_labels == {"r": {1: "é" * 60, 2: "b"}}
    said = run(*kept, tmp_path / "a.sav", "-o", tmp_path / "b.dta")
    assert "label of column 'q' is too long for Stata and was cut" in said
    assert "labels of codes of column 'h' were left out: Stata labels whole numbers only" in said
    assert pyreadstat.read_dta(tmp_path / "b.dta")[1].column_names_to_labels["q"] == "w" * 80


def test_codes_without_a_label_stay_codes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"q": [1.0, 2.0, 3.0]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels={"q": {1: "yes", 2: ""}})
    column = read_columns(TextFile(tmp_path / "a.sav", labels=True), ["q"]).arrays[0]
    assert text_codes(column) == ["yes", "2", "3"]


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
    monkeypatch.setattr(masked, "find_spec", lambda name: None)
    write(tmp_path / f"b{end}", columns)
    assert (tmp_path / f"a{end}").read_bytes() == (tmp_path / f"b{end}").read_bytes()


@pytest.mark.parametrize(
    ("names", "words"),
    [(["b", "a b"], "column 'a b'.*space"), (["1a"], "starts with"), (["x" * 70], "too long"),
     (["with"], "'with'")],
)  # fmt: skip
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


def test_what_is_declared_as_missing_is_missing_beside_what_is_masked(
    tmp_path: Path, end: str
) -> None:
    records = tmp_path / "a.csv"
    records.write_text("age,inc,kids,reg\n20,1,1,N\n21,2,NA,N\n30,3,2,NA\n31,4,0,S\n")
    to = tmp_path / f"b{end}"
    kept = ["microdata", "microaggregate", records, "-k", "2", "--attributes", "age", "--keep",
            "kids,reg", "--keep-identifiers"]  # fmt: skip
    swapped = ["microdata", "swap", records, "-k", "2", "--quasi-identifiers", "age",
               "--confidential", "inc"]  # fmt: skip
    for asked in (kept, swapped):
        run(*asked, "--na", "NA", "-o", to)
        assert read(to)["kids"].isna().tolist() == [False, True, False, False]
        assert read(to)["reg"].tolist() == ["N", "N", "", "S"]
        run(*asked, "-o", to)
        assert read(to)["kids"].tolist() == ["1", "NA", "2", "0"]
