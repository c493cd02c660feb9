"""Attacks on microdata; each says what its intruder knows."""

from csp.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
