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
from csp.hierarchy import Hierarchy
from csp.numbers import UNBOUNDED
from csp.problem import Problem
from csp.solve import Suppression, suppress
from csp.table import Table

__all__ = [
    "UNBOUNDED",
    "Audit",
    "CellveilError",
    "CertificateError",
    "Contributors",
    "Hierarchy",
    "InputError",
    "NotAdditive",
    "Problem",
    "SolverError",
    "Suppression",
    "Table",
    "Unprotectable",
    "Violation",
    "audit",
    "intervals",
    "suppress",
]
