"""What several tests share: data found beside the project, and numbers of examples."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings

from csp.clock import now
from csp.compiled import Kernels

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""

EXAMPLES = 60
"""Examples of a property in the suite, where it does not say otherwise."""


def examples(count: int) -> settings:
    """`count` examples in the suite, and in proportion more under a larger profile."""
    return settings(max_examples=max(1, count * settings().max_examples // EXAMPLES))


def shared_data(*parts: str) -> Path:
    """Path below the directory CELLVEIL_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("CELLVEIL_DATA", ROOT.parent / "shared" / "data"))
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {'/'.join(parts)} in CELLVEIL_DATA or ../shared/data")
    return path


@contextmanager
def uncompiled(*kernels: Kernels) -> Iterator[None]:
    """Run the plain functions wherever the compiled ones would run."""
    with pytest.MonkeyPatch.context() as patch:
        for one in kernels:
            patch.setitem(vars(one), "compiled", one.plain)
            # Else time decides: once compiling pays, what is kept on disk is looked up.
            patch.setitem(vars(one), "choose", lambda *, one=one, **_: one.plain)
        yield


@contextmanager
def kept_limit(seconds: float) -> Iterator[None]:
    """Assert that what runs inside keeps a time limit: 1.5 times the limit and a second.

    On a busy machine the wall goes on while nothing is done: there CPU time counts.
    """
    began, busy = now(), time.process_time()
    yield
    wall, cpu = now() - began, time.process_time() - busy
    assert min(wall, cpu) <= 1.5 * seconds + 1, f"{wall} s, {cpu} s of CPU, limit {seconds} s"
    assert wall <= 10 * (seconds + 1), f"{wall} s for a limit of {seconds} s"
