"""Attacks on released tables: what the public can infer, with and without knowing the algorithm.

Everything here starts from a `csp.Release`; the true table is never needed. `attack_report` runs
every attack that applies and collects its `attack_findings`, `published_audit` with its
`published_findings` judges a table that somebody else published, `explanations` says why a cell is
known, `descriptions` names cells and relations. Names load when they are first used; the results of
single attacks, and the tools below them, are in the packages `fibre`, `release_alone`,
`large_releases`, `algorithm_known`, `rounding_known` and `bayes`.

Each attack is checked by brute force over all consistent tables (`tests/attacks`); every number in
the text of an explanation is put in again.
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
