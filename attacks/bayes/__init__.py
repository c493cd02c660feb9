"""What an attacker who knows the algorithm believes: priors, posteriors, risk, the rate of decoys.

By Bayes, a table is as probable as its prior and the probability that the mechanism publishes it
like this. `priors` has the first, `decoys` the second under random decoys, `posterior` both;
`risk` measures one release, and `rates` chooses the smallest rate of decoys that is good enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from attacks.bayes.rates import RateChoice, RatePoint

_HOMES = {
    "attacks.bayes.rates": ("RateChoice", "RatePoint"),
}

__all__ = [
    "RateChoice",
    "RatePoint",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
