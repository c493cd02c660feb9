"""Probabilistic k-anonymity: confidential values permuted within groups of at least k records."""
