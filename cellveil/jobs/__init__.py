"""Jobs: tables to protect, with all that is done to them, in one TOML file.

`keys` says what may stand in one, `job` is one as it was read, `run` runs it, `draft` writes one.
A `record` of each run is kept for the office, and `verify` repeats the run from it; `history` has
the releases of all runs, which are attacked `together`.
`batch` makes jobs of the batch files of τ-ARGUS, whose lines are read by `batch_lines`.
"""
