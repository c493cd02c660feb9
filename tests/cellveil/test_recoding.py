"""Codes joined by commands, jobs and batch files, against records whose codes were replaced."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import csp
from cellveil.cli.app import app

SIZES = ["1", "2", "3", "4", "5"]
JOINED = {"1": "small", "2": "small", "4": "large", "5": "large"}


@pytest.fixture
def survey(tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    draw = random.Random(5)
    frame = pd.DataFrame({
        "region": draw.choices(["N", "S", "W"], k=90),
        "size": draw.choices(SIZES, [1, 1, 9, 4, 1], k=90),
        "firm": [f"f{i}" for i in range(90)], "turnover": [draw.randint(5, 90) for _ in range(90)],
    })  # fmt: skip
    frame.to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "size.grc").write_text("small: 1, 2\nlarge: 4-5\n")
    return tmp_path / "survey.csv", frame


def run(*words: object, code: int = 0) -> Any:
    found = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return found


def published(path: Path) -> dict[tuple[str, str], str]:
    with path.open(encoding="utf-8", newline="") as file:
        return {(r["region"], r["size"]): r["value"] for r in csv.DictReader(file)}


ASKED = ["--by", "region,size", "--value", "turnover", "--contributor", "firm"]


def test_a_command_and_a_job_join_codes(survey, tmp_path: Path) -> None:
    data, frame = survey
    out, plain = tmp_path / "out.csv", tmp_path / "plain.csv"
    run("protect", data, *ASKED, "--rules", "P(10,1)", "--recode", f"size={tmp_path / 'size.grc'}",
        "-o", out)  # fmt: skip
    replaced = frame.assign(size=frame["size"].map(lambda code: JOINED.get(code, code)))
    replaced.to_csv(tmp_path / "replaced.csv", index=False)
    run("protect", tmp_path / "replaced.csv", *ASKED, "--rules", "P(10,1)", "-o", plain)
    assert published(out) == published(plain)
    assert {size for _, size in published(out)} == {"small", "3", "large", "Total"}
    (tmp_path / "two.csv").write_text("old,new\n1,small\n2,small\n4,large\n5,large\n")
    job = tmp_path / "job.toml"
    run("inspect", data, *ASKED, "--recode", f"size={tmp_path / 'two.csv'}", "--rules", "P(10,1)",
        "--job", job)  # fmt: skip
    assert '[recode]\nsize = "two.csv"' in job.read_text(encoding="utf-8")
    run("run", job)
    assert published(tmp_path / "published" / "region-size.csv") == published(plain)


@pytest.mark.parametrize("tree", [None, "low\n@1-9\n@10 - 49\n@East-West\n@North\nhigh\n@50+\n"])
def test_codes_that_are_written_like_ranges_are_codes(tree: str | None, tmp_path: Path) -> None:
    sizes = ["1-9", "10 - 49", "East-West", "North", "50+"]
    records = [f"{region},{size}" for size in sizes for region in "NNNSSS"]
    (tmp_path / "data.csv").write_text("region,size\n" + "\n".join(records) + "\n")
    (tmp_path / "size.grc").write_text("small: 1-9, 10-49\nwide: East-West, 60-70\n")
    words: list[Any] = ["--recode", f"size={tmp_path / 'size.grc'}"]
    if tree is not None:
        (tmp_path / "size.hrc").write_text(tree)
        words += ["--hierarchy", f"size={tmp_path / 'size.hrc'}"]
    out = tmp_path / "out.csv"
    found = run("protect", tmp_path / "data.csv", "--by", "region,size", *words,
                "--rules", "FREQ(2)", "-o", out)  # fmt: skip
    inner = {size: n for (region, size), n in published(out).items() if region == "N"}
    levels = {} if tree is None else {"low": "12", "high": "3"}
    assert inner == {"small": "6", "wide": "3", "North": "3", "50+": "3", "Total": "15"} | levels
    assert "size.grc: size has no code '60-70'." in found.stderr


def test_levels_of_a_hierarchy(tmp_path: Path) -> None:
    lines = [
        "region,n",
        *(f"{code},{n}" for code, n in zip("abcde", (3, 4, 50, 60, 70), strict=True)),
    ]
    (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "r.hrc").write_text("N\n@a\n@b\n@c\nS\n@d\n@e\n")
    out = tmp_path / "out.csv"
    run("protect", tmp_path / "cells.csv", "--by", "region", "--value", "n", "--aggregated",
        "--count", "n", "--hierarchy", f"region={tmp_path / 'r.hrc'}", "--recode", "region=1",
        "--rules", "FREQ(5,10)", "-o", out)  # fmt: skip
    with out.open(encoding="utf-8", newline="") as file:
        found = {r["region"]: r["value"] for r in csv.DictReader(file)}
    assert found == {"N": "57", "S": "130", "Total": "187"}


def test_a_batch_file_joins_codes(survey, tmp_path: Path) -> None:
    data, _ = survey
    text = data.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "survey.asc").write_text("".join(text[1:]))
    (tmp_path / "survey.rda").write_text(
        '<SEPARATOR> ","\nregion\n  <RECODEABLE>\nsize\n  <RECODEABLE>\nfirm\n  <HOLDING>\n'
        "turnover\n  <NUMERIC>\n"
    )
    batch = tmp_path / "survey.arb"
    batch.write_text(
        '<OPENMICRODATA> "survey.asc"\n<OPENMETADATA> "survey.rda"\n'
        '<SPECIFYTABLE> "region""size"|"turnover"||\n<SAFETYRULE> P(10,1)\n<READMICRODATA>\n'
        '<RECODE> 1,Size,"C:\\work\\size.grc"\n<SUPPRESS> OPT(1,5)\n'
        '<WRITETABLE> (1,2,AS+,"out.csv")\n'
    )
    run("run", batch)
    out = tmp_path / "other.csv"
    run("protect", data, *ASKED, "--rules", "P(10,1)", "--cost", "value", "--recode",
        f"size={tmp_path / 'size.grc'}", "-o", out)  # fmt: skip
    assert published(tmp_path / "out.csv") == published(out)
    run("init", tmp_path / "new.toml", "--from", batch)
    assert '[recode]\nsize = "size.grc"' in (tmp_path / "new.toml").read_text(encoding="utf-8")


def test_inspect_says_what_joining_saves(survey) -> None:
    data, frame = survey
    said = run("inspect", data, *ASKED, "--rules", "NK(1,50)").stderr
    found = re.search(
        r"Joining '(\w+)' and '(\w+)' of size saves ([0-9]+) of ([0-9]+) suppressed cells", said
    )
    assert found is not None, said
    one, two, saved, all_ = found.groups()

    def suppressed(records: pd.DataFrame) -> int:
        table = csp.Table.from_microdata(
            records, ["region", "size"], "turnover", contributor="firm"
        )
        return int(csp.protect(table, "NK(1,50)").pattern.sum())

    joined = frame.assign(size=frame["size"].replace({one: "x", two: "x"}))
    assert (int(all_), int(saved)) == (suppressed(frame), suppressed(frame) - suppressed(joined))
    assert "both tables protected" in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--recode", "sector=x"], "is not COLUMN=FILE for a column of --by"),
        (["--recode", "size=gone.grc"], "gone.grc"),
        (["--recode", "size=1"], "has no hierarchy that could be cut"),
        (["--recode", "size=1", "--recode", "size=2"], "names 'size' twice"),
        (["--recode", "size=1", "--memory", "1GB"], "--recode reads all records at once"),
        (["--recode", "size=1", "--reread"], "--recode"),
    ],
)
def test_what_cannot_be_joined_is_refused(survey, words: list[str], why: str) -> None:
    assert why in run("protect", survey[0], *ASKED, "--rules", "P(10,1)", *words, code=2).stderr


CELLS = {"A": (10, 12), "B": (2, 5), "C": (7, 9)}


@pytest.fixture(params=["cross", "list"])
def counts(request: pytest.FixtureRequest, tmp_path: Path) -> list[object]:
    """Counts of regions by sex as a cross table and as a list of cells, and how each is named."""
    data = tmp_path / "cells.csv"
    if request.param == "cross":
        rows = [("Region", "m", "w", "Total"), *((r, *ns, sum(ns)) for r, ns in CELLS.items())]
        data.write_text("".join(";".join(map(str, row)) + "\n" for row in rows))
        return [data, "--cross", "counts"]
    rows = [(r, s, n) for r, ns in CELLS.items() for s, n in zip("mw", ns, strict=True)]
    data.write_text("Region,sex,n\n" + "".join(f"{r},{s},{n}\n" for r, s, n in rows))
    return [data, "--by", "Region,sex", "--value", "n", "--aggregated", "--count", "n"]


def test_cells_of_a_code_that_others_get_are_added_up(counts, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("B,A\n")
    out = tmp_path / "out.csv"
    run("protect", *counts, "--rules", "FREQ(1,10)", "--recode", f"Region={tmp_path / 'r.csv'}",
        "-o", out)  # fmt: skip
    with out.open(encoding="utf-8", newline="") as file:
        found = {tuple(row.values())[:2]: row["value"] for row in csv.DictReader(file)}
    rows = {r: v for (r, s), v in found.items() if s == "Total" and r in "AC"}
    assert rows == {"A": "29", "C": "16"}
    assert (found["A", "m"], found["A", "w"]) == ("12", "17")


def test_the_total_is_not_a_code_of_parts(counts, tmp_path: Path) -> None:
    if "--cross" in counts:
        with (tmp_path / "cells.csv").open("a") as file:
            file.write("Total;19;26;45\n")
    (tmp_path / "r.csv").write_text("A,Total\n")
    said = run("protect", *counts, "--rules", "FREQ(1,10)", "--recode",
               f"Region={tmp_path / 'r.csv'}", "-o", tmp_path / "out.csv", code=2)  # fmt: skip
    assert "'Total' is the total of 'Region'" in said.stderr
