"""Attacks on released tables."""

__all__: list[str] = []
