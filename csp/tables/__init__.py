"""Tables: cells bound by relations, made of arrays, frames and microdata.

`table` is the value itself, with its `contributors`, its labels as integer columns (`codes`) and
the relations between its `margins`; `link` joins tables that share cells. `from_array`,
`from_frame` and `microdata` make tables; `columns` and `units` read what these are given, and
`frames` gives data frames back.
"""
