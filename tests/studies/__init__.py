"""The experiments of the papers, publishing rules to compare with, and their commands."""
