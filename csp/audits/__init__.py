"""Audits: what an attacker can infer from a pattern, as claims checked without a solver."""
