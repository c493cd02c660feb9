"""Statistical tables: what they are, what must be hidden, and proof that it is.

Names are loaded when first used, so that ``import csp`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from csp.lazily import lazily

if TYPE_CHECKING:
    from csp import ilp as ilp
    from csp.audits.audit import Audit, audit
    from csp.audits.intervals import intervals
    from csp.audits.violations import Violation
    from csp.decoys.decoys import Decoys
    from csp.decoys.guarantee import Guarantee
    from csp.decoys.key import Key
    from csp.decoys.suppress import Defended, defend
    from csp.errors import (
        CellveilError,
        CertificateError,
        InputError,
        NotAdditive,
        OutOfTime,
        SolverError,
        Unprotectable,
    )
    from csp.exact import UNBOUNDED
    from csp.formats.apriori import read_apriori, write_apriori
    from csp.formats.delimited import TextFile
    from csp.mechanism import Mechanism, protect, protect_many
    from csp.problem.apriori import apply_apriori
    from csp.problem.jj import read_jj, write_jj
    from csp.problem.problem import Problem
    from csp.protection import Protected
    from csp.release.release import Release
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
    from csp.rules.inspection import Inspection, inspect
    from csp.solve import Progress, Suppression, suppress
    from csp.tables.contributors import Contributors
    from csp.tables.hierarchies.hierarchy import Hierarchy
    from csp.tables.link import link
    from csp.tables.table import Table

_HOMES = {
    "csp.audits.audit": ("Audit", "audit"),
    "csp.tables.contributors": ("Contributors",),
    "csp.decoys.decoys": ("Decoys",),
    "csp.decoys.suppress": ("Defended", "defend"),
    "csp.errors": (
        "CellveilError",
        "CertificateError",
        "InputError",
        "NotAdditive",
        "OutOfTime",
        "SolverError",
        "Unprotectable",
    ),
    "csp.audits.intervals": ("intervals",),
    "csp.ilp": (),
    "csp.formats.apriori": ("read_apriori", "write_apriori"),
    "csp.formats.delimited": ("TextFile",),
    "csp.problem.apriori": ("apply_apriori",),
    "csp.problem.jj": ("read_jj", "write_jj"),
    "csp.decoys.guarantee": ("Guarantee",),
    "csp.tables.hierarchies.hierarchy": ("Hierarchy",),
    "csp.decoys.key": ("Key",),
    "csp.tables.link": ("link",),
    "csp.mechanism": ("Mechanism", "protect", "protect_many"),
    "csp.exact": ("UNBOUNDED",),
    "csp.problem.problem": ("Problem",),
    "csp.protection": ("Protected",),
    "csp.release.release": ("Release",),
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
    "csp.rules.inspection": ("Inspection", "inspect"),
    "csp.solve": ("Progress", "Suppression", "suppress"),
    "csp.tables.table": ("Table",),
    "csp.audits.violations": ("Violation",),
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
    "Inspection",
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
    "apply_apriori",
    "audit",
    "defend",
    "inspect",
    "intervals",
    "link",
    "parse_rules",
    "protect",
    "protect_many",
    "read_apriori",
    "read_jj",
    "suppress",
    "write_apriori",
    "write_jj",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
