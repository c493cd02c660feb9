"""Attacks on microdata; each says what its intruder knows."""

from microagg.intruders.aggregate import AggregateAttack, aggregate_attack, candidates_of
from microagg.intruders.contributors import Insiders, insiders
from microagg.intruders.homogeneous import Homogeneity, homogeneity
from microagg.intruders.identity import VERDICTS, IdentityAttack, identity_attack
from microagg.intruders.linkage import RecordLinkage, link_records
from microagg.intruders.matchings import LinkagePosterior, linkage_posterior
from microagg.intruders.ranks import RankDisclosure, rank_disclosure

__all__ = [
    "VERDICTS",
    "AggregateAttack",
    "Homogeneity",
    "IdentityAttack",
    "Insiders",
    "LinkagePosterior",
    "RankDisclosure",
    "RecordLinkage",
    "aggregate_attack",
    "candidates_of",
    "homogeneity",
    "identity_attack",
    "insiders",
    "link_records",
    "linkage_posterior",
    "rank_disclosure",
]
