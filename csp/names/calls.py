"""Calls that cannot be right: named errors in place of tracebacks from deep inside."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, update_wrapper
from numbers import Integral
from types import FunctionType, ModuleType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from csp.errors import InputError, subject
from csp.names.guesses import ADVICE, argument_for

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
C = TypeVar("C")
T_co = TypeVar("T_co", covariant=True)

_NAMED = "_names_its_arguments"

_TABLES = (
    "Table.from_microdata (one record per row), Table.from_frame (one cell per row, or a cross "
    "table of pandas) or Table.from_array"
)
_MENDS = {
    "Table": f"make one with {_TABLES}",
    "Problem": "pose one with Mechanism(rules).problem(table), or read a JJ file with read_jj",
    "Release": "take that of what protect returned (.release), or read one with csp.read_release "
    "or, of somebody else, with Release.from_frame",
    "Mechanism": "make one, such as Mechanism('P(10,1)')",
    "Protected": "make one with csp.protect or Mechanism.protect",
}
_PLAIN = {
    "bool": "True or False",
    "bool | None": "True, False or None",
    "int": "a whole number",
    "int | None": "a whole number or None",
}
"""Annotations of arguments whose kind is checked at each call, in words."""

_KIND = re.compile(r"(?:(?:Sequence|Iterable)\[)?([A-Z]\w+)\]?(?: \| None)?")
"""Annotations of arguments that are a value of a class, or several."""


def named_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a call with unknown, missing or too many arguments into an `InputError`.

    The nearest right keyword is offered.
    """
    if hasattr(function, _NAMED):
        return function
    fault_of, known = partial(_fault, function), _spelled_out(function)
    check_plain = _plain_check(function)

    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if known is not None and not known.issuperset(kwargs):
                raise TypeError  # noqa: TRY301 - as Python does without **options
            if check_plain is not None:
                check_plain(kwargs)
            return function(*args, **kwargs)
        except (TypeError, AttributeError):
            fault = fault_of(args, kwargs)
            if fault is None:  # the arguments are right: it is an error inside
                raise
        raise fault from None

    home = _at_home(checked, function)
    setattr(home, _NAMED, True)
    return cast("Callable[P, R]", home)


def _at_home(wrapper: Any, function: Callable[..., Any]) -> Any:
    """Let a wrapper be of the module of its function: what looks for its examples finds it."""
    space = getattr(function, "__globals__", globals())
    home = FunctionType(wrapper.__code__, space, closure=wrapper.__closure__)
    return update_wrapper(home, function)


class _AskedAs(Protocol[P, T_co]):
    """Decorator of a function, or of a class method, that takes one value."""

    @overload
    def __call__(self, function: Callable[[T_co], R], /) -> Callable[P, R]: ...
    @overload
    def __call__(
        self, function: Callable[[type[C], T_co], R], /
    ) -> Callable[Concatenate[type[C], P], R]: ...


def asked_as(options: Callable[P, T]) -> _AskedAs[P, T]:
    """Let a function that takes one value be called with what that value is made of.

    The class of the value states types, defaults and meaning of the arguments once. A class method
    takes its class before the value.
    """

    def decorate(function: Callable[..., R]) -> Any:
        signature, taken = inspect.signature(function), inspect.signature(options).parameters
        *before, _ = signature.parameters.values()

        def asked(*args: Any, **kwargs: Any) -> R:
            own = len(before)
            return function(*args[:own], options(*args[own:], **kwargs))

        told = _at_home(asked, function)
        told.__signature__ = signature.replace(parameters=[*before, *taken.values()])
        doc, what = (inspect.cleandoc(one.__doc__ or "") for one in (function, options))
        head, returns, rest = doc.partition("\n\nReturns\n")
        what = what.partition("Attributes\n----------\n")[2]
        told.__doc__ = f"{head}\n\nParameters\n----------\n{what}{returns}{rest}"
        return told

    return cast("_AskedAs[P, T]", decorate)


_DEFAULTS: dict[type, dict[str, Any]] = {}
"""Defaults of options that a ``TypedDict`` lists."""


def states(options: type) -> Callable[[T], T]:
    """Say that a function or class has the defaults of options that a ``TypedDict`` lists."""

    def decorate(stating: T) -> T:
        parameters = inspect.signature(cast("Callable[..., Any]", stating)).parameters
        known = _DEFAULTS.setdefault(options, {})
        known |= {n: p.default for n, p in parameters.items() if n in options.__annotations__}
        return stating

    return decorate


def _spelled_out(function: Callable[..., Any]) -> frozenset[str] | None:
    """Show options that a ``TypedDict`` lists one by one; return what may be named.

    None for a function without ``**options: Unpack[...]`` of a class of its module.
    """
    rest = str(getattr(function, "__annotations__", {}).get("options"))
    listed = re.fullmatch(r"Unpack\[(\w+)\]", rest)
    if listed is None:
        return None
    signature = inspect.signature(function)
    *named, _ = signature.parameters.values()
    options = function.__globals__[listed[1]].__annotations__
    defaults: dict[str, Any] = {}
    for part, known in _DEFAULTS.items():  # of it, or of one that it is made of
        if part.__annotations__.items() <= options.items():
            defaults |= known
    shown = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name],
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in options.items()
    ]  # fmt: skip
    told: Any = function
    told.__signature__ = signature.replace(parameters=[*named, *shown])
    return frozenset(p.name for p in (*named, *shown))


