"""Where the command line begins: signals are taken before anything heavy is imported."""

from __future__ import annotations

import sys

from cellveil import signals

__all__ = ["main"]


def main() -> None:
    """Entry point of the console script and of ``python -m cellveil``."""
    with signals.taken():
        signals.check_streams()
        try:
            from cellveil.cli import app

            app()
        except KeyboardInterrupt:
            # Outside any command: while modules were loading, or after the last word.
            print("Interrupted; nothing more is written.", file=sys.stderr)
            sys.exit(signals.exit_code())


if __name__ == "__main__":
    main()
