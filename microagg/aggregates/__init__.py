"""Anonymity against attackers who know aggregates of a record (k^f-anonymity)."""

from microagg.aggregates.anonymise import METHODS, aggregate_anonymise
from microagg.aggregates.functions import Continuous, Linear, Monotone
from microagg.aggregates.generalised import Generalised, Residual
from microagg.aggregates.verify import candidate_counts, is_aggregate_anonymous

__all__ = [
    "METHODS",
    "Continuous",
    "Generalised",
    "Linear",
    "Monotone",
    "Residual",
    "aggregate_anonymise",
    "candidate_counts",
    "is_aggregate_anonymous",
]
