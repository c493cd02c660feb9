"""Partitions of a file into clusters of at least k records."""
