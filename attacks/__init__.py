"""Attacks on released tables: what the public can infer, with and without knowing the algorithm.

Everything here starts from a `csp.Release`; the true table is never needed. Names load when they
are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from attacks.algorithm_known.matching_attack import Matching, matching
    from attacks.bayes.posterior import Posterior, posterior
    from attacks.bayes.priors import normal_counts, uniform
    from attacks.bayes.rates import RateChoice, RatePoint, choose_rate
    from attacks.explanations import Explanation, explain
    from attacks.fibre.consistent_tables import Fibre
    from attacks.fibre.kernel_basis import kernel
    from attacks.fibre.samples import Draws, draw
    from attacks.release_alone.cell_sums import Sum, Sums, disclosed_sums, with_sum
    from attacks.release_alone.coalitions import Coalition, smallest_coalition
    from attacks.release_alone.disclosed_cells import Disclosure, disclosed
    from attacks.release_alone.insider_knowledge import Insight, Knowledge, insiders, knowledge_of
    from attacks.release_alone.several_releases import Differencing, differencing
    from csp.completion import complete

# No module may share its name with a function of the package: importing it would hide the function.
_HOMES = {
    "attacks.bayes.posterior": ("Posterior", "posterior"),
    "attacks.bayes.priors": ("normal_counts", "uniform"),
    "attacks.bayes.rates": ("RateChoice", "RatePoint", "choose_rate"),
    "attacks.release_alone.coalitions": ("Coalition", "smallest_coalition"),
    "csp.completion": ("complete",),
    "attacks.explanations": ("Explanation", "explain"),
    "attacks.fibre.consistent_tables": ("Fibre",),
    "attacks.release_alone.insider_knowledge": ("Insight", "Knowledge", "insiders", "knowledge_of"),
    "attacks.fibre.kernel_basis": ("kernel",),
    "attacks.release_alone.disclosed_cells": ("Disclosure", "disclosed"),
    "attacks.algorithm_known.matching_attack": ("Matching", "matching"),
    "attacks.release_alone.several_releases": ("Differencing", "differencing"),
    "attacks.fibre.samples": ("Draws", "draw"),
    "attacks.release_alone.cell_sums": ("Sum", "Sums", "disclosed_sums", "with_sum"),
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
