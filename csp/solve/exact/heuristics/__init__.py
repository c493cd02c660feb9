"""Phases that look for patterns.

`first_patterns` need no relaxation; `construction` follows one, by cheapest paths on networks and
by witnesses on other tables; `subspaces` and `part_programs` search round the best pattern.
"""
