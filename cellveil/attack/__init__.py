"""The commands ``cellveil attack ...``."""
