"""Ctrl-C and SIGTERM: both end a run with its best result, each with an exit code of its own."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_NO_ANSWER = 3
"""Exit code of what says nothing of a table."""

_heard: list[int] = []


@contextmanager
def taken() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt in what runs inside, and remember which came.

    A signal that is ignored, as Ctrl-C is in the background of a shell, stays so. Outside the main
    thread no signal is heard.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: Any) -> None:
        del frame
        _heard.append(number)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler not in (signal.SIG_IGN, None):  # None: not Python's
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
        _heard.clear()


def interrupted() -> bool:
    """Whether a signal has come, though its interrupt may have ended only a part of the work."""
    return bool(_heard)


def exit_code() -> int:
    """Exit code of an interrupted run: 143 after SIGTERM, 130 after Ctrl-C."""
    return 143 if signal.SIGTERM in _heard else 130


def run_program(program: Callable[[], Callable[..., Any]], **options: Any) -> None:
    """Run a command line from its first line to its last, with signals taken all the while.

    `program` imports the command line and returns it; it is called when signals are taken already.
    """
    with taken():
        check_streams()
        try:
            program()(**options)
        except KeyboardInterrupt:
            # Outside any command: while modules were loading, or after the last word.
            with suppress(OSError):
                print("Interrupted; nothing more is written.", file=sys.stderr)
            sys.exit(exit_code())
        except SystemExit:
            # The parser makes an end of its own of an interrupt that comes while it reads.
            if not interrupted():
                raise
            with suppress(OSError):
                print("Interrupted; nothing more is written.", file=sys.stderr)
            sys.exit(exit_code())
        except Exception:  # with --debug, or outside any command
            with suppress(OSError):
                traceback.print_exc()
            sys.exit(_NO_ANSWER)
        finally:
            _let_go(sys.stderr)
            _leave_solvers(sys.exc_info()[1])


def _leave_solvers(end: BaseException | None) -> None:
    """End at once where an interrupted solver still works: Python would wait for it."""
    runs = sys.modules.get("csp.highs.interrupts")
    if runs is not None and isinstance(end, SystemExit) and runs.lingering():
        _let_go(sys.stdout)
        os._exit(end.code if isinstance(end.code, int) else _NO_ANSWER)


def _let_go(stream: Any) -> None:
    """Write what is left for a stream, or drop it where that fails, as on a full disk.

    The interpreter would try once more at its end, and turn the exit code into 1 or 120.
    """
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def check_streams() -> None:
    """Give a closed standard output or error a stand-in.

    Python leaves them None then. Writing a result to a closed output is an error that says so;
    what is said on a closed standard error is lost.
    """
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


class _Closed(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, text: Any) -> int:
        del text
        raise OSError(errno.EBADF, "standard output is closed; name a file with -o")
