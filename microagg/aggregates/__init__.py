"""Anonymity against attackers who know aggregates of a record (k^f-anonymity)."""

from csp.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
