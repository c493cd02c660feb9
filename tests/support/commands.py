"""The commands that help lists, for tests that find them all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from cellveil.cli.app import app

__all__ = ["commands"]


def commands() -> dict[tuple[str, ...], Any]:
    """Commands by the words that call them."""
    return dict(_below(typer.main.get_command(app)))


def _below(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _below(command, (*before, name))
        elif not command.hidden:
            yield (*before, name), command
