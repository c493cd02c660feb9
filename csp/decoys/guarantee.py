"""What a defence promises, under which assumptions: words and numbers to print beside a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from csp.exact import Bools, Floats
from csp.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Promise of random decoys (theorem and proof in docs/decoys.md).

    It says nothing that the release and the public part of the mechanism do not tell anyway.

    Attributes
    ----------
    claim : str
    assumptions : tuple of str
    complete : bool
        Whether the claim holds for every consistent table. If not, some may be excluded: those in
        which the levels that the rules ask of hidden values are not kept.
    log10_chance : float
        No table of the claim is published so with a probability below 10 to this.
    suppressed, suppressible : int
        Cells suppressed, and cells that need not be published.
    """

    claim: str
    assumptions: tuple[str, ...]
    complete: bool
    log10_chance: float
    suppressed: int
    suppressible: int

    @classmethod
    def of(
        cls, rates: Floats, problem: Problem, pattern: Bools, *, complete: bool, width: str,
    ) -> Guarantee:  # fmt: skip
        """Guarantee of a pattern.

        Parameters
        ----------
        rates : (n,) float64
            Of the coins.
        problem : Problem
            Which cells may be suppressed.
        pattern : (n,) bool
        complete : bool
            Whether hidden values play no part in the levels that are asked.
        width : str
            What every suppressed cell keeps, in words.
        """
        claim = "Every table that agrees with the published cells and the bounds"
        if not complete:
            claim += ", and in which its sensitive cells are suppressed and keep their levels,"
        assumptions = [
            "the key is secret",
            "no other release tells of the hidden cells",
            "the primary cells are not told apart from the others",
            "which cells must be suppressed or published does not depend on hidden values",
            f"every suppressed cell keeps {width}",
        ]
        if not complete:
            assumptions.append("the adversary does not know who contributes to suppressed cells")
        if problem.singletons is not None:
            assumptions.append("contributors alone in a cell know that one value and no other")
        # Also cells suppressed beforehand: which of them are primary is not for the public.
        may = problem.status != "z"
        hidden = pattern & may
        least = np.log10(np.where(hidden, rates, 1 - rates)[may]).sum()
        return cls(
            f"{claim} could have been published so.", tuple(assumptions), complete, float(least),
            int(pattern.sum()), int(may.sum()),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "claim": self.claim,
            "assumptions": list(self.assumptions),
            "complete": self.complete,
            # Rounded down: a lower bound that is rounded up would promise more than is proved.
            "log10_chance": math.floor(self.log10_chance * 100) / 100,
            "suppressed": self.suppressed,
            "suppressible": self.suppressible,
        }
