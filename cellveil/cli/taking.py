"""Commands that take requests: a parameter of a command becomes the options of its fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer

from cellveil.front import refuse
from cellveil.requests.option import Field, fields_of, made

T = TypeVar("T")
U = TypeVar("U")


class Rest(Generic[T]):
    """Makes a request of the options of its fields, and of what the command adds."""

    def __init__(self, request: type[T], own: Mapping[str, Any]) -> None:
        self._request, self._own = request, dict(own)

    @property
    def own(self) -> Mapping[str, Any]:
        """What the options say, by field."""
        return dict(self._own)

    def __call__(self, **more: Any) -> T:
        """Return the request."""
        return made(self._request, {**self._own, **more})

    def into(self, request: type[U], **more: Any) -> U:
        """Return another request that has some of the same options."""
        return made(request, {**self._own, **more})


def taking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of the requests among its parameters.

    A parameter that is a request (a dataclass whose fields say what they mean) is made of the
    options. One that is ``Rest[request]`` is a function that makes it of the options and of further
    fields.
    """
    hints = get_type_hints(command, include_extras=True)
    requests = {name: _request(hint) for name, hint in hints.items()}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        request = requests[name]
        if request is None:
            parameters.append(parameter.replace(annotation=hints[name]))
        else:
            parameters += [_parameter(field) for field in fields_of(request)]

    @wraps(command)
    def asked(**given: Any) -> None:
        for name, request in requests.items():
            if request is None:
                continue
            own = {field.name: _read(field, given.pop(field.name)) for field in fields_of(request)}
            given[name] = made(request, own) if hints[name] is request else Rest(request, own)
        command(**given)

    # Those without a default come first, as a signature wants it; all are given by name.
    parameters.sort(key=lambda p: p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD)
    asked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    asked.__annotations__ = {p.name: p.annotation for p in parameters}
    return asked


def _request(hint: Any) -> Any:
    """Request that a parameter stands for, itself or as `Rest`; None for an option of its own."""
    found = get_args(hint)[0] if get_origin(hint) is Rest else hint
    return found if is_dataclass(found) else None


def _parameter(field: Field) -> inspect.Parameter:
    """Parameter of a command for a field, as typer reads it."""
    said = field.option
    names, default = field.flags, field.default
    if field.kind == "switch" and len(names) == 1:
        names = (names[0], f"--no-{names[0][2:]}")
    if field.kind == "switch":
        names = ("/".join(names),)
    elif field.kind != "flag" and not said.names and field.name == names[0][2:].replace("-", "_"):
        names = ()
    hints: dict[str, Any] = {
        "flag": bool, "switch": bool, "whole": int, "number": float, "file": Path,
        "by column": list[str], "repeated": list[str],
        "choice": Literal[field.choices] if field.choices else str,
    }  # fmt: skip
    hint = hints.get(field.kind, str)
    if field.required:
        default = inspect.Parameter.empty
    elif default is None or isinstance(default, tuple):
        hint, default = hint | None, None
    option = typer.Option(
        *names, metavar=said.stands or None, help=said.words, show_default=said.otherwise or True
    )
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default,
        annotation=Annotated[hint, option],
    )  # fmt: skip


def _read(field: Field, given: Any) -> Any:
    """Value of a field from what the parser of the command line gave."""
    if given is None:
        return field.default
    if field.kind == "switch" and field.option.turns is not None:
        return field.option.turns[0 if given else 1]
    if field.kind in ("by column", "repeated"):
        return tuple(given)
    if field.kind != "names":
        return given
    found = tuple(name.strip() for name in given.split(","))
    if field.option.blanks:
        return tuple(name for name in found if name)
    if "" in found:
        refuse(f"{field.flags[0]} {given!r} has an empty name; write it like Size,Region")
    return found
