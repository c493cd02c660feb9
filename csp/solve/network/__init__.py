"""Patterns of tables that are networks: two-way tables, and hierarchies in one dimension of two."""
