"""τ-ARGUS record layouts (.rda): which variables a file has, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from csp.errors import InputError
from csp.exact import read_whole
from csp.formats.codes import plain_code
from csp.formats.reading import MAX_DESCRIPTION_BYTES, read_text

# Tags that stand alone, and those that carry words.
_FLAGS = frozenset(
    {"RECODEABLE", "NUMERIC", "WEIGHT", "HIERARCHICAL", "HOLDING", "STATUS", "FREQUENCY"}
    | {"MAXSCORE", "COSTVAR", "COST", "LOWERPL", "UPPERPL", "SHADOW"}
)
_WORDS = frozenset(
    {"DECIMALS", "HIERLEVELS", "HIERCODELIST", "HIERLEADSTRING", "CODELIST", "TOTCODE"}
    | {"REQUEST", "DISTANCE"}
)
_SPELLINGS = {"RECODABLE": "RECODEABLE"}
_HEADER = frozenset({"SEPARATOR", "SAFE", "UNSAFE", "PROTECT"})
_TAG = re.compile(r"<\s*([A-Za-z]+)\s*>")
_TOKEN = re.compile(r'"([^"]*)"|(\S+)')


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a record layout.

    Attributes
    ----------
    name : str
    line : int
        Line of the .rda file where it begins.
    start, length : int
        First character (from 1) and width in a fixed-width record; 0 in separated files.
    missing : tuple of str
        Codes that stand for no answer.
    flags : frozenset of str
        Tags without words: RECODEABLE, NUMERIC, WEIGHT, HOLDING, STATUS, FREQUENCY, ...
    decimals : int or None
        Decimal places, where they are declared.
    levels : tuple of int
        Digits of the code that each level of a hierarchy adds.
    hierarchy_file, code_file : str
        File names of the hierarchy and of the code list; "" for none.
    lead : str
        Lead of the hierarchy file.
    total : str
        Code of the total; "" where the layout gives none.
    request : tuple of str or None
        Codes of a respondent who asks for protection; None where the variable is not such a flag.
    distance : tuple of int
        Distances for global recoding.
    """

    name: str
    line: int
    start: int = 0
    length: int = 0
    missing: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    decimals: int | None = None
    levels: tuple[int, ...] = ()
    hierarchy_file: str = ""
    code_file: str = ""
    lead: str = "@"
    total: str = ""
    request: tuple[str, ...] | None = None
    distance: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Metadata:
    """A record layout.

    Attributes
    ----------
    variables : tuple of Variable
        In file order.
    separator : str
        Separator of the fields; "" for fixed-width records.
    status : tuple of (str, str)
        Letters of a table's status variable by their tag: SAFE, UNSAFE, PROTECT.
    folder : Path
        Where the .rda file lies; the files it names are looked for there.
    """

    variables: tuple[Variable, ...]
    separator: str
    status: tuple[tuple[str, str], ...]
    folder: Path

    def variable(self, name: str) -> Variable:
        """Variable of this name.

        Raises
        ------
        InputError
            If there is none.
        """
        for variable in self.variables:
            if variable.name == name:
                return variable
        names = ", ".join(variable.name for variable in self.variables)
        msg = f"the record layout has no variable {name!r}; there are {names}"
        raise InputError(msg)

    def flagged(self, flag: str) -> tuple[str, ...]:
        """Names of the variables with a flag such as "WEIGHT" or "HOLDING"."""
        return tuple(v.name for v in self.variables if flag in v.flags)


def read_metadata(path: str | PathLike[str]) -> Metadata:
    """Read a τ-ARGUS record layout (.rda).

    Raises
    ------
    InputError
        If the file cannot be read, or a line is malformed (line number and reason named).
    """
    name = Path(path).name
    header: dict[str, str] = {}
    drafts: list[dict[str, Any]] = []
    text = read_text(path, windows=True, most=MAX_DESCRIPTION_BYTES)
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line:
            continue
        where = f"{name}: line {number}"
        if not line.startswith("<"):
            drafts.append(_variable(line, number, where, separated="SEPARATOR" in header))
            continue
        for tag, words in _tags(line, where):
            if tag in _HEADER:
                if len(words) != 1:
                    msg = f"{where}: <{tag}> needs one word; got {len(words)}"
                    raise InputError(msg)
                if tag == "SEPARATOR" and drafts:
                    msg = f"{where}: <SEPARATOR> must stand before the first variable"
                    raise InputError(msg)
                if tag == "SEPARATOR" and (len(words[0]) != 1 or words[0] in '"\r\n'):
                    msg = f'{where}: <SEPARATOR> must be one character, such as ","'
                    raise InputError(msg)
                header[tag] = words[0]
            elif not drafts:
                msg = f"{where}: <{tag}> stands before the first variable; name a variable first"
                raise InputError(msg)
            else:
                _apply(drafts[-1], tag, words, where)
    return _finish(drafts, header, Path(path))


