"""The page answers the browser that has its address, and no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cellveil.app.guard import Guard

TOKEN = "a-long-secret"


async def inner(scope: Any, receive: Any, send: Any) -> None:
    """Stand for the page: it says that it was reached."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def ask(guard: Guard, kind: str = "http", query: str = "", **headers: str) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    given = [(k.encode(), v.encode()) for k, v in ({"host": "127.0.0.1:8000"} | headers).items()]
    scope = {"type": kind, "query_string": query.encode(), "headers": given}
    asyncio.run(guard(scope, receive, send))
    return sent


HOME = {"origin": "http://127.0.0.1:8000"}
COOKIE = {"cookie": f"other=1; cellveil={TOKEN}"}


@pytest.mark.parametrize(
    ("kind", "query", "headers", "allowed"),
    [
        ("http", f"token={TOKEN}", {}, True),
        ("http", "", COOKIE, True),
        ("http", f"token={TOKEN}", {"host": "localhost:8000"}, True),
        ("http", "", {}, False),
        ("http", "token=guess", {}, False),
        ("http", "token=", {"cookie": "cellveil="}, False),
        ("http", "", {"cookie": "cellveil=guess"}, False),
        # A name of another site that leads here, and the sites themselves.
        ("http", f"token={TOKEN}", {"host": "evil.example:8000"}, False),
        ("http", f"token={TOKEN}", {"host": "127.0.0.1.evil.example"}, False),
        ("http", "", COOKIE | {"origin": "http://evil.example"}, False),
        ("http", "", COOKIE | {"origin": "http://127.0.0.1:9999"}, False),
        ("http", "", COOKIE | HOME, True),
        ("websocket", "", COOKIE | HOME, True),
        ("websocket", "", COOKIE, False),
        ("websocket", "", HOME, False),
        ("websocket", "", COOKIE | {"origin": "null"}, False),
        ("websocket", "", COOKIE | {"origin": "http://evil.example"}, False),
    ],
)
def test_who_is_let_in(kind: str, query: str, headers: dict[str, str], allowed: bool) -> None:
    sent = ask(Guard(inner, TOKEN), kind, query, **headers)
    if kind == "websocket":
        assert (sent[0]["type"] == "websocket.accept") is allowed
        assert allowed or sent[0]["code"] == 4403
    else:
        assert sent[0]["status"] == (200 if allowed else 403)
        assert (sent[1]["body"] == b"inside") is allowed
        cookies = [value for name, value in sent[0]["headers"] if name == b"set-cookie"]
        assert bool(cookies) is allowed


def test_the_cookie_is_for_this_page_alone() -> None:
    (head, _) = ask(Guard(inner, TOKEN), query=f"token={TOKEN}")
    (cookie,) = (value.decode() for name, value in head["headers"] if name == b"set-cookie")
    assert cookie.startswith(f"cellveil={TOKEN};")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_open_pages_are_counted() -> None:
    guard = Guard(inner, TOKEN)
    before = guard.last
    ask(guard, "websocket", **COOKIE, **HOME)
    assert guard.connected == 0
    assert guard.last >= before
    ask(guard)
    assert guard.connected == 0
