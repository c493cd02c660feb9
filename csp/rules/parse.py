"""Rules in τ-ARGUS's words: ``P(10,1)|FREQ(3,10)|NK(2,75)``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from csp.errors import InputError, argument, phrase
from csp.exact import MAX_VALUE, number_text, read_fraction
from csp.rules.base import AnyOf, Rule, made_rule
from csp.rules.concentration import Dominance
from csp.rules.frequency import Manual
from csp.rules.words import Word, every_rule

LONGEST = 10_000
"""Most characters of a text of rules; a dozen words have 200."""

INSTEAD = {
    Word("MIS(0)"): (
        "MIS(1) publishes every cell of a missing code; name those cells as cells that must be "
        "published " + phrase("(publish= of the problem)", "(p in an a-priori file)") + " instead"
    ),
    Word("WGT(0)"): (
        f"WGT(1) applies sampling weights; give {argument('weight')} where the table is "
        "tabulated, and FREQ(n,margin,weighted=1) to count what respondents stand for, instead"
    ),
    Word("REQ(0,0,0)"): (
        "REQ protects contributors who asked for it; find their cells and name them with "
        + phrase(
            "Manual(cells, margin=..), or write a function of the table,",
            "MAN(margin) and --primary,",
        )
        + " instead"
    ),
}
"""Words of τ-ARGUS whose work is done elsewhere; with zeros they are read over."""

WORD = re.compile(r"\s*([A-Za-z]+)\s*\(([^()]*)\)\s*")


@dataclass(frozen=True, slots=True)
class _Term:
    """One word of the text with its parameters and where it stands."""

    text: str
    place: int
    name: str
    numbers: tuple[Fraction, ...] = ()
    marked: tuple[bool, ...] = ()
    named: Mapping[str, Fraction] = field(default_factory=dict)

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
        seen[term.name] = seen.get(term.name, 0) + 1
        word, made = _meaning(term)
        if word.stands_for_none(term.numbers, term.named):
            continue
        if made is None:
            raise term.fail(INSTEAD[word])
        _check_percentages(term, word, made)
        try:
            rules.append(made.from_text(term.numbers, term.named, manual))
        except InputError as error:
            raise term.fail(str(error)) from error
        if seen[term.name] > (word.holding or len(text)):
            why = (
                f"{term.name} number {seen[term.name]} is a rule for holdings in τ-ARGUS; "
                f"tabulate with the holding as {argument('contributor')} and give it as the first "
                "one"
            )
            raise term.fail(why)
    if len(manual) and not any(isinstance(rule, Manual) for rule in rules):
        msg = f"cells are named by hand, but {text!r} has no MAN(margin) for their widths"
        raise InputError(msg)
    if not rules:
        msg = f"{text!r} holds no rule; the words are {_forms()}"
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
        if match is None or not _named(match[1].upper()):
            msg = (
                f"{part.strip()!r} at character {place} is not a rule; the words are {_forms()}, "
                "joined by |"
            )
            raise InputError(msg)
        terms.append(_numbers(_Term(part.strip(), place, match[1].upper()), match[2]))
    return terms


_Meaning = tuple[Word, type[Rule] | None]


def _known(*, look: bool) -> list[_Meaning]:
    """Return all words, also those whose work is done elsewhere."""
    return [*every_rule(look=look), *((word, None) for word in INSTEAD)]


def _named(name: str) -> list[_Meaning]:
    """Return the words of this name, which differ in how many parameters they have."""
    for look in (False, True):
        found = [(word, rule) for word, rule in _known(look=look) if word.name == name]
        if found:
            return found
    return []


def _forms(name: str = "") -> str:
    """List how words are written: all, or those of one name."""
    forms: dict[str, list[str]] = {}
    for word, _ in _known(look=not name):
        if name in ("", word.name):
            forms.setdefault(word.name, []).append(word.form)
    return ", ".join(" or ".join(same) for same in forms.values())


def _numbers(term: _Term, inside: str) -> _Term:
    """Read the parameters between the brackets of a word."""
    numbers: list[Fraction] = []
    marked: list[bool] = []
    named: dict[str, Fraction] = {}
    names = [name for word, _ in _named(term.name) for name in word.named]
    for item in inside.split(",") if inside.strip() else []:
        name, equals, number = item.rpartition("=")
        name = name.strip().lower()
        if equals and (name not in names or name in named):
            known = ", ".join(names) or "none"
            why = f"named parameters of {term.name} are: {known}, each once; got {name!r}"
            raise term.fail(why)
        if named and not equals:
            why = "plain parameters come before named ones"
            raise term.fail(why)
        percent = number.rstrip().endswith("%")
        try:
            value = read_fraction(number.strip().removesuffix("%"))
        except InputError:
            why = f"{number.strip()[:40]!r} is not a number"
            raise term.fail(why) from None
        if abs(value) > MAX_VALUE:
            why = f"{number.strip()[:40]!r} is beyond 2**53, the largest value of a cell"
            raise term.fail(why)
        if equals:
            named[name] = value
        else:
            numbers.append(value)
            marked.append(percent)
    return replace(term, numbers=tuple(numbers), marked=tuple(marked), named=named)


def _meaning(term: _Term) -> _Meaning:
    """Return the word that takes as many parameters as a term has."""
    for word, rule in _named(term.name):
        if len(term.numbers) in word.counts:
            return word, rule
    why = f"{len(term.numbers)} parameters given, expected {_forms(term.name)}"
    raise term.fail(why)


def _check_percentages(term: _Term, word: Word, made: type[Rule]) -> None:
    """Refuse what is surely a slip: a share in place of a percentage, NK with k before n."""
    for i, (number, marked) in enumerate(zip(term.numbers, term.marked, strict=True)):
        if marked and i not in word.percent:
            why = f"parameter {i + 1} of {term.name} is not a percentage; leave its % out"
            raise term.fail(why)
        if i in word.percent and 0 < number < 1 and not marked:
            meant = [number_text(100 * n if j == i else n) for j, n in enumerate(term.numbers)]
            slip = [f"{number_text(n)}%" if j == i else number_text(n)
                    for j, n in enumerate(term.numbers)]  # fmt: skip
            why = (
                f"parameters are percentages: did you mean {term.name}({','.join(meant)})? For "
                f"{number_text(number)} percent write {term.name}({','.join(slip)})"
            )
            raise term.fail(why)
    if made is Dominance and term.numbers[0] > term.numbers[1] > 0 and not term.marked[1]:
        n, k = map(number_text, term.numbers)
        why = (
            f"NK(n,k) names the contributors first and the percentage second: did you mean "
            f"NK({k},{n})? For {k} percent write NK({n},{k}%)"
        )
        raise term.fail(why)


@made_rule.register(str)
def _(rule: str) -> Rule:
    return parse_rules(rule)
