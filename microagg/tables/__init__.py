"""Clusters by attributes as a table: its contributors, its sensitive cells, its relations.

`clusters` is the table. `contributions` are its contributors, `risk` its sensitive cells, `forms`
rules as one comparison; `identities` between attributes are relations, stated or found in data.
`k_curve` is what larger clusters cost, and whether they are safer.
"""
