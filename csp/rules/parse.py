"""Rules in τ-ARGUS's words: ``P(10,1)|FREQ(3,10)|NK(2,75)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from csp.errors import InputError, argument, phrase
from csp.exact import MAX_VALUE, number_text, read_fraction
from csp.rules.base import AnyOf, Rule, made_rule
from csp.rules.concentration import PQ, Dominance, PPercent
from csp.rules.frequency import Manual, MinFrequency, Zero

__all__ = ["parse_rules"]

FORMS = {
    "P": "P(p,n) or P(p,q,n)",
    "NK": "NK(n,k)",
    "FREQ": "FREQ(n,margin)",
    "ZERO": "ZERO(level)",
    "MAN": "MAN(margin)",
    "MIS": "MIS(0)",
    "WGT": "WGT(0)",
    "REQ": "REQ(0,0,0)",
}
"""Words and their parameters. FREQ and MAN also take ``width=``, FREQ ``zero=1`` and
``weighted=1``; the margin of FREQ may be left out, and so may every n that is 1."""

COUNTS = {
    "P": (1, 2, 3), "NK": (2,), "FREQ": (1, 2), "ZERO": (1,),
    "MAN": (0, 1), "MIS": (1,), "WGT": (1,), "REQ": (3,),
}  # fmt: skip
NAMED = {"FREQ": ("width", "zero", "weighted"), "MAN": ("width",)}

PERCENT = {("P", 1): (0,), ("P", 2): (0,), ("P", 3): (0, 1), ("NK", 2): (1,)}
"""Positions of percentages by the word and how many parameters it has; they may end with %."""

LONGEST = 10_000
"""Most characters of a text of rules; a dozen words have 200."""

HOLDING = {"P": 2, "NK": 2, "FREQ": 1}
"""τ-ARGUS reads a word that occurs more often than this as a rule for holdings."""

INSTEAD = {
    "MIS": (
        "MIS(1) publishes every cell of a missing code; name those cells as cells that must be "
        "published " + phrase("(publish= of the problem)", "(p in an a-priori file)") + " instead"
    ),
    "WGT": (
        f"WGT(1) applies sampling weights; give {argument('weight')} where the table is "
        "tabulated, and FREQ(n,margin,weighted=1) to count what respondents stand for, instead"
    ),
    "REQ": (
        "REQ protects contributors who asked for it; find their cells and name them with "
        + phrase(
            "Manual(cells, margin=..), or write a function of the table,",
            "MAN(margin) and --primary,",
        )
        + " instead"
    ),
}

WORD = re.compile(r"\s*([A-Za-z]+)\s*\(([^()]*)\)\s*")


@dataclass(frozen=True, slots=True)
class _Term:
    """One word of the text with its parameters and where it stands."""

    word: str
    text: str
    place: int
    numbers: tuple[Fraction, ...]
    marked: tuple[bool, ...]
    named: dict[str, Fraction]

    def fail(self, why: str) -> InputError:
        return InputError(f"{self.text!r} at character {self.place}: {why}")


def parse_rules(text: str, *, manual: Sequence[Any] = ()) -> Rule:
    """Read rules in τ-ARGUS's words, joined by ``|``.

    Parameters
    ----------
    text : str
        P(p,n) p% rule; P(p,q,n) pq rule; NK(n,k) dominance; FREQ(n,margin) least frequency with
        a margin in percent; ZERO(level) zero rule; MAN(margin) cells named in `manual`. P(0,0),
        NK(0,0), FREQ(0,0), WGT(0), MIS(0) and REQ(0,0,0) stand for no rule. Case and blanks do
        not matter. A percentage below 1 is taken for a slip unless it is written with its sign:
        P(0.5%,1).
    manual : sequence of labels, or (n,) bool
        The cells that MAN speaks of.

    Returns
    -------
    Rule

    Raises
    ------
    InputError
        For an unknown word, a wrong number of parameters or a parameter that is not a number (word
        and position shown), for a percentage below 1 without its sign, for NK with its two
        parameters swapped, for words whose work is done elsewhere (WGT(1), MIS(1), REQ), for
        rules at the level of holdings, and if no rule is left.

    Examples
    --------
    >>> str(parse_rules("p(10, 1) | NK(0,0) | freq(3, 10)"))
    'P(10,1)|FREQ(3,10)'
    """
    rules: list[Rule] = []
    seen: dict[str, int] = {}
    for term in _terms(text):
        seen[term.word] = seen.get(term.word, 0) + 1
        rule = _rule(term, manual)
        if rule is None:
            continue
        if seen[term.word] > HOLDING.get(term.word, len(text)):
            why = (
                f"{term.word} number {seen[term.word]} is a rule for holdings in τ-ARGUS; "
                f"tabulate with the holding as {argument('contributor')} and give it as the first "
                "one"
            )
            raise term.fail(why)
        rules.append(rule)
    if len(manual) and not any(isinstance(rule, Manual) for rule in rules):
        msg = f"cells are named by hand, but {text!r} has no MAN(margin) for their widths"
        raise InputError(msg)
    if not rules:
        msg = f"{text!r} holds no rule; the words are {', '.join(FORMS.values())}"
        raise InputError(msg)
    return rules[0] if len(rules) == 1 else AnyOf(rules)


def _terms(text: str) -> list[_Term]:
    if not isinstance(text, str):
        msg = f"rules are read from text such as 'P(10,1)|FREQ(3,10)', got {type(text).__name__}"
        raise InputError(msg)
    if len(text) > LONGEST:
        msg = f"the rules have {len(text)} characters, more than {LONGEST}; shorten them"
        raise InputError(msg)
    terms = []
    start = 0
    for part in text.split("|"):
        place = start + len(part) - len(part.lstrip()) + 1
        start += len(part) + 1
        match = WORD.fullmatch(part)
        word = match[1].upper() if match else ""
        if match is None or word not in FORMS:
            shown = part.strip()
            msg = (
                f"{shown!r} at character {place} is not a rule; the words are "
                f"{', '.join(FORMS.values())}, joined by |"
            )
            raise InputError(msg)
        terms.append(_term(word, part.strip(), place, match[2]))
    return terms


def _term(word: str, text: str, place: int, inside: str) -> _Term:
    numbers: list[Fraction] = []
    marked: list[bool] = []
    named: dict[str, Fraction] = {}
    empty = _Term(word, text, place, (), (), {})
    for item in inside.split(",") if inside.strip() else []:
        name, equals, number = item.rpartition("=")
        name = name.strip().lower()
        if equals and (name not in NAMED.get(word, ()) or name in named):
            known = ", ".join(NAMED.get(word, ())) or "none"
            why = f"named parameters of {word} are: {known}, each once; got {name!r}"
            raise empty.fail(why)
        if named and not equals:
            why = "plain parameters come before named ones"
            raise empty.fail(why)
        percent = number.rstrip().endswith("%")
        try:
            value = read_fraction(number.strip().removesuffix("%"))
        except InputError:
            why = f"{number.strip()[:40]!r} is not a number"
            raise empty.fail(why) from None
        if abs(value) > MAX_VALUE:
            why = f"{number.strip()[:40]!r} is beyond 2**53, the largest value of a cell"
            raise empty.fail(why)
        if equals:
            named[name] = value
        else:
            numbers.append(value)
            marked.append(percent)
    if len(numbers) not in COUNTS[word]:
        why = f"{len(numbers)} parameters given, expected {FORMS[word]}"
        raise empty.fail(why)
    term = _Term(word, text, place, tuple(numbers), tuple(marked), named)
    _check_percentages(term)
    return term


def _check_percentages(term: _Term) -> None:
    """Refuse what is surely a slip: a share in place of a percentage, NK with k before n."""
    places = PERCENT.get((term.word, len(term.numbers)), ())
    for i, (number, marked) in enumerate(zip(term.numbers, term.marked, strict=True)):
        if marked and i not in places:
            why = f"parameter {i + 1} of {term.word} is not a percentage; leave its % out"
            raise term.fail(why)
        if i in places and 0 < number < 1 and not marked:
            meant = [number_text(100 * n if j == i else n) for j, n in enumerate(term.numbers)]
            slip = [f"{number_text(n)}%" if j == i else number_text(n)
                    for j, n in enumerate(term.numbers)]  # fmt: skip
            why = (
                f"parameters are percentages: did you mean {term.word}({','.join(meant)})? For "
                f"{number_text(number)} percent write {term.word}({','.join(slip)})"
            )
            raise term.fail(why)
    if term.word == "NK" and term.numbers[0] > term.numbers[1] > 0 and not term.marked[1]:
        n, k = map(number_text, term.numbers)
        why = (
            f"NK(n,k) names the contributors first and the percentage second: did you mean "
            f"NK({k},{n})? For {k} percent write NK({n},{k}%)"
        )
        raise term.fail(why)


def _rule(term: _Term, manual: Sequence[Any]) -> Rule | None:
    """Return the rule of a term; None where τ-ARGUS writes zeros for no rule."""
    if term.numbers and not any(term.numbers) and not term.named and term.word != "MAN":
        return None
    if term.word in INSTEAD:
        raise term.fail(INSTEAD[term.word])
    try:
        match term.word, term.numbers:
            case "P", (p, *_) if not p:
                return None  # as τ-ARGUS counts rules: P(0,1) holds the place of one
            case "P", (p,):
                return PPercent(p)
            case "P", (p, n):
                return PPercent(p, n)
            case "P", (p, q, n):
                return PQ(p, q, n)
            case "NK", (n, k):
                return Dominance(n, k)
            case "ZERO", (level,):
                return Zero(level)
            case "FREQ", (n, *margin):
                return MinFrequency(
                    n,
                    zero_sensitive=bool(term.named.get("zero", 0)),
                    width=term.named.get("width"),
                    margin=margin[0] if margin else None,
                    weighted=bool(term.named.get("weighted", 0)),
                )
            case _, margin:
                return Manual(
                    manual, margin=margin[0] if margin else None, width=term.named.get("width")
                )
    except InputError as error:
        raise term.fail(str(error)) from error


@made_rule.register(str)
def _(rule: str) -> Rule:
    return parse_rules(rule)
