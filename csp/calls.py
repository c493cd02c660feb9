"""Calls that cannot be right: named errors in place of tracebacks from deep inside."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from numbers import Integral
from typing import Any, ParamSpec, TypeVar

from csp.errors import InputError

__all__ = ["check_choice", "check_known", "expect", "named_errors", "named_init", "whole_number"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_TABLES = (
    "Table.from_microdata (one record per row), Table.from_frame (one cell per row) or "
    "Table.from_array"
)
_MENDS = {
    "Table": f"make one with {_TABLES}",
    "Problem": "pose one with Mechanism(rules).problem(table), or read a JJ file with read_jj",
}


def named_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a call with unknown, missing or too many arguments into an `InputError`.

    The nearest right keyword is offered.
    """
    known = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    called = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        unknown = [name for name in kwargs if name not in known]
        if unknown:
            near = get_close_matches(unknown[0], known, 1, 0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
            msg = f"{called} has no argument {unknown[0]!r}; {hint}"
            raise InputError(msg)
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            msg = f"{called}: {error}; it takes {', '.join(known)}"
            raise InputError(msg) from None
        return function(*args, **kwargs)

    return checked


def named_init(cls: type[T]) -> type[T]:
    """Do the same for the constructor of a class."""
    cls.__init__ = named_errors(cls.__init__)  # type: ignore[method-assign]
    return cls


def expect(value: Any, kind: type, name: str) -> None:
    """Refuse a value of another type, and say how to come by one of the right type.

    Raises
    ------
    InputError
        Naming the argument and both types.
    """
    if not isinstance(value, kind):
        mend = _MENDS.get(kind.__name__, f"give a {kind.__name__}")
        msg = f"{name} must be a {kind.__name__}, got {type(value).__name__}; {mend}"
        raise InputError(msg)


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a word that is not among those that an argument may be.

    Raises
    ------
    InputError
        Naming all of them.
    """
    if value not in choices:
        msg = f"{name} {value!r} is not one of {', '.join(choices)}"
        raise InputError(msg)


def check_known(
    name: str, given: Iterable[str], known: Sequence[str], kind: str = "attributes"
) -> None:
    """Refuse an argument that names something else than what there is.

    Raises
    ------
    InputError
        Naming the first.
    """
    unknown = next((one for one in given if one not in known), None)
    if unknown is not None:
        msg = f"{name} names {unknown!r}, which is not among the {kind}: {', '.join(known)}"
        raise InputError(msg)


def whole_number(name: str, value: Any, least: int = 1, why: str = "") -> int:
    """Return an argument that has to be a whole number as an int.

    Raises
    ------
    InputError
        If it is none, or less than `least`; the message ends with `why`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        msg = f"{name} must be a whole number of at least {least}, not {value!r}{why}"
        raise InputError(msg)
    return int(value)
