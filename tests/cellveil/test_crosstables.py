"""Cross tables as data: recognised, said, protected, published, from workbooks and text files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import csp
from cellveil.app.choices import Choices
from cellveil.app.work.records import Records
from cellveil.app.work.tasks import Columns, Look, Protect, Read, Tell, perform
from cellveil.cli.app import app

WARDS = {"North": ["Ash", "Birch"], "South": ["Elm", "Oak"]}


@pytest.fixture
def births(tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    """A workbook as an office has it, and the records behind it."""
    openpyxl = pytest.importorskip("openpyxl")
    counts = {
        ("Ash", "2023", "Boys"): 12, ("Ash", "2023", "Girls"): 1003, ("Ash", "2024", "Boys"): 4,
        ("Ash", "2024", "Girls"): 7, ("Birch", "2023", "Boys"): 5, ("Birch", "2023", "Girls"): 6,
        ("Birch", "2024", "Boys"): 0, ("Birch", "2024", "Girls"): 3, ("Elm", "2023", "Boys"): 20,
        ("Elm", "2023", "Girls"): 30, ("Elm", "2024", "Boys"): 2, ("Elm", "2024", "Girls"): 41,
        ("Oak", "2023", "Boys"): 9, ("Oak", "2023", "Girls"): 8, ("Oak", "2024", "Boys"): 17,
        ("Oak", "2024", "Girls"): 1,
    }  # fmt: skip
    frame = pd.DataFrame(
        [(*key, n) for key, n in counts.items()], columns=["ward", "year", "sex", "n"]
    )
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Births by ward, year and sex"])
    sheet.append([])
    sheet.append(["Ward", "2023", None, None, "2024"])
    sheet.append([None, *["Boys", "Girls", "All"] * 2])

    def put(label: str, wards: list[str], indent: int) -> None:
        some = frame[frame.ward.isin(wards)]
        line: list[Any] = [label]
        for year in ("2023", "2024"):
            sexes = [
                int(some[(some.year == year) & (some.sex == s)].n.sum()) for s in ("Boys", "Girls")
            ]
            line += [*sexes, sum(sexes)]
        shown = [f"{n:,}".replace(",", " ") if n == 1003 else n or None for n in line[1:]]
        sheet.append([label, *shown])
        sheet.cell(sheet.max_row, 1).alignment = openpyxl.styles.Alignment(indent=indent)

    for top, wards in WARDS.items():
        put(top, wards, 0)
        for ward in wards:
            put(ward, [ward], 1)
    put("Total", [ward for wards in WARDS.values() for ward in wards], 0)
    sheet.append([])
    sheet.append(["Source: register of births"])
    book.save(tmp_path / "births.xlsx")
    return tmp_path / "births.xlsx", frame


def run(*words: object, code: int = 0) -> Any:
    found = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return found


def expected(frame: pd.DataFrame) -> dict[tuple[str, ...], int]:
    """Values of all cells of the print, as pandas adds them up."""
    above = {ward: top for top, wards in WARDS.items() for ward in wards}
    parts = [frame]
    parts += [frame.assign(ward=frame.ward.map(above)), frame.assign(ward="Total")]
    parts += [part.assign(sex="All") for part in parts]
    return pd.concat(parts).groupby(["ward", "year", "sex"]).n.sum().to_dict()


def published(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_from_a_workbook_to_a_published_table(births, tmp_path: Path) -> None:
    data, frame = births
    out = tmp_path / "out.csv"
    said = run("protect", data, "--by", "ward,year,sex", "--rules", "FREQ(5,10)", "-o", out,
               "--reveal").stderr  # fmt: skip
    first = said.index(
        "Read as a cross table of counts: ward, 6 codes (2 of them sums of others) and"
    )
    assert "Total; year, 2 codes, without a total; sex, 2 codes and All." in said
    assert "1 empty cell is 0, as the totals show." in said
    assert "left out as footnotes" in said
    assert "if they are amounts, say --cross values" in said
    assert first < said.index("published, ")
    rows = published(out)
    cells = {(r["ward"], r["year"], r["sex"]): int(r["value"]) for r in rows}
    assert cells == expected(frame)
    # The order is that of the sheet.
    assert list(dict.fromkeys(r["ward"] for r in rows)) == [
        "North", "Ash", "Birch", "South", "Elm", "Oak", "Total",
    ]  # fmt: skip
    primary = {key for key, r in zip(cells, rows, strict=True) if r["status"] == "u"}
    assert primary == {key for key, n in cells.items() if 0 < n < 5}


def test_what_is_published_comes_in_again_and_is_safe(births, tmp_path: Path) -> None:
    data, _ = births
    for name in ("out.csv", "out.xlsx"):
        run("protect", data, "--rules", "FREQ(5,10)", "-o", tmp_path / name)
        assert "None of them can be worked out exactly" in run("audit", tmp_path / name).stdout


def test_inspect_writes_a_job_that_runs(births, tmp_path: Path) -> None:
    data, frame = births
    job = tmp_path / "births.toml"
    shown = run("inspect", data, "--by", "ward,year,sex", "--job", job, "--rules", "FREQ(5,10)")
    assert "42 cells" in shown.stdout
    small = sum(0 < n < 5 for n in expected(frame).values())
    line = next(line for line in shown.stdout.splitlines() if "sensitive by FREQ(5,10)" in line)
    assert line.split()[-1] == str(small)
    run("run", job)
    rows = published(tmp_path / "published" / "ward-year-sex.csv")
    cells = expected(frame)
    assert all(int(r["value"]) == cells[r["ward"], r["year"], r["sex"]] for r in rows if r["value"])
    assert {r["status"] for r in rows} == {"s", "x"}


def test_a_list_with_totals_is_recognised(tmp_path: Path) -> None:
    cells = {("N", "a"): 1, ("N", "b"): 20, ("S", "a"): 30, ("S", "b"): 40}
    lines = ["region;sector;count", *(f"{r};{s};{n}" for (r, s), n in cells.items())]
    lines += ["N;Insgesamt;21", "S;Insgesamt;70", "Insgesamt;a;31", "Insgesamt;b;60"]
    data = tmp_path / "cells.csv"
    data.write_text("\n".join([*lines, "Insgesamt;Insgesamt;91"]) + "\n")
    shown = run("inspect", data, "--by", "region,sector")
    assert "Read as a list of counts: region, 2 codes and Insgesamt" in shown.stderr
    assert "9 cells" in shown.stdout
    out = tmp_path / "out.csv"
    run("protect", data, "--rules", "FREQ(3,10)", "-o", out)
    table = csp.Table.from_frame(
        pd.DataFrame([(*k, n) for k, n in cells.items()], columns=["region", "sector", "n"]),
        ["region", "sector"], "n", count="n", total="Insgesamt",
    )  # fmt: skip
    assert sum(r["published"] == "false" for r in published(out)) == int(
        csp.protect(table, "FREQ(3,10)").pattern.sum()
    )


def test_records_are_not_taken_for_a_table(tmp_path: Path) -> None:
    data = tmp_path / "records.csv"
    data.write_text("region,sector,n\nN,a,1\nN,b,2\nS,a,3\nS,b,3\n")
    shown = run("inspect", data, "--by", "region,sector")
    assert "4 records" in shown.stdout
    assert "Read as" not in shown.stderr
    assert "4 records" in run("inspect", data).stdout


CROSS = ["Turnover, 1000 EUR", "", ";a;b;Total", "N;120;300;420", "S;7;80;87", "Total;127;380;507"]


@pytest.mark.parametrize("firms", [(1, 2, 3, 4, 1, 5), (1, 2, 3, 4, 5, 6)])
def test_records_of_which_some_lack_a_code_are_records(
    tmp_path: Path, firms: tuple[int, ...]
) -> None:
    path = tmp_path / "data.csv"
    codes = ["N,A", "S,A", ",B", "S,B", "N,A", "S,B"]
    rows = [f"{pair},f{firm},{7 + firm}" for pair, firm in zip(codes, firms, strict=True)]
    path.write_text("\n".join(["region,sector,firm,v", *rows]) + "\n")
    asked = perform(Read(path), Records(), Tell(len, len))
    assert asked == Columns(("region", "sector", "firm", "v"))
    found = CliRunner().invoke(app, ["inspect", str(path)])
    assert found.exit_code == 0, found.output
    assert "6 records" in found.output
    # Labels that stand once for the rows below them are those of cells.
    path.write_text("region,sex,v\nN,m,5\n,f,7\nS,m,8\n,f,9\n")
    assert perform(Read(path), Records(), Tell(len, len)).cross == "counts"


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
@pytest.mark.parametrize("once", [True, False])
def test_records_of_two_numbers_each_are_records_in_workbooks_too(
    suffix: str, tmp_path: Path, *, once: bool
) -> None:
    pytest.importorskip("openpyxl")
    rows = {"reg": [*"ppqq"], "sec": [*"abab"], "v": [5, 17, 20, 30], "staff": [1, 2, 1, 3]}
    frame = pd.DataFrame(rows)
    if not once:
        frame = pd.concat([frame, frame])
    data = tmp_path / f"d{suffix}"
    frame.to_csv(data, index=False) if suffix == ".csv" else frame.to_excel(data, index=False)
    words = ["protect", str(data), "--by", "reg,sec", "--value", "v", "--rules", "FREQ(3,10)"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    assert "Each record counts as one contributor" in found.stderr
    assert "p,a,,x,false" in found.stdout  # 5 is not a number of contributors


@pytest.mark.parametrize("title", ["Survey of 2020", "Survey of 2020,,,", "Survey of 2020\n"])
def test_records_of_two_numbers_each_below_a_title_are_not_counts(
    title: str, tmp_path: Path
) -> None:
    data = tmp_path / "d.csv"
    data.write_text(title + "\nreg,sec,v,staff\np,a,5,1\np,b,17,2\nq,a,20,1\nq,b,30,3\n")
    words = ["protect", str(data), "--by", "reg,sec", "--value", "v", "--rules", "FREQ(3,10)"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 2, found.output
    assert "Survey of 2020" in found.stderr or "looks like a title" in found.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "are the cells counts of contributors, or amounts?"),
        (["--cross", "values"], "number of contributors"),
        (["--cross", "counts", "--by", "region"], "a cross table by rows, columns"),
        (["--cross", "counts", "--contributor", "firm"], "--contributor"),
        (["--cross", "counts", "--total", "region=x"], "--total names 'region', which is not"),
    ],
)
def test_what_does_not_fit_is_refused(words: list[str], why: str, tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    data.write_text("\n".join(CROSS) + "\n")
    said = run("protect", data, "--rules", "FREQ(8,10)", *words, code=2).stderr
    assert why in said


def test_an_empty_cell_is_named_with_its_file_and_place(tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    data.write_text(",a,b\nN,1,\nS,30,40\n")
    said = run("protect", data, "--cross", "counts", "--rules", "FREQ(3,10)", code=2).stderr
    assert "t.csv': row 2, column 3: cell (rows=N, columns=b) is empty" in " ".join(said.split())
    assert "--absent-zero" in said
    shown = run("protect", data, "--absent-zero", "--rules", "FREQ(3,10)", "--reveal")
    assert "1 empty cell is 0, as you say." in shown.stderr
    assert "empty" not in run("protect", data, "--absent-zero", "--rules", "FREQ(3,10)").stderr
    assert "1 empty cell is 0" in run("inspect", data, "--absent-zero").stderr


def test_companions_give_the_contributors(tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    data.write_text(
        ";2023;;2024;\nBranch;Turnover;Firms;Turnover;Firms\nFarms;120,5;4;90;3\n"
        "Trade;800;12;700,5;1\nMining;300;9;200;8\nTotal;1220,5;25;990,5;12\n"
    )
    out = tmp_path / "out.csv"
    run("protect", data, "--by", "branch,year", "--value", "Turnover", "--count", "Firms",
        "--rules", "FREQ(3,10)", "-o", out, "--reveal")  # fmt: skip
    rows = {(r["branch"], r["year"]): r for r in published(out)}
    assert {key for key, r in rows.items() if r["status"] == "u"} == {("Trade", "2024")}
    assert rows["Trade", "2024"]["value"] == "700.5"


def test_the_page_takes_a_cross_table(births) -> None:
    data, _ = births
    records, told = Records(), Tell(lambda _: None, lambda _: None)
    read = perform(Read(data), records, told)
    assert isinstance(read, Columns)
    assert (read.names, read.cross) == (("Ward", "year", "columns 2"), "counts")
    assert read.note.startswith("Read as a cross table of counts")
    chosen = Choices(data, read.names, cross=read.cross)
    assert perform(Look(chosen), records, told).facts.tables[0].cells == 42
    (data.parent / "job.toml").write_text(chosen.job(), encoding="utf-8")
    done = perform(Protect(data), records, told)
    assert done.file(".csv").exists()


def test_a_cross_table_is_rounded_and_compared_as_found(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("h.csv").write_text(
        "ward,2023,2024,Total\nNorth,12,33,45\nSouth,7,1,8\nTotal,19,34,53\n", encoding="utf-8"
    )
    runner = CliRunner()
    found = runner.invoke(app, ["round", "h.csv", "--base", "5", "-o", "r.csv"])
    assert found.exit_code == 0, found.output
    assert "cross table of counts" in found.output
    rows = pd.read_csv("r.csv", index_col=["ward", "columns"])
    assert rows["value"].mod(5).eq(0).all()
    true = {("North", "2023"): 12, ("South", "2024"): 1, ("Total", "Total"): 53}
    for cell, value in true.items():
        assert rows.loc[cell, "lower"] <= value <= rows.loc[cell, "upper"]
    # What was written is audited by its ends, without a word.
    assert runner.invoke(app, ["audit", "r.csv"]).exit_code == 0
    words = ["compare", "h.csv", "--rules", "FREQ(3,10)", "--methods", "suppress,round:5"]
    assert "round:5" in runner.invoke(app, [*words, "--no-attack"]).output


def test_a_table_that_begins_in_column_b_is_protected_whole(tmp_path: Path) -> None:
    data, earlier = tmp_path / "c.csv", tmp_path / "keep.csv"
    data.write_text(",Ward,Women,Men\n,North,3,40\n,South,30,41\n,West,25,33\n")
    out = CliRunner().invoke(app, ["protect", str(data), "--rules", "FREQ(5,10)"])
    assert out.exit_code == 0
    assert "North,Women,,x,false" in out.output
    assert "Total,Total,172,s,true" in out.output
    data.write_text("Region,Farms,Trade,All\nAsh,12,83,95\nElm,20,70,90\n")
    earlier.write_text(",Region,Farms,Trade,All\n,Ash,[c],[c],95\n,Elm,20,70,90\n")
    words = ["protect", data, "--cross", "counts", "--rules", "FREQ(5,10)", "--keep", earlier]
    out = CliRunner().invoke(app, [*map(str, words)])
    assert "2 cells of keep.csv stay suppressed" in out.output
    assert "Ash,Farms,,x,false" in out.output
