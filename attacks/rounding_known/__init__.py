"""The attacker knows how a table was rounded: `closest_tables` rules out what would be elsewhere.

`tests/attacks/rounding_known` rounds every consistent table again.
"""
