"""Verbs that make and check tables: inspect, protect, suppress and audit, key."""
