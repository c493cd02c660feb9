"""Clusters by attributes as a table: its contributors, its sensitive cells, its relations.

`clusters` is the table. `contributions` are its contributors, `risk` its sensitive cells, `forms`
rules as one comparison; `identities` between attributes are relations, stated or found in data.
`k_curve` is what larger clusters cost, and whether they are safer.

Sensitive means are checked by the equations in fractions, identities by all that have small
coefficients, suppressed means by scipy's linear programs over all relations
(`tests/microagg/tables`). Totals of attributes are relations by default: microaggregation keeps
means, so they are public. An identity up to rounding has one more cell, never published, whose
bounds are what rounding allows.
"""
