"""Where ``python -m studies`` begins."""

from __future__ import annotations

from typing import Any

from cellveil.signals import run_program


def main() -> None:
    """Entry point of ``python -m studies``."""
    run_program(_program, prog_name="python -m studies")


def _program() -> Any:
    from studies.command import app

    return app


if __name__ == "__main__":
    main()
