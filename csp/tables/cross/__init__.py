"""Tables as people know them: rows by columns, further dimensions as panels.

`layout` says which cell stands where, `html` shows it; `frames` are data frames for the caller,
`listing` reads the crossed ones of pandas, `joined` joins codes.
"""
