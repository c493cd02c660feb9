"""Files: read whole and bounded, written whole or not at all, and the formats of other programs.

`reading` is the one door in and `files` the one out. Text with separators is read by `delimited`
and `marks`, Parquet by `parquet`; `layout`, `apriori` and `recodings` are files of τ-ARGUS.
`formulas` writes texts so that spreadsheets take none for a formula, and reads them again.
"""
