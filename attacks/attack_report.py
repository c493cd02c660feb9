"""Every attack that applies to a release, run one after the other, and their verdicts in one place.

Which attacks apply depends on what an attacker is taken to know: the release alone, the algorithm,
what contributors know, further releases, a prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attacks.algorithm_known.attack_run import OPEN, SAFE, UNSAFE
from attacks.algorithm_known.matches import Algorithm
from attacks.algorithm_known.matching_attack import matching
from attacks.algorithm_known.matching_results import UNJUDGED, Matching
from attacks.algorithm_known.views.checks import check_callable
from attacks.attack_findings import CUT_SHORT, NOT_RUN, RAN, AttackReport, Ends, Finding
from attacks.bayes.posterior import posterior
from attacks.bayes.priors import Prior, uniform
from attacks.release_alone.cell_sums import disclosed_sums
from attacks.release_alone.coalitions import Coalition, smallest_coalition
from attacks.release_alone.disclosed_cells import disclosed
from attacks.release_alone.insider_knowledge import Knowledge, insiders
from attacks.release_alone.several_releases import differencing
from csp.clock import Clock
from csp.errors import CertificateError, InputError, OutOfTime, argument
from csp.exact import Number
from csp.mechanism import Mechanism
from csp.names.calls import asked_as, whole_number
from csp.release.completion import complete
from csp.release.release import Release
from csp.rules.base import as_rule

_CERTAIN = 0.95
"""Posterior probability from which a value counts as known."""

_MAY_REFUSE = ("matching", "posterior")
"""Attacks that cannot run on every release: the report says why."""

_INTERRUPTED = "It was interrupted."

_Found = tuple[str, dict[int, Ends], Any, bool]
"""Verdict of an attack, the cells it exposes, its result, and whether it was finished."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttackOptions:
    """What is attacked, and what attackers know: the arguments of `attacks.report`.

    Attributes
    ----------
    release : Release
    mechanism : Mechanism or callable, optional
        If the attacker knows the algorithm: for `matching` and `posterior`. Rules that look at one
        cell at a time also judge `disclosed_sums` of counts. A function (see `attacks.matching`) is
        for `matching` alone, with `width` as the width that it promises.
    repeats : bool
        Whether the mechanism alone makes the pattern again (`csp.Protected.repeatable`). Where
        cells were kept or stated, or a search could end before a proof, `matching` and `posterior`
        are not run.
    knowledge : sequence of Knowledge, optional
        What contributors know (`attacks.knowledge_of`): for `insiders` and `smallest_coalition`.
    counts : (n,) int, optional
        Number of contributors of each cell, where that is public.
    others : sequence of Release, optional
        Further releases of overlapping tables: for `differencing`.
    prior : callable, optional
        For `posterior`; under decoys all values are equally probable by default.
    width, percent : Number, optional
        What coalitions must not reach, one of them (see `attacks.smallest_coalition`). With a
        function, the width is also what it promises the interval of every suppressed cell.
    integer : bool, optional
        Whether the attacker knows that cells are whole units; as the mechanism has it by default,
        and true without one.
    max_tables : int
        Consistent tables that `matching` and `posterior` look at one by one.
    time_limit : float, optional
        Wall seconds for all attacks, of which each has an even part of what is left.
    """

    release: Release
    mechanism: Algorithm | None = None
    _: KW_ONLY
    repeats: bool = True
    knowledge: Sequence[Knowledge] = ()
    counts: ArrayLike | None = None
    others: Sequence[Release] = ()
    prior: Prior | None = None
    width: Number | None = None
    percent: Number | None = None
    integer: bool | None = None
    max_tables: int = 200_000
    time_limit: float | None = None

    @property
    def whole(self) -> bool:
        """Whether the attacker knows that cells are whole units."""
        return self.integer is not False


