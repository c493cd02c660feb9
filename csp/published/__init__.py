"""Tables that somebody else published, read as what the public knows of each cell.

`door` takes frames, files and grids. `names` knows columns of lists, and `roles` what they are.
`entries` reads numbers, ranges and signs as offices print them, `marks` says what the signs of an
office mean, `legend` what a table says of its own, `rows` what stands in each row with its flags,
as the reader has `told`; `grids` recognises cross tables. `sums` says how codes add up, `rounding`
how far numbers may be off, and `cells` puts all of it together; `contributors` says whether they
are numbers of these. `breakdowns` are sums that hold beyond those. `crosstabs` reads tables of true
values in the same shapes.
"""
