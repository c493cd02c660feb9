"""Small work starts at once, though nothing has been compiled on this machine before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.shared import ROOT

SECONDS = 2.0
"""CPU time that an example may take. Compiling one loop alone takes longer."""

SURE = (
    "microagg.partitions.clustering.mdav",
    "microagg.partitions.clustering.vmdav",
    "microagg.partitions.clustering.mondrian",
    "microagg.partitions.clustering.individual_ranking",
    "microagg.compliance.comply.comply",
    "microagg.compliance.suppress.suppress_clusters",
    "microagg.swapping.methods.mdav_swap",
    "microagg.aggregates.anonymise.aggregate_anonymise",
    "microagg.checks.checking.is_t_close",
    "microagg.intruders.aggregate.candidates_of",
    "attacks.bayes.rates.choose_rate",
    "README 5",
)
"""Some that must be among the examples, or too little was looked for."""


def test_examples_start_at_once_on_a_new_installation(tmp_path: Path) -> None:
    environment = {
        **os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.cold_examples"],
        capture_output=True, text=True, check=False, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seconds = json.loads(done.stdout.splitlines()[-1])
    assert set(SURE) <= set(seconds)
    assert len(seconds) > 60
    assert {name: took for name, took in seconds.items() if took > SECONDS} == {}
