"""Tables of microdata: records added up in memory, in files, or by the workers that hold them.

`from_microdata` is the door, and `options` says what may be asked of it. `contributions` says what
is wanted and what records contribute, `combinations` and `grouping` add up in memory, in batches of
`records`, `aggregation` where the records lie (`duckdb_records`), `workers` on a cluster, by way of
`partitioned` frames. Where nobody names the contributors of records, `repeats` looks for a column
that may.
"""
