"""What is measured, how results are kept, and what the command says."""
