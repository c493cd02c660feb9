"""File formats of other programs."""
