"""Serve the page to this machine alone, until it is closed."""

from __future__ import annotations

import errno
import os
import socket
import threading
import warnings
from pathlib import Path
from time import monotonic

import uvicorn

from cellveil.app.door.guard import Guard
from cellveil.app.door.messages import MOST_MESSAGE, Gate
from cellveil.app.door.terminal import give_on_enter, open_browser
from cellveil.app.door.tickets import Tickets
from cellveil.app.folder import private_folder
from cellveil.app.server import Desks, make_app
from cellveil.render.screen import say, tell
from csp.errors import InputError

HOME = "127.0.0.1"
CHECK = 1.0
"""Seconds between two looks at whether the page is still open."""

PATIENCE = 2
"""Seconds that answers on their way have when the program ends."""

BROWSER_TIME = 300.0
"""Seconds in which the browser has to come: everybody on this machine sees the commands that run,
and the address among them."""

WITH_TERMINAL = "Press Enter in the terminal of cellveil: it prints another address."
WITHOUT_TERMINAL = "For another address, end cellveil and start it again."


def serve(
    data: Path | None = None, *, address: str = HOME, port: int = 0, browser: bool = True,
    idle: float | None = None,
) -> None:  # fmt: skip
    """Serve the page and return when it is over: Ctrl-C, or no open page for `idle` seconds.

    Everything that is uploaded or computed lies in a private folder (mode 700), which is removed at
    the end. Port 0 takes a free one; one that is taken is refused. The address that is printed and
    the one that the browser gets open the page once each. Another `address` is for containers: the
    page still answers only browsers that call it by this machine's own name.
    """
    mask = os.umask(0o077)
    os.umask(mask)
    with _bound(address, port) as listening, private_folder() as base:
        tickets = Tickets()
        home = f"http://{HOME}:{listening.getsockname()[1]}/?token="

        def give() -> None:
            tell(home + tickets.issue())

        give()
        asked = give_on_enter(give)
        say(
            "Open this address in a browser on this machine; it opens the page once. "
            f"{'Enter prints another one, ' if asked else ''}Ctrl-C ends."
        )
        # Whatever a page sends, the terminal hears of it in words of this program or not at all.
        warnings.filterwarnings("ignore", module=r"shiny\.")
        desks = Desks(base, data)
        guard = Guard(Gate(make_app(desks)), tickets, WITH_TERMINAL if asked else WITHOUT_TERMINAL)
        server = uvicorn.Server(
            uvicorn.Config(
                guard, log_level="critical", access_log=False, lifespan="on",
                timeout_graceful_shutdown=PATIENCE, ws_max_size=MOST_MESSAGE,
            )
        )  # fmt: skip
        if idle is not None:
            threading.Thread(target=_end_when_idle, args=(server, guard, idle), daemon=True).start()
        if browser:
            open_browser(home + tickets.issue(BROWSER_TIME), lambda: server.started, mask)
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            pass  # the usual way to end
        except SystemExit:
            msg = "the page could not be served; run 'cellveil doctor'"
            raise InputError(msg) from None
        finally:
            desks.close()


def _bound(address: str, port: int) -> socket.socket:
    """Socket of an address of this machine."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address, port))
        found.listen()  # who opens the address at once waits, and is not refused
    except OSError as error:
        found.close()
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            msg = f"--address {address}: this machine does not have it; leave it out for {HOME}"
        else:
            msg = f"--port {port}: {error.strerror}; leave it out to take a free one"
        raise InputError(msg) from error
    return found


def _end_when_idle(server: uvicorn.Server, guard: Guard, idle: float) -> None:
    wake = threading.Event()
    while not server.should_exit:
        wake.wait(min(CHECK, idle))
        if not guard.connected and monotonic() - guard.last >= idle:
            server.should_exit = True
