"""What the public sees of a protected table."""
