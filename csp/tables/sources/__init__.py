"""Kinds of data that columns come from.

What each of them answers (`source`), and the kinds: `frames` and mappings, `relations` of DuckDB,
`files`.
"""
