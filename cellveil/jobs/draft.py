"""A job made of what an inspection found: it runs as it stands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from csp.rules.inspection import Inspection
from csp.tables.hierarchies.hierarchy import Hierarchy

__all__ = ["draft", "offered", "rebased"]


def offered(data: Any, found: Inspection) -> dict[str, Hierarchy]:
    """Hierarchies of the nested columns that were found, by dimension."""
    return {name: Hierarchy.from_columns(data, chain) for name, chain in found.hierarchies.items()}


def draft(
    found: Inspection,
    data: Path,
    *,
    folder: Path,
    rules: str,
    options: Mapping[str, str | None],
    hierarchies: Mapping[str, Path],
) -> str:
    """Text of a job.

    Parameters
    ----------
    found : Inspection
    data : Path
        The records.
    folder : Path
        Where the job will stand; paths in it are seen from there.
    rules : str
    options : mapping of str to str or None
        Further keys of [data], such as value.
    hierarchies : mapping of str to Path
        Hierarchy file of each dimension that has one.
    """
    lines = ["[data]", f"file = {_text(_seen(data, folder))}"]
    lines += [f"{key} = {_text(value)}" for key, value in options.items() if value is not None]
    if hierarchies:
        lines += ["", "[hierarchies]"]
        lines += [f"{_key(n)} = {_text(_seen(p, folder))}" for n, p in hierarchies.items()]
    for table in found.tables:
        by = ", ".join(_text(name) for name in table.by)
        lines += ["", "[[table]]", f"by = [{by}]  # {table.cells:,} cells without hierarchies"]
    lines += ["", "[rules]", f"sensitive = {_text(rules)}"]
    if found.tables and rules in found.tables[0].sensitive:
        counts = ", ".join(str(table.sensitive[rules]) for table in found.tables)
        lines[-1] += f"  # marks {counts} cells"
    lines += ["", "[output]", 'folder = "published"', "report = true", ""]
    return "\n".join(lines)


def rebased(sections: Mapping[str, Any], notes: Sequence[str], old: Path, folder: Path) -> str:
    """Text of a job from its sections.

    Parameters
    ----------
    sections : mapping
        As `cellveil.jobs.keys.checked` takes them.
    notes : sequence of str
        Comments above.
    old, folder : Path
        Where paths in the sections are seen from, and where they will be.
    """
    lines = [f"# {note}" for note in notes]
    for name, section in sections.items():
        for one in section if isinstance(section, list) else [section] if section else []:
            lines += ["", f"[[{name}]]" if isinstance(section, list) else f"[{name}]"]
            for key, value in one.items():
                path = key in ("file", "layout", "apriori", "folder")
                lines.append(
                    f"{_key(key)} = {_value(_seen(old / value, folder) if path else value)}"
                )
    return "\n".join(lines).lstrip("\n") + "\n"


def _value(given: Any) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, list):
        return f"[{', '.join(map(_value, given))}]"
    return _text(given) if isinstance(given, str) else repr(given)


def _seen(path: Path, folder: Path) -> str:
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return path.resolve().as_posix()


def _text(words: str) -> str:
    """Return a text of TOML; JSON writes the same, but for the sign DEL."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").isalnum() else _text(name)
