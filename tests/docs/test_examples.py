"""The examples of README.md and docs/ run as they are printed."""

from __future__ import annotations

import re
import shlex

import pytest
from typer.testing import CliRunner

import benchmarks.command
import cellveil.cli.app
import studies.command
from tests.support.shared import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = {
    "$ cellveil ": cellveil.cli.app.app,
    "$ python -m benchmarks ": benchmarks.command.app,
    "$ python -m studies ": studies.command.app,
}
"""Command lines by how they begin in a page."""
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}
    for kind, body in BLOCK.findall(text):
        if kind == "python":
            # Blank lines in front make a traceback name the line of the page.
            before = text[: text.index(body)].count("\n")
            exec(compile("\n" * before + body, str(page), "exec"), names)  # noqa: S102, RUF100
        else:
            for app, words in commands(body):
                result = CliRunner().invoke(app, words)
                assert result.exit_code == 0, (words, result.output)


def commands(body):
    """Commands of a console block, as program and words; what they print is not compared."""
    for line in body.replace("\\\n", " ").splitlines():
        for beginning, app in PROGRAMS.items():
            if line.startswith(beginning):
                yield app, shlex.split(line.removeprefix(beginning))


def test_readme_has_its_examples_and_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    kinds = [kind for kind, _ in BLOCK.findall(text)]
    assert kinds.count("python") >= 2
    assert "console" in kinds
    assert '.venv/bin/pip install -e ".[test]" && .venv/bin/python -m pytest' in text
    assert ".venv/bin/pip install . pandas && .venv/bin/cellveil demo" in text


def test_links_of_the_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_promise_names_a_test_that_exists():
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 30
    for file, test in named:
        code = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {test}\b", code, re.MULTILINE) if test else True, f"{file}::{test}"
