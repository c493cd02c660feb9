"""What an attacker who knows the algorithm believes: priors, posteriors, risk, the rate of decoys.

By Bayes, a table is as probable as its prior and the probability that the mechanism publishes it
like this. `priors` has the first, `decoys` the second under random decoys, `posterior` both, by the
`rule_table` of what a mechanism says of each value; `risk` measures one release, and `rates`
chooses the smallest rate of decoys that is good enough. `algorithm_safety` says exactly whether
knowing the algorithm changes a belief, `unknown_mechanism` what releases tell of its parameters.

Posteriors are checked by sums over brute-force matches, likelihoods under decoys by the procedure
itself, coin set by coin set (`tests/attacks/bayes`).
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
