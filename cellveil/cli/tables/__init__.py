"""Verbs that make and check tables: `inspect`, `protect`, suppress and audit, key.

`joinings` tries which codes to join, `several` protects many files by one command, `problems` has
the two verbs for JJ files, `second_reading` the form of audit that begins at the records, `defence`
the key and what it defends.
"""
