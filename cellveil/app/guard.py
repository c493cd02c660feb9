"""Who may talk to the page: the browser that was given its address, and no other."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_HOSTS = ("127.0.0.1", "localhost")


class Guard:
    """Let requests through that name this machine and bring the token, which is long and random.

    The token comes with the first address, ``/?token=...``, and stays as a cookie that no other
    site can send (SameSite) and no script can read. A foreign Host means that another site's name
    was pointed at this machine, a foreign Origin that another site opened the connection.
    """

    def __init__(self, inner: Application, token: str) -> None:
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
        headers = [(k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in scope["headers"]]
        if not self._is_ours(scope, headers):
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
                message = message | {"headers": [*message["headers"], *self._added()]}
            await send(message)

        await self._inner(scope, receive, with_cookie)

    def _is_ours(self, scope: Scope, headers: list[tuple[str, str]]) -> bool:
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or urlsplit(f"//{hosts[0]}").hostname not in _HOSTS:
            return False
        origins = [value for name, value in headers if name == "origin"]
        # A browser always names the page that opens a connection.
        asked = scope["type"] == "websocket" or origins
        if asked and [urlsplit(origin).netloc for origin in origins] != hosts:
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        return any(map(self._is_token, [*given, *_cookies(headers)]))

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())

    def _added(self) -> list[tuple[bytes, bytes]]:
        cookie = f"cellveil={self._token}; HttpOnly; SameSite=Strict; Path=/"
        return [
            (b"set-cookie", cookie.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"SAMEORIGIN"),
            (b"cache-control", b"no-store"),
        ]


def _cookies(headers: Iterable[tuple[str, str]]) -> list[str]:
    found = []
    for name, value in headers:
        if name != "cookie":
            continue
        try:
            morsel = SimpleCookie(value).get("cellveil")
        except CookieError:
            continue
        if morsel is not None:
            found.append(morsel.value)
    return found


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403})
        return
    words = b"403: open the whole address that 'cellveil app' printed.\n"
    await send(
        {
            "type": "http.response.start",
            "status": 403,
            "headers": [(b"content-type", b"text/plain; charset=utf-8")],
        }
    )
    await send({"type": "http.response.body", "body": words})
