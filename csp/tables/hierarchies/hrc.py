"""τ-ARGUS hierarchy files (.hrc): one code per line, its depth shown by repeated leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path

from csp.errors import InputError, phrase
from csp.formats.codes import plain_code
from csp.formats.reading import MAX_DESCRIPTION_BYTES, read_text
from csp.tables.hierarchies.trees import MAX_DEPTH, too_deep


def parse_hrc(
    source: str | PathLike[str] | Iterable[str], *, lead: str = "@", total: str = "Total"
) -> dict[str, str]:
    """Parent of every code of an .hrc file, in file order.

    Parameters
    ----------
    source : path, text or lines
        A string with a line break is text; without one it is a path.
    lead : str
        One lead for each level below the first; blanks or a tab for an indented file.
    total : str
        Code of the total; it stands above the first level and not in the file.

    Returns
    -------
    dict of str to str
        Child to parent; codes of the first level have `total` as their parent.

    Raises
    ------
    InputError
        For a code without a name, a code that occurs twice or equals the total, or a line that
        is more than one level deeper than the line before it (line number named), for lines
        indented by blanks where the lead is another, and for a file without codes.
    """
    if not lead:
        msg = "lead must not be empty: it is the string that shows the depth of a code"
        raise InputError(msg)
    name, lines = _lines(source)
    root = plain_code(total)
    path = [root]
    parents: dict[str, str] = {}
    first: dict[str, int] = {}
    margin: str | None = None
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        where = f"{name}line {number}"
        level, rest = 0, raw.rstrip()
        if lead.strip():
            rest = raw.strip()
            indent = raw[: raw.index(rest)]
            margin = indent if margin is None else margin
            if indent != margin:
                msg = (
                    f"{where}: the line is indented by blanks, but depth is shown by {lead!r}; "
                    f"write one {lead!r} for each level"
                    + phrase(" (or give the indentation of one level as lead=)", "")
                )
                raise InputError(msg)
        while rest.startswith(lead):
            level, rest = level + 1, rest[len(lead) :]
            if level >= MAX_DEPTH:
                raise too_deep(where)
        code = plain_code(rest)
        if not code:
            msg = f"{where}: there is no code after the {lead!r}; name it or delete the line"
            raise InputError(msg)
        if level > len(path) - 1:
            allowed = len(path) - 1
            msg = (
                f"{where}: code {code!r} is at level {level} but at most {allowed} is possible "
                f"here; a line may be one level deeper than the line before it"
            )
            raise InputError(msg)
        if code == root:
            msg = f"{where}: code {code!r} is the total, which the file must leave out"
            raise InputError(msg)
        if code in first:
            msg = f"{where}: code {code!r} already stands in line {first[code]}; keep one of them"
            raise InputError(msg)
        first[code] = number
        del path[level + 1 :]
        parents[code] = path[-1]
        path.append(code)
    if not parents:
        msg = f"{name}there are no codes; an .hrc file has one code on each line"
        raise InputError(msg)
    return parents


def format_hrc(
    codes: Sequence[str], children: Callable[[int], Sequence[int]], lead: str = "@"
) -> str:
    """Text of an .hrc file: parents before their children, the total, the last code, left out.

    Raises
    ------
    InputError
        If the lead is empty, or a code begins with it or has a line break.
    """
    if not lead:
        msg = "lead must not be empty: it is the string that shows the depth of a code"
        raise InputError(msg)
    lines: list[str] = []
    root = len(codes) - 1
    stack = [(i, 0) for i in reversed(children(root))]
    while stack:
        position, level = stack.pop()
        code = codes[position]
        if code.startswith(lead) or len(code.splitlines()) != 1:
            what = f"begins with the lead {lead!r}" if code.startswith(lead) else "has a line break"
            msg = f"code {code!r} {what} and would be read back wrongly; rename it or change lead"
            raise InputError(msg)
        lines.append(lead * level + code)
        stack.extend((i, level + 1) for i in reversed(children(position)))
    return "\n".join(lines) + "\n"


def _lines(source: str | PathLike[str] | Iterable[str]) -> tuple[str, list[str]]:
    """Prefix for messages and the lines of a path, text or iterable."""
    if isinstance(source, str) and ("\n" in source or "\r" in source):
        return "", source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if isinstance(source, (str, PathLike)):
        text = read_text(source, windows=True, most=MAX_DESCRIPTION_BYTES)
        return f"{Path(source).name}: ", text.split("\n")
    return "", [str(line) for line in source]
