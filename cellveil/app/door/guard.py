"""Who may talk to the page: the browser that was given its address, and no other."""

from __future__ import annotations

import hmac
import re
import secrets
from time import monotonic
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cellveil.app.door.tickets import Tickets, Verdict
from cellveil.render.screen import say

_HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?")

_HEADERS = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "cache-control": "no-store",
}

UNKNOWN = "403: open the whole address that 'cellveil app' printed.\n"
SPENT = (
    "403: this address is spent. It opens the page once, and soon after it was given out.\n\n"
    "{again}\n\n"
    "If you have not opened it, another user of this machine may have: end the program (Ctrl-C), "
    "and start it again.\n"
)


class Guard:
    """Let requests through that name this machine and come from a browser that had a ticket.

    The ticket comes with the first address, ``/?token=...``, and is exchanged for a cookie that no
    other site can send (SameSite) and no script can read; it is void then. A foreign Host means
    that another site's name was pointed at this machine, a foreign Origin that another site opened
    the connection. `again` says how to get another address, to who comes with one that is spent.
    """

    def __init__(self, inner: ASGIApp, tickets: Tickets, again: str = "") -> None:
        self._inner, self._tickets, self._again = inner, tickets, again
        # Browsers send the cookies of one port to all: two pages may be served at a time.
        self._name, self._secret = f"cellveil-{secrets.token_hex(4)}", secrets.token_urlsafe(32)
        self.connected = 0
        """Open pages."""
        self.last = monotonic()
        """When a page was last open or asked for (``time.monotonic``)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        verdict = self._verdict(asked) if _is_at_home(asked) else Verdict.UNKNOWN
        if verdict is not Verdict.GOOD:
            words = SPENT.format(again=self._again) if verdict is Verdict.SPENT else UNKNOWN
            await _refuse(words, scope, receive, send)
            return
        self.last = monotonic()
        if scope["type"] == "websocket":
            self.connected += 1
            try:
                await _answered(self._inner, scope, receive, send)
            finally:
                self.connected -= 1
                self.last = monotonic()
            return

        async def with_cookie(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                cookie = f"{self._name}={self._secret}; HttpOnly; SameSite=Strict; Path=/"
                headers.append("set-cookie", cookie)
                for name, value in _HEADERS.items():
                    headers.append(name, value)
            await send(message)

        await _answered(self._inner, scope, receive, with_cookie)

    def _verdict(self, asked: HTTPConnection) -> Verdict:
        """Whether a browser has the cookie, or a ticket for it."""
        cookie = asked.cookies.get(self._name, "")
        if hmac.compare_digest(cookie.encode(), self._secret.encode()):
            return Verdict.GOOD
        tickets = asked.query_params.getlist("token")
        first = asked.scope["type"] == "http" and asked.scope["method"] == "GET"
        if first and asked.scope["path"] == "/" and len(tickets) == 1:
            return self._tickets.spend(tickets[0])
        return Verdict.UNKNOWN


def _is_at_home(asked: HTTPConnection) -> bool:
    """Whether a request names this machine, and comes from its own page where it says from where.

    A browser always names the page that opens a connection.
    """
    hosts, origins = asked.headers.getlist("host"), asked.headers.getlist("origin")
    if len(hosts) != 1 or _HOST.fullmatch(hosts[0]) is None:
        return False
    named = asked.scope["type"] == "websocket" or bool(origins)
    return not named or origins == [f"http://{hosts[0]}"]


async def _refuse(words: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403})
        return
    await PlainTextResponse(words, 403)(scope, receive, send)


async def _answered(inner: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, whatever happens inside; of an unforeseen error only its kind is said.

    Its message and its traceback may quote the data.
    """
    begun = False

    async def watched(message: Any) -> None:
        nonlocal begun
        begun = True
        await send(message)

    try:
        await inner(scope, receive, watched)
    except ClientDisconnect:
        pass  # who goes in the midst of an upload needs no answer
    except Exception as error:
        say(f"{type(error).__name__} while the page was answered. Please report it.")
        if scope["type"] == "http" and not begun:
            await PlainTextResponse("500: the page has failed\n", 500)(scope, receive, send)
