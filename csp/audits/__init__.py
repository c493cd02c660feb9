"""Audits: what an attacker can infer from a pattern, as claims checked without a solver.

`claims` is what one has to trust: claims in whole numbers and their check. `intervals` makes claims
for all cells, `violations` and `singletons` say which requirements fail, and against whom; `audit`
judges a pattern by all of them. `second_reading` begins at the records, without any of this.

Each claim is checked by itself in plain fractions, and forged, broken or changed ones must be
refused (`tests/csp/audits/test_claims.py`). The second reading is checked by hand and on random
files, and must find misreadings that are planted in the library (`tests/second_reading`).
"""
