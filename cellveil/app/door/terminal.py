"""What the terminal offers while the page is served: it opens the browser, and gives addresses."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from time import sleep
from typing import Any

from cellveil.render.screen import say

OPEN = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
"""Program that opens an address; one of its own, since permissions are those of a process."""

PAUSE = 0.05
"""Seconds between two looks at whether the server answers."""


def open_browser(address: str, ready: Callable[[], bool], mask: int) -> None:
    """Open the browser beside the program, as soon as that is `ready`.

    A command that stays until its window is closed holds up nobody. `mask` is the one of the user,
    who has no reason to find later downloads private.
    """

    def run() -> None:
        while not ready():
            sleep(PAUSE)
        command = [sys.executable, "-c", OPEN, address]
        # In a session of its own Ctrl-C, which ends the program, does not end the browser.
        own: dict[str, Any] = {"umask": mask, "start_new_session": True}
        ended = subprocess.run(command, check=False, **own if os.name == "posix" else {})
        if ended.returncode:
            say("The browser could not be opened; open the address above in it.")

    threading.Thread(target=run, name="browser", daemon=True).start()


def give_on_enter(give: Callable[[], None]) -> bool:
    """Call `give` for each line that a person enters; False if nobody can."""
    if not sys.stdin or not sys.stdin.isatty():
        return False
    threading.Thread(target=_listen, args=(sys.stdin.fileno(), give), daemon=True).start()
    return True


def _listen(terminal: int, give: Callable[[], None]) -> None:
    """Take lines off the terminal, not by a buffered file, whose lock would outlive this thread."""
    while True:
        if os.name == "posix" and not _is_next(terminal):
            continue
        try:
            line = os.read(terminal, 1024)
        except OSError:
            return
        if not line:  # Ctrl-D
            return
        give()


def _is_next(terminal: int) -> bool:
    """Whether a line waits that is for this program: the system stops one in the background."""
    import select

    waiting, _, _ = select.select([terminal], [], [], 1.0)
    if not waiting:
        return False
    try:
        ours = os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:  # not the controlling terminal: nobody else's
        return True
    if not ours:
        sleep(1.0)
    return ours
