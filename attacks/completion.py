"""One whole-number table that agrees with a release; see `csp.completion`."""

from __future__ import annotations

from csp.completion import complete

__all__ = ["complete"]
