"""The command ``cellveil microaggregate``."""
