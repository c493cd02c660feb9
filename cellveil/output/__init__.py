"""What people see: tables and progress in a terminal, results in files."""
