"""Verbs that make and check tables: `inspect`, `compare`, `protect`, round, suppress, audit, key.

`joinings` tries which codes to join, `several` protects many files by one command, `problems` has
the two verbs for JJ files, `rounding` the verb round, `second_reading` the form of audit that
begins at the records, `dimensions` finds those of the data, `defence` the key and what it defends.
"""
