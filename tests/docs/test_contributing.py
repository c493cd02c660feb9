"""The worked examples of CONTRIBUTING.md fit the code, and the rule that they add works."""

from __future__ import annotations

import pkgutil
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import csp
import csp.rules
import instances
from csp import Mechanism, PPercent, protect
from csp.rules import words
from tests.support.shared import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = ("csp", "attacks", "microagg")
BLOCK = re.compile(r"^```(python|diff)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def _everything_is_imported() -> None:
    """What is first imported while an example is applied would keep it."""
    for package in PACKAGES:
        home = import_module(package)
        for module in pkgutil.walk_packages(home.__path__, f"{package}."):
            import_module(module.name)
        for name in home.__all__:
            getattr(home, name)
    import_module("tests.csp.solve.test_cuts")


def blocks(title: str) -> list[tuple[str, str, str]]:
    """Kind, path and body of the code under a heading; the first line of a block is its path."""
    (section,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    found = []
    for kind, body in BLOCK.findall(section):
        head, _, rest = body.partition("\n")
        found.append((kind, head.split(maxsplit=1)[1], rest))
    return found


def changed(path: str, diff: str) -> str:
    """Source of a file with the changes of a diff, whose hunks are divided by lines of dots."""
    source = (ROOT / path).read_text(encoding="utf-8")
    for hunk in diff.split("...\n"):
        lines = hunk.splitlines()
        before = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        after = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        assert source.count(before) == 1, f"CONTRIBUTING.md does not fit {path}:\n{before}"
        source = source.replace(before, after)
    return source


def use(monkeypatch: pytest.MonkeyPatch, folder: Path, path: str, source: str) -> ModuleType:
    """Import a source in place of the module that stands there, if any.

    A new file is also found by who looks through its folder.
    """
    name = path.removesuffix(".py").replace("/", ".")
    if name.split(".")[0] in PACKAGES and not (ROOT / path).exists():
        (folder / Path(path).name).write_text(source, encoding="utf-8")
        home = import_module(name.rpartition(".")[0])
        monkeypatch.setattr(home, "__path__", [*home.__path__, str(folder)])
    before = vars(import_module(name)) if (ROOT / path).exists() else {}
    module = ModuleType(name)
    module.__file__ = str(ROOT / path)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102, RUF100
    top = sys.modules[name.split(".")[0]]
    for public in vars(module).get("__all__", ()):
        old, new = before.get(public), vars(module)[public]
        if old is None and before:  # the example makes the name public in its package
            monkeypatch.setattr(top, public, new, raising=False)
        for other in [m for key, m in sys.modules.items() if key.split(".")[0] in PACKAGES]:
            if old is not None and vars(other).get(public) is old:
                monkeypatch.setattr(other, public, new)
    return module


def apply(monkeypatch: pytest.MonkeyPatch, folder: Path, title: str) -> dict[str, ModuleType]:
    """Make the new and changed modules of an example the ones that are imported."""
    made = {}
    monkeypatch.setattr(words, "_RULES", dict(words._RULES))  # what an example registers
    for kind, path, body in blocks(title):
        source = body if kind == "python" else changed(path, body)
        if not path.endswith(("__init__.py", ".pyi")):
            made[path] = use(monkeypatch, folder, path, source)
    return made


def run_tests(module: ModuleType) -> int:
    found = [value for name, value in vars(module).items() if name.startswith("test_")]
    for test in found:
        test()
    return len(found)


@pytest.mark.parametrize("title", re.findall(r"^## (A new .*)$", TEXT, re.MULTILINE))
def test_every_example_fits_the_code(title: str) -> None:
    found = blocks(title)
    assert [kind for kind, *_ in found].count("python") >= 2, "a new file and its tests"
    for kind, path, body in found:
        if kind == "diff":
            body = changed(path, body)
        else:
            assert not (ROOT / path).exists(), f"{path} is there already"
        compile(body, path, "exec")


def test_there_are_three_examples() -> None:
    assert len(re.findall(r"^## A new ", TEXT, re.MULTILINE)) == 3


def test_paths_of_the_page_exist() -> None:
    new = {path for title in re.findall(r"^## (A new .*)$", TEXT, re.MULTILINE)
           for kind, path, _ in blocks(title) if kind == "python"}  # fmt: skip
    named = re.findall(r"`((?:csp|attacks|microagg|tests|docs)/[\w/]+(?:\.pyi?|\.md|/))`", TEXT)
    assert len(named) > 6
    for path in set(named) - new:
        assert (ROOT / path).exists(), path
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert "://" in target or (ROOT / target).exists(), target


@pytest.mark.parametrize(
    ("title", "tests"),
    [
        ("A new partition method", "tests/test_sorting.py"),
        ("A new separator of cuts", "tests/test_relation_cuts.py"),
    ],
)
def test_the_tests_of_the_other_examples_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, title: str, tests: str
) -> None:
    assert run_tests(apply(monkeypatch, tmp_path, title)[tests]) == 2


# ---- the sensitivity rule --------------------------------------------------------------------


def test_the_new_rule_works_in_a_mechanism(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = apply(monkeypatch, tmp_path, "A new sensitivity rule")
    assert run_tests(made["tests/test_remainder.py"]) == 3
    remainder = made["csp/rules/remainder.py"].Remainder

    table = instances.load("demo")
    people = table.contributors
    rest = people.total - people.top[:, :2].sum(axis=1)
    by_hand = (rest < 50) & (people.count > 0)
    found = remainder(50)(table)
    assert 0 < by_hand.sum() < table.n_cells
    assert (found.primary == by_hand).all()
    assert (found.upl == np.where(by_hand, 50 - rest, 0)).all()

    protected = Mechanism(remainder(50)).protect(table)
    assert protected.audit.safe
    assert (protected.problem.primary == by_hand).all()
    assert (protected.pattern >= by_hand).all()
    assert (protected.audit.upper - table.values >= 50 - rest)[by_hand].all()

    # It stands beside other rules, in objects and in text, and a mechanism with it is plain data.
    both = protect(table, "P(10)|REM(50)")
    either = by_hand | PPercent(10)(table).primary
    assert (both.problem.primary == either).all()
    mechanism = Mechanism(remainder(50))
    assert Mechanism.from_dict(mechanism.to_dict()) == mechanism


def test_the_new_rule_is_gone_afterwards() -> None:
    assert "csp.rules.remainder" not in sys.modules
    with pytest.raises(csp.InputError, match="REM"):
        csp.parse_rules("REM(50)")
    assert "REM" not in str(words.every_rule(look=True))
