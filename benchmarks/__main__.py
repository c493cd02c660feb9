"""Where ``python -m benchmarks`` begins."""

from __future__ import annotations

from typing import Any

from cellveil.signals import run_program


def main() -> None:
    """Entry point of ``python -m benchmarks``."""
    run_program(_program, prog_name="python -m benchmarks")


def _program() -> Any:
    from benchmarks.command import app

    return app


if __name__ == "__main__":
    main()
