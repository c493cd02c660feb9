"""Verbs for files of records: mask them, check and attack masked ones.

`masking` masks in three ways, `masked_files` judges what came of it, `utility` compares it with the
original, `report` does both on a page; `microaggregate` replaces
records by means of clusters and says in `sentences` what was found.
"""
