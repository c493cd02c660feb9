"""The fibre of a release: the integer tables consistent with everything published.

`consistent_tables` has the fibre itself. Below it: `feasible_intervals` of single cells, `counts`
without listing, the `kernel_basis`, which holds the moves from one table to the next, the
`kernel_walk` along it within `projections`, and `network_ranges` where the suppressed cells form a
network; `shapes` have what releases of one shape share. `samples` draws tables.

Every small integer vector of the kernel must be an integer combination of the basis, and normal
forms are those of sympy; fibres, counts and draws are checked by enumeration in plain Python, magic
squares and a chi-square test (`tests/attacks/fibre`).
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
