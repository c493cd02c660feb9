"""Recomputations of claims, a module for each paper."""
