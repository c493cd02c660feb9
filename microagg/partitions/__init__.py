"""Partitions of a file into clusters of at least k records.

`clustering` has the public ways to make one, `methods` a file for each, and `partition` is the
result, with `means` over its clusters. MDAV and V-MDAV go through a shrinking `kdtree` by
`kdtree_search` where there are many records, `exact_means` rounds their means once; `univariate`
groups one attribute. `contributors` joins clusters that have fewer than k different ones, `strata`
makes clusters inside strata, of which `joining` joins those that are too small, and `aggregated`
has medians and weighted means in place of means.

Checked by the definitions in fractions, label for label, and by printed information losses
(`tests/microagg/partitions`). MDAV is defined by correctly rounded means and ties by the lowest
row. Standardising rounds too, so records that tie as integers may not tie as points.
"""
