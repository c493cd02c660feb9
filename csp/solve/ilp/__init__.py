"""Integer programs in PuLP, for any solver it knows: feasibility intervals and optimal patterns.

They are a second opinion: with the other engines they share the problem and the exact audit,
nothing else. Solvers are in `solvers`, intervals in `feasibility`, patterns in `suppression`, by
the `inequalities` that a point violates.
"""
