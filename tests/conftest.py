"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.support.shared import EXAMPLES

# Compiled code makes first calls slow, so time says nothing about a single example. The same
# examples in every automatic run keep a red result a fact about the change.
settings.register_profile(
    "cellveil",
    deadline=None,
    max_examples=EXAMPLES,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
# For runs by hand: pytest --hypothesis-profile=thousands tests/csp/solve/test_agree.py
for name, times in (("hundreds", 10), ("thousands", 100)):
    settings.register_profile(
        name, settings.get_profile("cellveil"), max_examples=times * EXAMPLES, derandomize=False
    )
# For a second interpreter, where a platform may differ but the mathematics does not.
settings.register_profile("few", settings.get_profile("cellveil"), max_examples=EXAMPLES // 4)
settings.load_profile("cellveil")
