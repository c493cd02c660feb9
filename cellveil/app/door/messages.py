"""What a page may send: messages of the shapes that the page itself sends, and files of a size.

Whatever else comes over an open connection ends it; nothing inside has to expect it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cellveil.app.page import INPUTS

MOST_MESSAGE = 2**20
"""Bytes of a message: the choices of one page."""

MOST_UPLOAD = 500 * 10**6
"""Bytes of a file that is sent to the page; one that lies here already needs not be sent."""

TOO_LARGE = "too_large"
"""Input that says which file was refused: its name and its size."""

_FILES = [name for name, kind in INPUTS.items() if kind == "file"]
_POLICY = 1008
"""Code of a connection that is closed for what was sent over it (RFC 6455)."""


def read_message(text: Any) -> dict[str, Any] | None:
    """Message of a text; None if it is not one."""
    try:
        found = json.loads(text, parse_constant=_no_number)
    except (ValueError, TypeError, RecursionError):  # too many digits, no text, too deep
        return None
    return found if isinstance(found, dict) else None


def is_allowed(message: Mapping[str, Any], *, begun: bool) -> bool:
    """Whether a page sends such a message; it begins with its first inputs, once."""
    match message:
        case {"method": "init" | "update" as method, "data": dict() as data}:
            return begun == (method == "update") and all(
                _is_input(name, value) for name, value in data.items()
            )
        case {"method": "uploadInit", "args": [[*files]], "tag": int()}:
            return begun and all(map(_is_file, files)) and len(files) == 1
        case {"method": "uploadEnd", "args": [str(), name], "tag": int()}:
            return begun and name in _FILES
    return False


def _is_input(name: str, value: Any) -> bool:
    name, _, handler = name.partition(":")
    if name.startswith(".clientdata_"):  # what the page says of itself, such as its width
        kinds = (_is_flag, _is_number, _is_text)
        return not handler and (value is None or any(one(value) for one in kinds))
    kind = INPUTS.get(name)
    return kind is not None and handler == _HANDLERS.get(kind, "") and _KINDS[kind](value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 10**15


def _is_text(value: Any) -> bool:
    """Whether it is a text without halves of surrogate pairs, which no file can hold."""
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)


def _is_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_text, value)))


def _is_file(value: Any) -> bool:
    match value:
        case {"name": str() as name, "size": int() as size, "type": str() as kind}:
            fits = _is_text(name) and 0 < len(name.encode()) <= 255 and name.isprintable()
            return fits and "/" not in name and _is_text(kind) and 0 <= size <= 2**53
    return False


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "flag": _is_flag,
    "number": lambda value: value is None or _is_number(value),
    "click": lambda value: _is_number(value) and isinstance(value, int),
    "text": lambda value: value is None or _is_text(value),
    "texts": _is_texts,
    "file": lambda value: value is None,  # a file comes by its own way, and not by a name
}

_HANDLERS = {"number": "shiny.number", "click": "shiny.action", "file": "shiny.file"}
"""How the page marks what it sends."""


def _no_number(text: str) -> float:
    msg = f"{text} is not a number of JSON"
    raise ValueError(msg)


class Gate:
    """Pass on what a page may send, and end the connection over which anything else comes."""

    def __init__(self, inner: ASGIApp, most: int = MOST_UPLOAD) -> None:
        self._inner, self._most = inner, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or connection."""
        if scope["type"] == "websocket":
            await self._talk(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "POST":
            await self._take(scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    async def _talk(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = refused = False

        async def heard() -> Any:
            nonlocal begun, refused
            while True:
                event = await receive()
                if event["type"] != "websocket.receive":
                    return event
                message = read_message(event.get("text"))
                if message is None or not is_allowed(message, begun=begun):
                    refused = True
                    return {"type": "websocket.disconnect", "code": _POLICY}
                begun = True
                large = self._too_large(message)
                if large is None:
                    return event
                words = "too large for the page"
                answer = {"response": {"tag": message["tag"], "error": words}}
                await send({"type": "websocket.send", "text": json.dumps(answer)})
                told = {"method": "update", "data": {TOO_LARGE: large}}
                return {"type": "websocket.receive", "text": json.dumps(told)}

        await self._inner(scope, heard, send)
        if refused:
            await send({"type": "websocket.close", "code": _POLICY})

    def _too_large(self, message: Mapping[str, Any]) -> list[Any] | None:
        if message["method"] != "uploadInit":
            return None
        ((file,),) = message["args"]
        return [file["name"], file["size"]] if file["size"] > self._most else None

    async def _take(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a file that is sent, up to the size that it may have, whatever it said."""
        taken = 0

        async def heard() -> Any:
            nonlocal taken
            event = await receive()
            taken += len(event.get("body", b""))
            return {"type": "http.disconnect"} if taken > self._most else event

        named = dict(scope["headers"]).get(b"content-length", b"0")
        if not named.isdigit() or len(named) > 18 or int(named) > self._most:
            await PlainTextResponse("413: the file is too large\n", 413)(scope, receive, send)
            return
        await self._inner(scope, heard, send)
