"""Cross tables of true values, in the shapes of published ones: what an office starts from.

`grids` takes rows of a sheet or a file under the names that are asked for; in `values` each cell
has a number, or is the sum of its parts; `reading` makes the table and says what was recognised.
"""
