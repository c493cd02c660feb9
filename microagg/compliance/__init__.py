"""Partitions in which no cell of clusters by attributes is sensitive, made in five ways.

`comply` is the door and `result` the certificate. `suppress` suppresses means and `drop` records;
`grow`, `merge` and `local_search` form clusters, run by `search`; `optimise` partitions by
`column_generation` with its `pricing`. `sensitivity` is what all of them ask of a group.

Searches judge groups by one comparison in whole numbers; a finished partition is judged by the
rules of tables, which come another way. Checked by the definitions over all partitions, optimum,
bounds and feasibility included, and over all parts of a cluster for `drop`
(`tests/microagg/compliance`).
"""
