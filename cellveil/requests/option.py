"""What an option says of itself, beside its type: one statement for commands, jobs and docs."""

from __future__ import annotations

import types
from collections.abc import Container, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import (
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

T = TypeVar("T")

Amount = NewType("Amount", str)
"""A number kept as text, so that its decimals stay exact."""

ByColumn = NewType("ByColumn", str)
"""What is said of one column: ``COLUMN=FILE``. In a job it stands in a section of its own."""


Repeated = NewType("Repeated", str)
"""A text that may be given several times on the command line; in a job a list of them."""


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


def option(
    words: str, stands: str = "", example: str = "", *, default: Any = None, **more: Any
) -> Any:
    """Field of a request, with its default (`MISSING` if it has to be given); see `Option`."""
    return field(default=default, metadata={"option": Option(words, stands, example, **more)})


def again(request: Any, name: str) -> Any:
    """Field of a request that another one has said what it means."""
    found = next(part for part in fields(request) if part.name == name)
    return field(default=found.default, metadata=found.metadata)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request: its option, and what its type says.

    Attributes
    ----------
    name : str
    option : Option
    kind : str
        "text", "amount", "choice", "flag", "switch", "whole", "number", "file", "names",
        "repeated" or "by column".
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
    hints = get_type_hints(request)
    found: list[Field] = []
    for part in fields(request):
        if is_dataclass(hints[part.name]):
            found += fields_of(hints[part.name])
        if said := part.metadata.get("option"):
            kind, choices = _kind(hints[part.name], said)
            kind = "choice" if kind == "text" and said.choices else kind
            found.append(Field(part.name, said, kind, said.choices or choices, part.default))
    return tuple(found)


def made(request: type[T], given: Mapping[str, Any]) -> T:
    """Make a request, and those that are part of it, of the fields that are given.

    Parameters
    ----------
    request : type
    given : mapping of str to object
        By field; what belongs to none is left alone, and what is missing has its default.
    """
    hints = get_type_hints(request)
    known = {}
    for part in fields(request):  # type: ignore[arg-type]
        if part.name in given:
            known[part.name] = given[part.name]
        elif is_dataclass(hints[part.name]):
            known[part.name] = made(hints[part.name], given)
    return request(**known)


def values_of(request: Any) -> dict[str, Any]:
    """Values of all fields that say something of themselves, by name; see `fields_of`."""
    found: dict[str, Any] = {}
    for part in fields(request):
        value = getattr(request, part.name)
        if is_dataclass(value):
            found |= values_of(value)
        if "option" in part.metadata:
            found[part.name] = value
    return found


def flags_given(request: Any, names: Container[str] | None = None) -> list[str]:
    """Options by which a request differs from its defaults; of the fields in `names`, or of all."""
    values = values_of(request)
    found = []
    kind: Any = type(request)
    for part in fields_of(kind):
        value = values[part.name]
        if (names is None or part.name in names) and value not in (None, part.default):
            turns = part.option.turns
            found.append(part.flags[turns.index(value) if turns else 0])
    return found


_KINDS: Mapping[Any, str] = {
    str: "text", Amount: "amount", bool: "flag", int: "whole", float: "number", Path: "file",
}  # fmt: skip


def _kind(hint: Any, option: Option) -> tuple[str, tuple[str, ...]]:
    """Kind of a type, and the values that it lists."""
    optional = get_origin(hint) in (Union, types.UnionType)
    plain = next(part for part in get_args(hint) if part is not type(None)) if optional else hint
    if get_origin(plain) is tuple:
        inner = get_args(plain)[0]
        return {ByColumn: "by column", Repeated: "repeated"}.get(inner, "names"), ()
    if option.turns is not None or (plain is bool and optional):
        return "switch", tuple(get_args(plain)) if get_origin(plain) is Literal else ()
    if get_origin(plain) is Literal:
        return "choice", tuple(get_args(plain))
    return _KINDS[plain], ()
