"""Schedules of the cut loop of which some phases are replaced, and runs that stop before others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from csp import Problem
from csp.clock import UNLIMITED, Clock
from csp.solve.exact import schedule
from csp.solve.exact.cut_loop import follow
from csp.solve.exact.state import Run


def replace_phases(
    patch: pytest.MonkeyPatch, works: dict[str, Callable[..., Any]], *, only: bool = False
) -> None:
    """Have phases do something else, by name; with `only`, leave all others out."""
    for name in ("CUTS", "BRANCH"):
        whole = getattr(schedule, name)
        phases = tuple(
            replace(phase, work=works.get(phase.name, phase.work))
            for phase in whole.phases
            if not only or phase.name in works
        )
        patch.setattr(schedule, name, replace(whole, phases=phases))


def work_of(name: str) -> Callable[[Run, Clock], None]:
    """What a phase does."""
    phases = (*schedule.CUTS.phases, *schedule.BRANCH.phases)
    return next(phase.work for phase in phases if phase.name == name)


def run_before(problem: Problem, name: str) -> Run:
    """A run on a table that is not a network, stopped before a phase."""
    run = Run(problem, UNLIMITED, 0.0, False, 0, None)
    for phase in schedule.BRANCH.phases:
        if phase.name == name:
            return run
        follow(run, phase)
    raise AssertionError(name)
