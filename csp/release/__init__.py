"""What the public sees: the `release`, one `completion` of it, and `ranges` in place of blanks."""
