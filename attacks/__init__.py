"""Attacks on released tables: what the public can infer, with and without knowing the algorithm.

Everything here starts from a `csp.Release`; the true table is never needed. Names load when they
are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from attacks.bayes.posterior import Posterior, posterior
    from attacks.bayes.priors import normal_counts, uniform
    from attacks.bayes.rates import RateChoice, RatePoint, choose_rate
    from attacks.coalition import Coalition, smallest_coalition
    from attacks.completion import complete
    from attacks.explaining import Explanation, explain
    from attacks.fibre import Fibre
    from attacks.insider import Insight, Knowledge, insiders, knowledge_of
    from attacks.lattice import kernel
    from attacks.linear import Disclosure, disclosed
    from attacks.matches import Matching, matching
    from attacks.releases import Differencing, differencing
    from attacks.sampling import Draws, draw
    from attacks.sums import Sum, Sums, disclosed_sums, with_sum

# No module may share its name with a function of the package: importing it would hide the function.
_HOMES = {
    "attacks.bayes.posterior": ("Posterior", "posterior"),
    "attacks.bayes.priors": ("normal_counts", "uniform"),
    "attacks.bayes.rates": ("RateChoice", "RatePoint", "choose_rate"),
    "attacks.coalition": ("Coalition", "smallest_coalition"),
    "attacks.completion": ("complete",),
    "attacks.explaining": ("Explanation", "explain"),
    "attacks.fibre": ("Fibre",),
    "attacks.insider": ("Insight", "Knowledge", "insiders", "knowledge_of"),
    "attacks.lattice": ("kernel",),
    "attacks.linear": ("Disclosure", "disclosed"),
    "attacks.matches": ("Matching", "matching"),
    "attacks.releases": ("Differencing", "differencing"),
    "attacks.sampling": ("Draws", "draw"),
    "attacks.sums": ("Sum", "Sums", "disclosed_sums", "with_sum"),
}

__all__ = [
    "Coalition",
    "Differencing",
    "Disclosure",
    "Draws",
    "Explanation",
    "Fibre",
    "Insight",
    "Knowledge",
    "Matching",
    "Posterior",
    "RateChoice",
    "RatePoint",
    "Sum",
    "Sums",
    "choose_rate",
    "complete",
    "differencing",
    "disclosed",
    "disclosed_sums",
    "draw",
    "explain",
    "insiders",
    "kernel",
    "knowledge_of",
    "matching",
    "normal_counts",
    "posterior",
    "smallest_coalition",
    "uniform",
    "with_sum",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
