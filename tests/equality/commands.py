"""Run a command of a world on each of its files, with every option that it has in turn."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.testing import CliRunner

from cellveil.cli.app import app
from cellveil.requests.option import fields_of
from cellveil.requests.publication import Signs
from tests.equality.worlds import World

ROOT = typer.main.get_command(app)

FOR_THE_OFFICE = {
    ("inspect",): "looks at data before anything is decided; its page says so",
    ("compare",): "works out errors from true values; its page says so",
    ("microdata", "attack"): "compares a masked file with its original; its page says so",
}
"""Commands whose output is not for publication."""

WITHOUT_DATA = {
    ("demo",): "data that come with the program",
    ("doctor",): "no data",
    ("key",): "makes a secret",
    ("init",): "a template, or a batch file that names data",
    ("app",): "serves pages, whose results are those of a job",
}
"""Commands that read no data of the user."""

TRIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "--by": (("--by", "r"), ("--by", "c,r")),
    "--rules": (("--rules", "FREQ(4,10)|ZERO(1)"), ("--rules", "P(20,1)"), ("--rules", "NK(1,80)")),
    "--value": (("--value", "v"),),
    "--contributor": (("--contributor", "firm"),),
    "--width": (("--width", "2"), ("--width", "6")),
    "--decimals": (("--decimals", "2"),),
    "--total": (("--total", "Total"),),
    "--tolerance": (("--tolerance", "0.1"), ("--tolerance", "2")),
    "--missing": (("--missing", "unknown"), ("--missing", "drop"), ("--missing", "own")),
    "--sep": (("--sep", ","),),
    "--decimal": (("--decimal", "."),),
    "--encoding": (("--encoding", "latin-1"),),
    "--na": (("--na", "NA"),),
    "--memory": (("--memory", "4GB"),),
    "--method": tuple(("--method", m) for m in ("cuts", "branch", "large", "small", "ilp")),
    "--solver": (("--solver", "HiGHS", "--method", "ilp"),),
    "--time-limit": (("--time-limit", "60"),),
    "--gap": (("--gap", "0.25"), ("--gap", "0.25", "--method", "branch")),
    "--workers": (("--workers", "2"),),
    "--table-id": (("--table-id", "2026"),),
    "--report": (("--report", "page.html"), ("--report", "page.html", "--attacks")),
    "--attacks": (("--report", "page.html", "--attacks"),),
    "--plots": (("--plots", "pictures"),),
    "--release": (("--release", "other.json"),),
    "--summary": (("--summary", "other.json"),),
    "--output": tuple(
        ("-o", f"again{kind}")
        for kind in (".csv", ".csv.gz", ".parquet", ".xlsx", ".sbs", ".hst", ".sdctable.csv",
                     ".sdmx.csv")
    ),
    "--keep": (("--keep", "y"),),
    "--cell": (("--cell", "r0,c0"),),
    "--mark": (("--mark", "destatis"), ("--mark", "x")),
    "--title": (("--title", "Persons"),),
    "--footnote": (("--footnote", "Source: survey"),),
    "--recode": (("--recode", "r=joined"),),
    "--mass": (("--mass", "0.9"),),
    "--prior": (("--prior", "uniform"),),
    "--draws": (("--draws", "20"),),
    "--seed": (("--seed", "3"),),
    "--max-tables": (("--max-tables", "50"),),
    "--attributes": (("--attributes", "x,y"),),
    "--identity": (("--identity", "y = x", "--comply", "suppress", "--rules", "P(1)"),),
    "--no-identities": (("--no-identities", "--comply", "suppress", "--rules", "P(1)"),),
    "--cost": (("--cost", "value"), ("--cost", "value", "--comply", "suppress", "--rules", "P(1)")),
    "--most": (("--most", "4", "--comply", "merge", "--rules", "P(1)"),),
    "--diverse": (
        ("--diverse", "g=2", "--comply", "merge", "--rules", "P(1)"), ("--diverse", "2"),
        ("--diverse", "a=2"),
    ),
    "--comply": tuple(
        ("--comply", way, "--rules", "P(1)")
        for way in ("suppress", "grow", "merge", "drop", "optimise")
    ),
    "-k": (("-k", "2"),),
    "-p": (("-p", "1"),),
    "--weight": (("--weight", "y"),),
    "-c": (("-c", "2"),),
    "--entropy": (("--entropy", "1.5"),),
    "--recursive": (("--recursive", "2"),),
    "--regress": (("--regress", "x=g"), ("--regress", "g=x")),
    "-t": (("-t", "1"),),
    "--close": (("--close", "1"),),
    "--confidential": (("--confidential", "b"), ("--confidential", "g")),
    "--quasi-identifiers": (("--quasi-identifiers", "x"), ("--quasi-identifiers", "a")),
    "--known": (("--known", "average"), ("--known", "range")),
    "--within": (("--within", "0.1"), ("--within", "g", "--keep", "firm")),
    "--importance": (("--importance", "a=2"),),
    "--json": (("--json",),),
    "--strict": (("--strict", "--width", "2"),),
    "--base": (("--base", "3"), ("--base", "10")),
    "--publish": (
        ("--publish", "intervals"), ("--publish", "intervals:2", "-o", "again.csv"),
        ("--publish", "intervals:2", "-o", "again.xlsx", "--report", "page.html", "--attacks"),
        ("--publish", "intervals", "--integer"),
    ),
}  # fmt: skip
"""How an option is tried where its type does not say it."""

NOT_TRIED = {
    "--reveal": "asks for hidden values",
    "--jj": "needs --reveal",
    "--rda": "another form of the same data, which is read into the same table",
    "--hierarchy": "another form of the same table",
    "--sheet": "another form of the same data",
    "--apriori": "states what is public of single cells",
    "--keep-codes": "names codes of a published file",
    "--keep-marks": "how a published file is read",
    "--primary": "in the base of the world of cells",
    "--value": "in the base",
    "--defence": "a world of its own",
    "--key-file": "a world of its own",
    "--count": "in the base of the world of cells with contributors",
    "--top": "likewise",
    "--shadow": "likewise",
    "--mechanism": "what the attacker supposes",
    "--knowledge": "what the attacker supposes",
    "--original": "not for publication",
    "--anywhere": "where files go, and not what is in them",
    "--record": "where the internal record goes",
    "--percent": "what is said of a published file, which holds nothing hidden",
    **{
        flag: "how a published file is read, which holds nothing hidden"
        for field in fields_of(Signs)
        for flag in field.flags
    },
    "--records": "reads the records again; its findings are for the office, as its page says",
    "--verify": "reads an internal record, which is not for publication",
    "--help": "reads nothing",
    "--debug": "shows tracebacks",
}
"""Options that are not tried, and why."""

CLOCKS = (
    (re.compile(rb'("seconds": )[0-9.e+-]+'), rb"\1-"),
    (re.compile(rb"\b[0-9]+(\.[0-9]+)? ?s\b"), b"- s"),
)
"""What depends on the machine: how long a run took."""


def leaves(
    command: Any = ROOT, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, by its words."""
    for name, below in getattr(command, "commands", {}).items():
        if hasattr(below, "commands"):
            yield from leaves(below, (*path, name))
        else:
            yield (*path, name), below


