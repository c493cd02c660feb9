"""Attacks on released tables: what the public can infer, with and without knowing the algorithm.

Everything here starts from a `csp.Release`; the true table is never needed. `report` runs every
attack that applies. Names load when they are first used; the results of single attacks, and the
tools below them, are in the packages `fibre`, `release_alone`, `algorithm_known` and `bayes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from attacks.algorithm_known.matching_attack import Matching, matching
    from attacks.attack_report import AttackReport, report
    from attacks.bayes.algorithm_safety import AlgorithmSafety, algorithm_safety
    from attacks.bayes.posterior import Posterior, posterior
    from attacks.bayes.priors import normal_counts, uniform
    from attacks.bayes.rates import choose_rate
    from attacks.bayes.unknown_mechanism import (
        MechanismPosterior,
        ParameterBounds,
        mechanism_posterior,
        parameter_bounds,
    )
    from attacks.explanations import Explanation, explain
    from attacks.fibre.consistent_tables import Fibre
    from attacks.release_alone.cell_sums import disclosed_sums
    from attacks.release_alone.coalitions import smallest_coalition
    from attacks.release_alone.disclosed_cells import Disclosure, disclosed
    from attacks.release_alone.insider_knowledge import Knowledge, insiders, knowledge_of
    from attacks.release_alone.several_releases import differencing

# No module may share its name with a function of the package: importing it would hide the function.
_HOMES = {
    "attacks.algorithm_known.matching_attack": ("Matching", "matching"),
    "attacks.attack_report": ("AttackReport", "report"),
    "attacks.bayes.algorithm_safety": ("AlgorithmSafety", "algorithm_safety"),
    "attacks.bayes.posterior": ("Posterior", "posterior"),
    "attacks.bayes.priors": ("normal_counts", "uniform"),
    "attacks.bayes.rates": ("choose_rate",),
    "attacks.bayes.unknown_mechanism": (
        "MechanismPosterior",
        "ParameterBounds",
        "mechanism_posterior",
        "parameter_bounds",
    ),
    "attacks.explanations": ("Explanation", "explain"),
    "attacks.fibre.consistent_tables": ("Fibre",),
    "attacks.release_alone.cell_sums": ("disclosed_sums",),
    "attacks.release_alone.coalitions": ("smallest_coalition",),
    "attacks.release_alone.disclosed_cells": ("Disclosure", "disclosed"),
    "attacks.release_alone.insider_knowledge": ("Knowledge", "insiders", "knowledge_of"),
    "attacks.release_alone.several_releases": ("differencing",),
}

__all__ = [
    "AlgorithmSafety",
    "AttackReport",
    "Disclosure",
    "Explanation",
    "Fibre",
    "Knowledge",
    "Matching",
    "MechanismPosterior",
    "ParameterBounds",
    "Posterior",
    "algorithm_safety",
    "choose_rate",
    "differencing",
    "disclosed",
    "disclosed_sums",
    "explain",
    "insiders",
    "knowledge_of",
    "matching",
    "mechanism_posterior",
    "normal_counts",
    "parameter_bounds",
    "posterior",
    "report",
    "smallest_coalition",
    "uniform",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
