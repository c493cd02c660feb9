"""Claims of Torra and Navarro-Arribas (2023) that are recomputed in seconds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import microagg
from csp import Table
from csp.rules import parse_rules
from microagg import intruders


def corresponding_p() -> str:
    shares = (Fraction(1, 2), Fraction(3, 5), Fraction(4, 5))
    found = [microagg.corresponding_p(float(share)) for share in shares]
    return ", ".join(
        f"{float(share):g}: {float(p):.3g}" for share, p in zip(shares, found, strict=True)
    )


def _is_sensitive(contributions: list[int], rule: str) -> bool:
    table = Table.from_microdata(
        {"cell": ["a"] * len(contributions), "value": contributions}, ["cell"], "value"
    )
    return bool(parse_rules(rule)(table).primary[0])


def crafted_values() -> str:
    """Give the least lie of one insider that gets a cell published, and the bounds of rules."""
    found = intruders.opening_lie([100, 10], [1], "NK(1,60)")
    bounds = ", ".join(
        f"{rule} {intruders.lie_bound(rule)}" for rule in ("NK(1,60)", "P(60,1)", "NK(2,80)")
    )
    return (
        f"NK(1,60) {'publishes' if found.honest else 'suppresses'} 100 beside a true 10, and "
        f"publishes it beside a reported {float(found.lie or 0):.4g}; what a liar must err by: "
        f"{bounds}"
    )


def one_contributor() -> str:
    """Judge a cell with one contributor by the p% rule."""
    return "sensitive" if _is_sensitive([5], "P(60)") else "safe"


def sizes() -> str:
    """Least and largest cluster of MDAV over many files."""
    rng, least, most = np.random.default_rng(0), 0, 0.0
    for n in range(3, 60):
        for k in (2, 3, 5):
            if n < k:
                continue
            counts = microagg.mdav(rng.normal(size=(n, 2)), k).sizes
            least += int((counts < k).sum())
            most = max(most, float((counts / k).max()))
    return (
        f"{least} of them have fewer than k, none has 2k or more" if most < 2 else f"up to {most} k"
    )


def larger_k() -> str:
    """Compare the share of sensitive means of one file for two k."""
    pay = {"pay": [0] * 11 + [900]}
    found = []
    for k in (3, 6):
        sensitive = microagg.disclosure(pay, microagg.mdav(pay, k), "NK(1,60)").sensitive
        found.append(f"{int(sensitive.sum())} of {sensitive.size} means at k = {k}")
    return ", ".join(found)


def equal_values() -> str:
    """Give the sizes of cells of equal values that each rule of the paper calls sensitive."""
    found = []
    for rule in ("NK(1,60)", "NK(2,60)", "P(60)"):
        sizes = [t for t in range(2, 9) if _is_sensitive([7] * t, rule)]
        found.append(f"{rule}: {', '.join(map(str, sizes)) or 'none'}")
    return f"of 2 to 8 equal values, sensitive by {'; '.join(found)}"


def number_of_clusters() -> str:
    """Count files that MDAV does not divide into floor(m / k) clusters, all but one of size k."""
    rng, files, bad = np.random.default_rng(0), 0, 0
    for m in range(3, 60):
        for k in (2, 3, 5):
            if m >= k:
                counts = sorted(microagg.mdav(rng.normal(size=(m, 2)), k).sizes.tolist())
                files += 1
                bad += counts[:-1] != [k] * (m // k - 1) or sum(counts) != m
    return f"{bad} of {files} files are divided otherwise"


RECOMPUTATIONS = {
    f.__name__: f
    for f in (
        corresponding_p, crafted_values, equal_values, larger_k, number_of_clusters,
        one_contributor, sizes,
    )
}  # fmt: skip
"""By the name that a claim gives."""
