"""Checks of any masked file, sharing nothing with what masks."""

from csp.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
