"""Published tables in other programs' forms: what each row says, and that none says more."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import csp
from cellveil.cli.app import app
from cellveil.io.files import result_columns
from cellveil.io.results import FORMATS, form_of, write_result

RULES = "FREQ(8,10)"


def count_table(shift: int = 0) -> csp.Table:
    """Counts whose four cells of the first two rows and columns may be shifted along a cycle."""
    inner = np.array([[4, 30, 50], [30, 9, 40], [50, 40, 60]])
    inner[:2, :2] += shift * np.array([[1, -1], [-1, 1]])
    return csp.Table.from_array(inner, names=["region", "=size"])


def write(path: Path, found: csp.Protected, *, reveal: bool = False) -> list[list[str]]:
    write_result(path, found, result_columns(found, reveal=reveal), reveal=reveal)
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_the_longest_suffix_tells_the_form() -> None:
    for form, suffix in FORMATS.items():
        assert form_of(Path("some.Name" + suffix.upper())) == form


@pytest.mark.parametrize("form", [f for f in FORMATS if f != "parquet"])
def test_tables_with_the_same_release_give_the_same_bytes(tmp_path: Path, form: str) -> None:
    """One of the tables has one sensitive cell, the other two."""
    pytest.importorskip("openpyxl")
    found = [csp.protect(count_table(shift), RULES) for shift in (0, -2)]
    assert [int(one.problem.primary.sum()) for one in found] == [1, 2]
    assert np.array_equal(found[0].pattern, found[1].pattern)
    texts = []
    for i, one in enumerate(found):
        path = tmp_path / str(i) / f"out{FORMATS[form]}"
        path.parent.mkdir()
        write_result(path, one, result_columns(one))
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("reveal", [False, True])
def test_what_each_row_says(tmp_path: Path, reveal: bool) -> None:
    found = csp.protect(count_table(-2), RULES)
    rows = {
        label: (
            str(value) if reveal or not hidden else "",
            "u" if reveal and primary else "x" if hidden else "s",
        )
        for label, value, hidden, primary in zip(
            found.table.labels,
            found.table.values.tolist(),
            found.pattern.tolist(),
            found.problem.primary.tolist(),
            strict=True,
        )
    }
    assert {letter for _, letter in rows.values()} == ({"s", "x", "u"} if reveal else {"s", "x"})
    status = write(tmp_path / "t.sdctable.csv", found, reveal=reveal)
    assert status[0] == ["region", "'=size", "Freq", "sdcStatus"]
    assert status[1:] == [[*label, value, letter] for label, (value, letter) in rows.items()]

    letters = {"s": "V", "x": "D", "u": "B"}
    sbs = write(tmp_path / "t.sbs", found, reveal=reveal)
    assert sbs == [[*label, value, "", letters[s]] for label, (value, s) in rows.items()]

    conf = {"s": "F", "x": "D" if reveal else "C", "u": "C"}
    sdmx = write(tmp_path / "t-1.sdmx.csv", found, reveal=reveal)
    assert sdmx[0] == [
        *("STRUCTURE", "STRUCTURE_ID", "ACTION", "region", "'=size"),
        *("OBS_VALUE", "OBS_STATUS", "CONF_STATUS"),
    ]
    assert sdmx[1:] == [
        ["dataflow", "CELLVEIL:T_1(1.0)", "I", *label, value, "A" if value else "Q", conf[s]]
        for label, (value, s) in rows.items()
    ]

    write_result(tmp_path / "t.hst", found, result_columns(found, reveal=reveal), reveal=reveal)
    said = csp.read_apriori(tmp_path / "t.hst", 2)
    assert [(s.codes, s.word) for s in said] == [(x, "u") for x, (_, s) in rows.items() if s != "s"]


def test_the_pattern_of_one_table_is_kept_by_the_next(tmp_path: Path) -> None:
    first = csp.protect(count_table(), RULES)
    write_result(tmp_path / "t.hst", first, result_columns(first))
    known = csp.read_apriori(tmp_path / "t.hst", 2)
    again = csp.protect(count_table(), "MAN(10)", apriori=known)
    assert again.pattern[first.pattern].all()
    assert np.array_equal(again.problem.primary, first.pattern)


def test_what_a_form_cannot_hold_is_refused(tmp_path: Path) -> None:
    found = csp.protect(count_table(), RULES)
    columns = result_columns(found, intervals=True)
    for suffix in (".sbs", ".hst", ".sdmx.csv", ".sdctable.csv"):
        with pytest.raises(csp.InputError, match=f"{suffix} has no place for intervals"):
            write_result(tmp_path / f"t{suffix}", found, columns)
    taken = replace(found, release=replace(found.release, names=("Freq", "b")))
    with pytest.raises(csp.InputError, match="column 'Freq' of its own"):
        write_result(tmp_path / "t.sdctable.csv", taken, result_columns(taken))
    with pytest.raises(csp.InputError, match=r"not AGENCY:ID\(VERSION\)"):
        write_result(tmp_path / "t.sdmx.csv", found, result_columns(found), structure="x")
    assert not list(tmp_path.iterdir())


def test_commands_and_jobs_write_several_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    rows = [f"{r},{s}\n" for r in "abc" for s in "xyz" for _ in range(3 + 7 * (r + s != "ax"))]
    (tmp_path / "survey.csv").write_text("r,s\n" + "".join(rows))

    def call(*words: str) -> Any:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output

    (tmp_path / "job.toml").write_text(
        '[data]\nfile = "survey.csv"\n[[table]]\nname = "t"\nby = ["r", "s"]\n'
        f'[rules]\nsensitive = "{RULES}"\n'
        '[output]\nformat = ["csv", "xlsx", "argus", "apriori", "sdctable", "sdmx"]\n'
    )
    call("run", "job.toml")
    plain = {path.name: path.read_bytes() for path in (tmp_path / "published").iterdir()}
    # Intervals go where there is room, and change nothing elsewhere.
    with (tmp_path / "job.toml").open("a") as file:
        file.write('intervals = true\nfolder = "with"\n')
    call("run", "job.toml")
    for suffix in (".sbs", ".hst", ".sdctable.csv", ".sdmx.csv"):
        assert (tmp_path / "with" / f"t{suffix}").read_bytes() == plain[f"t{suffix}"]
    head = (tmp_path / "with" / "t.csv").read_text().splitlines()[0]
    assert head == plain["t.csv"].decode().splitlines()[0] + ",lower,upper"
    made = {path.name for path in (tmp_path / "published").iterdir()}
    suffixes = [".csv", ".xlsx", ".sbs", ".hst", ".sdctable.csv", ".sdmx.csv"]
    assert made == {"job.result.json", *(f"t{suffix}" for suffix in suffixes)}
    for suffix in suffixes:
        words = ["--by", "r,s", "--rules", RULES, "-o", f"t{suffix}"]
        call("protect", "survey.csv", *words)
        job = (tmp_path / "published" / f"t{suffix}").read_bytes()
        assert (tmp_path / f"t{suffix}").read_bytes() == job
