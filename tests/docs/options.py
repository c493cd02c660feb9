"""The page of all options, made from what requests say: ``python -m tests.docs.options``."""

from __future__ import annotations

from pathlib import Path

from cellveil.jobs.keys import FREE, SECTIONS
from cellveil.requests.masking import Masking
from cellveil.requests.option import Field, fields_of
from cellveil.requests.outputs import Files
from cellveil.requests.requirements import Requirements
from cellveil.requests.search import Search
from cellveil.requests.source import Source

PAGE = Path("docs/options.md")

REQUESTS = {
    "The data": Source,
    "What must hold": Requirements,
    "The search": Search,
    "What is written": Files,
    "Microaggregation: `cellveil microdata microaggregate`": Masking,
}
HEAD = """# All options

What `cellveil protect` takes, with the key that stands for it in a [job](jobs.md). `cellveil
inspect` takes the options of the data. On the [page](app.md), what has no place of its own stands
under "All other options". Each option is stated once, in `cellveil/requests`; this page, the help
of the commands, `cellveil init` and the page in the browser are made from there.
"""


PLACES = {
    key.name: f"`{key.key}` in `[{section}]`"
    for section, keys in SECTIONS.items() if section != "table" for key in keys
} | {key.name: f"`[{section}]`" for section, key in FREE.items()}  # fmt: skip


def row(field: Field, *, keyed: bool) -> str:
    names = "`, `".join(field.flags)
    if field.kind == "switch" and len(field.flags) == 1:
        names += f"`, `--no-{field.flags[0][2:]}"
    takes = field.option.stands or ", ".join(field.choices)
    words = field.option.words.replace("|", "\\|").replace("<", "&lt;")
    without = field.option.otherwise or (str(field.default) if field.default else "")
    without = "required" if field.required else without
    cells = (f"`{names}`", takes, words, without, PLACES.get(field.name, "") if keyed else "")
    return f"| {' | '.join(cells)} |"


def text() -> str:
    lines = [HEAD]
    for title, request in REQUESTS.items():
        lines += [f"## {title}\n", "| option | takes | what it means | without it | in a job |"]
        lines += [
            "|---|---|---|---|---|",
            *(row(field, keyed=request is not Masking) for field in fields_of(request)),
            "",
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(text())
