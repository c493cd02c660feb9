"""Microaggregation of numerical microdata, treated as one more table.

Clusters by attributes are cells with contributors and relations, so the rules, the suppression and
the audits of `csp` apply to them. Names load when they are first used.
"""

from csp.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