def choices_of(hint: Any) -> tuple[str, ...]:
    """Return the texts that an argument may be, if its type lists them."""
    if get_origin(hint) is Literal:
        return tuple(map(str, get_args(hint)))
    return tuple(one for part in get_args(hint) for one in choices_of(part))


def is_option(word: str) -> bool:
    """Whether a word on the command line names an option."""
    return word.startswith("-")


def options_tried(command: Any) -> list[tuple[str, ...]]:
    """Arguments for each option of a command, from its type or from `TRIES`."""
    hints = get_type_hints(command.callback)
    known = {one for option in command.params for one in option.opts}
    found: list[tuple[str, ...]] = [()]
    for option in command.params:
        if option.param_type_name != "option":
            continue
        names = (*option.opts, *option.secondary_opts)
        name = max(option.opts, key=len)
        if name in TRIES:
            found += [words for words in TRIES[name] if known.issuperset(filter(is_option, words))]
        elif name in NOT_TRIED:
            continue
        elif option.is_flag:
            found += [(one,) for one in names if one.startswith("--")]
        elif choices := choices_of(hints.get(option.name)):
            found += [(name, choice) for choice in choices]
        else:
            msg = f"how is {name} of {command.name!r} tried? Add it to TRIES, or why not"
            raise LookupError(msg)
    return found


