"""What a release discloses to an attacker who does not know how it was made.

`bound_proofs` and `exhaustive_proofs` prove bounds; `disclosed_cells` and `cell_sums` list what
follows from one release, `contradictions` what of it cannot be true, and `misreadings` why that
may be; `several_releases` what follows from releases that are combined. `insider_knowledge` adds
what contributors know, `coalitions` finds the fewest who disclose a cell together.

Disclosed cells and sums are checked by null spaces, an exact simplex and enumeration over the joint
system; smallest coalitions by all coalitions in order of size (`tests/attacks/release_alone`).
"""

from csp.names.lazily import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
