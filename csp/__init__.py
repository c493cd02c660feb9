"""Statistical tables: what they are, what must be hidden, and proof that it is."""

from csp.audit import Audit, Violation, audit, intervals
from csp.contributors import Contributors
from csp.errors import (
    CellveilError,
    CertificateError,
    InputError,
    NotAdditive,
    SolverError,
    Unprotectable,
)
from csp.formats.jj import read_jj, write_jj
from csp.hierarchy import Hierarchy
from csp.link import link
from csp.mechanism import Mechanism
from csp.numbers import UNBOUNDED
from csp.problem import Problem
from csp.protect import Protected, protect
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

__all__ = [
    "PQ",
    "UNBOUNDED",
    "Audit",
    "CellveilError",
    "CertificateError",
    "Contributors",
    "Dominance",
    "Hierarchy",
    "InputError",
    "Manual",
    "Mechanism",
    "MinFrequency",
    "NotAdditive",
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
    "Unprotectable",
    "Violation",
    "Zero",
    "audit",
    "intervals",
    "link",
    "parse_rules",
    "protect",
    "read_jj",
    "suppress",
    "write_jj",
]
