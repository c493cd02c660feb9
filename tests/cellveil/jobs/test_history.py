"""Every month, every year: what was suppressed stays so, what changed is said, all is audited."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cellveil.cli.app import app
from csp.errors import OutOfTime

JOB = """
[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"

[[table]]
name = "region-branch"
by = ["region", "branch"]

[[table]]
name = "region-size"
by = ["region", "size"]

[[table]]
name = "branch-size"
by = ["branch", "size"]

[rules]
sensitive = "FREQ({few},10)"

[solver]
time_limit = 20

[output]
history = "history"
"""
NAMES = ("region-branch", "region-size", "branch-size")


def run(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return " ".join(found.stderr.split())


def write(folder: Path, month: int, extra: int = 0) -> None:
    """Records of a month: firms come, go and grow."""
    draw = random.Random(month)
    lines = ["region,branch,size,firm,turnover"]
    for i in range(46):
        fixed = random.Random(i)
        keys = (
            fixed.choice("NS"),
            fixed.choices("ABC", [5, 3, 1])[0],
            fixed.choice(["big", "small"]),
        )
        if draw.random() < 0.85:
            lines.append(
                ",".join((*keys, f"f{i}", str(fixed.randint(20, 90) + draw.randint(0, 9))))
            )
    if extra:
        lines[-1] = lines[-1].rsplit(",", 1)[0] + f",{extra}"
    (folder / "firms.csv").write_text("\n".join(lines) + "\n")


def published(folder: Path, *names: str) -> dict[tuple[str, ...], str]:
    found = {}
    for name in names or NAMES:
        with (folder / "published" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                *codes, value, _, _ = row.values()
                found[(name, *codes)] = value
    return found


def hidden(folder: Path, *names: str) -> set[tuple[str, ...]]:
    return {cell for cell, value in published(folder, *names).items() if not value}


def test_twelve_months_of_three_linked_tables(tmp_path: Path) -> None:
    job, before = tmp_path / "job.toml", set()
    job.write_text(JOB.format(few=3))
    said = ""
    for month in range(1, 13):
        write(tmp_path, month)
        said = run("run", job)
        now = hidden(tmp_path)
        # What has nobody in it any more is known to be 0, and published.
        assert {cell for cell in before - now if published(tmp_path)[cell] != "0"} == set()
        before = now
        assert ("The first release" in said) == (month == 1)
    assert "stay suppressed" in said
    assert "Since region-branch+region-size+branch-size.011.json:" in said
    # Single values that are the same by chance say nothing.
    assert "11 earlier releases are of other data or codes" in said
    assert len(list((tmp_path / "history").glob("*.json"))) == 12

    # The same once more: nothing changes, and nothing is put into the history.
    last = published(tmp_path)
    said = run("run", job)
    assert "nothing changed" in said
    assert published(tmp_path) == last
    assert len(list((tmp_path / "history").glob("*.json"))) == 12

    # A revision: other values, the same cells.
    write(tmp_path, 12, extra=77)
    said = run("run", job)
    assert "with other values" in said
    count = re.search(r"012\.json: (\d+) cells with other values", said)
    assert count is not None
    assert f"012.json has other values in {count[1]} cells; its sums of other cells were" in said
    assert before <= hidden(tmp_path)

    # A stricter rule for the same data: cells were published before, and nothing follows from both.
    shown = published(tmp_path)
    job.write_text(JOB.format(few=7))
    said = run("run", job)
    more = {cell for cell in hidden(tmp_path) if shown[cell]}
    assert more
    # Of the release before the revision what is still the same is attacked as well.
    assert "worked out exactly from the earlier 2 releases and this one" in said
    # Linked tables share cells: each counts once.
    distinct = {tuple(sorted(code for code in cell[1:] if code != "Total")) for cell in more}
    assert f"; {len(distinct)} cells that are suppressed now were published before." in said
    assert "Reproduced" in CliRunner().invoke(
        app, ["run", "--verify", str(tmp_path / "job.internal.json")]
    ).stdout  # fmt: skip


REGIONS = {"N": (2, 2, 30), "M": (8, 40, 31), "S": (1, 1, 22), "T": (25, 26, 40)}
SUMS = """
[data]
file = "d.csv"
[[table]]
name = "t"
by = ["region", "branch"]
[rules]
sensitive = "FREQ(3,10)"
"""


def records(folder: Path, *more: str) -> None:
    rows = [f"{r},{b}" for r, ns in REGIONS.items() for b, n in zip("abc", ns, strict=True)
            for _ in range(n)]  # fmt: skip
    (folder / "d.csv").write_text("\n".join(["region,branch", *rows, *more]) + "\n")


def two_runs(folder: Path, *more: str, solver: str = "", code: int) -> str:
    """Publish flat regions, and then regions with sums, after records were added."""
    job, tail = folder / "job.toml", '[output]\nhistory = "history"\n'
    records(folder)
    job.write_text(SUMS + tail)
    run("run", job)
    assert hidden(folder, "t") == {("t", r, b) for r in "NS" for b in "ab"}
    records(folder, *more)
    (folder / "region.hrc").write_text("North\n@N\n@M\nSouth\n@S\n@T\n")
    tree = '[hierarchies]\nregion = "region.hrc"\n'
    job.write_text(SUMS + 'cost = "value"\n' + solver + tail + tree)
    before = (folder / "published" / "t.csv").read_bytes()
    said = run("run", job, code=code)
    if code:
        assert (folder / "published" / "t.csv").read_bytes() == before
        assert len(list((folder / "history").glob("*.json"))) == 1
    return said


@pytest.mark.parametrize("more", [(), ("T,c",)])
def test_one_revised_value_does_not_hide_what_both_tell(tmp_path: Path, more: Any) -> None:
    # North,a is N,a + M,a, and M,a was published then: with the column of a, N,a is known.
    said = two_runs(tmp_path, *more, code=2)
    assert "together with t.001.json of the history, 4 suppressed cells can be worked out" in said
    assert "(branch=a, region=N)" in said


def test_the_advice_of_the_refusal_works(tmp_path: Path) -> None:
    said = two_runs(tmp_path, code=2)
    lines = re.search(r"with the lines (.*), or take", said)
    assert lines is not None
    (tmp_path / "known.hst").write_text("\n".join(lines[1].split("; ")) + "\n")
    job = tmp_path / "job.toml"
    job.write_text(job.read_text().replace("[data]", '[data]\napriori = "known.hst"'))
    said = run("run", job)
    assert "No suppressed cell can be worked out exactly from the earlier release" in said
    now = hidden(tmp_path, "t")
    assert {("t", r, b) for r in "NS" for b in "ab"} <= now, "what was suppressed stays so"
    assert not {("t", *line.split(",")[:2]) for line in lines[1].split("; ")} & now


def test_a_revision_next_to_a_hidden_cell_is_said_and_no_finding(tmp_path: Path) -> None:
    # Rows N and M and columns a and b have other values: nothing of N,a follows from the old ones.
    said = two_runs(tmp_path, "N,c", "M,a", "M,b", "T,a", "S,c", code=0)
    assert "nothing follows" not in said
    assert "of other data or codes: no sum has the values of this release" in said


def test_without_time_to_attack_all_releases_nothing_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        raise OutOfTime("the time limit passed before the union was judged; allow more time")

    monkeypatch.setattr("cellveil.jobs.together.differencing", late)
    said = two_runs(tmp_path, "T,c", code=3)
    assert "nothing is published; allow more time" in said
    assert "take earlier releases out of the history" in said


PLAIN = SUMS + '[output]\nhistory = "history"\n'


@pytest.fixture
def one_release(tmp_path: Path) -> Path:
    """A history of one release of the table t; then fewer cells are sensitive."""
    records(tmp_path)
    (tmp_path / "job.toml").write_text(PLAIN)
    run("run", tmp_path / "job.toml")
    text = (tmp_path / "d.csv").read_text().splitlines()
    rows = [f"{row},{'xy'[i % 2]}" for i, row in enumerate(text[1:])]
    rows += [f"{r},{b},{s}" for r in "NS" for b in "ab" for s in "xy" for _ in range(9)]
    (tmp_path / "d.csv").write_text("\n".join(["region,branch,size", *rows]) + "\n")
    return tmp_path


FOUR = {(r, b) for r in "NS" for b in "ab"}


def test_a_second_table_does_not_make_the_history_forgotten(one_release: Path) -> None:
    folder = one_release
    more = '[[table]]\nname = "u"\nby = ["size", "region"]\n[rules]'
    (folder / "job.toml").write_text(PLAIN.replace("[rules]", more))
    said = run("run", folder / "job.toml")
    assert "4 cells of t.001.json stay suppressed." in said
    assert "Since t.001.json:" in said
    assert "first release" not in said
    assert {(r, b) for _, r, b in hidden(folder, "t")} >= FOUR
    assert sorted(path.name for path in (folder / "history").glob("*.json")) == [
        "t+u.002.json", "t.001.json",
    ]  # fmt: skip
    # And it is not when it goes again: cells at the total of size are those of the table.
    (folder / "job.toml").write_text(PLAIN)
    said = run("run", folder / "job.toml")
    assert "cells of t+u.002.json stay suppressed." in said
    assert {(r, b) for _, r, b in hidden(folder, "t")} >= FOUR


def test_a_table_that_is_renamed_is_found_by_its_codes(one_release: Path) -> None:
    folder = one_release
    (folder / "job.toml").write_text(PLAIN.replace('"t"', '"new"'))
    said = run("run", folder / "job.toml")
    assert "4 cells of t.001.json stay suppressed." in said
    assert {(r, b) for _, r, b in hidden(folder, "new")} >= FOUR
    assert (folder / "history" / "new.002.json").is_file()


def test_a_history_of_other_tables_is_said_loudly(one_release: Path) -> None:
    folder = one_release
    (folder / "job.toml").write_text(
        PLAIN.replace('"t"', '"new"').replace('["region", "branch"]', '["region", "size"]')
    )
    said = run("run", folder / "job.toml")
    assert "1 release in the history is of other tables: t." in said
    assert "first release" not in said
    # Its number is higher than any, so that it is known to be the newest.
    assert (folder / "history" / "new.002.json").is_file()
    # A table of the same dimensions that the job has under its own name is not of another one.
    (folder / "job.toml").write_text(
        PLAIN + '[[table]]\nname = "w"\nby = ["region", "branch"]\nfile = "e.csv"\n'
    )
    (folder / "e.csv").write_text((folder / "d.csv").read_text() + "N,a,x\n")
    said = run("run", folder / "job.toml")
    assert said.count("cells of t.001.json stay suppressed.") == 1
    assert "2 releases in the history are of other tables: new, t." in said


def test_folders_that_cannot_be_made_are_refused_before_any_work(one_release: Path) -> None:
    job = one_release / "job.toml"
    for key in ("history", "folder"):
        for name in ("d.csv", "d.csv/x"):
            job.write_text(f'{PLAIN.partition("[output]")[0]}[output]\n{key} = "{name}"\n')
            said = run("run", job, code=2)
            assert "job.toml, [output]: cannot make the folder" in said
            assert "d.csv' is a file" in said


ALONE = """
[data]
file = "d.csv"
value = "v"
[[table]]
name = "NAME"
by = ["BY"]
[rules]
sensitive = "P(10,1)"
[output]
history = "history"
"""
"""A table by one column; its sums are those of a table by the other."""


@pytest.mark.parametrize("both", [False, True])
def test_tables_that_the_job_does_not_have_any_more_are_attacked_too(
    tmp_path: Path, *, both: bool
) -> None:
    # By size the total is published, by region S is: their difference, N, would be known.
    rows = [f"S,{'xy'[i % 2]},{30 + i % 3}" for i in range(16)] + ["N,x,40", "N,y,4"]
    (tmp_path / "d.csv").write_text("\n".join(["region,size,v", *rows]) + "\n")
    first, second = (ALONE.replace("NAME", by[0]).replace("BY", by) for by in ("region", "size"))
    (tmp_path / "known.hst").write_text("S,p\n")
    first = first.replace('"v"', '"v"\napriori = "known.hst"')
    (tmp_path / "job.toml").write_text(first)
    run("run", tmp_path / "job.toml")
    assert ("r", "N") in hidden(tmp_path, "r")
    if both:  # a history of its own as well, made elsewhere, does not hide the other one
        (tmp_path / "job.toml").write_text(second.replace('"history"', '"elsewhere"'))
        run("run", tmp_path / "job.toml")
        for path in (tmp_path / "elsewhere").iterdir():
            path.rename(tmp_path / "history" / path.name)
    (tmp_path / "job.toml").write_text(second)
    said = run("run", tmp_path / "job.toml", code=2)
    assert "together with r.001.json" in said
    assert "can be worked out" in said


CROSSED = """
[data]
file = "d.csv"
value = "v"
empty = "EMPTY"
TABLES
[rules]
sensitive = "P(10,1)"
[output]
history = "history"
"""


def _crossed(*tables: str, empty: str = "keep") -> str:
    parts = [f'[[table]]\nname = "{t}"\nby = ["{t[0]}", "{t[1]}"]' for t in tables]
    return CROSSED.replace("TABLES", "\n".join(parts)).replace("EMPTY", empty)


def _of_two(folder: Path, *, gone: bool) -> None:
    """Records by a, b and c, with a lone one in a0, b0 and c0 unless it is gone."""
    draw = random.Random(4)
    rows = [f"a{i % 3},b{i % 2},c{i // 3 % 2},{draw.randint(30, 60)}" for i in range(60)]
    rows = [row for row in rows if not row.startswith("a0,b0")]
    rows += [] if gone else ["a0,b0,c0,50"]
    (folder / "d.csv").write_text("\n".join(["a,b,c,v", *rows]) + "\n")


def test_a_cell_that_no_record_has_any_more_is_not_asked_for(tmp_path: Path) -> None:
    _of_two(tmp_path, gone=False)
    (tmp_path / "job.toml").write_text(_crossed("ab", empty="drop"))
    run("run", tmp_path / "job.toml")
    before = hidden(tmp_path, "ab")
    assert ("ab", "a0", "b0") in before
    _of_two(tmp_path, gone=True)
    said = run("run", tmp_path / "job.toml")
    assert "1 cell of ab.001.json is in no table though the codes are" in said
    assert hidden(tmp_path, "ab") >= before - {("ab", "a0", "b0")}
    # A code that is gone is asked for as ever.
    text = (tmp_path / "d.csv").read_text().splitlines()
    (tmp_path / "d.csv").write_text("\n".join(r for r in text if not r.startswith("a0")) + "\n")
    assert "keep_codes COLUMN=FILE" in run("run", tmp_path / "job.toml", code=2)


def test_cells_of_a_table_that_was_taken_out_are_not_asked_for(tmp_path: Path) -> None:
    _of_two(tmp_path, gone=False)
    (tmp_path / "job.toml").write_text(_crossed("ab", "bc", "ac"))
    run("run", tmp_path / "job.toml")
    before = hidden(tmp_path, "bc", "ac")
    assert hidden(tmp_path, "ab")
    (tmp_path / "job.toml").write_text(_crossed("bc", "ac"))
    said = run("run", tmp_path / "job.toml")
    assert "are in no table though the codes are" in said
    assert hidden(tmp_path, "bc", "ac") >= before


def test_what_the_newest_release_suppressed_is_kept_whatever_its_name(tmp_path: Path) -> None:
    draw = random.Random(4)
    rows = [f"a{i % 3},b{i % 2},c{i // 3 % 2},{draw.randint(30, 60)}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c,v", *rows]) + "\n")
    job = tmp_path / "job.toml"
    job.write_text(_crossed("ab"))
    run("run", job)
    assert not hidden(tmp_path, "ab")
    # The same table by another name, in which more is sensitive; then by its first name again.
    other = _crossed("ab").replace('"ab"', '"other"')
    job.write_text(other.replace('"P(10,1)"', '"FREQ(12,10)"'))
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c,v", *rows[:-5]]) + "\n")
    run("run", job)
    before = {cell[1:] for cell in hidden(tmp_path, "other")}
    assert before
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c,v", *rows[3:]]) + "\n")
    job.write_text(_crossed("ab"))
    run("run", job)
    assert {cell[1:] for cell in hidden(tmp_path, "ab")} >= before


COUNTS = {("N1", "a"): 2, ("N1", "b"): 30, ("N2", "a"): 40, ("N2", "b"): 50, ("S", "a"): 60,
          ("S", "b"): 70}  # fmt: skip


def cells(folder: Path, counts: dict[tuple[str, str], int], name: str = "now.csv") -> Path:
    lines = ["region,sector,n", *(f"{r},{s},{n}" for (r, s), n in counts.items())]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def protect(folder: Path, data: Path, *words: object, code: int = 0) -> tuple[str, set[Any]]:
    out = folder / "out.csv"
    said = run("protect", data, "--by", "region,sector", "--value", "n", "--aggregated", "--count",
               "n", "--rules", "FREQ(3,10)", "-o", out, *words, code=code)  # fmt: skip
    if code:
        return said, set()
    with out.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return said, {(r["region"], r["sector"]) for r in rows if not r["value"]}


@pytest.fixture
def last_year(tmp_path: Path) -> tuple[Path, set[Any]]:
    """Last year's table in every form, and what it suppressed."""
    data = cells(tmp_path, COUNTS, "then.csv")
    plain = ["--by", "region,sector", "--value", "n", "--aggregated", "--count", "n", "--rules",
             "FREQ(3,10)"]  # fmt: skip
    for name in ("p.csv", "p.xlsx", "p.hst", "p.sdmx.csv", "p.parquet"):
        run("protect", data, *plain, "-o", tmp_path / name)
    run("protect", data, *plain, "--release", tmp_path / "r.json", "--mark", "statcan", "-o",
        tmp_path / "marked.csv")  # fmt: skip
    with (tmp_path / "p.csv").open(encoding="utf-8", newline="") as file:
        gone = {(r["region"], r["sector"]) for r in csv.DictReader(file) if not r["value"]}
    (tmp_path / "list.csv").write_text("sector,region\n" + "".join(f"{s},{r}\n" for r, s in gone))
    rows = {r: [r, *("x" if (r, s) in gone else "9" for s in ("a", "b", "Total"))] for r in
            ("N1", "N2", "S", "Total")}  # fmt: skip
    (tmp_path / "cross.csv").write_text(
        "Last year\n\nArea,a,b,All\n" + "".join(",".join(row) + "\n" for row in rows.values())
    )
    return tmp_path, gone


@pytest.mark.parametrize(
    "name",
    ["r.json", "p.csv", "p.xlsx", "p.hst", "p.sdmx.csv", "p.parquet", "marked.csv", "list.csv"],
)
def test_whatever_was_published_is_kept(last_year, name: str) -> None:
    folder, gone = last_year
    now = cells(folder, {key: n + 5 for key, n in COUNTS.items()})  # nothing is sensitive any more
    assert protect(folder, now)[1] == set()
    said, kept = protect(folder, now, "--keep", folder / name)
    assert kept == gone
    assert f"{len(gone)} cells of {name} stay suppressed." in said
    row_mates = [sum(other[k] == cell[k] for other in gone) for cell in gone for k in (0, 1)]
    assert ("can be worked out" in said) == (min(row_mates) < 2)


def test_a_cross_table_of_last_year_is_matched_by_its_codes(last_year) -> None:
    folder, gone = last_year
    now = cells(folder, {key: n + 5 for key, n in COUNTS.items()})
    said, kept = protect(folder, now, "--keep", folder / "cross.csv", "--keep-marks", "statcan")
    assert kept == gone
    assert "By their codes Area is region, columns is sector." in said


def test_dimensions_that_fit_in_two_ways_are_asked_for(tmp_path: Path) -> None:
    counts = {(r, s): 10 * int(r) + int(s) for r in "123" for s in "123"}
    now = cells(tmp_path, counts)
    rows = (f"{r},{s},{'x' if (r, s) == ('1', '2') else 9}\n" for r, s in counts)
    text = "{},{},n\n" + "".join(rows)
    then = tmp_path / "then.csv"
    then.write_text(text.format("sex", "age"))
    said, _ = protect(tmp_path, now, "--keep", then, "--keep-marks", "statcan", code=2)
    assert "sex is region, age is sector; or sex is sector, age is region" in said
    assert "name its dimensions region and sector" in said
    for head in (("region", "age"), ("age", "sector"), ("region", "sector")):
        then.write_text(text.format(*head))
        said, kept = protect(tmp_path, now, "--keep", then, "--keep-marks", "statcan")
        assert kept == {("1", "2")}
        # It is alone in its row.
        assert "1 of the cells that stay suppressed can be worked out from this release" in said


def test_codes_that_were_joined_split_or_are_gone(last_year) -> None:
    folder, gone = last_year
    assert {r for r, _ in gone} > {"N1"}
    merged = {("N", "a"): 42, ("N", "b"): 80, ("S", "a"): 60, ("S", "b"): 70}
    now = cells(folder, merged)
    said, _ = protect(folder, now, "--keep", folder / "r.json", code=2)
    assert "region=N1" in said
    assert "--keep-codes COLUMN=FILE" in said
    assert "--keep-unknown skip" in said
    (folder / "codes.csv").write_text("N1,N\nN2,N\n")
    said, kept = protect(folder, now, "--keep", folder / "r.json", "--keep-codes",
                         f"region={folder / 'codes.csv'}")  # fmt: skip
    assert {("N" if r in ("N1", "N2") else r, s) for r, s in gone} <= kept
    assert "by codes that were joined or split" in said
    said, kept = protect(folder, now, "--keep", folder / "r.json", "--keep-unknown", "skip")
    assert {cell for cell in gone if cell[0] not in ("N1", "N2")} <= kept
    assert "are not in the table and are passed over" in said
    # A region that was split: both parts stay suppressed.
    split = dict(COUNTS) | {("S1", "a"): 20, ("S1", "b"): 30, ("S2", "a"): 40, ("S2", "b"): 40}
    now = cells(folder, {key: n + 5 for key, n in split.items() if key[0] != "S"})
    (folder / "split.csv").write_text("S,S1\nS,S2\n")
    (folder / "mine.csv").write_text("region,sector\nS,a\nTotal,a\n")
    _, kept = protect(folder, now, "--keep", folder / "mine.csv", "--keep-codes",
                      f"region={folder / 'split.csv'}")  # fmt: skip
    assert kept >= {("S1", "a"), ("S2", "a"), ("Total", "a")}


def test_recoded_codes_need_not_be_named_again(last_year) -> None:
    folder, gone = last_year
    (folder / "r.grc").write_text("N: N1, N2\n")
    now = cells(folder, {key: n + 5 for key, n in COUNTS.items()})
    _, kept = protect(
        folder, now, "--keep", folder / "r.json", "--recode", f"region={folder / 'r.grc'}"
    )
    assert {("N" if r in ("N1", "N2") else r, s) for r, s in gone} <= kept


def test_a_job_keeps_a_file(last_year) -> None:
    folder, gone = last_year
    cells(folder, {key: n + 5 for key, n in COUNTS.items()})
    (folder / "job.toml").write_text(
        '[data]\nfile = "now.csv"\nvalue = "n"\naggregated = true\ncount = "n"\n[[table]]\n'
        'by = ["region", "sector"]\n[rules]\nsensitive = "FREQ(3,10)"\nkeep = "list.csv"\n'
        'keep_unknown = "skip"\n'
    )
    said = run("run", folder / "job.toml")
    assert "cells of list.csv stay suppressed." in said
    with (folder / "published" / "region-sector.csv").open(encoding="utf-8", newline="") as file:
        kept = {(r["region"], r["sector"]) for r in csv.DictReader(file) if not r["value"]}
    assert kept == gone
    run("init", folder / "new.toml")
    assert '# keep = "last_year.csv"' in (folder / "new.toml").read_text(encoding="utf-8")
    assert '# history = "history"' in (folder / "new.toml").read_text(encoding="utf-8")
