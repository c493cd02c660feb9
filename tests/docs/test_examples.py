"""The examples of README.md and docs/ run as they are printed."""

from __future__ import annotations

import ast
import re
import shlex
import sys

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
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # By the key hangs which decoys are drawn, and how long the posterior of an example takes.
    monkeypatch.setattr("secrets.token_bytes", lambda n: bytes(range(7, 7 + n)))
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": page.stem}
    shown = ""
    for kind, body in BLOCK.findall(text):
        if kind == "python":
            # Blank lines in front make a traceback name the line of the page.
            before = text[: text.index(body)].count("\n")
            source = "\n" * before + body
            printed: dict[int, list[str]] = {}
            names["print"] = printer(printed)
            exec(compile(source, str(page), "exec"), names)  # noqa: S102, RUF100
            for line, expected in outputs(source):
                assert any(like(expected, one) for one in printed[line]), (line, printed[line])
        elif kind == "console":
            shown = ""
            for app, words in commands(body):
                result = CliRunner().invoke(app, words)
                assert result.exit_code == 0, (words, result.output)
                shown += result.output
        elif shown:
            # What a page shows of a command is what the command prints.
            lines = {" ".join(line.split()) for line in shown.splitlines()}
            assert {" ".join(line.split()) for line in body.splitlines()} <= lines


def printer(printed):
    """A function in the place of print that notes what it would print, by the line of the call."""

    def note(*values, sep=" ", **_):
        line = sys._getframe(1).f_lineno
        printed.setdefault(line, []).append(sep.join(map(str, values)))

    return note


def outputs(source):
    """Lines of calls of print with what stands behind them: remarks begin in lower case."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        ):
            _, _, said = lines[node.end_lineno - 1].partition("  # ")
            if said and not said[0].islower():
                yield node.lineno, said


def like(expected, text):
    """Whether a text is the one expected, in which "..." stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, expected.split("..."))), text, re.DOTALL)


def commands(body):
    """Commands of a console block, as program and words; what they print is not compared."""
    for line in body.replace("\\\n", " ").splitlines():
        for beginning, app in PROGRAMS.items():
            if line.startswith(beginning):
                yield app, shlex.split(line.removeprefix(beginning))


def test_what_a_page_shows_is_told_apart_from_what_is_printed():
    assert list(outputs("print(1)  # 1\nprint(\n    2\n)  # 3/10\nprint(4)  # a remark\n")) == [
        (1, "1"), (2, "3/10"),
    ]  # fmt: skip
    printed = {}
    exec("print(1, 2)\n\nprint(\n    'a', sep='')", {"print": printer(printed)})
    assert printed == {1: ["1 2"], 3: ["a"]}
    assert like("A(7 cells: ..., 3)", "A(7 cells: 4 open, 3)")
    assert not like("A(7 cells: ..., 3)", "A(8 cells: 4 open, 3)")


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
