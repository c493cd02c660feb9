"""Files of commands and jobs: read into tables and rules, written whole or not at all.

`inputs` reads tables, `record_files` records that are taken whole, `recoding` joins codes, `sheets`
are those of workbooks, `crosstables` tables that are data, `published` what anybody published,
`earlier_cells` what was suppressed before, and `kept` what of it stays so. `files` writes results,
`results` in the form of the program that reads them next, `excel` as a workbook, its cross tables
by `cross_sheets`, in the look of a `house`.
"""
