"""Partitions in which no cell of clusters by attributes is sensitive, made in five ways."""
