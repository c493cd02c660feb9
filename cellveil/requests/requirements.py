"""What is asked of a protected table: rules, guards, costs, and a defence."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Literal

from cellveil.requests.earlier import Earlier
from cellveil.requests.option import Amount, option


@dataclass(frozen=True, slots=True)
class Decoys:
    """The defence against an attacker who knows the algorithm."""

    defence: str | None = option(
        "Protect against an attacker who knows the algorithm: decoys:RATE, as decoys:0.1.", "TEXT"
    )
    key_file: Path | None = option("Secret key of the defence, made by 'cellveil key'.", "FILE")
    table_id: str = option(
        "Identity of the table: the same name and key give the same decoys.", "NAME", default=""
    )


@dataclass(frozen=True, slots=True)
class Guards:
    """How far a sensitive cell must stay uncertain, and for whom."""

    width: Amount | None = option("Least width of every sensitive cell's interval.", "NUMBER", "10")
    strict: bool = option(
        "Require every interval to be strictly wider than --width.", "", "false", default=False
    )
    margins: Literal["suppress", "publish"] = option(
        "Whether margins may be suppressed or are public.", "", '"suppress"', default="suppress"
    )
    singletons: bool | None = option(
        "Guard against a contributor who is alone in a cell and subtracts it.",
        "",
        "true",
        otherwise="in tables of values",
    )
    integer: bool | None = option(
        "The attacker knows that cells are whole units.",
        "",
        "true",
        otherwise="in tables of counts",
    )


@dataclass(frozen=True, slots=True)
class Requirements:
    """What must hold of the published table, and what it may cost."""

    rules: str = option(
        "What is sensitive, in tau-ARGUS's words: P(10,1)|NK(1,75)|FREQ(3,10), also ZERO and MAN.",
        "RULES",
        '"P(10,1)|FREQ(3,10)"',
        default=MISSING,
        key="sensitive",
    )
    primary: Path | None = option(
        "File of cells that are made sensitive, for MAN(...): each is suppressed and protected for "
        "itself. Cells that were suppressed before, for whatever reason, are for --keep.",
        "FILE",
        '"cells.csv"',
        key="by_hand",
    )
    cost: Literal["unit", "value"] = option(
        "Suppress few cells, or little value.", "", '"unit"', default="unit"
    )
    unions: bool = option(
        "Sums of suppressed cells must pass the rules too.", "", "false", default=False
    )
    earlier: Earlier = Earlier()
    guards: Guards = Guards()
    decoys: Decoys = Decoys()
