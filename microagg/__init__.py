"""Microaggregation of numerical microdata, treated as one more table.

Clusters by attributes are cells with contributors and relations, so the rules, the suppression and
the audits of `csp` apply to them. Names load when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from microagg.aggregates import (
        Continuous,
        Generalised,
        Monotone,
        aggregate_anonymise,
        candidate_counts,
        is_aggregate_anonymous,
    )
    from microagg.checks import (
        Anonymity,
        Diversity,
        anonymity,
        is_k_anonymous,
        is_l_diverse,
        is_p_sensitive,
        is_t_close,
    )
    from microagg.compliance.comply import comply
    from microagg.compliance.result import Compliant, Dropped
    from microagg.compliance.suppress import (
        Suppressed,
        cluster_problem,
        paired,
        suppress_clusters,
    )
    from microagg.intruders import (
        AggregateAttack,
        CraftedClusters,
        Homogeneity,
        IdentityAttack,
        Insiders,
        LinkagePosterior,
        OpeningLie,
        RankDisclosure,
        RecordLinkage,
        aggregate_attack,
        candidates_of,
        crafted_clusters,
        homogeneity,
        identity_attack,
        insiders,
        lie_bound,
        link_records,
        linkage_posterior,
        opening_lie,
        rank_disclosure,
    )
    from microagg.partitions.methods import individual_ranking, mdav, mondrian, vmdav
    from microagg.partitions.partition import Partition, Ranked, information_loss
    from microagg.records import Records, read_records
    from microagg.swapping.correlations import CorrelationLoss, correlation_loss
    from microagg.swapping.linkage import Linkage, Linkages
    from microagg.swapping.methods import ir_swap, mdav_id, mdav_swap
    from microagg.swapping.swapped import Swapped, linkage_probability
    from microagg.tables.clusters import ClusterTable, cells, cluster_table
    from microagg.tables.identities import Identity
    from microagg.tables.identity_detection import detect_identities
    from microagg.tables.k_curve import KPoint, k_curve
    from microagg.tables.risk import Disclosure, corresponding_p, disclosure

# No module may share its name with a function of the package: importing it would hide the function.
_HOMES = {
    "microagg.checks": (
        "Anonymity",
        "Diversity",
        "anonymity",
        "is_k_anonymous",
        "is_l_diverse",
        "is_p_sensitive",
        "is_t_close",
    ),
    "microagg.intruders": (
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
    ),
    "microagg.compliance.comply": ("comply",),
    "microagg.compliance.result": ("Compliant", "Dropped"),
    "microagg.compliance.suppress": (
        "Suppressed",
        "cluster_problem",
        "paired",
        "suppress_clusters",
    ),
    "microagg.partitions.methods": ("individual_ranking", "mdav", "mondrian", "vmdav"),
    "microagg.partitions.partition": ("Partition", "Ranked", "information_loss"),
    "microagg.aggregates": (
        "Continuous",
        "Generalised",
        "Monotone",
        "aggregate_anonymise",
        "candidate_counts",
        "is_aggregate_anonymous",
    ),
    "microagg.records": ("Records", "read_records"),
    "microagg.swapping.correlations": ("CorrelationLoss", "correlation_loss"),
    "microagg.swapping.linkage": ("Linkage", "Linkages"),
    "microagg.swapping.methods": ("ir_swap", "mdav_id", "mdav_swap"),
    "microagg.swapping.swapped": ("Swapped", "linkage_probability"),
    "microagg.tables.clusters": ("ClusterTable", "cells", "cluster_table"),
    "microagg.tables.identity_detection": ("detect_identities",),
    "microagg.tables.identities": ("Identity",),
    "microagg.tables.k_curve": ("KPoint", "k_curve"),
    "microagg.tables.risk": ("Disclosure", "corresponding_p", "disclosure"),
}

__all__ = [
    "AggregateAttack",
    "Anonymity",
    "ClusterTable",
    "Compliant",
    "Continuous",
    "CorrelationLoss",
    "CraftedClusters",
    "Disclosure",
    "Diversity",
    "Dropped",
    "Generalised",
    "Homogeneity",
    "Identity",
    "IdentityAttack",
    "Insiders",
    "KPoint",
    "Linkage",
    "LinkagePosterior",
    "Linkages",
    "Monotone",
    "OpeningLie",
    "Partition",
    "RankDisclosure",
    "Ranked",
    "RecordLinkage",
    "Records",
    "Suppressed",
    "Swapped",
    "aggregate_anonymise",
    "aggregate_attack",
    "anonymity",
    "candidate_counts",
    "candidates_of",
    "cells",
    "cluster_problem",
    "cluster_table",
    "comply",
    "correlation_loss",
    "corresponding_p",
    "crafted_clusters",
    "detect_identities",
    "disclosure",
    "homogeneity",
    "identity_attack",
    "individual_ranking",
    "information_loss",
    "insiders",
    "ir_swap",
    "is_aggregate_anonymous",
    "is_k_anonymous",
    "is_l_diverse",
    "is_p_sensitive",
    "is_t_close",
    "k_curve",
    "lie_bound",
    "link_records",
    "linkage_posterior",
    "linkage_probability",
    "mdav",
    "mdav_id",
    "mdav_swap",
    "mondrian",
    "opening_lie",
    "paired",
    "rank_disclosure",
    "read_records",
    "suppress_clusters",
    "vmdav",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
