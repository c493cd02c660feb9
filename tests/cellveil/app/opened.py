"""The page in a real browser, for tests: served once for a module, opened for each test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

__all__ = ["address", "inside", "page"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the page; it ends by itself soon after the last test has closed it."""
    place = tmp_path_factory.mktemp("served")
    running = subprocess.Popen(
        [sys.executable, "-m", "cellveil", "app", "--no-browser", "--idle", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(place)},
    )  # fmt: skip
    assert running.stdout is not None
    line = running.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:"), running.communicate()[1]
    yield line
    running.terminate()
    _, said = running.communicate(timeout=30)
    assert running.returncode == 0, said
    # Nothing that was not saved is left.
    assert list(place.iterdir()) == []


@pytest.fixture(scope="module")
def inside(browser: Any, address: str) -> Iterator[Any]:
    """Browser that has used the address: it is void for others."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(inside: Any, address: str) -> Iterator[Any]:
    opened = inside.new_page()
    opened.elsewhere = []
    opened.told = []
    opened.on("request", lambda asked: opened.elsewhere.append(asked.url))
    opened.on("websocket", lambda ws: ws.on("framereceived", lambda got: opened.told.append(got)))
    opened.goto(address)
    opened.wait_for_selector("#by", state="attached")
    yield opened
    opened.close()
    assert all(
        url.startswith((address.partition("/?")[0], "data:", "blob:", "about:"))
        for url in opened.elsewhere
    )