@dataclass(frozen=True)
class Written:
    """What a run printed and wrote, by name."""

    code: int
    parts: dict[str, bytes]

    def agreeing(self, world: World, words: tuple[str, ...]) -> tuple[Any, ...] | None:
        """What an attacker has; None if nothing was published."""
        if world.refused:
            return (self.code,) if self.code == 1 else None
        if self.code and not world.before:
            return None
        there = [name for name in world.published if name in self.parts]
        if "-o" in words and not there:  # the option took the place of the world's own file
            there = [words[words.index("-o") + 1]]
        if not there and world.published:
            return None
        return tuple(numbers_of(name, self.parts[name]) for name in there)


def run(world: World, number: int, words: tuple[str, ...], root: Path) -> Written:
    """Run a world's command on one of its files, in a folder of its own."""
    folder = root / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    back = Path.cwd()
    os.chdir(folder)
    try:
        for name, text in world.files[number].items():
            Path(name).write_text(text)
            Path(name).chmod(0o600)
        for first in world.before:
            CliRunner().invoke(app, list(first))
        found = CliRunner().invoke(app, [*world.command, *world.base, *words])
        parts = {"stdout": found.stdout_bytes, "stderr": found.stderr_bytes}
        for path in sorted(Path().rglob("*")):
            name = str(path)
            data = name in world.files[number] or name.endswith(".internal.json")
            if path.is_file() and not data and name not in world.random:
                parts[name] = path.read_bytes()
    finally:
        os.chdir(back)
    for pattern, dash in CLOCKS:
        parts = {
            name: pattern.sub(dash, text) if name.endswith(TEXTS) else text
            for name, text in parts.items()
        }
    return Written(found.exit_code, parts)


TEXTS = ("stdout", "stderr", ".json", ".html", ".txt")
"""Parts in which a clock may stand."""


BOUNDS = ("lower", "upper")
"""Columns that say what can be inferred, and not what is published."""


def numbers_of(name: str, raw: bytes) -> Any:
    """What a published file says, however its numbers are written."""
    if not name.endswith(".csv"):
        return raw
    rows = list(csv.DictReader(io.StringIO(raw.decode())))
    return tuple(
        tuple(_number(text) for column, text in row.items() if column not in BOUNDS) for row in rows
    )


def _number(text: str) -> Fraction | str:
    try:
        return Fraction(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class Finding:
    """Files that agree with one release, and parts of outputs that tell them apart."""

    world: str
    words: tuple[str, ...]
    agreeing: int
    different: tuple[str, ...]


def compare(world: World, words: tuple[str, ...], root: Path) -> Finding:
    """Compare what is written for files of data with the same release; the largest such group."""
    groups: dict[tuple[Any, ...], list[Written]] = {}
    for number in range(len(world.files)):
        found = run(world, number, words, root)
        published = found.agreeing(world, words)
        if published is not None:
            groups.setdefault(published, []).append(found)
    different = {
        name
        for group in groups.values()
        for one in group[1:]
        for name in {*one.parts, *group[0].parts}
        if one.parts.get(name) != group[0].parts.get(name)
    }
    most = max(map(len, groups.values()), default=0)
    return Finding(world.name, words, most, tuple(sorted(different)))


def findings(all_worlds: Iterator[World], root: Path) -> Iterator[Finding]:
    """Every world with every option of its command."""
    commands = dict(leaves())
    for world in all_worlds:
        for words in options_tried(commands[world.command]):
            yield compare(world, words, root)
