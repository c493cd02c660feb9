"""What was chosen on the page, and the job that it makes: no browser, no state."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from cellveil.front import refuse
from cellveil.jobs.draft import job_text
from cellveil.jobs.keys import DATA, taken
from cellveil.requests.option import made
from cellveil.requests.source import Source
from csp.rules import parse_rules

_UNSAFE = re.compile(r"[\x00-\x1f\x7f]" if os.name == "posix" else r'[\x00-\x1f\x7f<>:"|?*]')
_NO_LETTER = re.compile(r"[^\w.+ -]")


@dataclass(frozen=True, slots=True)
class Rules:
    """What makes a cell sensitive, as it is asked on the page; None is not asked for.

    `contributors` is their least number, `dominance` n and k of the (n, k)-rule, `percent` p of the
    p% rule. `words` are rules in the words of tau-ARGUS, and take the place of the others.
    """

    contributors: int | None = 3
    dominance: tuple[int, str] | None = None
    percent: str | None = None
    words: str = ""

    MARGIN = 10
    """Percent by which the interval of a cell with few contributors must exceed it, each way."""

    def text(self, *, values: bool) -> str:
        """Rules in the words of tau-ARGUS; refused if there is none, or the words are not rules.

        Dominance and p% look at contributions, which counts do not have: `values` says whether
        values are added up.
        """
        if self.words.strip():
            return str(parse_rules(self.words))
        parts = []
        if values and self.percent is not None:
            parts.append(f"P({self.percent},1)")
        if values and self.dominance is not None:
            parts.append(f"NK({self.dominance[0]},{self.dominance[1]})")
        if self.contributors is not None:
            parts.append(f"FREQ({self.contributors},{self.MARGIN})")
        if not parts:
            refuse("choose at least one rule: without one nothing is sensitive")
        return str(parse_rules("|".join(parts)))


@dataclass(frozen=True, slots=True)
class Choices:
    """All that makes a job.

    Dimensions are in the order in which they were chosen; without `value` records are counted.
    `cross` says that the data is a cross table, of "counts" or "values".
    Files of hierarchies (.hrc) lie in the folder of the data. A `missing` code of "" refuses
    records that lack one; `time_limit` is in seconds. Keys that are asked for in no other way are
    `further`, by the section of the job.
    """

    data: Path
    by: tuple[str, ...]
    value: str | None = None
    contributor: str | None = None
    weight: str | None = None
    hierarchies: Mapping[str, Path] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    cost: str = "unit"
    margins: str = "suppress"
    singletons: bool = True
    negative: str = "error"
    missing: str = ""
    time_limit: float = 60.0
    attacks: bool = False
    formats: tuple[str, ...] = ("csv",)
    further: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cross: str = ""

    def job(self) -> str:
        """Text of a job that stands beside the data and runs as it is."""
        if not self.by:
            refuse("choose at least one dimension of the table")
        data: dict[str, Any] = {"file": self.data.name}
        optional = {
            "value": self.value, "contributor": self.contributor, "weight": self.weight,
            "negative": None if self.negative == "error" else self.negative,
            "missing": self.missing or None, "cross": self.cross or None,
        }  # fmt: skip
        data |= {key: given for key, given in optional.items() if given is not None}
        data |= self.further.get("data", {})
        rules: dict[str, Any] = {"sensitive": self.rules.text(values=self.value is not None)}
        rules |= {"cost": self.cost, "margins": self.margins}
        if self.value is not None:
            rules["singletons"] = self.singletons
        rules |= self.further.get("rules", {})
        kept = {name: path.name for name, path in self.hierarchies.items() if name in self.by}
        sections = {
            "data": data,
            "hierarchies": kept,
            "table": [{"by": list(self.by)}],
            "rules": rules,
            "solver": {"time_limit": self.time_limit} | dict(self.further.get("solver", {})),
            "output": {
                "folder": "published", "format": list(self.formats), "report": True,
                "attacks": self.attacks,
            },
        }  # fmt: skip
        note = "A job of cellveil, made on its page. Keep it beside the data: cellveil run FILE"
        folder = self.data.parent
        return job_text(sections, [note], folder, folder)

    @property
    def source(self) -> Source:
        """Where the table comes from."""
        data = taken(self.further.get("data", {}), DATA, self.data.parent)
        plain = {"value": self.value, "contributor": self.contributor, "weight": self.weight}
        given = {"data": self.data, "by": self.by, "negative": self.negative}
        given |= {"cross": self.cross or None} | plain | data
        kept = {name: path for name, path in self.hierarchies.items() if name in self.by}
        trees = tuple(f"{name}={path}" for name, path in kept.items())
        return made(Source, given | {"hierarchy": trees, "missing": self.missing or None})


def safe_name(name: str) -> str:
    """Name of a file as it is, but for what could lead elsewhere; refused if nothing is left."""
    found = _UNSAFE.sub("_", Path(name.replace("\\", "/")).name).lstrip(".")
    if not found:
        refuse(f"{name!r} is not the name of a file")
    return found


def tree_name(column: str) -> str:
    """Name of a file for the hierarchy of a column, which may have any name."""
    return f"{_NO_LETTER.sub('_', column).lstrip('.')[:50] or 'column'}.hrc"


def free_name(name: str, taken: Collection[str]) -> str:
    """Name that no other file has, in any case of its letters: a number is added if need be."""
    path, used = Path(name), {one.casefold() for one in taken}
    names = chain([name], (f"{path.stem}-{number}{path.suffix}" for number in count(2)))
    return next(one for one in names if one.casefold() not in used)
