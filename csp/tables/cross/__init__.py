"""Tables as people know them: rows by columns, further dimensions as panels."""
