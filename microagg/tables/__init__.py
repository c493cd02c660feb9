"""Clusters by attributes as a table: its contributors, its sensitive cells, its relations."""
