"""What an option cannot do is refused: none is taken and then left out."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import csp
from cellveil.cli.app import app
from tests.support.commands import commands

RECORDS = "r,s,v,f\n" + "".join(
    f"{r},{s},{v},{r}{s}{v % 4}\n" for r in "ab" for s in "xy" for v in (90, 5, 7, 8, 9)
)
CELLS = "r,v,n\na,100,1\nb,600,9\nc,500,9\nTotal,1200,19\n"
KIND = ["--by", "r,s", "--value", "v", "--contributor", "f"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(RECORDS)
    Path("c.csv").write_text(CELLS)
    run("protect", "d.csv", *KIND, "--rules", "P(30,1)", "--release", "f.json")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    found = CliRunner().invoke(app, words)
    assert found.exit_code == code, found.output
    return " ".join(found.output.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["audit", "f.json", "--records", "d.csv", "--value", "v", "--width", "5"], "give --rules"),
        (["audit", "f.json", "--records", "d.csv", "--value", "v", "--no-singletons"], "--rules"),
        (["protect", "d.csv", *KIND, "--rules", "P(30,1)", "--apriori-unknown", "skip"],
         "is for --apriori"),
        (["protect", "d.csv", *KIND, "--rules", "P(30,1)", "--reread", "--memory", "1GB"],
         "does not know --memory"),
        (["inspect", "d.csv", "--by", "r", "--keep-empty"], "--keep-empty: for"),
        (["inspect", "c.csv", "--by", "r", "--aggregated", "--value", "v"], "no rule can be tried"),
        (["microdata", "microaggregate", "d.csv", "-k", "2", "--attributes", "v", "--contributor",
          "f", "--keep", "f"], "needs --keep-identifiers"),
    ],
)  # fmt: skip
def test_an_option_without_its_partner_is_refused(
    folder: Path, words: list[str], told: str
) -> None:
    assert told in run(*words, code=2)


def test_a_refused_run_leaves_no_folder_of_plots(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    refused = [
        ["protect", "d.csv", *KIND, "--rules", "P(30,1)", "--attacks", "--plots", "a/pics"],
        ["protect", "d.csv", "--by", "r,q", "--rules", "FREQ(3)", "--plots", "a/pics"],
        ["compare", "d.csv", *KIND, "--rules", "P(x)", "--plots", "a/pics"],
        ["protect", "d.csv", *KIND, "--rules", "P(30,1)", "--plots", "d.csv/pics"],
    ]
    for words in refused:
        assert CliRunner().invoke(app, words).exit_code != 0
        assert not Path("a").exists()
    run("protect", "d.csv", *KIND, "--rules", "P(30,1)", "--plots", "a/pics", "-o", "a/pics/o.csv")
    assert {path.suffix for path in Path("a/pics").iterdir()} == {".svg", ".csv"}


def test_an_inspection_reads_signs_as_it_is_told(folder: Path) -> None:
    """Sizes 100, 95, 5, 4, 3, 2 leave 14, more than 10; 100, 5, 3, 2 apart leave 5."""
    values = [100, -95, 3, 2, -4, 5]
    rows = "".join(f"A,{v}\n" for v in values) + "B,10\nB,20\nB,30\n"
    Path("n.csv").write_text("r,v\n" + rows)
    words = ["inspect", "n.csv", "--by", "r", "--value", "v", "--rules", "P(10,1)"]
    words += ["--summary", "s.json"]
    assert "choose how rules read them" in run(*words)
    assert "choose how" not in run(*words, "--negative", "split")
    table = csp.Table.from_microdata("n.csv", ["r"], "v", negative="split")
    found = json.loads(Path("s.json").read_text())["tables"][0]["sensitive"]
    assert found == {"P(10,1)": int(csp.Mechanism("P(10,1)").problem(table).primary.sum())}


def test_default_rules_are_those_that_can_be_judged(folder: Path) -> None:
    said = run("inspect", "c.csv", "--by", "r", "--aggregated", "--value", "v", "--count", "n")
    assert "FREQ(3,10)" in said
    assert "P(10,1)" not in said


def test_a_written_job_keeps_every_digit_and_the_empty_text(folder: Path) -> None:
    words = ["--tolerance", "0.1000000000000000001", "--na", "", "--job", "j.toml"]
    run("inspect", "c.csv", "--by", "r", "--aggregated", "--value", "v", "--count", "n", *words)
    text = Path("j.toml").read_text()
    assert "tolerance = 0.1000000000000000001\n" in text
    assert tomllib.loads(text)["data"]["not_available"] == [""]
    run("run", "j.toml")


def test_what_is_judged_once_is_said(folder: Path) -> None:
    said = run("protect", "d.csv", *KIND, "--rules", "P(30,1)", "--unions", "--reread")
    assert "Judged once, and not read twice: sums of suppressed cells." in said


def test_refusals_of_a_job_name_it_and_its_keys(folder: Path) -> None:
    Path("j.toml").write_text(
        '[data]\nfile = "d.csv"\n[[table]]\nby = ["r"]\n[rules]\nsensitive = "FREQ(3,10)"\n'
        '[solver]\nsolver = "HiGHS"\n'
    )
    assert "j.toml, [solver]: solver HiGHS is for method ilp" in run("run", "j.toml", code=2)


def test_an_option_of_other_commands_names_them() -> None:
    options = {
        words: {word for param in command.params for word in param.opts if word.startswith("-")}
        for words, command in commands().items()
    }
    assert len(options) > 12
    tried = 0
    for words, own in [*options.items()][::3]:
        # One option of each other command, if there is one that this command does not have.
        for option in {min({*theirs} - own, default="") for theirs in options.values()} - {""}:
            said = CliRunner().invoke(app, [*words, option, "1"]).output
            owners = [" ".join(name) for name, theirs in options.items() if option in theirs]
            sentence = said.replace("\n", " ").split(f"{option} is an option of ")[1]
            assert sentence.strip().replace(" and ", ", ").split(", ") == owners
            tried += 1
    assert tried > 30


def test_what_is_required_is_explained_where_it_is_missing() -> None:
    asked = 0
    for words, command in commands().items():
        missing = next((param for param in command.params if param.required), None)
        if missing is not None:
            found = CliRunner().invoke(app, [*words])
            assert found.exit_code == 2
            assert " ".join(missing.help.split()) in " ".join(found.output.split()), words
            asked += 1
    assert asked > 10


def test_an_option_that_nobody_has_names_its_neighbours() -> None:
    said = CliRunner().invoke(app, ["protect", "x.csv", "--stricd"]).output
    assert "--strict" in said
    assert "is an option of" not in said


def test_an_option_that_takes_one_value_is_refused_twice(folder: Path) -> None:
    """The last one would count in silence; lists and switches may come back."""
    table = ["d.csv", *KIND]
    assert "--output or -o is given several times and takes one" in run(
        "protect", *table, "--rules", "P(30,1)", "-o", "one.csv", "--output", "two.csv", code=2
    )
    assert not {*Path().glob("one.csv")} | {*Path().glob("two.csv")}
    assert "--base is given several times" in run(
        "round", *table, "--base", "5", "--base", "3", code=2
    )
    run("inspect", "d.csv", "--by", "r", "--by", "s", "--quiet", "--quiet")


def test_an_empty_name_of_a_file_is_not_that_of_the_folder(folder: Path) -> None:
    protect = ["protect", "d.csv", *KIND, "--rules", "P(30,1)"]
    for command, given in (
        (["report", "", "-o", "q.html"], "RELEASE"),
        (["report", "f.json", "-o", ""], "--output or -o"),
        (["attack", "joint", "f.json", ""], "RELEASE OTHERS..."),
        ([*protect, "--release", ""], "--release"),
        ([*protect, "--plots", ""], "--plots"),
    ):
        told = run(*command, code=2)
        assert f"there is no file '': the name given for {given} is empty" in told
    assert "--release '.' must end with .json" in run(*protect, "--release", ".", code=2)


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "'e.csv' is empty"), ("\n \n", "'e.csv' is empty"), ("r,s,v\n", "'e.csv' has a header")],
)
@pytest.mark.parametrize(
    "command", [["inspect"], ["protect", "--rules", "P(10)"], ["round", "--base", "5"]]
)
def test_a_file_without_rows_is_said_to_be_one(
    folder: Path, text: str, told: str, command: list[str]
) -> None:
    Path("e.csv").write_text(text)
    assert told in run(*command, "e.csv", code=2)
    if command != ["inspect"]:
        Path("e.csv").write_text("r,s,v\na,x,1\nb,y,2\n")
        assert "--by is missing" in run(*command, "e.csv", code=2)
