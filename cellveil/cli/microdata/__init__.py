"""Verbs for files of records: mask them, check and attack masked ones."""
