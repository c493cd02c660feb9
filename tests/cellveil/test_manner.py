"""How commands speak: --quiet, --json, and the completion of shells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.render.screen import Manner, manner

ROWS = "region,size,n\n" + "\n".join(
    f"{r},{c},{v}"
    for r, line in zip("abc", ([3, 2000, 31], [20, 25, 40], [21, 29, 19]), strict=True)
    for c, v in zip("xyz", line, strict=True)
)
PROTECT = ("--by", "region,size", "--aggregated", "--value", "n", "--count", "n",
           "--rules", "FREQ(5,10)")  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text(ROWS)
    return path


def run(*words: object) -> object:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_every_command_can_be_quiet_and_those_with_facts_give_json() -> None:
    def leaves(group):
        for below in group.commands.values():
            yield from leaves(below) if hasattr(below, "commands") else [below]

    commands = list(leaves(get_command(app)))
    assert len(commands) > 10
    for command in commands:
        options = {name for param in command.params for name in param.opts}
        assert "--quiet" in options
        assert ("--json" in options) == ("--summary" in options)


def test_json_is_what_the_summary_holds_and_tells_no_suppressed_value(data, tmp_path) -> None:
    facts = tmp_path / "facts.json"
    found = run("protect", data, *PROTECT, "--json", "--quiet", "--summary", facts)
    assert found.exit_code == 0, found.output
    assert found.stderr == ""
    assert json.loads(found.stdout) == json.loads(facts.read_text())
    assert json.loads(found.stdout)["suppressed"] == 4
    assert "2000" not in found.stdout
    # The switches are those of one command, not of what comes after it.
    assert manner.get() == Manner()
    again = run("protect", data, *PROTECT)
    assert again.stdout.startswith("region,size")
    assert "Audited" in again.stderr


def test_json_of_a_release_and_of_its_attacks(data, tmp_path) -> None:
    release = tmp_path / "r.json"
    assert run("protect", data, *PROTECT, "--release", release, "--quiet").exit_code == 0
    matching = run("attack", "matching", release, "--json")
    assert json.loads(matching.stdout)["suppressed"] == 4
    report = run("attack", "report", release, "--json")
    assert json.loads(report.stdout)["suppressed"] == 4
    same = run("diff", release, release, "--json")
    assert json.loads(same.stdout)["together"] == {"disclosed": [], "narrowed": 0}


def test_looking_and_jobs_give_facts(data, tmp_path) -> None:
    records = tmp_path / "records.csv"
    records.write_text("region,size\n" + "a,x\na,y\nb,x\nb,x\nb,y\n" * 9)
    looked = json.loads(run("inspect", records, "--by", "region,size", "--json").stdout)
    assert looked["records"] == 45
    assert [table["cells"] for table in looked["tables"]] == [9]
    for name, by in (("good", "region"), ("bad", "nowhere")):
        (tmp_path / f"{name}.toml").write_text(
            f'[data]\nfile = "records.csv"\n[[table]]\nname = "{name}"\nby = ["{by}"]\n'
            '[rules]\nsensitive = "FREQ(2,1)"\n'
        )
    (tmp_path / "worse.toml").write_text("[data]\n")
    found = run("run", tmp_path, "--json", "--summary", tmp_path / "facts.json")
    assert found.exit_code == 2  # one job cannot be read, one has no such column; the third is done
    facts = json.loads(found.stdout)
    assert facts == json.loads((tmp_path / "facts.json").read_text())
    good, bad, worse = (facts[str(tmp_path / f"{name}.toml")] for name in ("good", "bad", "worse"))
    assert good["tables"][0]["names"] == ["good"]
    assert "good.csv" in good["files"]
    assert "nowhere" in bad["error"]
    assert "there is no table" in worse["error"]


def test_errors_are_said_even_if_quiet(data) -> None:
    found = run("protect", data, "--by", "region,siz", "--rules", "FREQ(3,5)", "--quiet")
    assert found.exit_code == 2
    assert found.stderr.startswith("Error: ")


def test_shells_complete_verbs() -> None:
    asked = {"_CELLVEIL_COMPLETE": "complete_bash", "COMP_WORDS": "cellveil d", "COMP_CWORD": "1"}
    program = "import sys; sys.argv = ['cellveil']; from cellveil.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | asked, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert set(done.stdout.split()) == {"demo", "diff", "doctor"}
