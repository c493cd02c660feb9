"""Random decoys: cells protected like primary ones, so that a pattern does not show which are.

A secret `key` gives the coins of `decoys`, `width` says how wide every suppressed cell must be,
`suppress` goes on until all are, `guarantee` is the promise; `proportional_fitting` predicts cells
from what is published.

The theorem is checked by exact probabilities over all sets of coins
(`tests/csp/decoys/test_theorem.py`), the key by HMAC written again from RFC 2104, and every output
is searched for it.
"""
