"""The program that serves the page, for tests: on this machine alone, and it ends with the test."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cellveil.app import acts
from tests.support.shared import ROOT

__all__ = ["FIRST", "Served", "serving"]

FIRST = {
    "method": "init",
    "data": {
        "kind": "records", "by": [], "few": True, "few_n:shiny.number": 3,
        "protect:shiny.action": 0,
        **{f".clientdata_output_{name}_hidden": False
           for name in ("columns", "reading", "stop_reading_place", "sensitive", "progress")},
    },
}  # fmt: skip
"""First message of a page."""


@dataclass
class Served:
    """The program, the address that it printed, and the cookie of a browser inside."""

    process: subprocess.Popen[str]
    address: str
    place: Path
    cookie: str = field(default="")

    @property
    def host(self) -> str:
        return self.address.removeprefix("http://").partition("/")[0]

    @property
    def ticket(self) -> str:
        return self.address.partition("token=")[2]

    def get(
        self, path: str = "/", timeout: float = 30, method: str = "GET", **headers: str
    ) -> tuple[int, str]:
        """Status and text of an answer; a cookie that comes with it is kept."""
        asked = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            named = {name.capitalize(): value for name, value in headers.items()}
            if self.cookie:
                named["Cookie"] = self.cookie
            asked.putrequest(method, path, skip_host="Host" in named)
            for name, value in named.items():
                asked.putheader(name, value)
            asked.endheaders()
            found = asked.getresponse()
            given = found.getheader("set-cookie")
            if given:
                self.cookie = given.partition(";")[0]
            return found.status, found.read().decode()
        finally:
            asked.close()

    def enter(self) -> Served:
        """Open the page, as a browser does."""
        status, _ = self.get(f"/?token={self.ticket}")
        assert status == 200
        return self

    @contextmanager
    def page(self) -> Iterator[Any]:
        """Connection of an open page; what it is told are lines of JSON."""
        from websockets.sync.client import connect

        with connect(
            f"ws://{self.host}/websocket/", origin=f"http://{self.host}",
            additional_headers={"Cookie": self.cookie}, max_size=None,
        ) as socket:  # fmt: skip
            yield socket


def told(socket: Any, words: str, seconds: float = 60) -> str:
    """First message that holds these words."""
    while True:
        text = socket.recv(timeout=seconds)
        if words in text:
            return str(text)


def send(socket: Any, message: Any) -> None:
    socket.send(message if isinstance(message, (str, bytes)) else json.dumps(message))


@contextmanager
def serving(
    place: Path, *words: str, act: str = "", most: int = 0, stdin: Any = subprocess.DEVNULL,
    environment: dict[str, str] | None = None,
) -> Iterator[Served]:  # fmt: skip
    """Serve the page from a folder, where temporary files go too.

    `act` is a function of `acts` that stands for the tasks, `most` the size of the largest file.
    """
    program = "from cellveil.app import server, serve\nfrom functools import partial\n"
    if act:
        assert hasattr(acts, act)
        program += (
            f"from tests.cellveil.app.acts import {act}\n"
            f"server.Worker = partial(server.Worker, act={act})\n"
        )
    if most:
        program += f"serve.Gate = partial(serve.Gate, most={most})\n"
    program += "from cellveil.__main__ import main\nif __name__ == '__main__':\n    main()\n"
    (place / "program.py").write_text(program)
    temporary = place / "temporary"
    temporary.mkdir(exist_ok=True)
    shell = [] if words and "--browser" in words else ["--no-browser"]
    process = subprocess.Popen(
        [sys.executable, place / "program.py", "app", "--idle", "2", *shell, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=stdin, text=True, cwd=place,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT),
             **(environment or {})},
    )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", line), process.stderr
            yield Served(process, line, temporary)
        finally:
            process.kill()
