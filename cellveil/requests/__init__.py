"""What may be asked for: each option stated once, for commands, jobs, the page and their docs."""
