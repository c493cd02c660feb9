"""Claims of papers as data: one file per paper, one entry per claim, each with a verdict."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from csp.errors import InputError
from studies.microdata.files import FILES

VERDICTS = ("reproduced", "within error", "misprint", "refuted", "cannot be known")


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper says, and what became of it.

    Attributes
    ----------
    id : str
        Unique within the paper.
    where, says : str
        Place in the paper, and the claim in short.
    verdict : str
        One of `VERDICTS`.
    measured : str
        What a recomputation gives, or what the claim must be.
    recompute : str
        Function of `studies.claims.recompute` that gives `measured`; empty if none does.
    command : str
        Longer study that gives it.
    files : tuple of str
        What the command reads, by the names of `studies.microdata.files.FILES`.
    """

    id: str
    where: str
    says: str
    verdict: str
    measured: str
    recompute: str = ""
    command: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper, and its claims in the order of its text; `checked` is when they were measured."""

    title: str
    checked: date
    claims: tuple[Claim, ...]


def read(path: Path) -> Paper:
    """Read the claims of one paper.

    Raises
    ------
    InputError
        If an entry lacks something, has an unknown key, verdict or file, or an id occurs twice.
    """
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    claims = tuple(_claim(entry, i, path) for i, entry in enumerate(given["claim"], 1))
    twice = [name for name, count in Counter(c.id for c in claims).items() if count > 1]
    if twice:
        msg = f"{path.name}: the id {twice[0]!r} occurs more than once; give each claim its own"
        raise InputError(msg)
    return Paper(given["paper"], given["date"], claims)


def _claim(entry: dict[str, Any], number: int, path: Path) -> Claim:
    known = [field.name for field in fields(Claim)]
    place = f"{path.name}, claim {number} ({entry.get('id', 'without id')})"
    for name in entry.keys() - set(known):
        msg = f"{place}: {name!r} is not a key; keys are {', '.join(known)}"
        raise InputError(msg)
    for name in known[:5]:
        if not entry.get(name):
            msg = f"{place}: {name!r} is missing"
            raise InputError(msg)
    if entry["verdict"] not in VERDICTS:
        msg = f"{place}: {entry['verdict']!r} is not a verdict; verdicts are {', '.join(VERDICTS)}"
        raise InputError(msg)
    files = tuple(entry.get("files", ()))
    for name in files:
        if name not in FILES:
            msg = f"{place}: {name!r} is not a file; files are {', '.join(FILES)}"
            raise InputError(msg)
    if bool(files) != ("--data" in entry.get("command", "")):
        msg = f"{place}: 'files' must name what the command reads with --data, and nothing else"
        raise InputError(msg)
    return Claim(**{**entry, "files": files})


def papers() -> tuple[Paper, ...]:
    """All papers on record, by the names of their files."""
    return tuple(read(path) for path in sorted(Path(__file__).parent.glob("*.toml")))


def tally(claims: Iterable[Claim]) -> dict[str, int]:
    """Count claims by verdict, in the order of `VERDICTS`."""
    counts = Counter(claim.verdict for claim in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS}
