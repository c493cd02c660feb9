"""The site: every page has its place, every public name its entry, every link its page."""

from __future__ import annotations

import re
import sys
from collections import Counter
from importlib import import_module

import pytest

from tests.docs.options import PAGE, text
from tests.support.shared import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = Counter(re.findall(r"(?:: |- )([\w/-]+\.md)$", navigation, re.MULTILINE))
    assert listed == Counter(page.relative_to(DOCS).as_posix() for page in PAGES)


@pytest.mark.parametrize("package", ["csp", "attacks", "microagg"])
def test_every_public_name_has_one_entry(package: str) -> None:
    entries = [
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in re.findall(rf"^::: {package}\.(\w+)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    # A name that a module of Python has is offered, but not by `from package import *`.
    offered = import_module(package)
    kept_back = {name for name in entries if name in sys.stdlib_module_names}
    assert all(hasattr(offered, name) for name in kept_back)
    assert sorted(entries) == sorted([*offered.__all__, *kept_back])


def test_links_of_all_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(
    "page", ["index.md", "glossary.md", "from-tau-argus.md", "from-sdctable.md", "from-sdcmicro.md"]
)
def test_names_of_a_page_are_names_of_the_library(page: str) -> None:
    named = re.findall(
        r"`((?:csp|attacks|microagg)\.[\w.]+)", (DOCS / page).read_text(encoding="utf-8")
    )
    assert len(named) > 3
    for name in named:
        package, *rest = name.split(".")
        found = import_module(package)
        for i, part in enumerate(rest, 2):
            if not hasattr(found, part):
                found = import_module(".".join(name.split(".")[:i]))
            else:
                found = getattr(found, part)


def test_the_site_asks_no_other_server() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "://" not in settings


def test_decisions_are_listed_with_their_titles_and_dates() -> None:
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    records = [page for page in PAGES if page.parent.name == "decisions" and page.stem != "index"]
    assert len(records) >= 12
    for page in records:
        text = page.read_text(encoding="utf-8")
        match = re.match(r"# (\d+)\. (.+)\n\n(\d{4}-\d\d-\d\d)\n", text)
        assert match, page.name
        number, title, date = match.groups()
        assert page.name.startswith(f"{int(number):02d}-")
        assert f"| {date} | [{title}]({page.name}) |" in index
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == ["Context", "Choice", "Consequence"], page.name


def test_the_page_of_options_says_what_requests_say() -> None:
    assert PAGE.read_text() == text(), "write it anew: python -m tests.docs.options"