def _plain_check(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], None] | None:
    """Refuse named flags that are not true or false, and whole numbers that are not.

    Python takes any word for true, "no" as well, and a number such as 2.5 fails deep inside.
    None for a function that takes neither.
    """
    arguments = inspect.signature(function).parameters.values()
    kinds = {one.name: one.annotation for one in arguments if one.annotation in _PLAIN}

    def check(given: Mapping[str, Any]) -> None:
        for name, value in given.items():
            if name in kinds and not _is_plain(value, kinds[name]):
                plain = value is None or isinstance(value, (str, float, Integral))
                got = repr(value) if plain else f"a {type(value).__name__}"
                msg = f"{name} must be {_PLAIN[kinds[name]]}, got {got}"
                raise InputError(msg)

    return check if kinds else None


def _is_plain(value: object, kind: str) -> bool:
    if value is None:
        return kind.endswith("None")
    flag = isinstance(value, (bool, np.bool_))
    return flag if kind.startswith("bool") else isinstance(value, Integral) and not flag


def _fault(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> InputError | None:
    """Say what is wrong with the arguments of a call, if anything is."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        known = [name for name in signature.parameters if name not in ("self", "cls")]
        called = function.__qualname__.removesuffix(".__init__")
        unknown = [name for name in kwargs if name not in known]
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        if not unknown:
            return InputError(f"{called}: {error}; {ADVICE.get((called, ''), takes)}")
        advice = ADVICE.get((called, unknown[0])) or argument_for(unknown[0], known)
        return InputError(f"{called} has no argument {unknown[0]!r}; {advice}")
    return _wrong_kind(function, signature, given)


def _wrong_kind(
    function: Callable[..., Any], signature: inspect.Signature, given: Mapping[str, Any]
) -> InputError | None:
    """Name the first argument that is not of its class, if that is one of this project."""
    ours = function.__module__.partition(".")[0]
    for name, value in given.items():
        kind = _KIND.fullmatch(str(signature.parameters[name].annotation))
        if kind is None or (value is None and kind[0].endswith("None")):
            continue
        known = getattr(function, "__globals__", {}).get(kind[1])
        if kind[1] not in _MENDS and (
            not isinstance(known, type) or known.__module__.partition(".")[0] != ours
        ):
            continue
        several = "[" in kind[0]
        if several and not isinstance(value, Iterable):
            return InputError(_not_several(name, kind[1], value))
        for one in value if several else [value]:
            if all(base.__name__ != kind[1] for base in type(one).__mro__):
                where = f"each of {name}" if several else name
                return InputError(_other_kind(where, kind[1], one))
    return None


def named_init(cls: type[T]) -> type[T]:
    """Do the same for the constructor of a class, its other ways to be made, and its methods."""
    for name, member in list(vars(cls).items()):
        if name == "__init__" or (isinstance(member, FunctionType) and name[0] != "_"):
            setattr(cls, name, named_errors(member))
        elif isinstance(member, (classmethod, staticmethod)) and not name.startswith("_"):
            kind = type(member)
            setattr(cls, name, kind(named_errors(member.__func__)))
    return cls


def named(module: ModuleType, name: str) -> Any:
    """Do the same for what a module offers by a name, function or class, and return it.

    Errors, and what is neither or comes from elsewhere, are as they are.
    """
    value = getattr(module, name)
    home = sys.modules.get(getattr(value, "__module__", None) or "")
    if home is None or home.__name__.partition(".")[0] != module.__name__.partition(".")[0]:
        return value
    if isinstance(value, FunctionType):
        value = named_errors(value)
        # Pickles name a function by where it is.
        setattr(home, value.__name__, value)
        setattr(module, name, value)
    elif isinstance(value, type) and not issubclass(value, BaseException):
        named_init(value)
    return value


def named_all(package: str) -> None:
    """Do the same for all that a module offers, at its end."""
    module = sys.modules[package]
    for name in module.__all__:
        named(module, name)


def expect(value: Any, kind: type, name: str) -> None:
    """Refuse a value of another type, and say how to come by one of the right type.

    Raises
    ------
    InputError
        Naming the argument and both types.
    """
    if not isinstance(value, kind):
        raise InputError(_other_kind(name, kind.__name__, value))


def _other_kind(name: str, kind: str, value: object) -> str:
    mend = _MENDS.get(kind, f"give a {kind}")
    return f"{name} must be a {kind}, got {type(value).__name__}; {mend}"


def _not_several(name: str, kind: str, value: object) -> str:
    return f"{name} must be several values of {kind}, got {type(value).__name__}; give a list"


def each_named(values: Iterable[T] | Mapping[Any, T], kind: type, name: str) -> Mapping[Any, T]:
    """Values of a type by their names, or numbered from 0, of an argument that takes several.

    Raises
    ------
    InputError
        As for `expect`, naming the value.
    """
    if not isinstance(values, Iterable):
        raise InputError(_not_several(name, kind.__name__, values))
    named = values if isinstance(values, Mapping) else dict(enumerate(values))
    for key, value in named.items():
        expect(value, kind, f"{name}[{key!r}]")
    return named


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a word that is not among those that an argument may be.

    Raises
    ------
    InputError
        Naming all of them.
    """
    if value not in choices:
        msg = f"{subject(name)} {value!r} is not one of {', '.join(choices)}"
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
        there = ", ".join(map(str, known))
        msg = f"{subject(name)} names {unknown!r}, which is not among the {kind}: {there}"
        raise InputError(msg)


def whole_number(name: str, value: Any, least: int = 1, why: str = "") -> int:
    """Return an argument that has to be a whole number as an int.

    Raises
    ------
    InputError
        If it is none, or less than `least`; the message ends with `why`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        msg = f"{subject(name)} must be a whole number of at least {least}, not {value!r}{why}"
        raise InputError(msg)
    return int(value)
