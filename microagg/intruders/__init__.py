"""Attacks on microdata; each says what its intruder knows."""

from microagg.intruders.aggregate import AggregateAttack, aggregate_attack, candidates_of
from microagg.intruders.contributors import Insiders, insiders
from microagg.intruders.crafted import (
    CraftedClusters,
    OpeningLie,
    crafted_clusters,
    lie_bound,
    opening_lie,
)
from microagg.intruders.homogeneous import Homogeneity, homogeneity
from microagg.intruders.identity import VERDICTS, IdentityAttack, identity_attack
from microagg.intruders.linkage import RecordLinkage, link_records
from microagg.intruders.matchings import LinkagePosterior, linkage_posterior
from microagg.intruders.ranks import RankDisclosure, rank_disclosure

__all__ = [
    "VERDICTS",
    "AggregateAttack",
    "CraftedClusters",
    "Homogeneity",
    "IdentityAttack",
    "Insiders",
    "LinkagePosterior",
    "OpeningLie",
    "RankDisclosure",
    "RecordLinkage",
    "aggregate_attack",
    "candidates_of",
    "crafted_clusters",
    "homogeneity",
    "identity_attack",
    "insiders",
    "lie_bound",
    "link_records",
    "linkage_posterior",
    "opening_lie",
    "rank_disclosure",
]
