"""One door to numba: plain functions compiled together, and not before compiling pays.

The functions stay plain Python: uncompiled they are the oracle of the compiled ones, and they do
what is small. What numba keeps on disk is keyed by the file of one function alone, but holds the
code of all that it calls; here every file involved is in the key.

Arrays that travel together are a ``NamedTuple``, which a loop unpacks at its top: to take one costs
two microseconds a call, and to look into one for each entry would cost more.

Each module that holds loops to compile names them once (`KERNELS`). Calls that are known to be
small run uncompiled until that has cost about what compiling would; a call may also say what the
plain work at hand would take (`seconds`). Results are the same to the last bit, which is why sums
in such loops are added one by one, and interrupts are heard between calls either way.
"""

from __future__ import annotations

import hashlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

from csp.clock import leave_out

Functions = Mapping[str, Callable[..., Any]]

made: list[Kernels] = []
"""All of a process, in the order in which their modules were imported."""

_stamps: dict[int, tuple[Any, str]] = {}
_unkept: list[str] = []
"""Names of functions for which numba found no folder."""

_at_once = False


class Kernels:
    """Plain functions that numba compiles together, the first time that it pays.

    Compiling takes seconds, once per installation; loading what is on disk takes tenths of a
    second, and less where numba is there already. Calls that are known to be small run the plain
    functions until these have taken about as long. Either way an interrupt is heard between calls,
    so that no caller finds its arrays half written.

    Parameters
    ----------
    home : str
        Module of the functions: ``__name__`` where they are.
    *names : str
        Functions to compile. What they call is compiled as well if it is among them or given.
    beside : tuple of str, optional
        Further modules that hold functions.
    given : Kernels, optional
        Whose compiled functions take the place of plain ones of the same name.
    built : callable, optional
        Returns, by name, what takes the place of plain functions in compiled code alone.
    inlined : tuple of str, optional
        Functions whose code takes the place of calls of them.
    compiling : float, optional
        Seconds of plain work after which it pays to compile, in place of `COMPILING`: for
        functions that take that long to compile.
    **options
        Of ``numba.njit``.
    """

    COMPILING, IMPORTING, LOADING = 1.0, 0.1, 0.01
    """Seconds of plain work in one process after which it pays to compile, to import numba and load
    what is kept, and to load it with numba there."""

    def __init__(
        self,
        home: str,
        *names: str,
        beside: tuple[str, ...] = (),
        given: Kernels | None = None,
        built: Callable[[], Functions] | None = None,
        inlined: tuple[str, ...] = (),
        compiling: float | None = None,
        **options: Any,
    ) -> None:
        self._homes, self._names = (*beside, home), names
        self._compiling, self._inlined = compiling, inlined
        self._given, self._built, self._options = given, built, options
        self._spent, self._pays = 0.0, False
        self._kept: dict[str, bool] = {}
        self._loaded: set[str] = set()
        made.append(self)

    def __repr__(self) -> str:
        return f"Kernels({self._homes[-1]}: {', '.join(self._names)})"

    @cached_property
    def plain(self) -> Functions:
        """The functions as they are written, by name, and those that were given."""
        space: dict[str, Any] = {}
        for module in map(import_module, self._homes):
            space |= vars(module)
        given = {} if self._given is None else self._given.plain
        return MappingProxyType({**given, **{name: space[name] for name in self._names}})

    @cached_property
    def compiled(self) -> Functions:
        """The compiled functions by name, and those that were given or built."""
        given = {} if self._given is None else dict(self._given.compiled)
        given |= {} if self._built is None else self._built()
        modules = tuple(map(import_module, self._homes))
        functions = compile_together(modules, self._names, given, self._inlined, **self._options)
        return MappingProxyType(given | functions)

    @property
    def _loading(self) -> float:
        return self.LOADING if "numba" in sys.modules else self.IMPORTING

    def _is_kept(self, name: str) -> bool:
        """Whether an earlier run left a compiled function on disk."""
        if name not in self._kept:
            function: Any = self.compiled[name]
            path, version = function.stats.cache_path, function.py_func.__qualname__
            self._kept[name] = path is not None and any(Path(path).glob(f"*.{version}-*.nbi"))
        return self._kept[name]

    def choose(self, *, small: bool, seconds: float = 0.0, name: str | None = None) -> Functions:
        """Return the plain functions for a small call while that pays, else the compiled ones.

        `seconds` is what all the plain work at hand would take, where that may outweigh loading;
        `name` the function that is to be called, by default the last.
        """
        if not self._pays:
            due = max(self._spent, seconds)
            worth = self.COMPILING if self._compiling is None else self._compiling
            self._pays = (
                not small or _at_once or due >= worth
                or (due >= self._loading and self._is_kept(name or self._names[-1]))
            )  # fmt: skip
        return self.compiled if self._pays else self.plain

    def run(self, name: str, *arguments: Any, small: bool, seconds: float = 0.0) -> Any:
        """Call one of the functions; `small` calls run uncompiled while that pays."""
        functions = self.choose(small=small, seconds=seconds, name=name)
        if functions is not self.plain:
            return self._run_compiled(name, arguments)
        began = time.thread_time()
        with _undisturbed():
            answer = functions[name](*arguments)
        self._spent += time.thread_time() - began
        return answer

    def _run_compiled(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Call a compiled function; an interrupt while it is loaded is heard afterwards."""
        loads = name not in self._loaded and self._is_kept(name)
        try:
            with _undisturbed() if loads else nullcontext():
                answer = self.compiled[name](*arguments)
        except SystemError as error:
            # What stops Python that numba calls from C while it compiles, such as an interrupt.
            if error.__cause__ is None or isinstance(error.__cause__, Exception):
                raise
            raise error.__cause__ from None
        self._loaded.add(name)
        return answer


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hear signals that Python handles after what runs inside, as during compiled code."""
    heard: list[signal.Signals] = []
    held: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(handler := signal.getsignal(number)):
                held[number] = handler
                signal.signal(number, lambda number, _frame: heard.append(signal.Signals(number)))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in heard:
            held[number](number, None)


@contextmanager
def at_once() -> Iterator[None]:
    """Compile whatever is called inside, however small the call."""
    global _at_once
    before, _at_once = _at_once, True
    try:
        yield
    finally:
        _at_once = before


def compile_together(
    modules: tuple[ModuleType, ...],
    names: tuple[str, ...],
    given: Mapping[str, Any] = MappingProxyType({}),
    inlined: tuple[str, ...] = (),
    **options: Any,
) -> dict[str, Any]:
    """Compile copies of plain functions that see one another; the plain ones stay as they are.

    Parameters
    ----------
    modules : tuple of module
        Where the functions are; a change of any of these files compiles all anew.
    names : tuple of str
        Functions to compile.
    given : mapping of str to function
        Compiled functions that take the place of plain ones of the same name; a change of their
        files compiles all anew as well.
    inlined : tuple of str
        Functions whose code takes the place of calls of them.
    **options
        Of ``numba.njit``.

    Returns
    -------
    dict of str to function
    """
    from inspect import getsource
    from types import CellType, FunctionType

    _watch_compiling()
    space: dict[str, Any] = {}
    for module in modules:
        space |= vars(module)
    plain = {name: space[name] for name in names}
    space |= given
    parts = (*modules, sys.modules[__name__])
    sources = [module.__name__ + getsource(module) for module in parts]
    sources += inlined
    sources += [f"{name} {_stamp_of(f)}" for name, f in sorted(given.items())]
    stamp = hashlib.blake2b("\0".join(sources).encode()).hexdigest()
    for name, f in plain.items():
        # numba's key holds the contents of closures.
        code = f.__code__.replace(co_freevars=("stamp",))
        copy = FunctionType(code, space, name, f.__defaults__, (CellType(stamp),))
        copy.__module__ = f.__module__
        # What is on disk names modules by where they were: after an upgrade that moved one, numba
        # cannot even read it. So every version has files of its own.
        copy.__qualname__ = f"{name}_{stamp[:12]}"
        more = {"forceinline": True} if name in inlined else {}
        space[name] = _compiler({**options, **more})(copy)
        _stamps[id(space[name])] = space[name], stamp
    return {name: space[name] for name in names}


def _compiler(options: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Decorate as numba does, keeping what is compiled where there is a folder for it."""
    import numba

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            # So numba says that neither NUMBA_CACHE_DIR nor a folder beside the source nor one of
            # the user can be written to; then every process compiles for itself.
            _unkept.append(function.__qualname__)
            return numba.njit(**options)(function)

    return decorate


def _stamp_of(given: Any) -> str:
    """Return what a compiled function was made of."""
    from inspect import getsource

    if id(given) in _stamps:
        return _stamps[id(given)][1]
    # An intrinsic: the file that builds it.
    return getsource(sys.modules[given.__module__])


@cache
def _watch_compiling() -> None:
    """Have it said, where a person looks at it, that numba compiles, and leave it out of limits."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        said, inside, began = False, 0, 0.0

        def on_start(self, _event: Any) -> None:
            if not self.said and (sys.stderr.isatty() or "ipykernel" in sys.modules):
                often = "" if _unkept else ", once per installation"
                print(f"compiling{often}", file=sys.stderr, flush=True)
            self.said = True
            # What a function calls is compiled inside its own compilation.
            if not self.inside:
                self.began = time.monotonic()
            self.inside += 1

        def on_end(self, _event: Any) -> None:
            self.inside -= 1
            if not self.inside:
                leave_out(time.monotonic() - self.began)

    event.register("numba:compile", Watch())
