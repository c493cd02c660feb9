"""Loops over clusters and groups of records, written plainly; compiled where files are large.

`sensitivity` is what all of them ask of a group. `growth` and `joining` make clusters safe,
`local_search` makes them better; `pricing` searches groups that a set partition lacks.
"""
