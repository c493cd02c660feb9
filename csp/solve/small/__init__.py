"""Tables of up to 64 cells: the canonical pattern by compiled search."""
