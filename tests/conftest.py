"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Compiled code makes first calls slow, so time says nothing about a single example. The same
# examples in every automatic run keep a red result a fact about the change.
settings.register_profile(
    "cellveil",
    deadline=None,
    max_examples=60,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("cellveil")
