"""Attacks on released tables.

Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attacks.coalition import Coalition, smallest_coalition
    from attacks.explaining import Explanation, explain
    from attacks.insider import Insight, Knowledge, insiders, knowledge_of
    from attacks.linear import Disclosure, disclosed
    from attacks.releases import Differencing, differencing
    from attacks.sums import Sum, Sums, disclosed_sums, with_sum

_HOMES = {
    "attacks.coalition": ("Coalition", "smallest_coalition"),
    "attacks.explaining": ("Explanation", "explain"),
    "attacks.insider": ("Insight", "Knowledge", "insiders", "knowledge_of"),
    "attacks.linear": ("Disclosure", "disclosed"),
    "attacks.releases": ("Differencing", "differencing"),
    "attacks.sums": ("Sum", "Sums", "disclosed_sums", "with_sum"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Coalition",
    "Differencing",
    "Disclosure",
    "Explanation",
    "Insight",
    "Knowledge",
    "Sum",
    "Sums",
    "differencing",
    "disclosed",
    "disclosed_sums",
    "explain",
    "insiders",
    "knowledge_of",
    "smallest_coalition",
    "with_sum",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        msg = f"module 'attacks' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
