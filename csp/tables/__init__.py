"""Tables: cells bound by relations, made of arrays, frames and microdata.

`table` is the value itself, with its `contributors`, its labels as integer columns (`codes`), marks
of its `cells` (`patterns`) and the relations between its `margins`, which follow from
`hierarchies`; `link` joins tables that share cells. `from_array`, `aggregates` and `microdata` make
tables, `argus` reads those of τ-ARGUS; `columns` (of `sources` of each kind) and `units` read what
these are given, within the `memory` that there is. `cross` shows a table as people know it, and
gives data frames back.

Tabulation is checked by plain Python over the records; batches, records beyond memory and tables
without empty cells against the whole (`tests/csp/tables`). Labels are tuples of tuples there, and
pytauargus reads and writes the same files.
"""
