"""Sensitivity rules: which cells must not be published, and how wide each must stay.

Thresholds and levels are those of Hundepool et al., *Handbook on Statistical Disclosure Control*,
and of Torra and Navarro-Arribas (2023), section 2.3. Everything is computed in whole numbers, so a
cell exactly on a threshold never flips by rounding. Rules combine with ``|``; any function of a
table joins in.

`base` is what all rules share and `sensitivity` what they say of a table. `concentration` has
dominance, p% and pq, `frequency` the rules of counts, zeros and cells named by hand, `unions` those
of sums of suppressed cells. `parse` reads rules from text by the `words` that they name
themselves, so that a new rule is one more file; `inspection` tries them on data.

The formulas are checked in fractions, at ties (`tests/csp/rules`). Levels are rounded up to units
of the table; widths and levels are numbers of the measure.

Examples
--------
>>> from csp.rules import MinFrequency, PPercent, parse_rules
>>> PPercent(10) | MinFrequency(3, margin=10) == parse_rules("P(10,1)|FREQ(3,10)")
True
"""

from csp.names.calls import named_all
from csp.rules.base import AnyOf, Custom, Rule, as_rule
from csp.rules.concentration import PQ, Dominance, PPercent
from csp.rules.frequency import Manual, MinFrequency, Zero
from csp.rules.parse import parse_rules
from csp.rules.sensitivity import Sensitivity
from csp.rules.unions import every_union_sensitive, union_sensitive

__all__ = [
    "PQ",
    "AnyOf",
    "Custom",
    "Dominance",
    "Manual",
    "MinFrequency",
    "PPercent",
    "Rule",
    "Sensitivity",
    "Zero",
    "as_rule",
    "every_union_sensitive",
    "parse_rules",
    "union_sensitive",
]

named_all(__name__)
