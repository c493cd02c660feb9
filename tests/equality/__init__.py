"""No output excludes a file of data that agrees with what is published.

A world is a small file of data and others that agree with its release. Every command that reads it
is run on each of them with every option in turn, and everything that is written and printed must
be the same bytes, but for clocks. Commands and options are found from the command tree, methods
from the public names: one that nobody thought of fails until it is tried or its reason is given.
"""
