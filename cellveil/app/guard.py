"""Who may talk to the page: the browser that was given its address, and no other."""

from __future__ import annotations

import hmac
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Guard"]

_HOSTS = ("127.0.0.1", "localhost")


class Guard:
    """Let requests through that name this machine and bring the token, which is long and random.

    The token comes with the first address, ``/?token=...``, and stays as a cookie that no other
    site can send (SameSite) and no script can read. A foreign Host means that another site's name
    was pointed at this machine, a foreign Origin that another site opened the connection.
    """

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner, self._token = inner, token
        self.connected = 0
        """Open pages."""
        self.last = monotonic()
        """When a page was last open or asked for (``time.monotonic``)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if not self._is_ours(HTTPConnection(scope)):
            await _refuse(scope, receive, send)
            return
        self.last = monotonic()
        if scope["type"] == "websocket":
            self.connected += 1
            try:
                await self._inner(scope, receive, send)
            finally:
                self.connected -= 1
                self.last = monotonic()
            return

        async def with_cookie(message: Any) -> None:
            if message["type"] == "http.response.start":
                cookie = f"cellveil={self._token}; HttpOnly; SameSite=Strict; Path=/"
                headers = MutableHeaders(scope=message)
                headers.append("set-cookie", cookie)
                headers.append("referrer-policy", "no-referrer")
                headers.append("x-content-type-options", "nosniff")
                headers.append("x-frame-options", "SAMEORIGIN")
                headers.append("cache-control", "no-store")
            await send(message)

        await self._inner(scope, receive, with_cookie)

    def _is_ours(self, asked: HTTPConnection) -> bool:
        hosts, origins = asked.headers.getlist("host"), asked.headers.getlist("origin")
        if len(hosts) != 1 or urlsplit(f"//{hosts[0]}").hostname not in _HOSTS:
            return False
        # A browser always names the page that opens a connection.
        named = asked.scope["type"] == "websocket" or origins
        if named and [urlsplit(origin).netloc for origin in origins] != hosts:
            return False
        given = [*asked.query_params.getlist("token"), asked.cookies.get("cellveil", "")]
        return any(hmac.compare_digest(text.encode(), self._token.encode()) for text in given)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403})
        return
    words = "403: open the whole address that 'cellveil app' printed.\n"
    await PlainTextResponse(words, 403)(scope, receive, send)
