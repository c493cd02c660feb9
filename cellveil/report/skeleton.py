"""A page of a report: style and script inside, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from importlib import resources

__all__ = ["whole_page"]

INTERNAL = (
    "Internal. This page shows suppressed values and which cells are sensitive. It must not leave "
    "the office."
)


def whole_page(title: str, lead: str, sections: Iterable[str], *, internal: bool = False) -> str:
    """Put sections, which are HTML already, into a page.

    Parameters
    ----------
    title, lead : str
        Heading, and the sentence below it.
    sections : iterable of str
    internal : bool
        Say at the top, in red, that the page holds what must not be published.

    Returns
    -------
    str
        It allows no request and no script but its own.
    """
    style, script = (
        resources.files("cellveil.report").joinpath(name).read_text(encoding="utf-8")
        for name in ("style.css", "script.js")
    )
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{style}</style></head><body>",
        f'<p class="internal" role="alert">{INTERNAL}</p>' if internal else "",
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{escape(lead)}</p>',
        *sections,
        f"<script>{script}</script></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"
