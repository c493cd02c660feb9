"""Anonymity against attackers who know aggregates of a record (k^f-anonymity).

`anonymise` is the door and `generalised` the published file. `functions` are what an attacker may
know, `spreads` those that are not monotone; `grouping` says which records are generalised together
and `generalise` how far; `verify` counts candidates in what is published.

Checked by a verifier that counts, itself against enumeration of completions
(`tests/microagg/aggregates`).
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
