"""cellveil audit --records: a release beside the records that it was made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import instances
from cellveil.cli.app import app

OPTIONS = ["--value", "turnover", "--contributor", "enterprise"]
RULES = "P(10,1)|FREQ(3,10)"


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(words))
    return found.exit_code, found.output


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("demo.csv", "demo.hrc"):
        Path(name).write_text(instances.path(name).read_text(encoding="utf-8"), encoding="utf-8")
    OPTIONS[4:] = ["--hierarchy", "region=demo.hrc"]
    code, _ = run("protect", "demo.csv", "--by", "region,sector", *OPTIONS, "--rules", RULES,
                  "--release", "release.json")  # fmt: skip
    assert code == 0
    return tmp_path


def again(*words: str, records: str = "demo.csv") -> tuple[int, str]:
    return run("audit", "release.json", "--records", records, *words)


@pytest.mark.usefixtures("survey")
def test_both_agree() -> None:
    assert again(*OPTIONS) == (0, "Read twice, both agree: 98 cells.\n")
    assert again(*OPTIONS, "--by", "region,sector", "--rules", RULES)[0] == 0
    code, _ = again(*OPTIONS, "--summary", "facts.json")
    facts = json.loads(Path("facts.json").read_text())
    assert code == 0
    assert facts["agree"]
    assert facts["safe"]
    assert "attackers" not in facts


@pytest.mark.usefixtures("survey")
def test_records_that_differ_are_told() -> None:
    lines = Path("demo.csv").read_text().splitlines(keepends=True)
    Path("short.csv").write_text("".join(lines[:4] + lines[5:]))
    code, said = again(*OPTIONS, records="short.csv")
    assert code == 1
    assert said.startswith("The second reading differs: cell (")
    assert "is published as" in said


@pytest.mark.usefixtures("survey")
def test_a_cell_that_another_rule_calls_sensitive_is_told_without_its_value() -> None:
    code, said = again(*OPTIONS, "--rules", "P(40,1)")
    assert code == 1
    assert "cell (E1, Services) is sensitive by P(40,1) and is published" in said
    assert "value" not in said
    assert "value" in again(*OPTIONS, "--rules", "P(40,1)", "--reveal")[1]


@pytest.mark.usefixtures("survey")
@pytest.mark.parametrize(
    "words",
    [
        ["--value", "sales"],
        ["--value", "enterprise"],
        [*OPTIONS[:4]],  # North, South, ... are not codes without the hierarchy
        [*OPTIONS, "--hierarchy", "demo.hrc"],
        [*OPTIONS, "--rules", "WORD(1)"],
        [*OPTIONS, "--by", "region"],
        [*OPTIONS, "-o", "x.csv"],
    ],
)
def test_bad_input(words: list[str]) -> None:
    code, said = again(*words)
    if words == OPTIONS[:4]:
        assert code == 1
        assert "its codes are not in the records" in said
    else:
        assert code == 2
        assert said.startswith("Error:")
