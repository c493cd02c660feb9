"""Verbs that take a release as published: `attack`, `report`, `diff`.

`release_attacks` has the attacks on one release beside the matching attack, and on several;
`published` judges a table of which there is no more than what was published.
"""
