"""Statistical tables: what they are, what must be hidden, and proof that it is.

`mechanism` is the public algorithm with its one call from a table to an audited release, `posing`
the problem that it makes of a table, and `release_file` writes that release; `ilp` is the door to
the integer programs in PuLP. What all packages below share: numbers (`exact`), `errors` and named
mistakes in `calls`, the `clock` of a time limit, limits of `memory`, the doors to HiGHS (`highs`)
and numba (`compiled`), and names that load when they are first used (`lazily`), so that
``import csp`` costs next to nothing.
"""

from csp.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
