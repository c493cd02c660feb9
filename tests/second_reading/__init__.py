"""Two readings of many random files: ``python -m tests.second_reading --count 10000``."""