@asked_as(AttackOptions)
def report(asked: AttackOptions) -> AttackReport:
    """Run every attack that applies to a release; takes what `AttackOptions` does.

    Ctrl-C ends the attack at hand, and those after it do not begin.

    Returns
    -------
    AttackReport

    Raises
    ------
    InputError
        If nothing is suppressed, no table is consistent with the release, or what contributors
        know, further releases or limits are refused by their attack. The report names a mechanism
        that cannot have made the release.
    OutOfTime
        If the time limit passed before a table consistent with the release was known.

    Examples
    --------
    >>> from csp import Mechanism, MinFrequency, Table
    >>> table = Table.from_array([[7, 11, 60], [10, 60, 11], [60, 12, 60]])
    >>> mechanism = Mechanism(MinFrequency(10), width=10, margins="publish")
    >>> found = report(mechanism.protect(table).release, mechanism)
    >>> found
    AttackReport(3 of 7 attacks ran: 0 of 4 suppressed cells exposed)
    >>> print(found["matching"].verdict)
    4 suppressed cells are proved safe, 0 proved unsafe, 0 undecided.
    """
    clock, mechanism = Clock.of(asked.time_limit), asked.mechanism
    table = complete(asked.release, time_limit=clock.seconds)
    integer = asked.integer
    if isinstance(mechanism, Mechanism):
        integer = mechanism.attacker_is_integer(table) if integer is None else integer
    elif mechanism is not None:
        check_callable(mechanism)
    whole_number("max_tables", asked.max_tables)
    setting = replace(
        asked, knowledge=tuple(asked.knowledge), others=tuple(asked.others), integer=integer
    )
    found = []
    interrupted = False
    lacking = _lacking(setting)
    left = len(_ATTACKS) - len(lacking)
    for name, attack in _ATTACKS.items():
        if name in lacking:
            found.append(Finding(name, NOT_RUN, reason=lacking[name]))
            continue
        if interrupted:
            found.append(Finding(name, CUT_SHORT, reason=_INTERRUPTED))
            continue
        try:
            finding = _finding(name, attack(setting, clock.part(1 / left)))
            interrupted = finding.reason == _INTERRUPTED
            found.append(finding)
        except (OutOfTime, CertificateError) as error:
            found.append(Finding(name, CUT_SHORT, reason=_sentence(error)))
        except KeyboardInterrupt:
            interrupted = True
            found.append(Finding(name, CUT_SHORT, reason=_INTERRUPTED))
        except InputError as error:
            if name not in _MAY_REFUSE:
                raise
            found.append(Finding(name, NOT_RUN, reason=_sentence(error)))
        left -= 1
    return AttackReport(asked.release, tuple(found))


# ---- attacks -------------------------------------------------------------------------------------


def _disclosed(setting: AttackOptions, clock: Clock) -> _Found:
    found = disclosed(setting.release, integer=setting.whole, time_limit=clock.seconds)
    known = found.whole if setting.whole else found.exact
    low, high = (
        (found.whole_lower, found.whole_upper) if setting.whole else (found.lower, found.upper)
    )
    # What is rounded, or not available, is in the pattern too, and nobody withholds it.
    secret = setting.release.withheld[found.cells]
    linear, exact, all_ = (int((one & secret).sum()) for one in (found.linear, found.exact, known))
    verdict = (
        f"{_cells(all_, int(secret.sum()))} known: {linear} by linear algebra, "
        f"{exact - linear} more by bounds, {all_ - exact} more as integers."
    )
    others = int((known & ~secret).sum())
    if others:
        cells = "cell that is" if others == 1 else "cells that are"
        verdict += f" So {'is' if others == 1 else 'are'} {others} {cells} not withheld."
    exposed = _exposed(found.cells, known & secret, low, high)
    return verdict, exposed, found, True


