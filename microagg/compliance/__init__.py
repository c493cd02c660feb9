"""Partitions in which no cell of clusters by attributes is sensitive, made in five ways.

`comply` is the door: it reads, checks, picks a way and certifies its `result`. The ways are
`suppress`, `grow`, `merge`, `drop` and `optimise`, each taking what is `asked`; they use the
`search` for clusters and the `set_partition` by `column_generation`, whose loops are `kernels`.

Searches judge groups by one comparison in whole numbers; a finished partition is judged by the
rules of tables, which come another way. Checked by the definitions over all partitions, optimum,
bounds and feasibility included, and over all parts of a cluster for `drop`
(`tests/microagg/compliance`).
"""
