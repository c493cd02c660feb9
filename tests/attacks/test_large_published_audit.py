"""Audits of large published tables: the same interface, and no value unless it is asked for."""

from __future__ import annotations

import json

import numpy as np
import pytest

import attacks
from attacks import published_audit
from csp import Release
from instances.business_patterns import business_patterns
from tests.attacks.large_releases.test_engine import READ


@pytest.fixture
def audits(monkeypatch: pytest.MonkeyPatch):
    """The same table, judged as a large one and as a small one."""
    drawn = business_patterns(industries=16, states=2, counties=14, seed=2)
    release = Release.from_frame(drawn.columns, ["naics", "area"], "emp", **READ)
    small = attacks.audit_published(release, mend=False)
    monkeypatch.setattr(published_audit, "_LARGE", 10)
    return drawn, attacks.audit_published(release), small


def test_large_and_small_agree(audits) -> None:
    drawn, large, small = audits
    exact = small.disclosure.cells[small.disclosure.exact]
    assert large.disclosed
    assert large.disclosed == tuple(exact.tolist())
    assert {*large.disclosed} <= {*small.disclosed}
    narrow = large.disclosure.cells[large.narrow]
    assert {*narrow.tolist()} <= {*small.disclosure.cells[small.narrow | small.known].tolist()}
    columns = large.columns(reveal=True)
    for cell, verdict, low, high in zip(
        large.disclosure.cells.tolist(), columns["verdict"], columns["lower"], columns["upper"],
        strict=True,
    ):  # fmt: skip
        if verdict == "disclosed":
            assert low == high == str(drawn.employment[cell])
    facts = large.summary(reveal=True)
    assert facts["disclosed"] == len(large.disclosed)
    assert [one["value"] for one in facts["disclosed_cells"]] == [
        str(drawn.employment[cell]) for cell in large.disclosed
    ]


def test_it_is_said_how_a_large_table_was_judged(audits) -> None:
    _, large, small = audits
    said = " ".join(large.sentences())
    assert "This is a large table" in said
    assert "No other cell can be worked out" in said
    assert "large table" not in " ".join(small.sentences())
    assert set(large.reasons) == set(large.disclosed[:20])
    assert all(large.reasons.values())


def test_no_value_is_told_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_audit, "_LARGE", 1)
    rows = [["", "a", "b", "Total"], ["r", "[c]", 45, 98765], ["s", 12, 8, 20],
            ["Total", "[c]", 53, 98785]]  # fmt: skip
    large = attacks.audit_published(Release.from_frame(rows))
    for text in (str(large), repr(large), json.dumps(large.summary()), large._repr_html_()):
        assert "98720" not in text
        assert "98732" not in text
    assert "98720" in large.text(reveal=True)


def test_contradictions_of_a_large_table_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_audit, "_LARGE", 1)
    rows = [["", "a", "b", "Total"], ["r", "[c]", "[c]", 10], ["s", 12, 8, 20],
            ["Total", 13, 10, 30]]  # fmt: skip
    release = Release.from_frame(rows, total={"rows": "Total", "columns": "Total"})
    assert np.any(release.pattern)
    assert attacks.audit_published(release).contradictions
