"""What the page itself sends is let through, and nothing else."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from cellveil.app.door.messages import TOO_LARGE, Gate, is_allowed, read_message
from cellveil.app.page import INPUTS, page

FIRST = {
    "data:shiny.file": None, "hrc:shiny.file": None, "protect:shiny.action": 0, "by": [],
    "value": "", "hrc_of": None, "cost": "unit", "few": True, "few_n:shiny.number": 3,
    "time_limit:shiny.number": 0.5, "words": "", ".clientdata_output_columns_hidden": False,
    ".clientdata_pixelratio": 1.25, ".clientdata_url_search": "?token=x",
}  # fmt: skip


def update(**data: Any) -> dict[str, Any]:
    return {"method": "update", "data": data}


def upload(**other: Any) -> dict[str, Any]:
    file = {"name": "survey.csv", "size": 10, "type": "text/csv"} | other
    return {"method": "uploadInit", "args": [[file]], "tag": 0}


def test_what_the_page_sends_is_allowed() -> None:
    assert is_allowed({"method": "init", "data": FIRST}, begun=False)
    for message in (
        update(), update(by=["a", "b/<c>"]), update(nested_use=None), upload(), upload(type=""),
        update(**{"few_n:shiny.number": None}), update(value="turnover"),
        {"method": "uploadEnd", "args": ["0a1b", "data"], "tag": 1},
    ):  # fmt: skip
        assert is_allowed(json.loads(json.dumps(message)), begun=True), message


def test_every_input_of_the_page_is_known() -> None:
    places = set(re.findall(r'id="(\w+)"', str(page())))
    outputs = {"columns", "reading", "nested", "trees", "sensitive", "progress", "result"}
    outputs |= {"stop_reading_place", "stop_looking_place", "stop_audit_place"}
    outputs |= {"recognised", "auditing", "audited", "compared", "stop_comparing_place"}
    made_later = {"nested_use", "stop_reading", "stop_looking", "stop_audit", "stop_comparing"}
    named = {name for name in places if not re.search(r"progress$|-label$|^bslib|^step", name)}
    assert set(INPUTS) - made_later <= places
    assert named - outputs - set(INPUTS) == set()


@pytest.mark.parametrize(
    "text",
    ["null", "[" * 5000, "1" * 100_000, '{"a": ' + "9" * 100_000 + "}", "[]", '"x"', "", "{",
     '{"method": NaN}', None, b"\xff"],
)  # fmt: skip
def test_what_is_not_a_message_is_none(text: Any) -> None:
    assert read_message(text) is None


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"method": "init"},
        {"method": "init", "data": FIRST},  # a second time
        {"method": ["update"], "data": {}},
        {"method": "update", "data": []},
        {"method": "makeRequest", "args": [], "tag": 1},
        update(by=5),
        update(by=[1]),
        update(by=["\ud800"]),
        update(few=1),
        update(words=["P(10,1)"]),
        update(words="\udfff"),
        update(**{"few_n:shiny.number": "3"}),
        update(**{"few_n:shiny.number": 10**400}),
        update(**{"few_n:shiny.number": float("inf")}),
        update(**{"few_n:shiny.number": float("nan")}),
        update(**{"few_n:shiny.number": True}),
        update(**{"few_n:shiny.date": 3}),
        update(**{"few_n:no.such": 3}),
        update(**{"a:b:c": 1}),
        update(unknown=1),
        update(**{".clientdata_pixelratio": {}}),
        update(**{".clientdata_pixelratio:shiny.date": 1}),
        # A file that lies here already is not an upload.
        update(data=[{"name": "x", "size": 1, "type": "", "datapath": "/etc/passwd"}]),
        update(**{"data:shiny.file": [{"name": "x", "datapath": "/etc/passwd"}]}),
        update(too_large=["x", 1]),
        upload(name="a\0b"),
        upload(name="../a"),
        upload(name="a" * 300),
        upload(name=""),
        upload(size="10"),
        upload(size=-1),
        {"method": "uploadInit", "args": [[]], "tag": 0},
        {"method": "uploadInit", "args": [1], "tag": 0},
        {"method": "uploadInit", "args": [], "tag": 0},
        {"method": "uploadEnd", "args": ["0a", "by"], "tag": 0},
        {"method": "uploadEnd", "args": [["0a"], "data"], "tag": 0},
        {"method": "uploadEnd", "args": ["0a", ["data"]], "tag": 0},
        {"method": "uploadEnd", "args": ["0a", "data"], "tag": {}},
    ],
)
def test_what_the_page_never_sends_is_refused(message: dict[str, Any]) -> None:
    assert not is_allowed(message, begun=True)


def test_it_begins_with_its_first_inputs() -> None:
    assert not is_allowed(update(), begun=False)
    assert not is_allowed(upload(), begun=False)


# ---- the gate ------------------------------------------------------------------------------------


def talk(*texts: Any, most: int = 100) -> tuple[list[Any], list[Any]]:
    """What came inside, and what was sent back, when a browser sends these texts and goes."""
    inside: list[Any] = []
    sent: list[Any] = []
    events = [{"type": "websocket.connect"}]
    events += [{"type": "websocket.receive", "text": text} for text in texts]
    events += [{"type": "websocket.disconnect", "code": 1001}]

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        while True:
            inside.append(await receive())
            if inside[-1]["type"] == "websocket.disconnect":
                return

    async def receive() -> Any:
        return events.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Gate(inner, most)({"type": "websocket"}, receive, send))
    return inside, sent


BEGIN = json.dumps({"method": "init", "data": FIRST})


def test_a_wrong_message_ends_the_connection() -> None:
    for text in ("null", "[" * 5000, None, json.dumps(update(by=5))):
        inside, sent = talk(BEGIN, text, json.dumps(update()))
        assert [event["type"].partition(".")[2] for event in inside] == [
            "connect", "receive", "disconnect",
        ]  # fmt: skip
        assert sent == [{"type": "websocket.close", "code": 1008}]


def test_right_messages_come_inside_as_they_are() -> None:
    texts = [BEGIN, json.dumps(update(by=["a"])), json.dumps(upload(size=100))]
    inside, sent = talk(*texts)
    assert [event["text"] for event in inside[1:-1]] == texts
    assert sent == []


def test_a_file_that_is_too_large_is_refused_before_it_is_sent() -> None:
    inside, sent = talk(BEGIN, json.dumps(upload(size=101)))
    assert json.loads(inside[2]["text"]) == update(**{TOO_LARGE: ["survey.csv", 101]})
    (answer,) = sent
    assert json.loads(answer["text"]) == {"response": {"tag": 0, "error": "too large for the page"}}


@pytest.mark.parametrize(
    ("length", "chunks", "status", "taken"),
    [
        (b"100", [100], None, 100),
        (b"101", [101], 413, 0),
        (b"9" * 100_000, [1], 413, 0),
        (b"x", [1], 413, 0),
        (None, [60, 60, 60], None, 60),  # it does not say how much there is
    ],
)
def test_no_more_is_taken_than_may_be(
    length: bytes | None, chunks: list[int], status: int | None, taken: int
) -> None:
    got, sent = [], []
    events = [{"type": "http.request", "body": b"x" * size, "more_body": True} for size in chunks]
    events.append({"type": "http.request", "body": b"", "more_body": False})

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        while (event := await receive())["type"] == "http.request":
            got.append(len(event["body"]))
            if not event["more_body"]:
                return

    async def receive() -> Any:
        return events.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", length)]
    scope = {"type": "http", "method": "POST", "headers": headers}
    asyncio.run(Gate(inner, 100)(scope, receive, send))
    assert sum(got) == taken
    assert [message["status"] for message in sent if "status" in message] == (
        [] if status is None else [status]
    )
