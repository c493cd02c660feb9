"""Branch and cut: proven cheapest patterns of any table."""
