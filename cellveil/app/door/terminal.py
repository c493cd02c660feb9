"""What the terminal offers while the page is served: it opens the browser, and gives addresses."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Callable
from time import sleep

from cellveil.render.screen import say

__all__ = ["give_on_enter", "open_browser"]

PAUSE = 0.05
"""Seconds between two looks at whether the server answers."""


def open_browser(address: str, ready: Callable[[], bool]) -> None:
    """Open the browser beside the program, as soon as that is `ready`.

    A command that stays until its window is closed holds up nobody.
    """

    def run() -> None:
        while not ready():
            sleep(PAUSE)
        try:
            opened = webbrowser.open(address)
        except (webbrowser.Error, OSError):
            opened = False
        if not opened:
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
