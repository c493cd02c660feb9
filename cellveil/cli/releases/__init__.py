"""Verbs that take a release as published: attack, report, diff."""
