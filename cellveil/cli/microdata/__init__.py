"""Verbs for files of records: mask them, check and attack masked ones.

`masking` masks in three ways, `masked_files` judges what came of it; `microaggregate` replaces
records by means of clusters and says in `sentences` what was found.
"""
