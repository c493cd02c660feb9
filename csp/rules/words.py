"""How rules are written, in τ-ARGUS's words. Each rule names its own; no list names them all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from csp.exact import Number


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its parameters, as a rule's text has them.

    Attributes
    ----------
    form : str
        ``"FREQ(n,margin)"``. Rules may share a word if their numbers of parameters differ.
    optional : int
        How many of the last parameters may be left out.
    percent : tuple of int
        Positions of percentages, which may end with %.
    named : tuple of str
        Parameters that are given as ``name=number``.
    zeros : tuple of int, optional
        Positions that are all 0 where the word holds the place of a rule that is not there: all
        positions by default; none of them if empty.
    holding : int, optional
        τ-ARGUS reads a word that occurs more often than this as a rule for holdings.
    """

    form: str
    optional: int = 0
    percent: tuple[int, ...] = ()
    named: tuple[str, ...] = ()
    zeros: tuple[int, ...] | None = None
    holding: int | None = None

    @property
    def name(self) -> str:
        """The word alone."""
        return self.form.partition("(")[0]

    @property
    def counts(self) -> range:
        """How many plain parameters it may have."""
        most = self.form.count(",") + 1
        return range(most - self.optional, most + 1)

    def stands_for_none(self, numbers: Sequence[Number], named: Collection[str]) -> bool:
        """Whether a text with these parameters asks for no rule."""
        places = range(len(numbers)) if self.zeros is None else self.zeros
        return len(places) > 0 and not named and not any(numbers[i] for i in places)


_RULES: dict[str, tuple[Word, type[Any]]] = {}


def register(word: Word, rule: type[Any]) -> None:
    """Let texts of rules use the word of a rule."""
    _RULES[word.form] = word, rule


def every_rule(*, look: bool = False) -> tuple[tuple[Word, type[Any]], ...]:
    """Return the words that are known and their rules.

    Parameters
    ----------
    look : bool
        Import all of this folder first, so that a new file needs no line elsewhere.
    """
    if look:
        package = __name__.rpartition(".")[0]
        for module in iter_modules(import_module(package).__path__):
            import_module(f"{package}.{module.name}")
    return tuple(_RULES.values())
