"""Statistical tables: what they are, what must be hidden, and proof that it is.

Names are loaded when first used, so that ``import csp`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from csp.auditing import Audit, audit
    from csp.batch import protect_many
    from csp.contributors import Contributors
    from csp.decoys import Decoys
    from csp.defending import Defended, defend
    from csp.errors import (
        CellveilError,
        CertificateError,
        InputError,
        NotAdditive,
        OutOfTime,
        SolverError,
        Unprotectable,
    )
    from csp.feasibility import intervals
    from csp.formats.delimited import TextFile
    from csp.formats.jj import read_jj, write_jj
    from csp.guarantee import Guarantee
    from csp.hierarchy import Hierarchy
    from csp.key import Key
    from csp.linked import link
    from csp.mechanism import Mechanism
    from csp.numbers import UNBOUNDED
    from csp.problem import Problem
    from csp.protected import Protected, protect
    from csp.release import Release
    from csp.rules import (
        PQ,
        Dominance,
        Manual,
        MinFrequency,
        PPercent,
        Rule,
        Sensitivity,
        Zero,
        parse_rules,
    )
    from csp.solve import Progress, Suppression, suppress
    from csp.table import Table
    from csp.violations import Violation

_HOMES = {
    "csp.auditing": ("Audit", "audit"),
    "csp.batch": ("protect_many",),
    "csp.contributors": ("Contributors",),
    "csp.decoys": ("Decoys",),
    "csp.defending": ("Defended", "defend"),
    "csp.errors": (
        "CellveilError",
        "CertificateError",
        "InputError",
        "NotAdditive",
        "OutOfTime",
        "SolverError",
        "Unprotectable",
    ),
    "csp.feasibility": ("intervals",),
    "csp.formats.delimited": ("TextFile",),
    "csp.formats.jj": ("read_jj", "write_jj"),
    "csp.guarantee": ("Guarantee",),
    "csp.hierarchy": ("Hierarchy",),
    "csp.key": ("Key",),
    "csp.linked": ("link",),
    "csp.mechanism": ("Mechanism",),
    "csp.numbers": ("UNBOUNDED",),
    "csp.problem": ("Problem",),
    "csp.protected": ("Protected", "protect"),
    "csp.release": ("Release",),
    "csp.rules": (
        "PQ",
        "Dominance",
        "Manual",
        "MinFrequency",
        "PPercent",
        "Rule",
        "Sensitivity",
        "Zero",
        "parse_rules",
    ),
    "csp.solve": ("Progress", "Suppression", "suppress"),
    "csp.table": ("Table",),
    "csp.violations": ("Violation",),
}

__all__ = [
    "PQ",
    "UNBOUNDED",
    "Audit",
    "CellveilError",
    "CertificateError",
    "Contributors",
    "Decoys",
    "Defended",
    "Dominance",
    "Guarantee",
    "Hierarchy",
    "InputError",
    "Key",
    "Manual",
    "Mechanism",
    "MinFrequency",
    "NotAdditive",
    "OutOfTime",
    "PPercent",
    "Problem",
    "Progress",
    "Protected",
    "Release",
    "Rule",
    "Sensitivity",
    "SolverError",
    "Suppression",
    "Table",
    "TextFile",
    "Unprotectable",
    "Violation",
    "Zero",
    "audit",
    "defend",
    "intervals",
    "link",
    "parse_rules",
    "protect",
    "protect_many",
    "read_jj",
    "suppress",
    "write_jj",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
