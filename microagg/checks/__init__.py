"""Checks of any masked file, sharing nothing with what masks."""

from microagg.checks.checking import (
    DISTANCES,
    DIVERSITIES,
    MISSING,
    anonymity,
    is_k_anonymous,
    is_l_diverse,
    is_p_sensitive,
    is_t_close,
)
from microagg.checks.result import Anonymity, Diversity

__all__ = [
    "DISTANCES",
    "DIVERSITIES",
    "MISSING",
    "Anonymity",
    "Diversity",
    "anonymity",
    "is_k_anonymous",
    "is_l_diverse",
    "is_p_sensitive",
    "is_t_close",
]
