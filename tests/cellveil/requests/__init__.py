"""What may be asked for."""
