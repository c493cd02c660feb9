"""The other end of a page's process: it gives out tasks, follows them, and can end them."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from cellveil.app.work.process import STOP, Failure, Success, serve_tasks
from cellveil.app.work.publications import Interpret
from cellveil.app.work.tasks import Look, perform

GONE = (
    "Error: the process that worked for this page has ended, perhaps for lack of memory; give "
    "fewer records or columns, or use the command line (cellveil protect)."
)
STOPPED = "Stopped."

PATIENCE = 2.0
"""Seconds that the system has to take a process away."""


@dataclass(frozen=True, slots=True)
class State:
    """How far a task is: its phase in words, and the cells and quality of the best pattern so far.

    `searching` says that there may be a best answer to keep, `stopped` that it was asked to stop,
    `error` in words why there is no `answer`.
    """

    phase: str = "waiting"
    quality: str = ""
    suppressed: int | None = None
    searching: bool = False
    over: bool = False
    stopped: bool = False
    error: str = ""
    answer: Any = None


class Order:
    """A task that was given out, and its state at this moment."""

    def __init__(self, task: Any) -> None:
        self.task, self.state = task, State()
        self.began = monotonic()
        self._over = threading.Event()

    def change(self, **what: Any) -> None:
        """Go to another state, unless it is over."""
        if not self.state.over:
            self.state = replace(self.state, **what)
        if self.state.over:
            self._over.set()

    def wait(self, seconds: float | None = None) -> State:
        """Wait until it is over."""
        self._over.wait(seconds)
        return self.state


class Worker:
    """Does the tasks of a page one after another, in a process that starts with the first.

    `act` is like `cellveil.app.work.tasks.perform`; another process finds it by its name.
    """

    def __init__(self, folder: Path, act: Callable[..., Any] = perform) -> None:
        self._folder, self._act = folder, act
        self._lock = threading.RLock()
        self._waiting: deque[Order] = deque()
        self._current: Order | None = None
        self._process: Any = None
        self._pipe: Any = None
        self._closed = False

    def ask(self, task: Any) -> Order:
        """Give out a task; a look that has not begun is dropped for another one."""
        order = Order(task)
        with self._lock:
            for old in [one for one in self._waiting if isinstance(task, (Look, Interpret))]:
                if type(old.task) is type(task):
                    self._waiting.remove(old)
                    old.change(over=True, stopped=True, error=STOPPED)
            self._waiting.append(order)
            self._next()
        return order

    def stop(self, order: Order) -> None:
        """Stop a task: a search ends with its best answer, and anything else at once.

        A search that was asked already ends at once too.
        """
        with self._lock:
            if order.state.over:
                return
            if order is self._current and order.state.searching and not order.state.stopped:
                order.change(stopped=True)
                self._send(STOP)
                return
            if order is self._current:
                self._end_process()
                self._current = None
            else:
                self._waiting.remove(order)
            order.change(over=True, stopped=True, error=STOPPED)
            self._next()

    def close(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            self._end_process()

    def _next(self) -> None:
        if self._closed or self._current is not None or not self._waiting:
            return
        if self._process is None:
            self._start()
        self._current = self._waiting.popleft()
        self._current.began = monotonic()
        self._send(self._current.task)

    def _send(self, given: Any) -> None:
        with suppress(OSError):  # a process that has just ended is missed by who listens to it
            self._pipe.send(given)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # a copy of a program of threads may hang
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve_tasks, args=(theirs, self._act, self._folder), daemon=True
        )
        with _without_interrupts():
            self._process.start()
        theirs.close()
        threading.Thread(target=self._listen, args=(self._pipe,), daemon=True).start()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(PATIENCE)
            self._process = self._pipe = None

    def _listen(self, pipe: Any) -> None:
        """Hear what a process says until it is gone."""
        while True:
            try:
                told = pipe.recv()
            except Exception:
                break
            self._hear(pipe, told)
        with self._lock:
            if pipe is self._pipe:  # nobody has ended it on purpose
                self._end_process()
                order, self._current = self._current, None
                if order is not None:
                    order.change(over=True, error=GONE)
                self._next()
        pipe.close()

    def _hear(self, pipe: Any, told: Any) -> None:
        with self._lock:
            order = self._current
            if pipe is not self._pipe or order is None:
                return
            if isinstance(told, dict):
                order.change(**told)
                return
            self._current = None
            if isinstance(told, Success):
                order.change(over=True, phase="done", answer=told.answer)
            elif isinstance(told, Failure):
                order.change(over=True, error=told.words)
            self._next()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start a process that Ctrl-C at the terminal does not reach: who started it decides."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
