"""What an option says of itself, beside its type: one statement for commands, jobs and docs."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

__all__ = ["Amount", "ByColumn", "Field", "Option", "fields_of", "made"]

T = TypeVar("T")

Amount = NewType("Amount", str)
"""A number kept as text, so that its decimals stay exact."""

ByColumn = NewType("ByColumn", str)
"""What is said of one column: ``COLUMN=FILE``. In a job it stands in a section of its own."""


@dataclass(frozen=True, slots=True)
class Option:
    """What is said of a field of a request.

    Attributes
    ----------
    words : str
        What it means: a sentence. Other options are named as on the command line.
    stands : str
        What stands for its value in the help of a command.
    example : str
        Its value in a job, in TOML; "" where no job has it.
    names : tuple of str
        Its names on the command line, if not the field's.
    key : str
        Its name in a job, if not the field's.
    otherwise : str
        What happens without it, where that is not a value.
    turns : (object, object) or None
        What the two names of a switch stand for; True and False by default.
    choices : tuple of str
        Allowed values, where the type does not list them.
    blanks : bool
        Whether empty names in a list are left out; otherwise they are refused.
    """

    words: str
    stands: str = ""
    example: str = ""
    names: tuple[str, ...] = ()
    key: str = ""
    otherwise: str = ""
    turns: tuple[Any, Any] | None = None
    choices: tuple[str, ...] = ()
    blanks: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request: its option, and what its type says.

    Attributes
    ----------
    name : str
    option : Option
    kind : str
        "text", "amount", "choice", "flag", "switch", "whole", "number", "file", "names" or "by
        column".
    choices : tuple of str
    default : object
        `dataclasses.MISSING` if it has to be given.
    """

    name: str
    option: Option
    kind: str
    choices: tuple[str, ...]
    default: Any

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is MISSING

    @property
    def flags(self) -> tuple[str, ...]:
        """Names on the command line, the long one first."""
        return self.option.names or (f"--{self.name.replace('_', '-')}",)

    @property
    def key(self) -> str:
        """Name in a job."""
        return self.option.key or self.name


@lru_cache
def fields_of(request: Any) -> tuple[Field, ...]:
    """Return the fields of a request that say something of themselves, in their order.

    Those of a request that is part of it stand in its place.
    """
    hints = get_type_hints(request, include_extras=True)
    found: list[Field] = []
    for field in fields(request):
        hint = hints[field.name]
        if is_dataclass(hint):
            found += fields_of(hint)  # type: ignore[arg-type]
        if get_origin(hint) is not Annotated:
            continue
        plain, option = get_args(hint)
        kind, choices = _kind(plain, option)
        default = field.default
        if default is MISSING and field.default_factory is not MISSING:
            default = field.default_factory()
        found.append(Field(field.name, option, kind, option.choices or choices, default))
    return tuple(found)


def made(request: type[T], given: Mapping[str, Any]) -> T:
    """Make a request, and those that are part of it, of the fields that are given.

    Parameters
    ----------
    request : type
    given : mapping of str to object
        By field; what belongs to none is left alone, and what is missing has its default.
    """
    hints = get_type_hints(request, include_extras=True)
    known = {}
    for field in fields(request):  # type: ignore[arg-type]
        hint = hints[field.name]
        if is_dataclass(hint) and field.name not in given:
            known[field.name] = made(hint, given)  # type: ignore[arg-type]
        elif field.name in given:
            known[field.name] = given[field.name]
    return request(**known)


_KINDS: Mapping[Any, str] = {
    str: "text", Amount: "amount", bool: "flag", int: "whole", float: "number", Path: "file",
}  # fmt: skip


def _kind(hint: Any, option: Option) -> tuple[str, tuple[str, ...]]:
    """Kind of a type, and the values that it lists."""
    optional = get_origin(hint) in (Union, types.UnionType)
    plain = next(part for part in get_args(hint) if part is not type(None)) if optional else hint
    if get_origin(plain) is tuple:
        inner = get_args(plain)[0]
        return ("by column", ()) if inner is ByColumn else ("names", ())
    if option.turns is not None or (plain is bool and optional):
        return "switch", tuple(get_args(plain)) if get_origin(plain) is Literal else ()
    if get_origin(plain) is Literal:
        return "choice", tuple(get_args(plain))
    return _KINDS[plain], ()
