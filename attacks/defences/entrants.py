"""Publishing rules by name, so that experiments can be asked for in words and run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from attacks.bayes.decoys import DecoyRule
from attacks.defences.base import Publisher
from attacks.defences.choosing import Exponential, UniformOptimal
from attacks.defences.deterministic import Plain, Widened
from csp.decoys import Decoys
from csp.errors import InputError
from csp.mechanism import Mechanism
from csp.numbers import exact
from csp.table import Table

__all__ = ["KINDS", "Entrant", "entrant"]

_ORDERS = 8
_SLACK = 3


@dataclass(frozen=True, slots=True)
class Entrant:
    """A publishing rule that any table of small structure can be given to.

    Attributes
    ----------
    name : str
    build : callable
        Takes a mechanism without defence and a table of the structure.
    decoys : Decoys or None
        Public part of the defence, if it is one.
    tosses : bool
        Whether it uses coins, so that a table may be published in several ways.
    """

    name: str
    build: Callable[[Mechanism, Table], Publisher]
    decoys: Decoys | None = None
    tosses: bool = False

    def __repr__(self) -> str:
        return f"Entrant({self.name!r})"


def _decoys(name: str, decoys: Decoys) -> Entrant:
    def build(mechanism: Mechanism, table: Table) -> Publisher:
        return DecoyRule(replace(mechanism, defence=decoys), table, orders=_ORDERS)

    return Entrant(name, build, decoys, tosses=True)


def _leaning(name: str, rate: Fraction) -> Entrant:
    return _decoys(name, Decoys(rate))


def _even(name: str, rate: Fraction) -> Entrant:
    return _decoys(name, Decoys(rate, lean=0))


def _coins(name: str, rate: Fraction) -> Entrant:
    return _decoys(name, Decoys(rate, lean=0, spread=0))


def _plain(name: str, parameter: Fraction) -> Entrant:
    del parameter
    return Entrant(name, Plain)


def _uniform(name: str, parameter: Fraction) -> Entrant:
    del parameter
    return Entrant(name, UniformOptimal, tosses=True)


def _exponential(name: str, epsilon: Fraction) -> Entrant:
    return Entrant(
        name, lambda mechanism, table: Exponential(
            mechanism, table, epsilon=float(epsilon), slack=_SLACK
        ), tosses=True,
    )  # fmt: skip


def _widened(name: str, width: Fraction) -> Entrant:
    return Entrant(name, lambda mechanism, table: Widened(mechanism, table, width=width))


def _sequential(name: str, parameter: Fraction) -> Entrant:
    from attacks.defences.fixpoint import SequentialFixpoint

    del parameter
    return Entrant(name, SequentialFixpoint)


KINDS: dict[str, tuple[str, str | None, Callable[[str, Fraction], Entrant]]] = {
    "plain": ("the cheapest safe pattern", None, _plain),
    "uniform": ("one of the cheapest, all equally probable", None, _uniform),
    "exponential": ("a minimal safe one, large ones less probable", "epsilon", _exponential),
    "widened": ("the cheapest pattern for a larger width", "width", _widened),
    "sequential": ("the first of a public list that is safe from this rule", None, _sequential),
    "coins": ("decoys by even coins, ties by label", "rate", _coins),
    "keyed": ("decoys by even coins, ties by the key", "rate", _even),
    "decoys": ("decoys where small cells are predicted, ties by the key", "rate", _leaning),
}
"""What they are, and what their parameter is, by the first word of a name."""


def entrant(name: str) -> Entrant:
    """Return the publishing rule of a name such as ``"plain"`` or ``"decoys:0.05"``.

    Raises
    ------
    InputError
        If there is no such rule, or a parameter is lacking, superfluous or no number.
    """
    word, colon, text = name.partition(":")
    if word not in KINDS:
        msg = f"{name!r} is no publishing rule; there are {', '.join(KINDS)}"
        raise InputError(msg)
    _, parameter, build = KINDS[word]
    if bool(colon) != (parameter is not None):
        msg = (
            f"{name!r} needs its {parameter}: {word}:NUMBER"
            if parameter
            else f"{word!r} takes no number"
        )
        raise InputError(msg)
    return build(name, exact(text) if colon else Fraction(0))
