"""Facts that can fail."""
