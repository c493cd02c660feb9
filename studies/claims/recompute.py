"""Recomputations of claims that take seconds, by name; each gives the text of its entry."""

from __future__ import annotations

from studies.claims.recomputations import gkountouna, minami_abe, soria_comas, torra


def recomputed(name: str) -> str:
    """Run one recomputation; a `KeyError` says that there is none of this name."""
    for module in (gkountouna, minami_abe, soria_comas, torra):
        if name in module.RECOMPUTATIONS:
            found: str = module.RECOMPUTATIONS[name]()
            return found
    raise KeyError(name)
