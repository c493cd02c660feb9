"""What people see on a terminal: tables, sentences, progress."""
