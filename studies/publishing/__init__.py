"""Publishing rules beside random decoys: what they publish, how probably, what it discloses.

For tables of which up to 64 cells may be suppressed and whose relations form a network, and rules
that look at one cell at a time.
"""
