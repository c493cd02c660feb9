"""Partitions of records into clusters of at least k."""
