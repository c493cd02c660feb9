"""Checks of any masked file, sharing nothing with what masks.

`checking` has the checks, on files that `reading` reads, by `diversity` and `closeness` of the
confidential values; `result` is what they find.
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
