"""Microaggregation of numerical microdata, treated as one more table.

Clusters by attributes are cells with contributors and relations, so the rules, the suppression and
the audits of `csp` apply to them. `partitions` makes clusters, `tables` makes a table of them,
`compliance` makes them safe; `aggregates` and `swapping` mask in other ways. `checks`,
`comparisons` and `intruders` look at any masked file, and `masked_reports` puts these together. All
of them read `records`, with attributes made comparable by `scaling` and counted by `variety`;
`entries` are the numbers of a column, and columns that stay as they are come through `kept`. Names
load when they are first used.
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
