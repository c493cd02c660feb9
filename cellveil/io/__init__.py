"""Files of commands and jobs: read into tables and rules, written whole or not at all.

`source` says where a table comes from and `inputs` reads it, `sheets` from a workbook. `files`
writes results, `results` in the form of the program that reads them next, `excel` as a workbook.
"""
