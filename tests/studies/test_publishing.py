"""Releases that are combined, rules by name, and rules side by side."""

from __future__ import annotations

from fractions import Fraction

import pytest

from attacks.bayes.risk import CellRisk
from csp import Decoys, InputError
from studies.publishing.combined_releases import joint_risks
from studies.publishing.comparison import rule_summaries
from studies.publishing.rules import publishing_rule
from studies.publishing.trials import PublishingTrial


def test_fresh_coins_disclose_what_the_same_coins_keep():
    found = {(m.kind, m.schedule): m for m in joint_risks(6, releases=(3,))}
    assert found["again", "same"].unsafe == found["again", "none"].unsafe == 0
    assert found["again", "fresh"].known > 0
    assert found["over time", "kept"].unsafe < found["over time", "same"].unsafe
    assert found["over time", "same"].known < found["over time", "fresh"].known
    assert found["overlapping", "joint"].unsafe == 0


def test_rules_have_names():
    assert publishing_rule("decoys:0.05").decoys == Decoys(Fraction(1, 20))
    assert publishing_rule("coins:0.05").decoys == Decoys(Fraction(1, 20), lean=0, spread=0)
    for name, words in (
        ("guess", "not a publishing rule"),
        ("decoys", "rate"),
        ("plain:3", "no num"),
    ):
        with pytest.raises(InputError, match=words):
            publishing_rule(name)


def test_summaries_are_shares_of_primary_cells():
    cells = (
        CellRisk(9, 9, 7, 8, 0.5, 0.9, 0.2),
        CellRisk(12, 7, 8, 6, 0.2, 0.5, 0.4),
    )
    trials = [
        PublishingTrial("r", "t1", "g", 0, "published", 6, 4, 0.5, 0.25, cells),
        PublishingTrial("r", "t2", "g", 0, "no primary", 4, 0, 0.25, 0.0),
        PublishingTrial("r", "t3", "g", 0, "unprotectable"),
    ]
    (one,) = rule_summaries(trials, 8)
    assert (one.tables, one.unprotectable, one.primary) == (2, 1, 2)
    assert (one.extra, one.extra_all, one.plain, one.extra_value) == (2, 3, 4, 0.25)
    assert one.support_unsafe == one.posterior_unsafe == 0.5
    assert one.unsafe_without_rule == one.named == 0.5
    assert one.sensitive == pytest.approx(0.7)
    assert one.sensitive_without_rule == pytest.approx(0.3)
