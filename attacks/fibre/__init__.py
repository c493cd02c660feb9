"""The fibre of a release: the integer tables consistent with everything published.

`consistent_tables` has the fibre itself. Below it: `feasible_intervals` of single cells, `counts`
without listing, the `kernel_basis`, which holds the moves from one table to the next, the
`kernel_walk` along it within `projections`, and `network_ranges` where the suppressed cells form a
network. `samples` draws tables.
"""

from csp.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
