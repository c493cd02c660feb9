"""The cell suppression problem: what must be protected, how far, and against whom.

`problem` is the problem itself, `requirements` the same as arrays for the solvers, `singletons` the
contributors who are alone in a cell. `apriori` changes a problem by what is known of single cells,
`jj` reads and writes it as a file.
"""
