"""Mutated files for every reader: a result or a CellveilError, in seconds, within a gigabyte."""
