"""Serve the page to this machine alone, until it is closed."""

from __future__ import annotations

import secrets
import shutil
import socket
import tempfile
import threading
import webbrowser
from pathlib import Path
from time import monotonic

import uvicorn

from cellveil.app.guard import Guard
from cellveil.app.server import make_app
from cellveil.render.screen import say, tell
from csp.errors import InputError

__all__ = ["serve"]

ADDRESS = "127.0.0.1"
CHECK = 1.0
"""Seconds between two looks at whether the page is still open."""


def serve(
    data: Path | None = None, *, port: int = 0, browser: bool = True, idle: float | None = None
) -> None:
    """Serve the page and return when it is over: Ctrl-C, or no open page for `idle` seconds.

    Everything that is uploaded or computed lies in a private folder (mode 700), which is removed at
    the end. Port 0 takes a free one; one that is taken is refused.
    """
    base = Path(tempfile.mkdtemp(prefix="cellveil-"))
    before = tempfile.tempdir
    tempfile.tempdir = str(base)  # uploads are first written where this says
    try:
        with _bound(port) as listening:
            token = secrets.token_urlsafe(32)
            guard = Guard(make_app(base, data), token)
            server = uvicorn.Server(
                uvicorn.Config(guard, log_level="error", access_log=False, lifespan="on")
            )
            address = f"http://{ADDRESS}:{listening.getsockname()[1]}/?token={token}"
            tell(address)
            say("Open this address in a browser on this machine. Ctrl-C ends.")
            if idle is not None:
                threading.Thread(
                    target=_end_when_idle, args=(server, guard, idle), daemon=True
                ).start()
            if browser:
                webbrowser.open(address)
            try:
                server.run(sockets=[listening])
            except KeyboardInterrupt:
                pass  # the usual way to end
            except SystemExit:
                msg = "the page could not be served; run 'cellveil doctor'"
                raise InputError(msg) from None
    finally:
        tempfile.tempdir = before
        shutil.rmtree(base, ignore_errors=True)


def _bound(port: int) -> socket.socket:
    """Socket of this machine's inner address."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((ADDRESS, port))
        found.listen()  # who opens the address at once waits, and is not refused
    except OSError as error:
        found.close()
        msg = f"--port {port}: {error.strerror}; leave it out to take a free one"
        raise InputError(msg) from error
    return found


def _end_when_idle(server: uvicorn.Server, guard: Guard, idle: float) -> None:
    wake = threading.Event()
    while not server.should_exit:
        wake.wait(min(CHECK, idle))
        if not guard.connected and monotonic() - guard.last >= idle:
            server.should_exit = True
