"""What signs in place of numbers mean: offices use the same sign for different things.

``x`` is withheld in Canada and blocked for logical reasons in Germany; ``.`` is withheld in Germany
and never available in Canada. So the signs of an office are one value, named by the caller, and a
guess is made only where it can be said and no other reading is left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction

from csp.errors import InputError, argument

Range = tuple[Fraction | int, Fraction | int | None]
"""Least and largest value that a sign stands for; None for no end."""

_EMPLOYMENT = {
    "A": (0, 19), "B": (20, 99), "C": (100, 249), "E": (250, 499), "F": (500, 999),
    "G": (1000, 2499), "H": (2500, 4999), "I": (5000, 9999), "J": (10000, 24999),
    "K": (25000, 49999), "L": (50000, 99999), "M": (100000, None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Marks:
    """Signs of an office; where they stand in place of a number, or in a column of flags.

    Attributes
    ----------
    name : str
    withheld : frozenset of str
        The number is known to the office and kept secret.
    unknown : frozenset of str
        No number: not available, not reliable, or later. It may be any, and nobody withholds it;
        beside a number other than 0 it says nothing.
    empty : frozenset of str
        The cell cannot exist: it is known to be 0.
    zero : frozenset of str
        Exactly 0.
    beside : frozenset of str
        Said of a number that stands there: revised, estimated.
    ranges : mapping of str to (int, int or None)
        Withheld, but known to lie between two numbers.
    source : str
    """

    name: str
    withheld: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    zero: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    ranges: Mapping[str, Range] = field(default_factory=dict)
    source: str = ""

    def meaning(self, sign: str) -> str:
        """Return "withheld", "unknown", "empty", "zero", "beside", "range", or "" if not known."""
        if sign in self.ranges:
            return "range"
        for kind in ("withheld", "unknown", "empty", "zero", "beside"):
            if sign in getattr(self, kind):
                return kind
        return ""

    @property
    def signs(self) -> frozenset[str]:
        """All signs that mean something."""
        kinds = self.withheld, self.unknown, self.empty, self.zero, self.beside
        return frozenset(self.ranges).union(*kinds)

    def also(self, withheld: Collection[str], ranges: Mapping[str, Range]) -> Marks:
        """Return these and signs that the caller names, which count first."""
        named = {*withheld, *ranges}
        kinds = {
            kind: frozenset(getattr(self, kind)) - named
            for kind in ("unknown", "empty", "zero", "beside")
        }
        return Marks(
            self.name, (self.withheld - {*ranges}) | frozenset(withheld),
            ranges={k: v for k, v in self.ranges.items() if k not in named} | dict(ranges),
            source=self.source, **kinds,
        )  # fmt: skip

    def where(self, legend: Mapping[str, str]) -> Marks:
        """Return these and signs of a legend, by their meaning, which count first."""
        kinds = {
            kind: (getattr(self, kind) - {*legend}) | {s for s, k in legend.items() if k == kind}
            for kind in ("withheld", "unknown", "empty", "zero", "beside")
        }
        ranges = {sign: ends for sign, ends in self.ranges.items() if sign not in legend}
        return replace(self, ranges=ranges, **kinds)


def _signs(text: str) -> frozenset[str]:
    return frozenset(text.split())


EVERY_OFFICE = Marks(
    "any", _signs("[c] (c) (D) × suppressed withheld confidential secret c/"), _signs("NA N/A n/a"),
    beside=_signs("p r e b [p] [r] [e] [b] (p) (r) (e)"),
)  # fmt: skip
"""Signs that mean the same wherever they are used."""

OFFICES = {
    marks.name: marks
    for marks in (
        Marks(
            "destatis", _signs(". · •"), _signs("/ ... … ()"), _signs("x X"), _signs("- – —"),
            _signs("p r s e b"),
            source="Statistische Ämter des Bundes und der Länder, Zeichenerklärung",
        ),
        Marks(
            "statcan", _signs("x X"), _signs(". .. F"), _signs("..."), _signs("-- – —"),
            _signs("A B C D E p r t 0s"),
            source="Statistics Canada, Standard table symbols",
        ),
        Marks(
            "uk", _signs("[c] c * .. ‡"), _signs("[x] [u] [low] [k] : ~"), _signs("[z] z"),
            _signs("-"), _signs("[b] [e] [f] [p] [r] [s] [w]"),
            source="Government Analysis Function, Using symbols and shorthand in tables",
        ),
        Marks(
            "census", _signs("D (D) d Q"), _signs("S (S) N (NA) NA - Z (Z)"), _signs("X (X)"),
            beside=_signs("r"), ranges=_EMPLOYMENT,
            source="U.S. Census Bureau, County Business Patterns, record layouts",
        ),
        Marks(
            "bls", _signs("N (D) ND"), _signs("NA"), source="U.S. Bureau of Labor Statistics, QCEW",
        ),
        Marks(
            "eia", _signs("W"), _signs("NA"), _signs("XX NM"), _signs("- --"), _signs("r R e E p"),
            source="U.S. Energy Information Administration, Annual Coal Report; U.S. Geological "
            "Survey, Minerals Yearbook",
        ),
        Marks(
            "eurostat", _signs("c :c C D S P N A O T G M B R") | {": c"}, _signs(": :u") | {": u"},
            _signs("m :m z :z"), _signs("0n"), _signs("F b d e f p r s i u n"),
            source="Eurostat, CONF_STATUS and observation flags; SDMX code list CL_CONF_STATUS",
        ),
        Marks(
            "sdmx", _signs("Q"), _signs("M L O N H J K NaN"),
            beside=_signs("A B D E F G I P S U V"),
            source="SDMX code list CL_OBS_STATUS",
        ),
        Marks(
            "ksh", _signs("… ..."), _signs(".."), _signs("x X"), _signs("- –"), _signs("+ *"),
            source="Hungarian Central Statistical Office",
        ),
        Marks(
            "health", _signs("* <5 < #"), _signs("NA N/A"), zero=_signs("-"),
            source="small counts replaced by an asterisk, as health departments do",
        ),
        Marks(
            "cellveil", _signs("x × u"), beside=_signs("s z"),
            empty=frozenset({"e"}), source="files that this program writes",
        ),
    )
}  # fmt: skip
"""Offices by the name that `marks=` takes."""


@dataclass(frozen=True, slots=True)
class Printing:
    """How an office prints what it withholds.

    Attributes
    ----------
    withheld : str
        In place of a suppressed number.
    nil : str
        In place of a cell that is known to be empty; "" where it prints 0.
    legend : str
        What the sign means, in the words of the office.
    nil_legend : str
        Likewise.
    """

    withheld: str
    nil: str = ""
    legend: str = "suppressed, so that no contributor can be worked out"
    nil_legend: str = "nil, known to be 0"


PRINTED = {
    "destatis": Printing(
        "\u00b7", "\u2013", "Zahlenwert unbekannt oder geheim zu halten", "nichts vorhanden"
    ),
    "statcan": Printing(
        "x",
        legend="suppressed to meet the confidentiality requirements of the Statistics Act",
    ),
    "uk": Printing("[c]", legend="confidential"),
    "census": Printing("D", legend="withheld to avoid disclosing data for individual companies"),
    "bls": Printing("N", legend="not disclosable"),
    "eia": Printing("W", "--", "withheld to avoid disclosure of individual company data"),
    "eurostat": Printing("c", legend="confidential"),
    "ksh": Printing("\u2026", "\u2013", "confidential"),
    "health": Printing("*", legend="suppressed"),
    "cellveil": Printing("\u00d7"),
}
"""Offices by the name that a mark takes; what they print comes in again under the same name."""


def marks_of(
    marks: str | Marks | None,
    found: Mapping[str, int],
    *,
    withheld: Collection[str] = (),
    ranges: Mapping[str, Range] | None = None,
    flags: bool = False,
    legend: Mapping[str, str] | None = None,
) -> tuple[Marks, str]:
    """Choose the meaning of the signs of a table.

    Parameters
    ----------
    marks : str or Marks, optional
        Name of an office, or signs of one's own; None where they are to be guessed.
    found : mapping of str to int
        Signs that occur and how often; "" stands for no entry.
    withheld : collection of str
        Signs that the caller says are withheld.
    ranges : mapping of str to (int, int or None), optional
        Signs that the caller says are ranges.
    flags : bool
        Whether the signs stand in a column of their own, where "" says nothing.
    legend : mapping of str to str, optional
        Meaning of signs by the footnotes of the table itself. It goes before a guess, and after
        what the caller says.

    Returns
    -------
    Marks, str
        And what was guessed, as a sentence; "" if nothing was.

    Raises
    ------
    InputError
        For an unknown office, and if signs are left whose meaning is not known, or offices differ
        in it: the signs are named, how often they occur, and what they would mean.
    """
    where = "flag" if flags else "sign"
    check_office(marks)
    own = Marks("", frozenset(withheld), ranges=dict(ranges or {}))
    base = OFFICES[marks] if isinstance(marks, str) else marks
    printed = {
        sign: kind for sign, kind in (legend or {}).items()
        if sign in found and not own.meaning(sign) and (base is None or not _known(base, sign))
    }  # fmt: skip
    told = _told(printed)
    if base is not None:
        chosen = base.also(withheld, own.ranges).where(printed)
        unknown = [s for s in found if s and not _known(chosen, s)]
        if unknown:
            msg = (
                f"{_listed(unknown, found)} {_verb(unknown)} not a number, nor a {where} of "
                f"{base.name or 'these marks'}; say that it is withheld with "
                f"{argument('withheld', unknown[0])}, or choose other marks"
            )
            raise InputError(msg)
        return chosen, told
    own = own.where(printed)
    left = [s for s in found if s and not _known(own, s)]
    if not left:
        return EVERY_OFFICE.also(withheld, own.ranges).where(printed), told
    told = f"{told}; " if told else ""
    fitting = [m for m in OFFICES.values() if all(_known(m, s) for s in left)]
    readings = {tuple(m.meaning(s) or EVERY_OFFICE.meaning(s) for s in left) for m in fitting}
    if len(readings) == 1:
        chosen = fitting[0]
        names = " and ".join(m.name for m in fitting)
        said = (
            f"{_listed(left, found)} {_verb(left)} read as {names} use{'s' * (len(fitting) == 1)} "
        )
        said += "them"
        return chosen.also(withheld, own.ranges).where(printed), told + said
    # One sign alone: something must be withheld, and to take an empty cell for withheld is safe.
    secret = [m for m in fitting if len(left) == 1 and m.meaning(left[0]) == "withheld"]
    if secret:
        other = next(m.name for m in fitting if m.meaning(left[0]) != "withheld")
        said = (
            f"{_listed(left, found)} {_verb(left)} taken for withheld, as {secret[0].name} does; "
            f"for {other} it is {next(m for m in fitting if m.name == other).meaning(left[0])}"
        )
        return secret[0].also(withheld, own.ranges).where(printed), told + said
    offers = "; ".join(
        f"{m.name}: " + ", ".join(f"{s!r} {_known(m, s)}" for s in left) for m in fitting[:4]
    )
    if offers:
        why = f"offices differ in what they mean ({offers}); say whose they are with "
        mend = argument("marks", fitting[0].name)
    else:
        some = [m for m in OFFICES.values() if any(_known(m, s) for s in left)]
        why = "no office is known that uses all of them; say which are withheld with "
        mend = argument("withheld", left[0]) + (
            f", or whose they are with {argument('marks', some[0].name)}" if some else ""
        )
    msg = f"{_listed(left, found)} {_verb(left)} not a number, and {why}{mend}"
    raise InputError(msg)


def check_office(marks: str | Marks | None) -> None:
    """Refuse the name of an office whose signs are not known.

    Raises
    ------
    InputError
    """
    if isinstance(marks, str) and marks not in OFFICES:
        near = get_close_matches(marks, OFFICES, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"marks {marks!r} are not known: there are {', '.join(OFFICES)}{hint}"
        raise InputError(msg)


def _told(printed: Mapping[str, str]) -> str:
    """Say what the lines around the table say of its signs."""
    words = {
        "withheld": "withheld", "unknown": "not available", "zero": "0",
        "empty": "a cell that cannot exist", "beside": "said of the number beside it",
    }  # fmt: skip
    each = ", ".join(f"{sign!r} is {words[kind]}" for sign, kind in printed.items())
    return f"{each}, as the legend of the table says" if each else ""


def _known(marks: Marks, sign: str) -> str:
    return marks.meaning(sign) or EVERY_OFFICE.meaning(sign)


def _listed(signs: Collection[str], found: Mapping[str, int]) -> str:
    shown = [f"{s!r} ({found[s]} {'cell' if found[s] == 1 else 'cells'})" for s in list(signs)[:6]]
    return ", ".join(shown) + (" and others" if len(signs) > 6 else "")


def _verb(signs: Collection[str]) -> str:
    return "is" if len(signs) == 1 else "are"
