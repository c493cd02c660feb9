"""Files: read whole and bounded, written whole or not at all, and the formats of other programs.

`reading` is the one door in and `files` the one out; `kinds` tells by its name what a file is. Text
with separators is read by `delimited` and `marks`, Parquet by `parquet`, files of Stata, SPSS and
SAS by `statistical`; `layout`, `apriori` and `recodings` are files of τ-ARGUS. `codes` says which
texts are one code. `formulas` writes texts so that spreadsheets take none for a formula, and reads
them again.
"""
