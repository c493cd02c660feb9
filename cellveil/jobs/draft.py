"""Texts of jobs: of what an inspection found, of a batch file, of what was chosen on the page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cellveil.jobs.keys import SECTIONS
from csp.rules.inspection import Inspection

_PATHS = {key.key for keys in SECTIONS.values() for key in keys if key.kind == "file"} | {"folder"}


def draft(
    found: Inspection,
    data: Path,
    *,
    folder: Path,
    rules: str,
    options: Mapping[str, str | None],
    hierarchies: Mapping[str, Path],
    totals: Mapping[str, str],
    recode: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Text of a job that will stand in `folder`; `options` are further keys of [data].

    Files of `recode` are seen from the working directory; a level of a hierarchy is a number.
    """
    bare = " without the hierarchies that were found" if found.hierarchies else ""
    given = {key: value for key, value in options.items() if value is not None}
    # How many cells are sensitive depends on what they hide, and a job may be passed on.
    notes = [f"{' x '.join(table.by)}: {table.cells:,} cells{bare}" for table in found.tables]
    sections = {
        "data": {"file": str(data.resolve())} | given,
        "hierarchies": {name: str(path.resolve()) for name, path in hierarchies.items()},
        "totals": totals,
        "recode": {
            name: file if file.isdecimal() else str(Path(file).resolve())
            for name, file in recode.items()
        },
        "table": [{"by": list(table.by)} for table in found.tables],
        "rules": {"sensitive": rules},
        "output": {"folder": "published", "report": True},
    }
    return job_text(sections, notes, folder, folder)


def job_text(sections: Mapping[str, Any], notes: Sequence[str], old: Path, folder: Path) -> str:
    """Text of a job from its sections, as `cellveil.jobs.keys.checked` takes them.

    Notes are comments above. Paths in the sections are seen from `old`, and will be from `folder`.
    """
    lines = [f"# {''.join(c if c.isprintable() else ' ' for c in note)}" for note in notes]
    for name, section in sections.items():
        for one in section if isinstance(section, list) else [section] if section else []:
            lines += ["", f"[[{name}]]" if isinstance(section, list) else f"[{name}]"]
            for key, value in one.items():
                path = (name in ("hierarchies", "recode") or key in _PATHS) and not (
                    isinstance(value, str) and value.isdecimal()
                )
                lines.append(
                    f"{_key(key)} = {_value(_seen(old / value, folder) if path else value)}"
                )
    return "\n".join(lines).lstrip("\n") + "\n"


def _value(given: Any) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, Decimal):
        return str(given)
    if isinstance(given, list):
        return f"[{', '.join(map(_value, given))}]"
    return _text(given) if isinstance(given, str) else repr(given)


def _seen(path: Path, folder: Path) -> str:
    """Path as seen from a folder, so that both can move together; whole where they share none."""
    # A link stands for a file of its folder, and not for where it leads.
    path, folder = path.parent.resolve() / path.name, folder.resolve()
    shared = [one for one in (*folder.parents, folder) if one in path.parents]
    if all(one == Path(one.anchor) for one in shared):
        return path.as_posix()
    return Path(os.path.relpath(path, folder)).as_posix()


def _text(words: str) -> str:
    """Return a text of TOML; JSON writes the same, but for the sign DEL."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").isalnum() else _text(name)
