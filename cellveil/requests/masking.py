"""How records are masked, what their means must obey, and what is asked of masked files."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cellveil.front import refuse
from cellveil.requests.option import ByColumn, Repeated, option

if TYPE_CHECKING:
    from fractions import Fraction

_METHODS = ("partitions", "methods")
"""Folder of `microagg` in which each file is a method."""


def _methods() -> tuple[str, ...]:
    """Name all methods of clusters without loading one: `cellveil doctor` must always start."""
    home = find_spec("microagg")
    places = home.submodule_search_locations if home is not None else None
    found = [path for place in places or () for path in Path(place, *_METHODS).glob("[!_]*.py")]
    return tuple(sorted(path.stem for path in found))


@dataclass(frozen=True, slots=True)
class Person:
    """Whom a record belongs to."""

    contributor: str | None = option(
        "Column that says whom a record belongs to, where one may have several: k counts "
        "contributors. It is not masked.",
        "COLUMN",
        otherwise="each record is its own",
    )


@dataclass(frozen=True, slots=True)
class Roles:
    """What an intruder knows of a record, and what it is after."""

    quasi_identifiers: tuple[str, ...] = option(
        "Columns that an intruder may know, by commas.",
        "COLUMNS",
        default=(),
        otherwise="all that are not confidential",
    )
    confidential: tuple[str, ...] = option(
        "Confidential columns, by commas.", "COLUMNS", default=()
    )


@dataclass(frozen=True, slots=True)
class Masking:
    """Clusters, and what is done about sensitive means."""

    k: int = option("Least size of a cluster.", "NUMBER", names=("-k",), default=MISSING)
    attributes: tuple[str, ...] = option(
        "Columns to microaggregate, by commas.", "COLUMNS", default=(), otherwise="all"
    )
    keep: tuple[str, ...] = option(
        "Columns to publish as they are, by commas.", "COLUMNS", default=()
    )
    person: Person = Person()
    within: tuple[str, ...] = option(
        "Key columns, by commas: clusters of records that agree in them, which are published too. "
        "A stratum of fewer than k joins the nearest cluster, and their keys become a set.",
        "COLUMNS",
        default=(),
    )
    missing: Literal["error", "drop", "own"] = option(
        "Records that lack a value of --attributes: refused, left out, or in clusters of their "
        "own, in which it stays missing.",
        default="error",
    )
    aggregate: Literal["mean", "median"] = option("What is published of a cluster.", default="mean")
    weight: str | None = option(
        "Column of sampling weights, for weighted means or medians; k counts records all the same.",
        "COLUMN",
    )
    keep_identifiers: bool = option(
        "With --keep: also columns that tell records apart.", default=False
    )
    rules: str | None = option("What is sensitive, in tau-ARGUS's words: P(60).", "RULES")
    comply: Literal["suppress", "grow", "merge", "drop", "optimise"] | None = option(
        "What is done about sensitive cells.", otherwise="only judged"
    )
    most: int | None = option(
        "With --comply: largest size of a cluster.", "NUMBER", otherwise="any"
    )
    diverse: tuple[ByColumn, ...] = option(
        "With --comply: different values of a column in every cluster; once for each.",
        "COLUMN=NUMBER",
        default=(),
    )
    clusters: str = option("How clusters are made.", default="mdav", choices=_methods())
    scale: Literal["standardise", "none", "variance", "range"] = option(
        "How attributes are made comparable.", default="standardise"
    )
    constant: Literal["error", "keep"] = option(
        "Constant attributes: refused, or kept without effect.", default="error"
    )
    negative: Literal["error", "abs", "shift", "split"] = option(
        "How rules read negative values.", default="error"
    )
    identity: tuple[Repeated, ...] = option(
        "Known identity of attributes: 'total = a + b'; once for each.",
        "EQUATION",
        default=(),
        otherwise="detected",
    )
    no_identities: bool = option("No identity between attributes is known.", default=False)
    cost: Literal["unit", "value"] | None = option(
        "With --comply suppress: few cells, or little value.", otherwise="unit"
    )
    decimals: int | None = option("Decimal places of values.", "PLACES", otherwise="as found")
    round: bool = option("Round values with more decimals than --decimals to these.", default=False)

    def __post_init__(self) -> None:
        if self.comply is not None and self.rules is None:
            refuse(f"--comply {self.comply} needs --rules, by which means are sensitive")
        if self.k < 2:
            why = ": a cluster of 1 publishes its record as it is" if self.k == 1 else ""
            refuse(f"-k must be at least 2, not {self.k}{why}")
        if self.keep_identifiers and not self.keep:
            refuse("--keep-identifiers is for --keep; leave it out")
        if self.identity and self.no_identities:
            refuse("--identity and --no-identities exclude each other; leave one out")
        given = {
            "--identity": self.identity, "--no-identities": self.no_identities, "--cost": self.cost,
        }  # fmt: skip
        unused = [name for name, value in given.items() if value and self.comply != "suppress"]
        if unused:
            refuse(f"{unused[0]} is for --comply suppress; leave it out")
        if self.sized and self.comply is None:
            refuse(f"{self.sized} is for --comply; leave it out, or say how clusters are to comply")
        if self.own_clusters and self.clusters != "mdav":
            refuse(f"{self.own_clusters} makes clusters of its own; leave --clusters out")
        if self.contributor in self.keep and not self.keep_identifiers:
            refuse(
                f"--contributor {self.contributor} says whose records these are; publishing it "
                "needs --keep-identifiers"
            )
        if self.within and (self.sized or self.comply not in (None, "suppress")):
            refuse(
                f"--within makes clusters inside strata, and {self.sized or '--comply'} moves "
                "records from one to another; leave one out, or take --comply suppress"
            )
        if self.missing == "own" and self.rules is not None:
            refuse(
                "--missing own leaves clusters without some means, which --rules cannot judge; "
                "take --missing drop"
            )
        other = "--aggregate median" if self.aggregate != "mean" else "--weight"
        if self.rules is not None and (self.aggregate != "mean" or self.weight is not None):
            refuse(f"--rules judge plain means; leave {other} out")
        both = [name for name in self.keep if name in self.attributes]
        if both:
            refuse(f"column {both[0]!r} is in --attributes and in --keep; choose one")

    @property
    def contributor(self) -> str | None:
        """Column that says whom a record belongs to."""
        return self.person.contributor

    @property
    def sized(self) -> str:
        """Option that asks more of a cluster than its least size, if any does."""
        return "--most" if self.most is not None else "--diverse" if self.diverse else ""

    @property
    def own_clusters(self) -> str:
        """Option that makes clusters of its own, if any does."""
        return "--comply grow" if self.comply == "grow" else self.sized

    @property
    def scaling(self) -> dict[str, Any]:
        """How attributes are compared, as the library takes it."""
        return {"scale": self.scale, "constant": self.constant}


@dataclass(frozen=True, slots=True)
class Models:
    """What is asked for of a masked file."""

    k: int | None = option("Least size of a class asked for.", "NUMBER", names=("-k",))
    p: int | None = option(
        "Least number of confidential values asked for.", "NUMBER", names=("-p",)
    )
    close: str | None = option("Largest distance from the file asked for.", "NUMBER", names=("-t",))
    entropy: str | None = option(
        "Least l of entropy l-diversity asked for; 2.5 is one, too.", "NUMBER"
    )
    recursive: int | None = option("Least l of recursive (c, l)-diversity asked for.", "NUMBER")
    ratio: str = option("c of recursive (c, l)-diversity.", "NUMBER", names=("-c",), default="3")

    def __post_init__(self) -> None:
        from csp.names.calls import whole_number

        for name, least in (("-k", self.k), ("-p", self.p), ("--recursive", self.recursive)):
            if least is not None:
                whole_number(name, least)

    @property
    def of_confidential(self) -> bool:
        """Whether something is asked for of confidential columns."""
        return {self.p, self.close, self.entropy, self.recursive} != {None}

    @property
    def distance(self) -> Fraction | None:
        """Largest distance of a class from the file."""
        from csp.exact import read_fraction

        found = None if self.close is None else read_fraction(self.close)
        if found is not None and not 0 <= found <= 1:
            refuse(f"-t must be from 0 to 1, not {self.close}")
        return found


@dataclass(frozen=True, slots=True)
class Ranges:
    """What an attacker knows of a record, and what ranges cost."""

    attributes: tuple[str, ...] = option(
        "Columns that the aggregate combines.", "COLUMNS", default=(), otherwise="all"
    )
    known: tuple[Repeated, ...] = option(
        "What an attacker knows of a record: sum, average, range or variance; once for each, the "
        "most important first.",
        "AGGREGATE",
        default=(Repeated("sum"),),
        otherwise="sum",
    )
    within: str = option(
        "The attacker knows it within this share; 0.01 is 1 %.", "SHARE", default="0"
    )
    importance: tuple[ByColumn, ...] = option(
        "Cost of ranges in a column; once for each.", "COLUMN=NUMBER", default=()
    )
    diverse: tuple[ByColumn, ...] = option(
        "Different values of a column among the candidates; once for each.",
        "COLUMN=NUMBER",
        default=(),
    )
