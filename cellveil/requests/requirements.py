"""What is asked of a protected table: rules, guards, costs, and a defence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cellveil.requests.option import Amount, Option

__all__ = ["Decoys", "Requirements"]


@dataclass(frozen=True, slots=True)
class Decoys:
    """The defence against an attacker who knows the algorithm."""

    defence: Annotated[
        str | None,
        Option(
            "Protect against an attacker who knows the algorithm: decoys:RATE, as decoys:0.1.",
            "TEXT",
        ),
    ] = None
    key_file: Annotated[
        Path | None, Option("Secret key of the defence, made by 'cellveil key'.", "FILE")
    ] = None
    table_id: Annotated[
        str,
        Option("Identity of the table: the same name and key give the same decoys.", "NAME"),
    ] = ""


@dataclass(frozen=True, slots=True)
class Requirements:
    """What must hold of the published table, and what it may cost."""

    rules: Annotated[
        str,
        Option(
            "What is sensitive, in tau-ARGUS's words: P(10,1)|NK(1,75)|FREQ(3,10), also ZERO "
            "and MAN.",
            "RULES",
            '"P(10,1)|FREQ(3,10)"',
            key="sensitive",
        ),
    ]
    primary: Annotated[
        Path | None,
        Option(
            "File of cells named as sensitive, for MAN(...).", "FILE", '"cells.csv"', key="by_hand"
        ),
    ] = None
    width: Annotated[
        Amount | None,
        Option("Least width of every sensitive cell's interval.", "NUMBER", "10"),
    ] = None
    strict: Annotated[
        bool, Option("Require every interval to be strictly wider than --width.", "", "false")
    ] = False
    cost: Annotated[
        Literal["unit", "value"], Option("Suppress few cells, or little value.", "", '"unit"')
    ] = "unit"
    margins: Annotated[
        Literal["suppress", "publish"],
        Option("Whether margins may be suppressed or are public.", "", '"suppress"'),
    ] = "suppress"
    singletons: Annotated[
        bool | None,
        Option(
            "Guard against a contributor who is alone in a cell and subtracts it.",
            "",
            "true",
            otherwise="in tables of values",
        ),
    ] = None
    unions: Annotated[
        bool, Option("Sums of suppressed cells must pass the rules too.", "", "false")
    ] = False
    integer: Annotated[
        bool | None,
        Option(
            "The attacker knows that cells are whole units.",
            "",
            "true",
            otherwise="in tables of counts",
        ),
    ] = None
    decoys: Decoys = Decoys()
