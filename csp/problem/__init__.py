"""The cell suppression problem: what must be protected, how far, and against whom."""
