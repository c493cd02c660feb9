"""cellveil audit --records: a release beside the records that it was made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from typer.testing import CliRunner

import instances
from cellveil.cli.app import app
from csp import Table
from csp.audits.second_reading import Columns, by_layout, layout_of

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


LAYOUT = """<SEPARATOR> ","
region
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "demo.hrc"
sector
  <RECODEABLE>
enterprise
  <HOLDING>
turnover
  <NUMERIC>
"""


@pytest.mark.usefixtures("survey")
def test_files_with_layouts_and_what_is_known_beforehand() -> None:
    Path("demo.rda").write_text(LAYOUT)
    lines = Path("demo.csv").read_text().splitlines(keepends=True)
    assert lines[0].split(",")[:3] == ["region", "sector", "enterprise"]
    Path("demo.asc").write_text("".join(lines[1:]))
    known = ["demo.asc", "--rda", "demo.rda", "--value", "turnover", "--contributor", "enterprise"]
    Path("known.hst").write_text("North,,u\nE1,Services,p\n")
    rules = ["--rules", f"{RULES}|MAN(10)", "--apriori", "known.hst"]
    code, said = run("protect", *known, "--by", "region,sector", *rules, "--release", "two.json")
    assert code == 0, said
    code, said = run("audit", "two.json", "--records", *known, *rules)
    assert (code, said) == (0, "Read twice, both agree: 98 cells.\n")
    Path("known.hst").write_text("North,,u\nE1,Services,m\n")
    code, said = run("audit", "two.json", "--records", *known, *rules)
    assert code == 1
    assert "cell (E1, Services) is published, and the opposite was said beforehand" in said


@pytest.mark.usefixtures("survey")
def test_protect_reads_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["protect", "demo.csv", "--by", "region,sector", *OPTIONS, "--rules", RULES, "--reread"]
    files = ["-o", "out.csv", "--report", "report.html", "--summary", "facts.json"]
    code, said = run(*words, *files)
    assert code == 0
    assert "Read twice, both agree: 98 cells." in said
    assert "Read twice, both agree: 98 cells." in Path("report.html").read_text()
    assert (
        "Read twice, both agree: 98 cells."
        in json.loads(Path("report.json").read_text())["guarantee"]
    )
    for path in ("out.csv", "report.html"):
        Path(path).unlink()
    true = Table.from_microdata

    def misread(data: Any, *given: Any, **options: Any) -> Table:
        return true({name: column[:-1] for name, column in data.items()}, *given, **options)

    monkeypatch.setattr(Table, "from_microdata", staticmethod(misread))
    code, said = run(*words, *files)
    assert code == 1
    assert "The second reading differs: cell (" in said
    assert "Nothing was published." in said
    assert not Path("out.csv").exists()
    assert not Path("report.html").exists()
    assert not json.loads(Path("facts.json").read_text())["agree"]
    several = ["demo.csv", "demo.csv", "--by", "region,sector", *OPTIONS, "--rules", RULES]
    assert run("protect", *several, "-o", "here", "--reread")[0] == 2


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_total_has_one_form(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{r},{s}" for r in ("Nö", "Sü") for s in "xyz" for _ in range(5)]
    Path("m.csv").write_text("\n".join(["r,s", *rows]) + "\n", encoding="utf-8")
    total = normalize(form, "Überall")
    code, said = run("protect", "m.csv", "--by", "r,s", "--rules", "FREQ(3,10)", "--total", total,
                     "--release", "release.json", "--reread")  # fmt: skip
    assert code == 0, said
    code, said = again("--total", f"r={total}", "--total", f"s={total}", records="m.csv")
    assert code == 0, said


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_codes_of_a_layout_have_one_form(form: str, tmp_path: Path) -> None:
    said = '<SEPARATOR> ","\nr Ré\n<RECODEABLE>\n<TOTCODE> "Tö"\n<HIERARCHICAL>\n<HIERLEVELS> 1 1\n'
    (tmp_path / "t.rda").write_text(normalize(form, said + "v\n<NUMERIC>\n"), encoding="utf-8")
    text = normalize(form, "Éa,5\nÉ,5\nRé,7\nTö,12\n")
    (tmp_path / "t.tab").write_text(text, encoding="utf-8")
    found = by_layout(tmp_path / "t.tab", layout_of(tmp_path / "t.rda"), Columns(()))
    assert found[0]["r"] == ["Éa", "É", "Ré", "Tö"]
    assert found[1].root("r") == "Tö"
    assert found[1].hierarchies == {"r": [{"É": "", "Éa": "É", "Ré": ""}]}
