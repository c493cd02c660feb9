"""Phases that raise the bound by cuts of the relaxation.

First comes what relations ask by themselves, then `combinations` of them in kernel form where these
are many, then `capacity` cuts in rounds, and at last those that the solver derives at the root of
an integer program (`root_cuts`).
"""
