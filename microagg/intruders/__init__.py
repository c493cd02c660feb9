"""Attacks on microdata; each says what its intruder knows.

Values of persons: `linkage`, `ranks`, `homogeneous`, and over all `matchings`. A contribution of
one's own, told truly or not: `contributors`, `crafted`. Totals and identities: `identity`. An
aggregate of a record: `aggregate`.

Linkage is checked by enumeration of all permutations and by simulation; a derangement must break
the bound (`tests/microagg/intruders`).
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
