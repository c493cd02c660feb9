"""Benchmarks: frozen specs of problems, solvers behind one interface, results as CSV and Markdown.

They belong to the project, not to what is installed: ``python -m benchmarks`` runs in a checkout.

`specs` says what is measured, `peers` how a solver is run (`own` one of yours), `run` what becomes
of the results.
Costs by value are sums of suppressed cells, which nothing else here ever shows; benchmark tables
are synthetic or public, so their costs and bounds are printed.
"""
