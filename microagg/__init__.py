"""Microaggregation of numerical microdata."""

__all__: list[str] = []
