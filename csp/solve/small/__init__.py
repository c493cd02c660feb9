"""Tables of up to 64 cells: the canonical pattern by compiled search over bit masks.

`one` solves a table, `slices` with a clock and an audit; `many` and `batch` solve many at once.
`flow` and `search` are what they share, `kernels` how numba compiles them.
"""
