"""A deterministic rule that is safe from those who know it: patterns take turns."""