def _words(text: str) -> list[str]:
    return [quoted or bare for quoted, bare in _TOKEN.findall(text)]


def _variable(line: str, number: int, where: str, *, separated: bool) -> dict[str, Any]:
    words = _words(line)
    draft: dict[str, Any] = {"name": words[0], "line": number, "flags": set(), "where": where}
    if separated:
        draft["missing"] = tuple(plain_code(word) for word in words[1:])
        return draft
    if len(words) < 3 or not _whole(*words[1:3]):
        msg = (
            f"{where}: variable {words[0]!r} needs its first character and its width as whole "
            "numbers, like: Region 12 2 99 (or put <SEPARATOR> first for separated records)"
        )
        raise InputError(msg)
    draft |= {"start": read_whole(words[1]), "length": read_whole(words[2])}
    draft["missing"] = tuple(plain_code(word) for word in words[3:])
    if draft["start"] < 1 or draft["length"] < 1:
        msg = f"{where}: first character and width of {words[0]!r} must be at least 1"
        raise InputError(msg)
    return draft


def _whole(*words: str) -> bool:
    """Whether words are whole numbers of a size that a layout can mean."""
    return all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words)


def _tags(line: str, where: str) -> list[tuple[str, list[str]]]:
    """All tags of a line with the words behind each."""
    pieces = _TAG.split(line)
    if pieces[0].strip():
        msg = f"{where}: a tag must look like <NUMERIC>"
        raise InputError(msg)
    return [
        (_SPELLINGS.get(tag.upper(), tag.upper()), _words(rest))
        for tag, rest in zip(pieces[1::2], pieces[2::2], strict=True)
    ]


def _apply(draft: dict[str, Any], tag: str, words: list[str], where: str) -> None:
    if tag in _FLAGS:
        if words:
            msg = f"{where}: <{tag}> takes no value, but {words[0]!r} follows it"
            raise InputError(msg)
        draft["flags"].add(tag)
        return
    if tag not in _WORDS:
        known = ", ".join(sorted(_FLAGS | _WORDS | _HEADER))
        msg = f"{where}: unknown tag <{tag}>; known are {known}"
        raise InputError(msg)
    if not words and tag != "REQUEST":
        msg = f"{where}: <{tag}> needs a value after it"
        raise InputError(msg)
    if tag in {"DECIMALS", "HIERLEVELS", "DISTANCE"}:
        if not _whole(*words):
            msg = f"{where}: <{tag}> needs whole numbers, not {' '.join(words)}"
            raise InputError(msg)
        numbers = tuple(read_whole(word) for word in words)
        if tag == "DECIMALS":
            draft["decimals"] = numbers[0]
        elif tag == "DISTANCE":
            draft["distance"] = numbers
        else:
            draft["levels"] = tuple(number for number in numbers if number)
    elif tag == "REQUEST":
        draft["request"] = tuple(plain_code(word) for word in words)
    elif not words[0]:
        msg = f"{where}: <{tag}> needs a word between its quotes"
        raise InputError(msg)
    elif tag == "TOTCODE":
        draft["total"] = plain_code(words[0])
    else:
        key = {"HIERCODELIST": "hierarchy_file", "HIERLEADSTRING": "lead", "CODELIST": "code_file"}
        draft[key[tag]] = words[0]


def _finish(drafts: list[dict[str, Any]], header: Mapping[str, str], path: Path) -> Metadata:
    first: dict[str, int] = {}
    variables = []
    for draft in drafts:
        where = draft.pop("where")
        variable = Variable(**{**draft, "flags": frozenset(draft["flags"])})
        if variable.name in first:
            msg = (
                f"{where}: variable {variable.name!r} already stands in line "
                f"{first[variable.name]}; give each variable its own name"
            )
            raise InputError(msg)
        first[variable.name] = variable.line
        if variable.levels and variable.length and sum(variable.levels) != variable.length:
            msg = (
                f"{where}: <HIERLEVELS> of {variable.name!r} adds up to {sum(variable.levels)} "
                f"digits, but the variable is {variable.length} wide"
            )
            raise InputError(msg)
        if "HIERARCHICAL" in variable.flags and not (variable.levels or variable.hierarchy_file):
            msg = f"{where}: {variable.name!r} needs <HIERLEVELS> or <HIERCODELIST>"
            raise InputError(msg)
        variables.append(variable)
    if not variables:
        msg = f"{path.name}: there are no variables; a layout names at least one"
        raise InputError(msg)
    status = tuple((tag, word) for tag, word in header.items() if tag != "SEPARATOR")
    return Metadata(tuple(variables), header.get("SEPARATOR", ""), status, path.parent)