def _sums(setting: AttackOptions, clock: Clock) -> _Found:
    rule = None
    if isinstance(setting.mechanism, Mechanism):
        rules = as_rule(setting.mechanism.rules)
        # What a rule asks of a cell is seen where its units are contributors.
        rule = rules if rules.cellwise and setting.release.of_counts else None
    found = disclosed_sums(setting.release, rule, integer=setting.whole, time_limit=clock.seconds)
    known = [one for one in found if one.disclosed]
    verdict = f"{len(known)} sums of suppressed cells are disclosed"
    exposed: dict[int, Ends] = {}
    if rule is not None:
        bad = [one for one in known if one.sensitive]
        verdict += f", {len(bad)} of them sensitive"
        exposed = dict.fromkeys(sorted({c for one in bad for c in one.cells}), (None, None))
    elif isinstance(setting.mechanism, Mechanism) and setting.release.of_counts is None:
        verdict += (
            "; whether they are sensitive is seen where the release tells that cells are numbers "
            f"of contributors ({argument('cells', 'counts')})"
        )
    return f"{verdict}.", exposed, found, found.complete


def _insiders(setting: AttackOptions, clock: Clock) -> _Found:
    found = insiders(
        setting.release, setting.knowledge, counts=setting.counts, integer=setting.whole,
        time_limit=clock.seconds,
    )  # fmt: skip
    exposed: dict[int, Ends] = {}
    clever = 0
    for one in found:
        known = one.lower == one.upper
        clever += bool(known.any())
        exposed |= _exposed(one.cells, known, one.lower, one.upper)
    verdict = (
        f"{clever} of {len(found)} contributors infer the value of a cell that they did not know."
    )
    return verdict, exposed, found, True


def _coalitions(setting: AttackOptions, clock: Clock) -> _Found:
    found: list[Coalition] = []
    exposed: dict[int, Ends] = {}
    cells = [
        i for i in np.flatnonzero(setting.release.pattern).tolist()
        if setting.percent is None or any(member.own.get(i) for member in setting.knowledge)
    ]  # fmt: skip
    for k, cell in enumerate(cells):
        one = smallest_coalition(
            setting.release, setting.knowledge, cell, width=setting.width,
            percent=setting.percent, counts=setting.counts, integer=setting.whole,
            time_limit=clock.part(1 / (len(cells) - k)).seconds,
        )  # fmt: skip
        found.append(one)
        if one.members is not None:
            exposed[cell] = (None, None)
    sizes = [len(one.members) for one in found if one.members is not None]
    verdict = f"coalitions of contributors break {len(exposed)} of {len(cells)} suppressed cells"
    if sizes:
        verdict += f", the smallest has {min(sizes)} members"
    return f"{verdict}.", exposed, tuple(found), all(one.proven for one in found)


def _differencing(setting: AttackOptions, clock: Clock) -> _Found:
    releases = [setting.release, *setting.others]
    found = differencing(releases, integer=setting.whole, time_limit=clock.seconds)
    place = {int(cell): i for i, cell in enumerate(found.places[0].tolist())}
    factor = 10 ** (found.release.scale - setting.release.scale)
    published = known = 0
    exposed: dict[int, Ends] = {}
    rows = zip(found.cells.tolist(), found.lower, found.upper, found.publishers, strict=True)
    for cell, low, high, publishers in rows:
        if cell not in place or not setting.release.pattern[place[cell]] or low != high:
            continue
        published += bool(publishers)
        known += not publishers
        value = Fraction(int(low), factor)
        exposed[place[cell]] = (value, value)
    verdict = (
        f"{_cells(published, int(setting.release.pattern.sum()))} published in another release, "
        f"{known} more known from all releases together."
    )
    return verdict, exposed, found, True


