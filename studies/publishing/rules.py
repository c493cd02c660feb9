"""Publishing rules by name, so that experiments can be named on the command line and repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from attacks.bayes.decoys import DecoyRule
from csp.decoys.decoys import Decoys
from csp.errors import InputError
from csp.exact import exact
from csp.mechanism import Mechanism
from csp.tables.table import Table
from studies.publishing.optimal import Plain, Widened
from studies.publishing.publisher import Publisher
from studies.publishing.randomised import Exponential, UniformOptimal

_ORDERS = 8
_SLACK = 3


@dataclass(frozen=True, slots=True)
class PublishingRule:
    """A publishing rule that any table of small structure can be given to.

    Attributes
    ----------
    name : str
    build : callable
        Takes a mechanism without defence and a table of the structure.
    decoys : Decoys or None
        Public part of the defence, if it is one.
    randomised : bool
        Whether it uses coins, so that a table may be published in several ways.
    """

    name: str
    build: Callable[[Mechanism, Table], Publisher]
    decoys: Decoys | None = None
    randomised: bool = False

    def __repr__(self) -> str:
        return f"PublishingRule({self.name!r})"


def _decoys(name: str, decoys: Decoys) -> PublishingRule:
    def build(mechanism: Mechanism, table: Table) -> Publisher:
        return DecoyRule(replace(mechanism, defence=decoys), table, orders=_ORDERS)

    return PublishingRule(name, build, decoys, randomised=True)


def _leaning(name: str, rate: Fraction) -> PublishingRule:
    return _decoys(name, Decoys(rate))


def _even(name: str, rate: Fraction) -> PublishingRule:
    return _decoys(name, Decoys(rate, lean=0))


def _coins(name: str, rate: Fraction) -> PublishingRule:
    return _decoys(name, Decoys(rate, lean=0, spread=0))


def _plain(name: str, parameter: Fraction) -> PublishingRule:
    del parameter
    return PublishingRule(name, Plain)


def _uniform(name: str, parameter: Fraction) -> PublishingRule:
    del parameter
    return PublishingRule(name, UniformOptimal, randomised=True)


def _exponential(name: str, epsilon: Fraction) -> PublishingRule:
    return PublishingRule(
        name, lambda mechanism, table: Exponential(
            mechanism, table, epsilon=float(epsilon), slack=_SLACK
        ), randomised=True,
    )  # fmt: skip


def _widened(name: str, width: Fraction) -> PublishingRule:
    return PublishingRule(name, lambda mechanism, table: Widened(mechanism, table, width=width))


def _sequential(name: str, parameter: Fraction) -> PublishingRule:
    from studies.publishing.sequential.fixpoint import SequentialFixpoint

    del parameter
    return PublishingRule(name, SequentialFixpoint)


KINDS: dict[str, tuple[str, str | None, Callable[[str, Fraction], PublishingRule]]] = {
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


def publishing_rule(name: str) -> PublishingRule:
    """Return the publishing rule of a name such as ``"plain"`` or ``"decoys:0.05"``.

    Raises
    ------
    InputError
        If there is no such rule, or a parameter is missing, superfluous or not a number.
    """
    word, colon, text = name.partition(":")
    if word not in KINDS:
        msg = f"{name!r} is not a publishing rule; there are {', '.join(KINDS)}"
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
