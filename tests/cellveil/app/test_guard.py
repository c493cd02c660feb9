"""The page answers the browser that has its address, and no other."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from cellveil.app.door.guard import Guard
from cellveil.app.door.tickets import Tickets, Verdict


async def inner(scope: Any, receive: Any, send: Any) -> None:
    """Stand for the page: it says that it was reached."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def ask(
    guard: Guard, kind: str = "http", query: str = "", path: str = "/", method: str = "GET",
    **headers: str,
) -> list[dict[str, Any]]:  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    given = [(k.encode(), v.encode()) for k, v in ({"host": "127.0.0.1:8000"} | headers).items()]
    scope = {
        "type": kind, "query_string": query.encode(), "headers": given, "path": path,
        "method": method,
    }  # fmt: skip
    asyncio.run(guard(scope, receive, send))
    return sent


def entered() -> tuple[Guard, str, str]:
    """Guard, a fresh ticket, and the cookie of a browser that is inside."""
    tickets = Tickets()
    guard = Guard(inner, tickets)
    return guard, tickets.issue(), cookie_of(ask(guard, query=f"token={tickets.issue()}"))


def cookie_of(sent: list[dict[str, Any]]) -> str:
    (cookie,) = (value.decode() for name, value in sent[0]["headers"] if name == b"set-cookie")
    return cookie.partition(";")[0]


HOME = {"origin": "http://127.0.0.1:8000"}
COOKIE = {"cookie": "other=1; {cookie}"}


@pytest.mark.parametrize(
    ("kind", "query", "headers", "allowed"),
    [
        ("http", "token={ticket}", {}, True),
        ("http", "", COOKIE, True),
        ("http", "token=spent", COOKIE, True),  # the page is loaded again
        ("http", "token={ticket}", {"host": "localhost:8000"}, True),
        ("http", "", {}, False),
        ("http", "token=guess", {}, False),
        ("http", "token={ticket}&token=guess", {}, False),
        ("http", "token=", {"cookie": "cellveil="}, False),
        ("http", "", {"cookie": "{name}="}, False),
        ("http", "", {"cookie": "{name}=guess"}, False),
        # A name of another site that leads here, and the sites themselves.
        ("http", "token={ticket}", {"host": "evil.example:8000"}, False),
        ("http", "token={ticket}", {"host": "127.0.0.1.evil.example"}, False),
        # What is not a name at all.
        ("http", "token={ticket}", {"host": "[::1"}, False),
        ("http", "token={ticket}", {"host": "evil.com@127.0.0.1"}, False),
        ("http", "token={ticket}", {"host": "127.0.0.1/evil.com"}, False),
        ("http", "token={ticket}", {"host": "127.0.0.1:x"}, False),
        ("http", "token={ticket}", {"host": "127.0.0.1:"}, False),
        ("http", "token={ticket}", {"host": "127.0.0.1\n"}, False),
        ("http", "token={ticket}", {"host": ""}, False),
        ("http", "", COOKIE | {"origin": "http://[::1"}, False),
        ("http", "", COOKIE | {"origin": "http://evil.example"}, False),
        ("http", "", COOKIE | {"origin": "http://127.0.0.1:9999"}, False),
        ("http", "", COOKIE | HOME, True),
        ("websocket", "", COOKIE | HOME, True),
        ("websocket", "token={ticket}", HOME, False),  # a ticket is for a page
        ("websocket", "", COOKIE, False),
        ("websocket", "", HOME, False),
        ("websocket", "", COOKIE | {"origin": "null"}, False),
        ("websocket", "", COOKIE | {"origin": "http://evil.example"}, False),
    ],
)
def test_who_is_let_in(kind: str, query: str, headers: dict[str, str], allowed: bool) -> None:
    guard, ticket, cookie = entered()
    facts = {"ticket": ticket, "cookie": cookie, "name": cookie.partition("=")[0]}
    headers = {name: value.format(**facts) for name, value in headers.items()}
    sent = ask(guard, kind, query.format(**facts), **headers)
    if kind == "websocket":
        assert (sent[0]["type"] == "websocket.accept") is allowed
        assert allowed or sent[0]["code"] == 4403
    else:
        assert sent[0]["status"] == (200 if allowed else 403)
        assert (sent[1]["body"] == b"inside") is allowed
        cookies = [value for name, value in sent[0]["headers"] if name == b"set-cookie"]
        assert bool(cookies) is allowed


def test_an_address_opens_the_page_once() -> None:
    tickets = Tickets()
    guard, ticket = Guard(inner, tickets, "Press Enter."), tickets.issue()
    (first, _) = ask(guard, query=f"token={ticket}")
    assert first["status"] == 200
    second = ask(guard, query=f"token={ticket}")
    assert second[0]["status"] == 403
    assert b"spent" in second[1]["body"]
    assert b"Press Enter." in second[1]["body"]
    # The browser that was first goes on, with the same address too.
    cookie = cookie_of([first])
    assert ask(guard, query=f"token={ticket}", cookie=cookie)[0]["status"] == 200
    # Another address is another ticket.
    assert ask(guard, query=f"token={tickets.issue()}")[0]["status"] == 200


def test_only_opening_the_page_takes_a_ticket() -> None:
    guard, ticket, _ = entered()
    assert ask(guard, query=f"token={ticket}", method="HEAD")[0]["status"] == 403
    assert ask(guard, query=f"token={ticket}", path="/session/1/download/2")[0]["status"] == 403
    assert ask(guard, query=f"token={ticket}", host="evil.example")[0]["status"] == 403
    assert ask(guard, query=f"token={ticket}")[0]["status"] == 200


def test_tickets_are_good_once_and_for_their_time() -> None:
    tickets = Tickets()
    one, two, old = tickets.issue(), tickets.issue(60.0), tickets.issue(0.0)
    time.sleep(0.01)
    assert [tickets.spend(one), tickets.spend(one)] == [Verdict.GOOD, Verdict.SPENT]
    assert [tickets.spend(two), tickets.spend(two)] == [Verdict.GOOD, Verdict.SPENT]
    assert tickets.spend(old) is Verdict.SPENT
    assert tickets.spend("\ud800") is Verdict.UNKNOWN


def test_the_cookie_is_for_this_page_alone() -> None:
    tickets = Tickets()
    ticket = tickets.issue()
    (head, _) = ask(Guard(inner, tickets), query=f"token={ticket}")
    (cookie,) = (value.decode() for name, value in head["headers"] if name == b"set-cookie")
    assert ticket not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_two_programs_do_not_take_each_others_cookies() -> None:
    (_, _, one), (_, _, two) = entered(), entered()
    assert one.partition("=")[0] != two.partition("=")[0]


def test_open_pages_are_counted() -> None:
    guard, _, cookie = entered()
    before = guard.last
    ask(guard, "websocket", cookie=cookie, **HOME)
    assert guard.connected == 0
    assert guard.last >= before
    ask(guard)
    assert guard.connected == 0


def test_of_an_unforeseen_error_only_its_kind_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("secret")

    tickets = Tickets()
    head, body = ask(Guard(failing, tickets), query=f"token={tickets.issue()}")
    assert head["status"] == 500
    said = capsys.readouterr().err
    assert "ValueError while the page was answered" in said
    assert "secret" not in said + str(body)
    assert "Traceback" not in said