def _matching(setting: AttackOptions, clock: Clock) -> _Found:
    assert setting.mechanism is not None
    found = matching(
        setting.release, setting.mechanism, max_tables=setting.max_tables,
        width=None if isinstance(setting.mechanism, Mechanism) else setting.width,
        time_limit=clock.seconds,
    )  # fmt: skip
    tally = [int((found.verdict == word).sum()) for word in (SAFE, UNSAFE, OPEN)]
    verdict = "{} suppressed cells are proved safe, {} proved unsafe, {} undecided.".format(*tally)
    if (found.verdict == UNJUDGED).any():
        left = int((found.verdict == UNJUDGED).sum())
        verdict = f"{verdict[:-1]}, {left} not judged: the function was given no width= to promise."
    exposed = _exposed(found.cells, found.verdict == UNSAFE, found.lower, found.upper)
    return verdict, exposed, found, found.complete


def _posterior(setting: AttackOptions, clock: Clock) -> _Found:
    assert isinstance(setting.mechanism, Mechanism)
    found = posterior(
        setting.release, setting.mechanism, prior=setting.prior or uniform,
        max_tables=setting.max_tables, time_limit=clock.seconds,
    )  # fmt: skip
    certain = found.mode_probability >= _CERTAIN
    verdict = (
        f"{_cells(int(certain.sum()), len(found.cells))} guessed with a posterior probability of "
        f"at least {_CERTAIN:.0%}."
    )
    exposed = _exposed(found.cells, certain, found.mode, found.mode)
    return verdict, exposed, found, True


def _lacking(setting: AttackOptions) -> dict[str, str]:
    """Name the attacks that cannot run, and what each of them lacks."""
    lacking = {}
    if not setting.knowledge:
        lacking = dict.fromkeys(
            ("insiders", "smallest_coalition"),
            "Nothing was given of what contributors know (knowledge=).",
        )
    elif setting.width is None and setting.percent is None:
        lacking["smallest_coalition"] = (
            "Nothing was given that coalitions must not reach (width= or percent=)."
        )
    if not setting.others:
        lacking["differencing"] = "No other release was given (others=)."
    if setting.mechanism is None:
        lacking |= dict.fromkeys(
            ("matching", "posterior"), "The algorithm is not known (mechanism)."
        )
    elif not setting.repeats:
        lacking |= dict.fromkeys(
            ("matching", "posterior"),
            "The mechanism alone does not make this pattern again: cells were kept or stated, or "
            "the search could end before a proof (repeats=).",
        )
    elif not isinstance(setting.mechanism, Mechanism):
        lacking["posterior"] = (
            "It needs a Mechanism; attacks.algorithm_safety tells the probabilities of a function."
        )
    elif setting.prior is None and setting.mechanism.defence is None:
        lacking["posterior"] = "No prior was given (prior=), and the mechanism has no decoys."
    return lacking


_ATTACKS: dict[str, Callable[[AttackOptions, Clock], _Found]] = {
    "disclosed": _disclosed,
    "disclosed_sums": _sums,
    "insiders": _insiders,
    "smallest_coalition": _coalitions,
    "differencing": _differencing,
    "matching": _matching,
    "posterior": _posterior,
}


# ---- words ---------------------------------------------------------------------------------------


def _finding(attack: str, found: _Found) -> Finding:
    verdict, exposed, result, done = found
    reason = "" if done else "It was not finished: allow more time or tables."
    if isinstance(result, Matching) and result.interrupted:
        reason = _INTERRUPTED
    return Finding(attack, RAN if done else CUT_SHORT, verdict, reason, exposed, result)


def _cells(count: int, whole: int) -> str:
    return f"{count} of {whole} suppressed cells {'is' if count == 1 else 'are'}"


def _exposed(
    cells: Iterable[int], flags: Iterable[Any], lower: Iterable[Any], upper: Iterable[Any]
) -> dict[int, Ends]:
    rows = zip(cells, flags, lower, upper, strict=True)
    return {int(c): (_end(low), _end(high)) for c, flag, low, high in rows if flag}


def _end(value: Any) -> Fraction | None:
    return Fraction(float(value)) if np.isfinite(value) else None


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
