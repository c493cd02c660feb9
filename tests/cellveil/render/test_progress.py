"""Progress where a person looks at it: a terminal, or a cell of a notebook."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from cellveil.render import progress
from cellveil.render.progress import Bar, Meter
from cellveil.render.screen import Manner, manner
from csp.solve.result import Progress


class Shown:
    """What a notebook shows in one place, one state after the other."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def update(self, html: str) -> None:
        self.states.append(html)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> list[Shown]:
    shown: list[Shown] = []

    def display(html: str, *, display_id: bool) -> Shown:
        assert display_id
        shown.append(Shown())
        return shown[-1]

    package = types.ModuleType("IPython")
    inside: Any = types.ModuleType("IPython.display")
    inside.HTML, inside.display = str, display
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", inside)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    return shown


def test_a_notebook_shows_phase_and_quality_and_then_nothing(cell: list[Shown]) -> None:
    with Meter("reading <files>") as meter:
        meter._timer.join()
        meter(now := Progress("branch", 500, 1000, 1.0, 400))
    (place,) = cell
    assert "reading &lt;files&gt;" in place.states[0]
    assert "branching" in place.states[-2]
    assert "400 cells suppressed" in place.states[-2]
    assert 0 < now.gap_at_most < 1
    assert f'value="{1 - now.gap_at_most:.3f}"' in place.states[-2]
    assert place.states[-1] == ""


def test_counted_work_is_a_share(cell: list[Shown]) -> None:
    with Bar("tables") as bar:
        bar._timer.join()
        bar(1, 4)
    (place,) = cell
    assert 'value="0.250"' in place.states[-2]
    assert "tables" in place.states[-2]


def test_quiet_means_no_progress(cell: list[Shown]) -> None:
    before = manner.set(Manner(quiet=True))
    try:
        with Meter("reading"), Bar("tables") as bar:
            bar(1, 2)
    finally:
        manner.reset(before)
    assert cell == []
