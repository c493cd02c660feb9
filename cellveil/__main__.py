"""Where the command line begins: signals are taken before anything heavy is imported."""

from __future__ import annotations

from typing import Any

from cellveil.signals import run_program


def main() -> None:
    """Entry point of the console script and of ``python -m cellveil``."""
    run_program(_program)


def _program() -> Any:
    # Signals are taken before anything heavy is imported.
    from cellveil.cli.app import app

    return app


if __name__ == "__main__":
    main()
