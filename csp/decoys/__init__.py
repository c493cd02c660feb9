"""Random decoys: cells protected like primary ones, so that a pattern does not show which are.

A secret `key` gives the coins of `decoys`, `width` says how wide every suppressed cell must be,
`suppress` goes on until all are, `guarantee` is the promise; `proportional_fitting` predicts cells
from what is published.
"""
