"""Claims on record: verdicts are there, recomputations hold, the page is the one committed."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from csp.errors import InputError
from studies.claims.page import page
from studies.claims.recompute import recomputed
from studies.claims.register import Claim, papers, read, tally
from studies.claims.rerun import study_pages
from studies.command import app
from studies.microdata.files import FILES, SHA256, missing
from tests.support.shared import shared_data

DOCS = Path(__file__).parents[2] / "docs"
CLAIMS = [claim for paper in papers() for claim in paper.claims]
# Entries of the papers' tables, which the page counts and does not list.
AS_PRINTED = {0.0035, 0.77}
ENTRY = """paper = "P"
date = 2026-11-23
[[claim]]
id = "one"
where = "1"
says = "two"
verdict = "reproduced"
measured = "two"
"""


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.recompute], ids=lambda c: c.id)
def test_a_recomputation_gives_what_is_on_record(claim: Claim) -> None:
    assert recomputed(claim.recompute) == claim.measured


def test_the_page_is_made_of_the_record() -> None:
    assert (DOCS / "papers.md").read_text(encoding="utf-8") == "\n".join(page(papers())) + "\n"


@pytest.mark.parametrize("name", SHA256)
def test_public_files_are_those_that_were_used(name: str) -> None:
    file = shared_data("microdata", name)
    assert hashlib.sha256(Path(file).read_bytes()).hexdigest() == SHA256[name][1]


def test_every_file_of_the_studies_has_a_source() -> None:
    assert {spec.file for spec in FILES.values()} == set(SHA256)


def test_files_that_are_absent_or_changed_are_told_apart(tmp_path: Path) -> None:
    first, *others = SHA256
    (tmp_path / first).write_text("something else", encoding="utf-8")
    assert missing(tmp_path) == {first: "another version", **dict.fromkeys(others, "absent")}
    assert missing(None) == dict.fromkeys(SHA256, "absent")


@pytest.mark.parametrize("given", [True, False])
def test_studies_that_cannot_be_rerun_are_counted(tmp_path: Path, *, given: bool) -> None:
    found = CliRunner().invoke(app, ["check", *(["--data", str(tmp_path)] if given else [])])
    assert found.exit_code == 0, found.output
    count = sum("--data" in claim.command for claim in CLAIMS)
    text = " ".join(found.output.split())
    assert f"{count} of these studies cannot be rerun" in text
    assert ("without --data FOLDER" in text) is not given
    assert all((f"{name} (absent)" if given else name) in text for name in SHA256)


def _numbers(text: str) -> set[float]:
    return {float(one) for one in re.findall(r"\d*\.\d+(?:e[-+]?\d+)?", text)}


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.command], ids=lambda c: c.id)
def test_figures_of_a_study_are_on_its_page(claim: Claim) -> None:
    # Counts that are derived from a page are whole numbers, and not looked for.
    study = claim.command.split()[3]
    (page_,) = [one for one in study_pages(DOCS) if one.words[0] == study]
    assert _numbers(claim.measured) <= _numbers(page_.path.read_text("utf-8")) | AS_PRINTED


def test_every_claim_is_counted_once() -> None:
    assert sum(tally(CLAIMS).values()) == len(CLAIMS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"reproduced"', '"repeated"', "'repeated' is not a verdict"),
        ('measured = "two"\n', "", "claim 1 (one): 'measured' is missing"),
        ("measured", "mesured", "'mesured' is not a key"),
        (ENTRY[-1], '\nfiles = ["mars"]\n', "'mars' is not a file"),
        (ENTRY[-1], '\ncommand = "x --data F"\n', "'files' must name what the command reads"),
        (ENTRY[-1], '\nfiles = ["iris"]\n', "'files' must name what the command reads"),
        (ENTRY[-1], "\n" + ENTRY.split("2026-11-23")[1], "'one' occurs more than once"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    head, _, tail = ENTRY.rpartition(old)
    file = tmp_path / "p.toml"
    file.write_text(head + new + tail, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(file)
    assert message in str(caught.value)
