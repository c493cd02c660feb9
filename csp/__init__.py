"""Statistical tables: what they are, what must be hidden, and proof that it is.

`mechanism` is the public algorithm and the audited release that comes of it, `posing` the problem
that it makes of a table, `protection` one call for a table or for several; `responses` finds one
pattern for several values, `release_file` writes a release; `ilp` is the door to the integer
programs in PuLP. What all packages below share: numbers (`exact`), rows of matrices (`sparse`),
`errors`, `names` that are answered where they are wrong and load when they are first used, so that
``import csp`` costs next to nothing, the `clock` of a time limit, the doors to HiGHS (`highs`) and
numba (`compiled`), and the ways out that packages above offer (`outputs`).
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
