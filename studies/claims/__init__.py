"""Every claim of the papers on record: what it says, and what a recomputation gives."""
