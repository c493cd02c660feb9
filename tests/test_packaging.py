"""What is said about the package in several files is the same in all of them."""

from __future__ import annotations

import re
import tomllib

from tests.support.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def squeezed(requirements: list[str]) -> set[str]:
    return {re.sub(r"\s", "", requirement) for requirement in requirements}


def test_conda_asks_for_what_pip_asks_for() -> None:
    recipe = text("conda/recipe.yaml")
    section = recipe.split("  run:\n")[1].split("\n\n")[0]
    asked = squeezed(re.findall(r"^    - (.*)$", section, re.MULTILINE))
    python = PROJECT["project"]["requires-python"]
    wanted = squeezed(PROJECT["project"]["dependencies"])
    # The name `duckdb` is the database's own command line there.
    wanted = {re.sub("^duckdb", "python-duckdb", name) for name in wanted} | {f"python{python}"}
    assert asked == wanted
    built = recipe.split("  host:\n")[1].split("  run:\n")[0]
    assert squeezed(PROJECT["build-system"]["requires"]) <= squeezed(
        re.findall(r"^    - (.*)$", built, re.MULTILINE)
    )


def test_one_version() -> None:
    version = PROJECT["project"]["version"]
    assert f'version: "{version}"' in text("conda/recipe.yaml")
    assert f"version: {version}" in text("CITATION.cff")


def test_the_long_description_has_no_link_that_leads_nowhere() -> None:
    readme = text("README.md")
    for rule in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        readme = re.sub(rule["pattern"], rule["replacement"], readme)
    targets = re.findall(r"\]\(([^)]*)\)", readme)
    assert all(target.startswith(("https://", "#")) for target in targets)


def test_sources_of_the_paper_are_all_used_and_all_there() -> None:
    cited = set(re.findall(r"@([a-z]+[0-9]{4})", text("paper.md")))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", text("paper.bib"), re.MULTILINE))


def test_all_brings_nothing_for_developers() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for name in ("test", "docs", "browser", "bench"):
        assert name not in re.findall(r"\w+", extras["all"][0])
