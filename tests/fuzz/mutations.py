"""Small damages to bytes, text and JSON, drawn by a seeded generator."""

from __future__ import annotations

import gzip
import json
import random
import re
from copy import deepcopy
from typing import Any

__all__ = ["damaged", "damaged_json", "damaged_text"]

TOKENS = (
    "1e999999999", "1e-999999999", "-1e400", "9" * 5000, "0." + "0" * 5000 + "1", "nan", "inf",
    "-inf", "NA", "-", "+", "", " ", "\t", "\0", "\r", "\n", "\r\n", ",", ";", '"', "'", "|", "@",
    "@" * 500, "\u0661\u0662", "\u00b2", "1_000", "0x10", "1,5", "1.900", "9007199254740993",
    "-1", "0", "1/0", "1/3", "%", "=1+1", "Total", "\ufeff", "\x1b[2J", "\u202e", "\U0001f642",
    "(" * 1000, "[" * 100_000, "{" * 1000, "a" * 200_000, "1000000000", "1000000000000", ":",
    "true", "null", "<", ">", "<SEPARATOR> \"\"", "\x85", "\u2028", "\ud7ff",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 10**9, 10**12, 2**61, 2**70, 10**400, 1.5, -5.0, 1e308, "", "a",
    "a\0b", "no", "1e999999999", "1e-999999999", "9" * 5000, "../x", "/", ".", [], {}, [[]], [1],
    [1, None], [None], [True], ["", ""], ["a", "a"], {"a": 1}, "\ud83d", "\x1b[2J",
)  # fmt: skip


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Some bytes changed, cut, doubled, swapped or put in; sometimes packed and then damaged."""
    if draw.random() < 0.05:
        return _bytes(gzip.compress(data, mtime=0), draw)
    if draw.random() < 0.5 and not data.startswith((b"\x1f\x8b", b"PAR1")):
        text = damaged_text(data.decode("utf-8", "replace"), draw)
        kind = draw.choice(["utf-8"] * 8 + ["utf-16", "latin-1"])
        return text.encode(kind, "replace")
    return _bytes(data, draw)


def _bytes(data: bytes, draw: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at = draw.randrange(len(out) + 1)
        end = min(len(out), at + draw.choice([1, 1, 4, 30]))
        match draw.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << draw.randrange(8)
            case 1:
                del out[at:end]
            case 2:
                out[at:at] = out[at:end] * draw.choice([1, 2, 100])
            case 3:
                out[at:end] = draw.randbytes(end - at)
            case 4:
                del out[at:]
            case 5:
                out[at:at] = draw.choice([b"\0", b"\xff", b"\r", b"\n", b'"', b"\x1f\x8b", b"\xef"])
            case _:
                out += out[at:end]
    return bytes(out)


def damaged_text(text: str, draw: random.Random) -> str:
    """Words, numbers and lines of a text changed for others that hurt."""
    for _ in range(draw.choice([1, 1, 2, 4])):
        match draw.randrange(5):
            case 0:
                spots = list(re.finditer(r"[+-]?\d+(?:\.\d+)?", text))
                if spots:
                    spot = draw.choice(spots)
                    text = text[: spot.start()] + draw.choice(TOKENS) + text[spot.end() :]
            case 1:
                at = draw.randrange(len(text) + 1)
                text = text[:at] + draw.choice(TOKENS) + text[at:]
            case 2:
                lines = text.split("\n")
                at = draw.randrange(len(lines))
                lines[at:at] = [draw.choice(lines)] * draw.choice([1, 1, 200])
                text = "\n".join(lines)
            case 3:
                lines = text.split("\n")
                del lines[draw.randrange(len(lines))]
                text = "\n".join(lines)
            case _:
                old, new = draw.choice(
                    [(",", ";"), ("\n", "\r"), (".", ","), ("@", " "), (" ", "")]
                )
                text = text.replace(old, new)
    return text


def damaged_json(text: str, draw: random.Random) -> str:
    """One or two values of a JSON text replaced, removed, repeated or nested deeply."""
    data = json.loads(text)
    for _ in range(draw.choice([1, 1, 2])):
        places = list(_places(data))
        holder, key = draw.choice(places)
        match draw.randrange(5):
            case 0 | 1:
                holder[key] = deepcopy(draw.choice(VALUES))
            case 2:
                del holder[key]
            case 3 if isinstance(holder, dict):
                holder[draw.choice(["x", "", "strict", "rules", "\0"])] = deepcopy(
                    draw.choice(VALUES)
                )
            case 3:
                holder.insert(key, holder[key])
            case _:
                inner = holder[key]
                for _ in range(draw.choice([1, 50])):
                    inner = [inner]
                holder[key] = inner
    out = json.dumps(data, allow_nan=True)
    if draw.random() < 0.02:
        out = out.replace(":", ":" + "[" * 100_000, 1)
    return out


def _places(data: Any) -> Any:
    keys = list(data) if isinstance(data, dict) else range(len(data))
    for key in keys:
        yield data, key
        if isinstance(data[key], (dict, list)) and data[key]:
            yield from _places(data[key])
